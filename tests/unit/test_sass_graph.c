/* Control-flow graphs of functions made by hand: blocks, edges, what leaves, loops, post-dominators; and what is refused. */
#include "cubin_writer.h"

#include <stdio.h>

#define P0 0u
#define NOT_P0 8u

static cubin_parts *parts;
static cubin_image image;
static gpuchar_sass *sass;
static gpuchar_sass_graph graph;

static void begin(uint32_t arch) {
    parts = cubin_begin(arch);
}

static void build_function(size_t function) {
    sass = cubin_open(parts, &image);
    graph = gpuchar_sass_graph_make();
    assert_int_equal(gpuchar_sass_graph_get(sass, function, &graph), GPUCHAR_OK);
}
static void build(void) {
    build_function(0);
}

static void end(void) {
    gpuchar_sass_graph_free(&graph);
    gpuchar_sass_close(sass);
    free(image.bytes);
    free(parts);
    sass = NULL;
}

/* One block: where it begins, its edges as blocks ("1 2"), its flags and its immediate post-dominator. */
static void check_block(uint32_t index, uint32_t first, const char *edges, uint32_t flags, uint32_t meet) {
    assert_true(index < graph.block_count);
    const gpuchar_sass_block *block = &graph.blocks[index];
    char text[64] = "";
    for (uint32_t e = 0; e < block->edges; e++)
        sprintf(text + strlen(text), e ? " %u" : "%u", graph.edges[block->first_edge + e]);
    assert_int_equal(block->first, first);
    assert_string_equal(text, edges);
    assert_int_equal(block->flags, flags);
    assert_int_equal(block->post_dominator, meet);
}

#define REACHED GPUCHAR_SASS_BLOCK_REACHABLE
#define LEAVES GPUCHAR_SASS_BLOCK_LEAVES
#define ENDLESS GPUCHAR_SASS_BLOCK_ENDLESS
#define HEAD GPUCHAR_SASS_BLOCK_LOOP_HEAD
#define NONE GPUCHAR_SASS_NO_BLOCK

static const uint32_t ARCHS[] = {70, 75, 80, 86, 90, 100, 120};

/* if, else, behind it */
static void test_diamond(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ARCHS / sizeof ARCHS[0]; i++) {
        begin(ARCHS[i]);
        code_bra(parts, P0, 3); /* 0 */
        code_nop(parts);
        code_bra(parts, CODE_PT, 4);
        code_nop(parts); /* 3 */
        code_exit(parts, CODE_PT);
        code_bra(parts, CODE_PT, 5); /* not reached */
        build();
        assert_int_equal(graph.block_count, 5);
        check_block(0, 0, "2 1", REACHED, 3);
        check_block(1, 1, "3", REACHED, 3);
        check_block(2, 3, "3", REACHED, 3);
        check_block(3, 4, "", REACHED | LEAVES, NONE);
        check_block(4, 5, "4", 0, NONE);
        assert_int_equal(graph.blocks[0].dominator, NONE);
        assert_int_equal(graph.blocks[3].dominator, 0);
        assert_int_equal(graph.blocks[4].dominator, NONE);
        assert_int_equal(graph.blocks[3].pc_bytes, 0x40);
        assert_int_equal(graph.blocks[1].instructions, 2);
        assert_int_equal(graph.edge_count, 5);
        assert_int_equal(graph.loop_count, 0);
        end();
    }
}

static void test_what_makes_a_branch_conditional(void **state) {
    (void)state;
    begin(90);
    code_bra_by(parts, CODE_PT, P0, 2); /* 0: by its second predicate */
    code_nop(parts);
    code_bra_by(parts, CODE_PT, CODE_PT | CODE_NOT, 4); /* 2: never taken, by the second one: may fall through */
    code_nop(parts);
    code_bra(parts, CODE_PT | CODE_NOT, 0);          /* 4: never taken: no branch at all */
    code_exit(parts, CODE_PT | CODE_NOT);            /* 5: nor is this the end */
    const uint32_t at = code_bra(parts, CODE_PT, 8); /* 6: by a uniform predicate */
    code_field(parts, at, 11, 0, 0x547);
    code_field(parts, at, 91, 91, 1);
    code_field(parts, at, 27, 24, 2);
    code_nop(parts);
    const uint32_t div = code_bra(parts, CODE_PT, 10); /* 8: .DIV */
    code_field(parts, div, 33, 32, 2);
    code_nop(parts);
    code_exit(parts, CODE_PT); /* 10 */
    build();
    assert_int_equal(graph.block_count, 9);
    check_block(0, 0, "2 1", REACHED, 2);
    check_block(1, 1, "2", REACHED, 2);
    check_block(2, 2, "4 3", REACHED, 4);
    check_block(3, 3, "4", REACHED, 4);
    check_block(4, 4, "6 5", REACHED, 6);
    assert_int_equal(graph.blocks[4].instructions, 3);
    check_block(6, 8, "8 7", REACHED, 8);
    end();
}

static void test_guarded_ways_out_go_on(void **state) {
    (void)state;
    begin(80);
    code_exit(parts, P0);           /* 0 */
    code_add(parts, 0x950, NOT_P0); /* 1: RET */
    code_add(parts, 0x95b, P0);     /* 2: KILL */
    const uint32_t exit = code_exit(parts, CODE_PT);
    code_field(parts, exit, 90, 87, 3); /* 3: by the second predicate */
    code_add(parts, 0x950, CODE_PT);    /* 4 */
    code_nop(parts);                    /* 5 */
    build();
    assert_int_equal(graph.block_count, 6);
    for (uint32_t i = 0; i < 4; i++) check_block(i, i, (const char *[]){"1", "2", "3", "4"}[i], REACHED | LEAVES, NONE);
    check_block(4, 4, "", REACHED | LEAVES, NONE);
    /* Behind the last instruction the function is at its end. */
    check_block(5, 5, "", LEAVES, NONE);
    end();
}

static void test_end_without_exit(void **state) {
    (void)state;
    begin(90);
    code_bra(parts, P0, 0); /* the last one falls off the end */
    build();
    assert_int_equal(graph.block_count, 1);
    check_block(0, 0, "0", REACHED | LEAVES | HEAD, NONE);
    assert_int_equal(graph.loop_count, 1);
    end();
}

/* A branch to what follows is one edge. */
static void test_branch_to_the_next(void **state) {
    (void)state;
    begin(90);
    code_bra(parts, P0, 1);
    code_exit(parts, CODE_PT);
    build();
    check_block(0, 0, "1", REACHED, 1);
    end();
}

static void test_indirect(void **state) {
    (void)state;
    const uint32_t targets[] = {4, 2, 4, 6, 2, 2};
    for (uint32_t guarded = 0; guarded < 2; guarded++) {
        begin(86);
        code_nop(parts);
        code_brx(parts, guarded ? P0 : CODE_PT, 4); /* 1 */
        for (uint32_t i = 0; i < 3; i++) {
            code_nop(parts);
            code_exit(parts, CODE_PT);
        }
        parts->info[parts->info_count++] = 0x00001703; /* another attribute, without a payload */
        code_table(parts, 1, targets, 6);
        build();
        assert_int_equal(graph.block_count, 4);
        /* Each target once, in the table's order; what falls through is block 1, and there already. */
        check_block(0, 0, "2 1 3", REACHED, NONE);
        end();
    }
}

static void test_guarded_indirect_falls_through(void **state) {
    (void)state;
    const uint32_t targets[] = {2};
    begin(100);
    code_brx(parts, P0, 4);
    code_exit(parts, CODE_PT);
    code_exit(parts, CODE_PT);
    code_table(parts, 0, targets, 1);
    build();
    check_block(0, 0, "2 1", REACHED, NONE);
    end();
}

static void test_calls(void **state) {
    (void)state;
    begin(80);
    code_call(parts, P0, 2);      /* 0: into its own function: a branch */
    code_call(parts, CODE_PT, 6); /* 1: into another one: goes on */
    code_call(parts, CODE_PT, 4); /* 2: a branch that is always taken */
    code_exit(parts, CODE_PT);
    code_nop(parts); /* 4 */
    code_exit(parts, CODE_PT);
    code_add(parts, 0x950, CODE_PT); /* 6: the callee */
    parts->functions[0].name = "callee";
    parts->functions[0].at = 0x60;
    parts->function_count = 1;
    build();
    assert_int_equal(graph.block_count, 5);
    check_block(0, 0, "2 1", REACHED, 2);
    check_block(1, 1, "2", REACHED, 2);
    check_block(2, 2, "4", REACHED, 4);
    check_block(3, 3, "", LEAVES, NONE);
    gpuchar_sass_graph_free(&graph);
    assert_int_equal(gpuchar_sass_graph_get(sass, 1, &graph), GPUCHAR_OK);
    assert_int_equal(graph.block_count, 1);
    check_block(0, 0, "", REACHED | LEAVES, NONE);
    assert_int_equal(graph.blocks[0].pc_bytes, 0x60);
    end();
}

/* It is not a loop, and what stands behind the call is reached. */
static void test_a_function_that_calls_itself(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ARCHS / sizeof ARCHS[0]; i++) {
        begin(ARCHS[i]);
        code_exit(parts, P0);
        code_call(parts, CODE_PT, 0);
        code_exit(parts, CODE_PT);
        build();
        assert_int_equal(graph.block_count, 2);
        check_block(0, 0, "1", REACHED | LEAVES, NONE);
        check_block(1, 1, "", REACHED | LEAVES, NONE);
        assert_int_equal(graph.loop_count, 0);
        end();
    }
}

static void test_collective_wait(void **state) {
    (void)state;
    begin(90);
    const uint32_t wait = code_add(parts, 0x348, CODE_PT);
    code_field(parts, wait, 86, 82, 0x10); /* .COLLECTIVE */
    code_aim(parts, wait, 3);
    code_nop(parts);
    code_exit(parts, CODE_PT);
    code_exit(parts, CODE_PT); /* 3 */
    const uint32_t all = code_add(parts, 0x948, CODE_PT);
    code_field(parts, all, 86, 82, 0); /* .ALL: no branch */
    build();
    check_block(0, 0, "2 1", REACHED, NONE);
    assert_int_equal(graph.blocks[3].instructions, 1);
    end();
}

/* ---- loops ---- */

static void check_loop(uint32_t index, uint32_t head, uint32_t parent, uint32_t depth, uint32_t blocks) {
    assert_true(index < graph.loop_count);
    assert_int_equal(graph.loops[index].head, head);
    assert_int_equal(graph.loops[index].parent, parent);
    assert_int_equal(graph.loops[index].depth, depth);
    assert_int_equal(graph.loops[index].blocks, blocks);
}

static void test_nested_loops(void **state) {
    (void)state;
    begin(90);
    code_nop(parts);        /* 0: block 0 */
    code_nop(parts);        /* 1: block 1, outer head */
    code_nop(parts);        /* 2: block 2, inner head */
    code_bra(parts, P0, 2); /* 3: back, once */
    code_bra(parts, P0, 2); /* 4: block 3: back, twice */
    code_bra(parts, P0, 1); /* 5: block 4 */
    code_bra(parts, P0, 6); /* 6: block 5: a loop of one block */
    code_exit(parts, CODE_PT);
    build();
    assert_int_equal(graph.block_count, 7);
    check_block(1, 1, "2", REACHED | HEAD, 2);
    check_block(2, 2, "2 3", REACHED | HEAD, 3);
    check_block(4, 5, "1 5", REACHED, 5);
    check_block(5, 6, "5 6", REACHED | HEAD, 6);
    assert_int_equal(graph.loop_count, 3);
    assert_int_equal(graph.irreducible, 0);
    const uint32_t outer = graph.blocks[1].loop, inner = graph.blocks[2].loop, single = graph.blocks[5].loop;
    check_loop(outer, 1, NONE, 1, 4);
    check_loop(inner, 2, outer, 2, 2);
    check_loop(single, 5, NONE, 1, 1);
    assert_true(outer < inner);
    assert_int_equal(graph.blocks[0].loop, NONE);
    assert_int_equal(graph.blocks[3].loop, inner);
    assert_int_equal(graph.blocks[4].loop, outer);
    assert_int_equal(graph.blocks[6].loop, NONE);
    end();
}

/* Two blocks that lead to each other, entered at either. */
static void test_irreducible(void **state) {
    (void)state;
    begin(90);
    code_bra(parts, P0, 3);
    code_nop(parts); /* 1 */
    code_bra(parts, 1, 5);
    code_nop(parts);        /* 3 */
    code_bra(parts, P0, 1); /* 4 */
    code_exit(parts, CODE_PT);
    build();
    check_block(0, 0, "2 1", REACHED, 3);
    check_block(1, 1, "3 2", REACHED, 3);
    check_block(2, 3, "1 3", REACHED, 3);
    assert_int_equal(graph.loop_count, 0);
    assert_int_equal(graph.irreducible, 1);
    end();
}

static void test_endless_loops(void **state) {
    (void)state;
    begin(90);
    code_bra(parts, P0, 4); /* 0 */
    code_nop(parts);        /* 1: a loop without end */
    code_bra(parts, 1, 1);
    code_bra(parts, CODE_PT, 1); /* 3 */
    code_exit(parts, CODE_PT);   /* 4 */
    build();
    check_block(0, 0, "3 1", REACHED, NONE);
    check_block(1, 1, "1 2", REACHED | HEAD, 2);
    check_block(2, 3, "1", REACHED | ENDLESS, NONE);
    check_block(3, 4, "", REACHED | LEAVES, NONE);
    assert_int_equal(graph.loop_count, 1);
    end();
}

/* What leads into a loop without end is no part of it, though it stands behind it in the code. */
static void test_the_way_into_an_endless_loop(void **state) {
    (void)state;
    begin(90);
    code_bra(parts, P0, 3); /* 0 */
    code_nop(parts);
    code_bra(parts, CODE_PT, 1); /* 1: the loop */
    code_nop(parts);             /* 3: leads into it */
    code_bra(parts, CODE_PT, 1);
    build();
    check_block(0, 0, "2 1", REACHED, 1);
    check_block(1, 1, "1", REACHED | ENDLESS | HEAD, NONE);
    check_block(2, 3, "1", REACHED, 1);
    end();
}

/* Two loops without end, of which the first leads to the second: only that one is where it ends. */
static void test_endless_loops_one_behind_the_other(void **state) {
    (void)state;
    begin(90);
    code_bra(parts, P0, 3); /* 0: goes on to the second */
    code_bra(parts, P0, 0); /* 1 */
    code_bra(parts, CODE_PT, 0);
    code_nop(parts); /* 3 */
    code_bra(parts, CODE_PT, 3);
    build();
    check_block(0, 0, "3 1", REACHED | HEAD, 3);
    check_block(1, 1, "0 2", REACHED, 0);
    check_block(2, 2, "0", REACHED, 0);
    check_block(3, 3, "3", REACHED | ENDLESS | HEAD, NONE);
    end();
}

/* ---- what is refused ---- */

static gpuchar_status refused(void) {
    gpuchar_sass *opened = NULL;
    gpuchar_sass_graph got = GPUCHAR_SASS_GRAPH_INIT;
    cubin_image made = cubin_make(parts);
    gpuchar_status status = gpuchar_sass_open(made.bytes, made.size, &opened);
    if (status) assert_null(opened);
    if (!status) status = gpuchar_sass_graph_get(opened, 0, &got);
    assert_true(status < 0);
    assert_string_not_equal(gpuchar_last_error()->message, "");
    assert_true(!got.blocks && !got.edges && !got.loops && !got.block_count);
    gpuchar_sass_close(opened);
    free(made.bytes);
    free(parts);
    return status;
}

static void test_branches_outside(void **state) {
    (void)state;
    const uint32_t outside[] = {2, 1000, 1u << 20};
    for (size_t i = 0; i < 3; i++) {
        begin(90);
        code_bra(parts, P0, outside[i]);
        code_exit(parts, CODE_PT);
        assert_int_equal(refused(), GPUCHAR_E_SASS_FORMAT);
    }
    begin(75);
    const uint32_t before = code_bra(parts, CODE_PT, 0);
    code_field(parts, before, 81, 34, (UINT64_C(1) << 48) - 8); /* one before the first */
    assert_int_equal(refused(), GPUCHAR_E_SASS_FORMAT);
    begin(75);
    const uint32_t inside = code_bra(parts, CODE_PT, 0);
    code_field(parts, inside, 81, 34, 1); /* into the middle of the next */
    code_exit(parts, CODE_PT);
    code_exit(parts, CODE_PT);
    assert_int_equal(refused(), GPUCHAR_E_SASS_FORMAT);
}

static void test_indirect_without_targets(void **state) {
    (void)state;
    const uint32_t targets[] = {1, 9};
    for (uint32_t kind = 0; kind < 4; kind++) {
        begin(90);
        code_brx(parts, CODE_PT, 4);
        code_exit(parts, CODE_PT);
        if (kind == 1) code_table(parts, 1, targets, 1); /* of another branch */
        if (kind == 2) code_table(parts, 0, targets, 0);
        if (kind == 3) code_table(parts, 0, targets, 2); /* one is outside */
        assert_int_equal(refused(), kind == 3 ? GPUCHAR_E_SASS_FORMAT : GPUCHAR_E_SASS_UNKNOWN);
    }
}

static void test_cut_off_tables(void **state) {
    (void)state;
    const uint32_t targets[] = {1, 1, 1};
    for (uint32_t bytes = 4; bytes < 28; bytes++) {
        begin(90);
        code_brx(parts, CODE_PT, 4);
        code_exit(parts, CODE_PT);
        code_table(parts, 0, targets, 3);
        parts->info_bytes = bytes; /* the attribute goes on behind its section */
        assert_int_equal(refused(), GPUCHAR_E_SASS_FORMAT);
    }
    begin(90);
    code_brx(parts, CODE_PT, 4);
    code_exit(parts, CODE_PT);
    code_table(parts, 0, targets, 3);
    parts->info[3] = 0x40000001; /* a number of targets whose size wraps around */
    assert_int_equal(refused(), GPUCHAR_E_SASS_FORMAT);
}

static void test_malformed_cubins(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 6; kind++) {
        begin(90);
        code_nop(parts);
        code_exit(parts, CODE_PT);
        parts->function_count = kind < 3;
        parts->functions[0].name = "callee";
        parts->functions[0].at = kind == 0 ? 0x20 : kind == 1 ? 0x18 : UINT64_MAX;
        if (kind == 3) parts->cut_bytes = 8;
        parts->no_symbols = kind == 4;
        if (kind == 5) parts->info_link = CUBIN_STRINGS;
        assert_int_equal(refused(), GPUCHAR_E_SASS_FORMAT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diamond),
        cmocka_unit_test(test_what_makes_a_branch_conditional),
        cmocka_unit_test(test_guarded_ways_out_go_on),
        cmocka_unit_test(test_end_without_exit),
        cmocka_unit_test(test_branch_to_the_next),
        cmocka_unit_test(test_indirect),
        cmocka_unit_test(test_guarded_indirect_falls_through),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_a_function_that_calls_itself),
        cmocka_unit_test(test_collective_wait),
        cmocka_unit_test(test_nested_loops),
        cmocka_unit_test(test_irreducible),
        cmocka_unit_test(test_endless_loops),
        cmocka_unit_test(test_the_way_into_an_endless_loop),
        cmocka_unit_test(test_endless_loops_one_behind_the_other),
        cmocka_unit_test(test_branches_outside),
        cmocka_unit_test(test_indirect_without_targets),
        cmocka_unit_test(test_cut_off_tables),
        cmocka_unit_test(test_malformed_cubins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
