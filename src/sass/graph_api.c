/* Graphs and reconvergence records for the caller. */
#include <core/error.h>
#include <core/structs.h>
#include <core/util.h>
#include <sass/reconvergence.h>
#include <sass/sass_handle.h>
#include <stdlib.h>

GC_DEFINE_INIT(gpuchar_sass_graph)
GC_DEFINE_INIT(gpuchar_sass_reconvergence)

static gpuchar_status build(const gpuchar_sass *sass, size_t function, gc_graph *graph) {
    gpuchar_status status = GPUCHAR_OK;
    *graph = (gc_graph){0};
    const gc_function *found = gc_sass_function(sass, function, &status);
    return found ? gc_graph_build(&found->code, graph) : status;
}

gpuchar_status gpuchar_sass_graph_get(const gpuchar_sass *sass, size_t function, gpuchar_sass_graph *graph) {
    gc_graph built;
    gpuchar_status status = gc_result_check(graph, sizeof *graph, "gpuchar_sass_graph");
    if (!status) status = build(sass, function, &built);
    if (status) return status;
    gpuchar_sass_graph filled = GPUCHAR_SASS_GRAPH_INIT;
    filled.blocks = built.blocks;
    filled.block_count = built.block_count;
    filled.edges = built.edges;
    filled.edge_count = built.edge_count;
    filled.loops = built.loops;
    filled.loop_count = built.loop_count;
    filled.irreducible = built.irreducible;
    /* The arrays change hands. */
    built.blocks = NULL;
    built.edges = NULL;
    built.loops = NULL;
    gc_graph_free(&built);
    gc_result_write(graph, &filled, sizeof filled);
    return GPUCHAR_OK;
}

void gpuchar_sass_graph_free(gpuchar_sass_graph *graph) {
    if (!graph) return;
    free(graph->blocks);
    free(graph->edges);
    free(graph->loops);
    graph->blocks = NULL;
    graph->edges = NULL;
    graph->loops = NULL;
    graph->block_count = graph->edge_count = graph->loop_count = 0;
}

gpuchar_status gpuchar_sass_reconvergence_get(const gpuchar_sass *sass, size_t function,
                                              gpuchar_sass_reconvergence *result) {
    gc_graph graph;
    gpuchar_status status = gc_result_check(result, sizeof *result, "gpuchar_sass_reconvergence");
    if (!status) status = build(sass, function, &graph);
    if (status) return status;
    gpuchar_sass_reconvergence filled = GPUCHAR_SASS_RECONVERGENCE_INIT;
    status = gc_reconvergence_read(&graph, &filled);
    gc_graph_free(&graph);
    if (!status) gc_result_write(result, &filled, sizeof filled);
    return status;
}

void gpuchar_sass_reconvergence_free(gpuchar_sass_reconvergence *result) {
    if (!result) return;
    free(result->branches);
    free(result->intervals);
    result->branches = NULL;
    result->intervals = NULL;
    result->branch_count = result->interval_count = 0;
}

/* ---- DOT ---- */

/* Function names may hold what DOT would read as its own. */
static void add_quoted(gc_text *text, const char *name) {
    for (; *name; name++) {
        const char one = *name;
        if (one == '"' || one == '\\')
            gc_text_add(text, "\\%c", one);
        else
            gc_text_add(text, "%c", (unsigned char)one < 32 ? '?' : one);
    }
}

static void add_block(gc_text *text, const gc_graph *graph, uint32_t index) {
    const gpuchar_sass_block *block = &graph->blocks[index];
    gc_text_add(text, "  b%u [label=\"0x%llx\\l", index, (unsigned long long)block->pc_bytes);
    for (uint32_t i = 0; i < block->instructions; i++) {
        gc_instruction in;
        gc_decode(graph->code, gc_code_offset(graph->code, block->first + i), &in);
        if (in.guard != GC_PREDICATE_TRUE)
            gc_text_add(text, "@%sP%u ", in.guard_not ? "!" : "", in.guard);
        else if (in.guard_not)
            gc_text_add(text, "@!PT ");
        if (in.mnemonic)
            gc_text_add(text, "%s", in.mnemonic);
        else
            gc_text_add(text, "? 0x%x", in.opcode);
        if (in.kind == GC_OP_BSSY || in.kind == GC_OP_BSYNC || in.kind == GC_OP_BREAK)
            gc_text_add(text, " B%u", in.barrier);
        if (in.kind == GC_OP_BRANCH && (in.second != GC_PREDICATE_TRUE || in.second_not))
            gc_text_add(text, " %sP%u", in.second_not ? "!" : "", in.second);
        gc_text_add(text, "\\l");
    }
    gc_text_add(text, "\"%s];\n", gc_graph_reaches(graph, index) ? "" : ", style=dashed");
    for (uint32_t e = 0; e < block->edges; e++)
        gc_text_add(text, "  b%u -> b%u;\n", index, graph->edges[block->first_edge + e]);
    if (block->flags & (GPUCHAR_SASS_BLOCK_LEAVES | GPUCHAR_SASS_BLOCK_ENDLESS))
        gc_text_add(text, "  b%u -> exit%s;\n", index,
                    block->flags & GPUCHAR_SASS_BLOCK_ENDLESS ? " [style=dotted]" : "");
    if (block->post_dominator != GPUCHAR_SASS_NO_BLOCK && block->edges > 1)
        gc_text_add(text, "  b%u -> b%u [style=dashed, color=gray, constraint=false];\n", index, block->post_dominator);
}

gpuchar_status gpuchar_sass_dot(const gpuchar_sass *sass, size_t function, char **text) {
    gc_graph graph;
    if (!text) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the place for the text is NULL");
    *text = NULL;
    const gpuchar_status status = build(sass, function, &graph);
    if (status || !graph.code) return status;
    gc_text made = {0};
    gc_text_add(&made, "digraph \"");
    add_quoted(&made, graph.code->name);
    gc_text_add(&made, "\" {\n  node [shape=box, fontname=monospace];\n  exit [shape=oval];\n");
    for (uint32_t i = 0; i < graph.block_count; i++) add_block(&made, &graph, i);
    gc_text_add(&made, "}\n");
    gc_graph_free(&graph);
    if (made.failed) {
        gc_text_free(&made);
        return gc_fail_memory(made.capacity);
    }
    *text = made.data;
    return GPUCHAR_OK;
}
