#include <core/error.h>
#include <sass/graph.h>
#include <sass/targets.h>
#include <stdlib.h>
#include <string.h>

/* What building needs beside the graph. */
typedef struct builder {
    gc_graph *graph;
    gc_targets targets;
    uint32_t *seen; /* by block: the last block that has an edge to it, plus one */
    uint32_t edge_capacity;
} builder;

/* Control does not simply go on behind it. */
static bool turns(const gc_control *control) {
    if (control->flags & GC_CONTROL_NEVER) return false;
    switch (control->kind) {
    case GC_OP_BRANCH:
    case GC_OP_INDIRECT:
    case GC_OP_JUMP:
    case GC_OP_RETURN:
    case GC_OP_EXIT:
    case GC_OP_SYNC:
    case GC_OP_BRK:
    case GC_OP_CONT:
    case GC_OP_LONGJMP:
        return true;
    case GC_OP_WARPSYNC: /* .COLLECTIVE */
        return control->target != GC_NO_INDEX;
    default:
        return false;
    }
}

static bool leaves(const gc_control *control) {
    return control->kind == GC_OP_JUMP || control->kind == GC_OP_RETURN || control->kind == GC_OP_EXIT;
}

/* ---- blocks ---- */

static void lead(gc_graph *graph, uint32_t instruction) {
    if (instruction < graph->instruction_count) graph->leads[instruction / 64] |= UINT64_C(1) << instruction % 64;
}

static gpuchar_status bad_target(const gc_graph *graph, uint32_t instruction) {
    const uint64_t pc = graph->code->offset + gc_code_offset(graph->code, instruction);
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "the branch at 0x%llx of %.200s leaves its function", (unsigned long long)pc,
                   graph->code->name ? graph->code->name : "a function");
}

/* Where an instruction leads that has no target of its own, one by one as program counters. */
typedef struct ways {
    const gc_target_list *list; /* of an attribute */
    const uint64_t *tokens;     /* told by tokens, before sm_70 */
    size_t count;
} ways;

static uint64_t way_at(const ways *w, size_t index) {
    return w->list ? gc_target_at(w->list, (uint32_t)index) : w->tokens[index];
}

static gpuchar_status read_ways(const builder *b, const gc_control *control, ways *w) {
    const gc_code *code = b->graph->code;
    const uint64_t pc = code->offset + gc_code_offset(code, control->index);
    *w = (ways){0};
    if (code->arch < 70) {
        w->tokens = gc_tokens_targets(&b->graph->tokens, control->index, &w->count);
        if (w->count || control->kind == GC_OP_RETURN) return GPUCHAR_OK;
        const gc_token_site *site = gc_tokens_site(&b->graph->tokens, control->index);
        if (site && !site->reached) return GPUCHAR_OK; /* nor is it by this graph */
    } else {
        w->list = gc_targets_find(&b->targets, pc);
        w->count = w->list ? w->list->count : 0;
    }
    if (!w->count)
        return gc_fail(GPUCHAR_E_SASS_UNKNOWN, "where the instruction at 0x%llx of %.200s leads is not known",
                       (unsigned long long)pc, code->name ? code->name : "a function");
    for (size_t i = 0; i < w->count; i++)
        if (gc_code_index(code, way_at(w, i)) == SIZE_MAX) return bad_target(b->graph, control->index);
    return GPUCHAR_OK;
}

/* Whether it has no target of its own, but leads somewhere inside the function. */
static bool is_led(const gc_graph *graph, const gc_control *control) {
    switch (control->kind) {
    case GC_OP_INDIRECT:
    case GC_OP_SYNC:
    case GC_OP_BRK:
    case GC_OP_CONT:
    case GC_OP_LONGJMP:
        return true;
    case GC_OP_RETURN:
        return graph->code->arch < 70;
    default:
        return false;
    }
}

static gpuchar_status mark_leads(const builder *b) {
    gc_graph *graph = b->graph;
    lead(graph, 0);
    for (uint32_t c = 0; c < graph->control_count; c++) {
        const gc_control *control = &graph->controls[c];
        if (!turns(control)) continue;
        lead(graph, control->index + 1);
        if (is_led(graph, control)) {
            ways w;
            const gpuchar_status status = read_ways(b, control, &w);
            if (status) return status;
            for (size_t i = 0; i < w.count; i++) lead(graph, (uint32_t)gc_code_index(graph->code, way_at(&w, i)));
        } else if (control->target != GC_NO_INDEX) {
            lead(graph, control->target);
        } else if (control->kind == GC_OP_BRANCH) {
            return bad_target(graph, control->index);
        }
    }
    return GPUCHAR_OK;
}

static gpuchar_status make_blocks(gc_graph *graph) {
    const uint32_t words = graph->instruction_count / 64 + 1;
    for (uint32_t w = 0; w < words; w++) {
        graph->before[w] = graph->block_count;
        graph->block_count += (uint32_t)__builtin_popcountll(graph->leads[w]);
    }
    graph->blocks = calloc(graph->block_count, sizeof *graph->blocks);
    if (!graph->blocks) return gc_fail_memory(graph->block_count * sizeof *graph->blocks);
    uint32_t at = 0;
    for (uint32_t w = 0; w < words; w++)
        for (uint64_t bits = graph->leads[w]; bits; bits &= bits - 1)
            graph->blocks[at++].first = w * 64 + (uint32_t)__builtin_ctzll(bits);
    for (uint32_t i = 0; i < graph->block_count; i++) {
        gpuchar_sass_block *block = &graph->blocks[i];
        const uint32_t end = i + 1 < graph->block_count ? block[1].first : graph->instruction_count;
        block->instructions = end - block->first;
        block->pc_bytes = graph->code->offset + gc_code_offset(graph->code, block->first);
        block->dominator = block->post_dominator = block->loop = GPUCHAR_SASS_NO_BLOCK;
    }
    return GPUCHAR_OK;
}

/* ---- edges ---- */

static gpuchar_status add_edge(builder *b, uint32_t from, uint32_t to) {
    gc_graph *graph = b->graph;
    if (b->seen[to] == from + 1) return GPUCHAR_OK;
    b->seen[to] = from + 1;
    if (graph->edge_count == b->edge_capacity) {
        const uint32_t capacity = b->edge_capacity ? b->edge_capacity * 2 : graph->block_count * 2;
        uint32_t *grown = realloc(graph->edges, capacity * sizeof *grown);
        if (!grown) return gc_fail_memory(capacity * sizeof *grown);
        graph->edges = grown;
        b->edge_capacity = capacity;
    }
    graph->edges[graph->edge_count++] = to;
    graph->blocks[from].edges++;
    return GPUCHAR_OK;
}

static gpuchar_status link_turn(builder *b, uint32_t from, const gc_control *control) {
    gc_graph *graph = b->graph;
    if (!is_led(graph, control)) {
        if (leaves(control)) graph->blocks[from].flags |= GPUCHAR_SASS_BLOCK_LEAVES;
        return control->target == GC_NO_INDEX ? GPUCHAR_OK
                                              : add_edge(b, from, gc_graph_block_of(graph, control->target));
    }
    ways w;
    gpuchar_status status = read_ways(b, control, &w);
    for (size_t i = 0; !status && i < w.count; i++)
        status = add_edge(b, from, gc_graph_block_of(graph, (uint32_t)gc_code_index(graph->code, way_at(&w, i))));
    const gc_token_site *site = gc_tokens_site(&graph->tokens, control->index);
    if (site && control->kind == GC_OP_RETURN && (site->outside || !w.count))
        graph->blocks[from].flags |= GPUCHAR_SASS_BLOCK_LEAVES;
    return status;
}

static gpuchar_status link_blocks(builder *b) {
    gc_graph *graph = b->graph;
    const gc_control *control = graph->controls, *end = control + graph->control_count;
    for (uint32_t i = 0; i < graph->block_count; i++) {
        gpuchar_sass_block *block = &graph->blocks[i];
        const uint32_t last = block->first + block->instructions - 1;
        block->first_edge = graph->edge_count;
        while (control < end && control->index < last) control++;
        const bool turned = control < end && control->index == last && turns(control);
        gpuchar_status status = turned ? link_turn(b, i, control) : GPUCHAR_OK;
        const bool goes_on = !turned || control->flags & GC_CONTROL_CONDITIONAL || control->kind == GC_OP_WARPSYNC;
        if (!status && goes_on) {
            if (i + 1 < graph->block_count)
                status = add_edge(b, i, i + 1);
            else
                block->flags |= GPUCHAR_SASS_BLOCK_LEAVES;
        }
        if (status) return status;
    }
    return GPUCHAR_OK;
}

/* ---- what is reached, and what ends ---- */

static void reach(gc_graph *graph, uint32_t *stack) {
    uint32_t depth = 0;
    graph->blocks[0].flags |= GPUCHAR_SASS_BLOCK_REACHABLE;
    stack[depth++] = 0;
    while (depth) {
        const gpuchar_sass_block *block = &graph->blocks[stack[--depth]];
        for (uint32_t e = 0; e < block->edges; e++) {
            const uint32_t to = graph->edges[block->first_edge + e];
            if (gc_graph_reaches(graph, to)) continue;
            graph->blocks[to].flags |= GPUCHAR_SASS_BLOCK_REACHABLE;
            stack[depth++] = to;
        }
    }
}

/* Edges of the reachable blocks, with those to the exit. */
static gpuchar_status copy_edges(gc_graph *graph) {
    const uint32_t exit = graph->block_count;
    graph->out.first = malloc(((size_t)exit + 2) * sizeof *graph->out.first);
    graph->out.to = malloc(((size_t)graph->edge_count + exit + 1) * sizeof *graph->out.to);
    if (!graph->out.first || !graph->out.to)
        return gc_fail_memory(((size_t)graph->edge_count + 2 * (size_t)exit) * sizeof *graph->out.to);
    uint32_t at = 0;
    for (uint32_t i = 0; i < exit; i++) {
        const gpuchar_sass_block *block = &graph->blocks[i];
        graph->out.first[i] = at;
        if (!gc_graph_reaches(graph, i)) continue;
        for (uint32_t e = 0; e < block->edges; e++) graph->out.to[at++] = graph->edges[block->first_edge + e];
        if (block->flags & (GPUCHAR_SASS_BLOCK_LEAVES | GPUCHAR_SASS_BLOCK_ENDLESS)) graph->out.to[at++] = exit;
    }
    graph->out.first[exit] = graph->out.first[exit + 1] = at;
    return GPUCHAR_OK;
}

/* Marks what leads to `from`. */
static void mark_before(const gc_graph *graph, uint32_t from, uint8_t *marks, uint32_t *stack) {
    uint32_t depth = 0;
    marks[from] = 1;
    stack[depth++] = from;
    while (depth) {
        const uint32_t node = stack[--depth];
        for (uint32_t i = graph->in.first[node]; i < graph->in.first[node + 1]; i++) {
            const uint32_t to = graph->in.to[i];
            if (marks[to]) continue;
            marks[to] = 1;
            stack[depth++] = to;
        }
    }
}

/* What finding loops without end needs. */
typedef struct ender {
    gc_graph *graph;
    uint8_t *marks; /* by block: it leads to the exit, by now */
    uint8_t *seen;  /* 1: on the way back, 2: in the loop at hand */
    uint32_t *stack, *next, *order;
    uint32_t count;
} ender;

/* Walks against the edges and notes each block when all that leads to it was noted. */
static void note_before(ender *e, uint32_t from) {
    const gc_edges *in = &e->graph->in;
    uint32_t depth = 0;
    e->seen[from] = 1;
    e->next[from] = in->first[from];
    e->stack[depth++] = from;
    while (depth) {
        const uint32_t node = e->stack[depth - 1];
        if (e->next[node] == in->first[node + 1]) {
            e->order[e->count++] = node;
            depth--;
            continue;
        }
        const uint32_t to = in->to[e->next[node]++];
        if (e->seen[to]) continue;
        e->seen[to] = 1;
        e->next[to] = in->first[to];
        e->stack[depth++] = to;
    }
}

/* The last block in the code of what `from` leads to, which is its loop. */
static uint32_t last_of_loop(ender *e, uint32_t from) {
    const gc_edges *out = &e->graph->out;
    uint32_t depth = 0, last = from;
    e->seen[from] = 2;
    e->stack[depth++] = from;
    while (depth) {
        const uint32_t node = e->stack[--depth];
        if (node > last) last = node;
        for (uint32_t i = out->first[node]; i < out->first[node + 1]; i++) {
            if (e->seen[out->to[i]] == 2) continue;
            e->seen[out->to[i]] = 2;
            e->stack[depth++] = out->to[i];
        }
    }
    return last;
}

/*
 * The block that was noted last leads only to such as lead back to it (Kosaraju); so does the last one of those that do not
 * lead there, and so on.
 */
static bool mark_endless(ender *e) {
    gc_graph *graph = e->graph;
    mark_before(graph, graph->block_count, e->marks, e->stack);
    for (uint32_t i = 0; i < graph->block_count; i++)
        if (!e->marks[i] && !e->seen[i] && gc_graph_reaches(graph, i)) note_before(e, i);
    for (uint32_t i = e->count; i-- > 0;) {
        if (e->marks[e->order[i]]) continue;
        graph->blocks[last_of_loop(e, e->order[i])].flags |= GPUCHAR_SASS_BLOCK_ENDLESS;
        mark_before(graph, e->order[i], e->marks, e->stack);
    }
    return e->count != 0;
}

/* Loops that nothing leaves get a way to the exit, from their last block in the code. */
static gpuchar_status end_loops(gc_graph *graph, uint32_t *stack) {
    const size_t nodes = (size_t)graph->block_count + 1;
    uint8_t *marks = calloc(nodes, 2);
    uint32_t *room = malloc(nodes * 2 * sizeof *room);
    bool found = false;
    if (marks && room) {
        ender e = {
            .graph = graph, .marks = marks, .seen = marks + nodes, .stack = stack, .next = room, .order = room + nodes};
        found = mark_endless(&e);
    }
    const bool failed = !marks || !room;
    free(marks);
    free(room);
    if (failed) return gc_fail_memory(nodes * 10);
    if (!found) return GPUCHAR_OK;
    gc_edges_free(&graph->out);
    gc_edges_free(&graph->in);
    const gpuchar_status status = copy_edges(graph);
    return status ? status : gc_edges_turn(graph->block_count + 1, &graph->out, &graph->in);
}

static gpuchar_status find_dominators(gc_graph *graph) {
    const uint32_t exit = graph->block_count;
    gpuchar_status status = gc_tree_build(exit + 1, 0, &graph->out, &graph->in, &graph->dominators);
    if (!status) status = gc_tree_build(exit + 1, exit, &graph->in, &graph->out, &graph->post_dominators);
    for (uint32_t i = 0; !status && i < exit; i++) {
        graph->blocks[i].dominator = graph->dominators.parent[i];
        const uint32_t meet = graph->post_dominators.parent[i];
        graph->blocks[i].post_dominator = meet == exit ? GPUCHAR_SASS_NO_BLOCK : meet;
    }
    return status;
}

static gpuchar_status build(builder *b) {
    gc_graph *graph = b->graph;
    const size_t words = graph->instruction_count / 64 + 1;
    graph->leads = calloc(words, sizeof *graph->leads);
    graph->before = malloc(words * sizeof *graph->before);
    if (!graph->leads || !graph->before) return gc_fail_memory(words * 12);
    gpuchar_status status = graph->code->arch < 70 ? gc_tokens_read(graph->code, &graph->tokens)
                                                   : gc_targets_read(graph->code, &b->targets);
    if (!status) status = gc_controls_read(graph->code, &graph->controls, &graph->control_count);
    if (!status) status = mark_leads(b);
    if (!status) status = make_blocks(graph);
    if (status) return status;
    b->seen = calloc((size_t)graph->block_count + 1, sizeof *b->seen);
    if (!b->seen) return gc_fail_memory(graph->block_count * sizeof *b->seen);
    status = link_blocks(b);
    if (status) return status;
    uint32_t *stack = b->seen; /* no longer needed as what it was */
    reach(graph, stack);
    status = copy_edges(graph);
    if (!status) status = gc_edges_turn(graph->block_count + 1, &graph->out, &graph->in);
    if (!status) status = end_loops(graph, stack);
    if (!status) status = find_dominators(graph);
    return status ? status : gc_graph_find_loops(graph);
}

gpuchar_status gc_graph_build(const gc_code *code, gc_graph *graph) {
    *graph = (gc_graph){.code = code};
    const size_t count = gc_code_count(code);
    if (count == 0 || count > UINT32_MAX / 4)
        return gc_fail(GPUCHAR_E_SASS_FORMAT, "a function of no usable number of instructions");
    graph->instruction_count = (uint32_t)count;
    builder b = {.graph = graph};
    const gpuchar_status status = build(&b);
    gc_targets_free(&b.targets);
    free(b.seen);
    if (status) gc_graph_free(graph);
    return status;
}

void gc_graph_free(gc_graph *graph) {
    free(graph->controls);
    free(graph->blocks);
    free(graph->edges);
    free(graph->loops);
    free(graph->leads);
    free(graph->before);
    gc_tokens_free(&graph->tokens);
    gc_edges_free(&graph->out);
    gc_edges_free(&graph->in);
    gc_tree_free(&graph->dominators);
    gc_tree_free(&graph->post_dominators);
    *graph = (gc_graph){0};
}
