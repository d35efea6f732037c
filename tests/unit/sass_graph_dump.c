/*
 * Prints the control-flow graphs of a cubin's functions, for scripts/compare_graphs.py: sass_graph_dump CUBIN. A function is
 * "F NAME SECTION START INSTRUCTIONS", or "E NAME MESSAGE"; its blocks "B PC FLAGS POST-DOMINATOR EDGES", all as program
 * counters; its intervals "I BSSY BSYNC FLAGS DEPTH BREAKS"; its branches "R PC FLAGS DEPTH MEET BSYNC PLACEMENTS"; its
 * control-flow opcodes that have no mnemonic "U PC OPCODE".
 */
#include <gpuchar/sass.h>
#include <stdio.h>
#include <stdlib.h>

static void print_pc(uint64_t pc) {
    if (pc == GPUCHAR_SASS_NO_PC)
        printf(" -");
    else
        printf(" %llx", (unsigned long long)pc);
}

static void print_blocks(const gpuchar_sass_graph *graph) {
    for (size_t i = 0; i < graph->block_count; i++) {
        const gpuchar_sass_block *block = &graph->blocks[i];
        printf("B");
        print_pc(block->pc_bytes);
        printf(" %u", block->flags);
        print_pc(block->post_dominator == GPUCHAR_SASS_NO_BLOCK ? GPUCHAR_SASS_NO_PC
                                                                : graph->blocks[block->post_dominator].pc_bytes);
        for (uint32_t e = 0; e < block->edges; e++)
            print_pc(graph->blocks[graph->edges[block->first_edge + e]].pc_bytes);
        printf("\n");
    }
}

static void print_reconvergence(const gpuchar_sass_reconvergence *result) {
    for (size_t i = 0; i < result->interval_count; i++) {
        const gpuchar_sass_interval *interval = &result->intervals[i];
        printf("I");
        print_pc(interval->bssy_bytes);
        print_pc(interval->bsync_bytes);
        printf(" %u %u %u\n", interval->flags, interval->depth, interval->breaks);
    }
    for (size_t i = 0; i < result->branch_count; i++) {
        const gpuchar_sass_branch *branch = &result->branches[i];
        printf("R");
        print_pc(branch->pc_bytes);
        printf(" %u %u", branch->flags, branch->depth);
        print_pc(branch->meet_bytes);
        print_pc(branch->bsync_bytes);
        for (uint32_t rule = 0; rule < GPUCHAR_SASS_RULES; rule++) printf(" %u", branch->placement[rule]);
        printf("\n");
    }
}

static void print_unknown(const gpuchar_sass *sass, size_t function, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        gpuchar_sass_instruction in;
        if (gpuchar_sass_instruction_get(sass, function, i, &in)) continue;
        if ((in.opcode & 0x1e0) == 0x140 && in.kind == GPUCHAR_SASS_OTHER && !in.mnemonic)
            printf("U %llx %x\n", (unsigned long long)in.pc_bytes, in.opcode);
    }
}

static void print_function(const gpuchar_sass *sass, size_t index) {
    gpuchar_sass_function function;
    gpuchar_sass_graph graph = GPUCHAR_SASS_GRAPH_INIT;
    gpuchar_sass_reconvergence result = GPUCHAR_SASS_RECONVERGENCE_INIT;
    if (gpuchar_sass_function_get(sass, index, &function)) return;
    if (gpuchar_sass_graph_get(sass, index, &graph) || gpuchar_sass_reconvergence_get(sass, index, &result)) {
        printf("E %s %s\n", function.name, gpuchar_last_error()->message);
    } else {
        printf("F %s %s %llx %u\n", function.name, function.section, (unsigned long long)function.start_bytes,
               function.instructions);
        print_blocks(&graph);
        print_reconvergence(&result);
        print_unknown(sass, index, function.instructions);
    }
    gpuchar_sass_graph_free(&graph);
    gpuchar_sass_reconvergence_free(&result);
}

static void *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    const long length = ftell(file);
    rewind(file);
    void *bytes = length > 0 ? malloc((size_t)length) : NULL;
    *size = bytes ? fread(bytes, 1, (size_t)length, file) : 0;
    fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    size_t size = 0;
    void *bytes = argc == 2 ? read_file(argv[1], &size) : NULL;
    gpuchar_sass *sass = NULL;
    gpuchar_sass_info info = GPUCHAR_SASS_INFO_INIT;
    if (!bytes || gpuchar_sass_open(bytes, size, &sass) || gpuchar_sass_info_get(sass, &info)) {
        fprintf(stderr, "usage: sass_graph_dump CUBIN\n%s\n", gpuchar_last_error()->message);
        free(bytes);
        return 1;
    }
    for (size_t i = 0; i < info.functions; i++) print_function(sass, i);
    gpuchar_sass_close(sass);
    free(bytes);
    return 0;
}
