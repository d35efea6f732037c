/* Dominators of a directed graph, and the tree that they form. */
#ifndef GC_SASS_DOMINATORS_H
#define GC_SASS_DOMINATORS_H

#include <gpuchar/status.h>

#define GC_NO_NODE UINT32_MAX

/* Edges by node: those of node v are to[first[v]] up to, not including, to[first[v + 1]]. */
typedef struct gc_edges {
    uint32_t *first;
    uint32_t *to;
} gc_edges;

/*
 * The same edges seen from the other end. `into->first` and `into->to` are allocated and freed with gc_edges_free, which takes
 * a zeroed one too.
 */
gpuchar_status gc_edges_turn(uint32_t nodes, const gc_edges *edges, gc_edges *into);
void gc_edges_free(gc_edges *edges);

/* The dominators of the nodes that a root reaches. */
typedef struct gc_tree {
    uint32_t nodes;
    uint32_t reached;
    uint32_t *parent; /* by node: its immediate dominator; GC_NO_NODE: the root, or not reached */
    uint32_t *order;  /* the reached nodes so that each stands behind its dominator; the root first */
    /* By node: it dominates those whose `enter` lies from its own on up to, not including, its `leave`; 0, 0: not reached. */
    uint32_t *enter;
    uint32_t *leave;
} gc_tree;

/*
 * `out` are the graph's edges, `in` the same turned round. Semi-NCA (Georgiadis, Tarjan, Werneck) with path compression: near linear,
 * and no recursion. gc_tree_free takes a zeroed one too.
 */
gpuchar_status gc_tree_build(uint32_t nodes, uint32_t root, const gc_edges *out, const gc_edges *in, gc_tree *tree);
void gc_tree_free(gc_tree *tree);

/* Whether a dominates b; each node dominates itself. False when one of them is not reached. */
static inline int gc_tree_dominates(const gc_tree *tree, uint32_t a, uint32_t b) {
    return tree->enter[b] >= tree->enter[a] && tree->enter[b] < tree->leave[a];
}

#endif
