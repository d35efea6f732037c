/* Dominators against the plainest way to find them: sets that shrink until nothing changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sass/dominators.h>
#include <stdbool.h>

#define NODES_MAX 48
#define GRAPHS 6000

static uint64_t seed;

static uint32_t random_below(uint32_t limit) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 11) % limit);
}

/* A graph as a matrix, for the plain way; 64-bit sets hold all of its nodes. */
typedef struct matrix {
    uint32_t nodes;
    uint64_t to[NODES_MAX];
} matrix;

static void make_edges(const matrix *m, gc_edges *edges) {
    edges->first = malloc((NODES_MAX + 2) * sizeof *edges->first);
    edges->to = malloc((NODES_MAX * NODES_MAX + 1) * sizeof *edges->to);
    assert_true(edges->first && edges->to);
    uint32_t count = 0;
    for (uint32_t v = 0; v < m->nodes; v++) {
        edges->first[v] = count;
        /* Their order decides the walk, and must not decide the result. */
        const uint32_t shift = random_below(m->nodes);
        for (uint32_t i = 0; i < m->nodes; i++) {
            const uint32_t w = (i + shift) % m->nodes;
            if (m->to[v] >> w & 1) edges->to[count++] = w;
        }
    }
    edges->first[m->nodes] = count;
}

static matrix turned(const matrix *m) {
    matrix t = {.nodes = m->nodes};
    for (uint32_t v = 0; v < m->nodes; v++)
        for (uint32_t w = 0; w < m->nodes; w++)
            if (m->to[v] >> w & 1) t.to[w] |= UINT64_C(1) << v;
    return t;
}

static uint64_t reached_from(const matrix *m, uint32_t root) {
    uint64_t seen = UINT64_C(1) << root, before = 0;
    while (seen != before) {
        before = seen;
        for (uint32_t v = 0; v < m->nodes; v++)
            if (seen >> v & 1) seen |= m->to[v];
    }
    return seen;
}

/* Sets of dominators by node; nodes that are not reached have an empty one. */
static void plain_dominators(const matrix *m, uint32_t root, uint64_t *dominators) {
    const uint64_t reached = reached_from(m, root);
    for (uint32_t v = 0; v < m->nodes; v++) dominators[v] = reached >> v & 1 ? reached : 0;
    dominators[root] = UINT64_C(1) << root;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t v = 0; v < m->nodes; v++) {
            if (v == root || !(reached >> v & 1)) continue;
            uint64_t all = reached;
            for (uint32_t u = 0; u < m->nodes; u++)
                if ((reached >> u & 1) && (m->to[u] >> v & 1)) all &= dominators[u];
            all |= UINT64_C(1) << v;
            changed = changed || all != dominators[v];
            dominators[v] = all;
        }
    }
}

/* Of the strict dominators the one that all others dominate. */
static uint32_t nearest(const uint64_t *dominators, uint32_t nodes, uint32_t v) {
    const uint64_t strict = dominators[v] & ~(UINT64_C(1) << v);
    for (uint32_t d = 0; d < nodes; d++)
        if ((strict >> d & 1) && dominators[d] == strict) return d;
    return GC_NO_NODE;
}

static void check_order(const gc_tree *tree, uint64_t reached) {
    uint64_t seen = 0;
    for (uint32_t i = 0; i < tree->reached; i++) {
        const uint32_t v = tree->order[i];
        assert_true(tree->parent[v] == GC_NO_NODE ? i == 0 : seen >> tree->parent[v] & 1);
        seen |= UINT64_C(1) << v;
    }
    assert_true(seen == reached);
}

static void check(const matrix *m, uint32_t root) {
    gc_edges out = {0}, in = {0};
    gc_tree tree;
    uint64_t dominators[NODES_MAX];
    make_edges(m, &out);
    assert_int_equal(gc_edges_turn(m->nodes, &out, &in), GPUCHAR_OK);
    assert_int_equal(gc_tree_build(m->nodes, root, &out, &in, &tree), GPUCHAR_OK);
    plain_dominators(m, root, dominators);
    for (uint32_t v = 0; v < m->nodes; v++) {
        assert_int_equal(tree.parent[v], nearest(dominators, m->nodes, v));
        for (uint32_t d = 0; d < m->nodes; d++)
            assert_int_equal(gc_tree_dominates(&tree, d, v), dominators[v] >> d & 1);
    }
    check_order(&tree, reached_from(m, root));
    gc_tree_free(&tree);
    gc_edges_free(&out);
    gc_edges_free(&in);
}

/* Few edges leave much unreached, many make all shallow; near ones make it look like code. */
static matrix random_graph(void) {
    matrix m = {.nodes = 1 + random_below(NODES_MAX)};
    const uint32_t edges = random_below(m.nodes * 3 + 1), kind = random_below(3);
    for (uint32_t i = 0; i < edges; i++) {
        const uint32_t from = random_below(m.nodes);
        uint32_t to = random_below(m.nodes);
        if (kind == 1) to = (from + 1 + random_below(3)) % m.nodes;
        if (kind == 2 && random_below(4)) to = from + 1 < m.nodes ? from + 1 : 0;
        m.to[from] |= UINT64_C(1) << to;
    }
    return m;
}

static void test_random_graphs(void **state) {
    (void)state;
    seed = UINT64_C(0x243f6a8885a308d3);
    uint32_t unreached = 0, loops = 0;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        const matrix m = random_graph(), t = turned(&m);
        const uint32_t root = random_below(m.nodes);
        check(&m, root);
        check(&t, root);
        unreached += reached_from(&m, root) != (UINT64_C(1) << m.nodes) - 1;
        loops += (m.to[root] >> root & 1) != 0;
    }
    /* Both kinds were there. */
    assert_true(unreached > GRAPHS / 10 && unreached < GRAPHS);
    assert_true(loops > 0);
}

static void test_small_graphs_all(void **state) {
    (void)state;
    seed = 1;
    for (uint32_t bits = 0; bits < 1u << 9; bits++) {
        matrix m = {.nodes = 3};
        for (uint32_t v = 0; v < 3; v++) m.to[v] = bits >> 3 * v & 7;
        for (uint32_t root = 0; root < 3; root++) check(&m, root);
    }
}

static void test_turning_keeps_every_edge(void **state) {
    (void)state;
    seed = 7;
    for (uint32_t i = 0; i < 500; i++) {
        const matrix m = random_graph(), t = turned(&m);
        gc_edges out = {0}, in = {0};
        make_edges(&m, &out);
        assert_int_equal(gc_edges_turn(m.nodes, &out, &in), GPUCHAR_OK);
        matrix found = {.nodes = m.nodes};
        for (uint32_t v = 0; v < m.nodes; v++)
            for (uint32_t e = in.first[v]; e < in.first[v + 1]; e++) found.to[v] |= UINT64_C(1) << in.to[e];
        assert_int_equal(in.first[m.nodes], out.first[m.nodes]);
        assert_memory_equal(found.to, t.to, sizeof t.to);
        gc_edges_free(&out);
        gc_edges_free(&in);
    }
}

#define LONG 1000000u

typedef struct pair {
    uint32_t from, to;
} pair;

/* Edges from a list that is sorted by where they come from. */
static void make_long(const pair *list, uint32_t count, gc_edges *edges) {
    edges->first = calloc(LONG + 2, sizeof *edges->first);
    edges->to = malloc((count + 1) * sizeof *edges->to);
    assert_true(edges->first && edges->to);
    for (uint32_t i = 0; i < count; i++) {
        edges->first[list[i].from + 1]++;
        edges->to[i] = list[i].to;
    }
    for (uint32_t v = 0; v < LONG; v++) edges->first[v + 1] += edges->first[v];
}

/* A chain of a million nodes, with an edge back and an edge over the next one at each: nothing may recurse, nor be quadratic. */
static void test_a_long_chain(void **state) {
    (void)state;
    pair *list = malloc((size_t)LONG * 3 * sizeof *list);
    assert_non_null(list);
    uint32_t count = 0;
    for (uint32_t v = 0; v < LONG; v++) {
        if (v + 1 < LONG) list[count++] = (pair){v, v + 1};
        if (v % 2 == 0 && v + 2 < LONG) list[count++] = (pair){v, v + 2};
        if (v) list[count++] = (pair){v, v / 2};
    }
    gc_edges out, in;
    gc_tree tree;
    make_long(list, count, &out);
    assert_int_equal(gc_edges_turn(LONG, &out, &in), GPUCHAR_OK);
    assert_int_equal(gc_tree_build(LONG, 0, &out, &in, &tree), GPUCHAR_OK);
    assert_int_equal(tree.reached, LONG);
    for (uint32_t v = 1; v < LONG; v++) assert_int_equal(tree.parent[v], v % 2 ? v - 1 : v - 2);
    assert_true(gc_tree_dominates(&tree, LONG - 2, LONG - 1) && !gc_tree_dominates(&tree, LONG - 3, LONG - 1));
    assert_true(gc_tree_dominates(&tree, 0, LONG - 1) && gc_tree_dominates(&tree, LONG - 1, LONG - 1));
    gc_tree_free(&tree);
    gc_edges_free(&out);
    gc_edges_free(&in);
    free(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_small_graphs_all),
        cmocka_unit_test(test_turning_keeps_every_edge),
        cmocka_unit_test(test_a_long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
