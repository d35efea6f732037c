#include <core/error.h>
#include <sass/graph.h>
#include <stdlib.h>
#include <string.h>

/*
 * Natural loops, inner ones first. Loops that were found are sets of blocks that grow together: `outer` leads from a loop to the
 * outermost one that holds it so far.
 */
typedef struct finder {
    gc_graph *graph;
    uint32_t *loop; /* by block: the innermost loop that holds it */
    uint32_t *stack;
    uint32_t *next; /* by block: its edge to follow next */
    uint32_t *outer;
    uint32_t capacity;
} finder;

static gpuchar_status add_loop(finder *f, uint32_t head) {
    gc_graph *graph = f->graph;
    if (!f->outer || graph->loop_count == f->capacity) {
        const uint32_t capacity = f->capacity ? f->capacity * 2 : 16;
        gpuchar_sass_loop *loops = realloc(graph->loops, capacity * sizeof *loops);
        if (loops) graph->loops = loops;
        uint32_t *outer = realloc(f->outer, capacity * sizeof *outer);
        if (outer) f->outer = outer;
        if (!loops || !outer) return gc_fail_memory(capacity * (sizeof *loops + sizeof *outer));
        f->capacity = capacity;
    }
    f->outer[graph->loop_count] = graph->loop_count;
    f->loop[head] = graph->loop_count;
    graph->loops[graph->loop_count++] = (gpuchar_sass_loop){.head = head, .parent = GPUCHAR_SASS_NO_BLOCK};
    graph->blocks[head].flags |= GPUCHAR_SASS_BLOCK_LOOP_HEAD;
    return GPUCHAR_OK;
}

static uint32_t outermost(finder *f, uint32_t loop) {
    while (f->outer[loop] != loop) loop = f->outer[loop] = f->outer[f->outer[loop]];
    return loop;
}

/* Takes what leads back to the blocks on the stack into the newest loop, up to its head; inner loops are gone around. */
static void gather(finder *f, uint32_t depth) {
    gc_graph *graph = f->graph;
    if (!f->outer) return; /* there is a loop, so it is there */
    const uint32_t loop = graph->loop_count - 1, head = graph->loops[loop].head;
    while (depth) {
        uint32_t block = f->stack[--depth];
        if (f->loop[block] == GPUCHAR_SASS_NO_BLOCK) {
            f->loop[block] = loop;
        } else {
            const uint32_t inner = outermost(f, f->loop[block]);
            if (inner == loop) continue;
            graph->loops[inner].parent = f->outer[inner] = loop;
            block = graph->loops[inner].head;
            if (block == head) continue;
        }
        for (uint32_t i = graph->in.first[block]; i < graph->in.first[block + 1]; i++)
            f->stack[depth++] = graph->in.to[i];
    }
}

static gpuchar_status find_at(finder *f, uint32_t head) {
    const gc_graph *graph = f->graph;
    uint32_t depth = 0;
    for (uint32_t i = graph->in.first[head]; i < graph->in.first[head + 1]; i++)
        if (gc_tree_dominates(&graph->dominators, head, graph->in.to[i])) f->stack[depth++] = graph->in.to[i];
    if (!depth) return GPUCHAR_OK;
    const gpuchar_status status = add_loop(f, head);
    if (!status) gather(f, depth);
    return status;
}

/* Outer loops come first; depths and sizes from the nesting. */
static void finish(finder *f) {
    gc_graph *graph = f->graph;
    const uint32_t count = graph->loop_count;
    for (uint32_t i = 0; i < count / 2; i++) {
        const gpuchar_sass_loop other = graph->loops[i];
        graph->loops[i] = graph->loops[count - 1 - i];
        graph->loops[count - 1 - i] = other;
    }
    for (uint32_t i = 0; i < graph->block_count; i++) {
        if (f->loop[i] == GPUCHAR_SASS_NO_BLOCK) continue;
        graph->blocks[i].loop = count - 1 - f->loop[i];
        graph->loops[graph->blocks[i].loop].blocks++;
    }
    for (uint32_t i = 0; i < count; i++) {
        gpuchar_sass_loop *loop = &graph->loops[i];
        if (loop->parent != GPUCHAR_SASS_NO_BLOCK) loop->parent = count - 1 - loop->parent;
        loop->depth = loop->parent == GPUCHAR_SASS_NO_BLOCK ? 1 : graph->loops[loop->parent].depth + 1;
    }
    for (uint32_t i = count; i-- > 0;)
        if (graph->loops[i].parent != GPUCHAR_SASS_NO_BLOCK)
            graph->loops[graph->loops[i].parent].blocks += graph->loops[i].blocks;
}

/* Edges that go back, in a depth-first walk, to a block that does not dominate where they come from. */
static void count_irreducible(finder *f) {
    gc_graph *graph = f->graph;
    enum { NEW, OPEN, DONE };
    uint32_t *state = f->loop; /* not yet needed as what it is */
    memset(state, 0, ((size_t)graph->block_count + 1) * sizeof *state);
    uint32_t depth = 0;
    state[0] = OPEN;
    f->next[0] = graph->out.first[0];
    f->stack[depth++] = 0;
    while (depth) {
        const uint32_t block = f->stack[depth - 1];
        if (f->next[block] == graph->out.first[block + 1]) {
            state[block] = DONE;
            depth--;
            continue;
        }
        const uint32_t to = graph->out.to[f->next[block]++];
        if (state[to] == OPEN && !gc_tree_dominates(&graph->dominators, to, block)) graph->irreducible++;
        if (state[to] != NEW) continue;
        state[to] = OPEN;
        f->next[to] = graph->out.first[to];
        f->stack[depth++] = to;
    }
}

gpuchar_status gc_graph_find_loops(gc_graph *graph) {
    const size_t nodes = (size_t)graph->block_count + 1, edges = graph->out.first[graph->block_count];
    finder f = {.graph = graph};
    f.loop = malloc(nodes * sizeof *f.loop);
    f.next = malloc(nodes * sizeof *f.next);
    f.stack = malloc((nodes + edges) * sizeof *f.stack);
    gpuchar_status status = GPUCHAR_OK;
    if (!f.loop || !f.next || !f.stack) {
        status = gc_fail_memory((3 * nodes + edges) * sizeof *f.loop);
    } else {
        count_irreducible(&f);
        memset(f.loop, 0xff, nodes * sizeof *f.loop);
        for (uint32_t i = graph->dominators.reached; i-- > 0 && !status;)
            if (graph->dominators.order[i] != graph->block_count) status = find_at(&f, graph->dominators.order[i]);
        if (!status) finish(&f);
    }
    free(f.loop);
    free(f.next);
    free(f.stack);
    free(f.outer);
    return status;
}
