#include <core/error.h>
#include <sass/dominators.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

gpuchar_status gc_edges_turn(uint32_t nodes, const gc_edges *edges, gc_edges *into) {
    const uint32_t count = edges->first[nodes];
    into->first = calloc((size_t)nodes + 2, sizeof *into->first);
    into->to = malloc(((size_t)count + 1) * sizeof *into->to);
    if (!into->first || !into->to) {
        gc_edges_free(into);
        return gc_fail_memory(((size_t)nodes + count) * sizeof *into->to);
    }
    /* first[v + 2] counts; then first[v + 1] is where v's edges begin, and moves on to their end. */
    for (uint32_t i = 0; i < count; i++) into->first[edges->to[i] + 2]++;
    for (uint32_t v = 2; v <= nodes; v++) into->first[v] += into->first[v - 1];
    for (uint32_t v = 0; v < nodes; v++)
        for (uint32_t i = edges->first[v]; i < edges->first[v + 1]; i++) into->to[into->first[edges->to[i] + 1]++] = v;
    return GPUCHAR_OK;
}

void gc_edges_free(gc_edges *edges) {
    free(edges->first);
    free(edges->to);
    *edges = (gc_edges){0};
}

/* Nodes by the number that a depth-first walk gives them; all arrays but `number` are by these numbers. */
typedef struct walk {
    uint32_t *number; /* by node; GC_NO_NODE: not reached */
    uint32_t *node;
    uint32_t *parent;   /* in the walk's tree */
    uint32_t *ancestor; /* of paths that are compressed */
    uint32_t *label;    /* the node with the smallest semidominator on such a path */
    uint32_t *semi;
    uint32_t *stack;
    uint32_t *next; /* by node: its edge to follow next */
    uint32_t count;
} walk;

static void walk_free(walk *w) {
    free(w->number);
    *w = (walk){0};
}

static bool walk_make(uint32_t nodes, walk *w) {
    const size_t part = (size_t)nodes + 1;
    uint32_t *all = malloc(part * 8 * sizeof *all);
    if (!all) return false;
    *w = (walk){
        all, all + part, all + 2 * part, all + 3 * part, all + 4 * part, all + 5 * part, all + 6 * part, all + 7 * part,
        0};
    memset(w->number, 0xff, part * sizeof *all);
    return true;
}

static void enter(walk *w, const gc_edges *out, uint32_t node, uint32_t from) {
    const uint32_t at = w->count++;
    w->number[node] = at;
    w->node[at] = node;
    w->parent[at] = w->ancestor[at] = from;
    w->label[at] = w->semi[at] = at;
    w->next[node] = out->first[node];
}

static void walk_run(walk *w, const gc_edges *out, uint32_t root) {
    uint32_t depth = 0;
    enter(w, out, root, 0);
    w->stack[depth++] = root;
    while (depth) {
        const uint32_t node = w->stack[depth - 1];
        if (w->next[node] == out->first[node + 1]) {
            depth--;
            continue;
        }
        const uint32_t to = out->to[w->next[node]++];
        if (w->number[to] != GC_NO_NODE) continue;
        enter(w, out, to, w->number[node]);
        w->stack[depth++] = to;
    }
}

/* The node of smallest semidominator on the way up from v, as far as nodes from `linked` on were done; the way is compressed. */
static uint32_t best(walk *w, uint32_t v, uint32_t linked) {
    if (v < linked) return v;
    uint32_t depth = 0;
    while (w->ancestor[v] >= linked) {
        w->stack[depth++] = v;
        v = w->ancestor[v];
    }
    uint32_t label = w->label[v];
    const uint32_t above = w->ancestor[v];
    while (depth) {
        v = w->stack[--depth];
        w->ancestor[v] = above;
        if (w->semi[label] < w->semi[w->label[v]])
            w->label[v] = label;
        else
            label = w->label[v];
    }
    return label;
}

static void find_semidominators(walk *w, const gc_edges *in) {
    for (uint32_t v = w->count; v-- > 1;) {
        const uint32_t node = w->node[v];
        uint32_t semi = w->parent[v];
        for (uint32_t i = in->first[node]; i < in->first[node + 1]; i++) {
            const uint32_t from = w->number[in->to[i]];
            if (from == GC_NO_NODE) continue;
            const uint32_t found = w->semi[best(w, from, v + 1)];
            if (found < semi) semi = found;
        }
        w->semi[v] = semi;
    }
}

/* The immediate dominator is the nearest ancestor in the walk's tree that is no deeper than the semidominator. */
static void find_dominators(walk *w, gc_tree *tree) {
    uint32_t *above = w->parent; /* becomes the immediate dominator, by number */
    tree->order[0] = w->node[0];
    for (uint32_t v = 1; v < w->count; v++) {
        while (above[v] > w->semi[v]) above[v] = above[above[v]];
        tree->parent[w->node[v]] = w->node[above[v]];
        tree->order[v] = w->node[v];
    }
}

/* Each node's subtree is a range of numbers: sizes from below, then places from above. */
static void number_tree(gc_tree *tree, uint32_t *cursor) {
    for (uint32_t i = tree->reached; i-- > 0;) {
        const uint32_t node = tree->order[i], parent = tree->parent[node];
        tree->leave[node]++;
        if (parent != GC_NO_NODE) tree->leave[parent] += tree->leave[node];
    }
    for (uint32_t i = 0; i < tree->reached; i++) {
        const uint32_t node = tree->order[i], parent = tree->parent[node], size = tree->leave[node];
        const uint32_t place = parent == GC_NO_NODE ? 1 : cursor[parent];
        if (parent != GC_NO_NODE) cursor[parent] += size;
        cursor[node] = place + 1;
        tree->enter[node] = place;
        tree->leave[node] = place + size;
    }
}

gpuchar_status gc_tree_build(uint32_t nodes, uint32_t root, const gc_edges *out, const gc_edges *in, gc_tree *tree) {
    *tree = (gc_tree){.nodes = nodes};
    walk w;
    if (!walk_make(nodes, &w)) return gc_fail_memory(((size_t)nodes + 1) * 8 * sizeof *w.number);
    tree->parent = malloc(nodes * sizeof *tree->parent);
    tree->order = malloc(nodes * sizeof *tree->order);
    tree->enter = calloc(nodes, sizeof *tree->enter);
    tree->leave = calloc(nodes, sizeof *tree->leave);
    if (!tree->parent || !tree->order || !tree->enter || !tree->leave) {
        walk_free(&w);
        gc_tree_free(tree);
        return gc_fail_memory(nodes * 4 * sizeof *tree->parent);
    }
    memset(tree->parent, 0xff, nodes * sizeof *tree->parent);
    walk_run(&w, out, root);
    find_semidominators(&w, in);
    tree->reached = w.count;
    find_dominators(&w, tree);
    number_tree(tree, w.next);
    walk_free(&w);
    return GPUCHAR_OK;
}

void gc_tree_free(gc_tree *tree) {
    free(tree->parent);
    free(tree->order);
    free(tree->enter);
    free(tree->leave);
    *tree = (gc_tree){0};
}
