/* A cubin through the public interface: its functions, instructions, mix, graph, reconvergence and DOT document. */
#include "fuzz_check.h"

#include <gpuchar/sass.h>
#include <string.h>

#define FUNCTIONS_MAX 4
#define INSTRUCTIONS_MAX 4096

static void check_graph(const gpuchar_sass *sass, size_t function) {
    gpuchar_sass_graph graph = {.struct_size = sizeof graph};
    if (gpuchar_sass_graph_get(sass, function, &graph) < 0) {
        FUZZ_CHECK(!graph.blocks && !graph.edges && !graph.loops);
        return;
    }
    for (size_t i = 0; i < graph.block_count; i++) {
        const gpuchar_sass_block *block = &graph.blocks[i];
        FUZZ_CHECK(block->first_edge <= graph.edge_count && block->edges <= graph.edge_count - block->first_edge);
        FUZZ_CHECK(block->dominator == GPUCHAR_SASS_NO_BLOCK || block->dominator < graph.block_count);
        FUZZ_CHECK(block->post_dominator == GPUCHAR_SASS_NO_BLOCK || block->post_dominator < graph.block_count);
        FUZZ_CHECK(block->loop == GPUCHAR_SASS_NO_BLOCK || block->loop < graph.loop_count);
    }
    for (size_t i = 0; i < graph.edge_count; i++) FUZZ_CHECK(graph.edges[i] < graph.block_count);
    for (size_t i = 0; i < graph.loop_count; i++) {
        FUZZ_CHECK(graph.loops[i].head < graph.block_count && graph.loops[i].blocks <= graph.block_count);
        FUZZ_CHECK(graph.loops[i].parent == GPUCHAR_SASS_NO_BLOCK || graph.loops[i].parent < graph.loop_count);
    }
    gpuchar_sass_graph_free(&graph);
}

static void check_reconvergence(const gpuchar_sass *sass, size_t function) {
    gpuchar_sass_reconvergence found = {.struct_size = sizeof found};
    if (gpuchar_sass_reconvergence_get(sass, function, &found) < 0) return;
    for (size_t i = 0; i < found.branch_count; i++) {
        const gpuchar_sass_branch *branch = &found.branches[i];
        FUZZ_CHECK(branch->interval == GPUCHAR_SASS_NO_BLOCK || branch->interval < found.interval_count);
        FUZZ_CHECK(branch->match == GPUCHAR_SASS_NO_BLOCK || branch->match < found.interval_count);
        for (int rule = 0; rule < GPUCHAR_SASS_RULES; rule++)
            FUZZ_CHECK(branch->placement[rule] <= GPUCHAR_SASS_PLACED_ASIDE);
    }
    for (size_t i = 0; i < found.interval_count; i++)
        FUZZ_CHECK(found.intervals[i].parent == GPUCHAR_SASS_NO_BLOCK ||
                   found.intervals[i].parent < found.interval_count);
    FUZZ_CHECK(found.divergent <= found.branch_count);
    gpuchar_sass_reconvergence_free(&found);
}

static void check_mix(const gpuchar_sass *sass, size_t function) {
    gpuchar_sass_mix mix = {.struct_size = sizeof mix};
    if (gpuchar_sass_mix_get(sass, function, &mix) < 0) return;
    uint64_t sum = 0;
    for (size_t i = 0; i < mix.entry_count; i++) sum += mix.entries[i].count;
    FUZZ_CHECK(sum == mix.instructions && mix.unknown <= sum && mix.guarded <= sum);
    gpuchar_sass_mix_free(&mix);
}

static void check_function(const gpuchar_sass *sass, size_t index) {
    gpuchar_sass_function function;
    FUZZ_CHECK(gpuchar_sass_function_get(sass, index, &function) == GPUCHAR_OK);
    fuzz_touch(function.name, strlen(function.name));
    fuzz_touch(function.section, strlen(function.section));
    if (function.instructions > INSTRUCTIONS_MAX) return;
    for (uint32_t i = 0; i < function.instructions; i++) {
        gpuchar_sass_instruction instruction;
        FUZZ_CHECK(gpuchar_sass_instruction_get(sass, index, i, &instruction) == GPUCHAR_OK);
        FUZZ_CHECK(instruction.kind <= GPUCHAR_SASS_LONGJMP);
    }
    check_mix(sass, index);
    check_graph(sass, index);
    check_reconvergence(sass, index);
    char *text = NULL;
    if (gpuchar_sass_dot(sass, index, &text) >= 0) {
        FUZZ_CHECK(text && strncmp(text, "digraph", 7) == 0);
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gpuchar_sass *sass = NULL;
    if (gpuchar_sass_open(data, size, &sass)) {
        FUZZ_CHECK(!sass);
        return 0;
    }
    gpuchar_sass_info info = {.struct_size = sizeof info};
    FUZZ_CHECK(gpuchar_sass_info_get(sass, &info) == GPUCHAR_OK);
    for (size_t i = 0; i < info.functions && i < FUNCTIONS_MAX; i++) check_function(sass, i);
    check_mix(sass, GPUCHAR_SASS_ALL);
    gpuchar_sass_close(sass);
    return 0;
}
