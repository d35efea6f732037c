/* Barrier intervals and the rules that match branches with them, on functions made by hand whose answers are known. */
#include "cubin_writer.h"

#define P0 0u
#define NOT_P0 8u
#define NONE GPUCHAR_SASS_NO_BLOCK

static cubin_parts *parts;
static cubin_image image;
static gpuchar_sass *sass;
static gpuchar_sass_reconvergence result;

static void begin(uint32_t arch) {
    parts = cubin_begin(arch);
}

static void read_result(void) {
    sass = cubin_open(parts, &image);
    result = gpuchar_sass_reconvergence_make();
    assert_int_equal(gpuchar_sass_reconvergence_get(sass, 0, &result), GPUCHAR_OK);
}

static void end(void) {
    gpuchar_sass_reconvergence_free(&result);
    gpuchar_sass_close(sass);
    free(image.bytes);
    free(parts);
}

/* A predicate that differs between threads: from a loaded value. */
static void code_divide(void) {
    const uint32_t load = code_add(parts, 0x981, CODE_PT);
    code_field(parts, load, 23, 16, 2);
    code_field(parts, load, 75, 72, 8);
    const uint32_t compare = code_add(parts, 0x20c, CODE_PT);
    code_field(parts, compare, 31, 24, 2);
    code_field(parts, compare, 39, 32, CODE_RZ);
    code_field(parts, compare, 78, 76, 2);
    code_field(parts, compare, 83, 81, 0);
}

static const gpuchar_sass_branch *branch_at(uint32_t instruction) {
    for (size_t i = 0; i < result.branch_count; i++)
        if (result.branches[i].instruction == instruction) return &result.branches[i];
    fail_msg("no branch at %u", instruction);
    return NULL;
}

/* The placements by rule, as letters: n none, = at, b before, a after, x aside. */
static void check_branch(uint32_t instruction, const char *placements, uint32_t interval, uint32_t match,
                         uint32_t partial_joins, uint32_t depth) {
    const gpuchar_sass_branch *branch = branch_at(instruction);
    char text[6] = "";
    for (uint32_t rule = 0; rule < GPUCHAR_SASS_RULES; rule++) text[rule] = "n=bax"[branch->placement[rule]];
    assert_string_equal(text, placements);
    assert_int_equal(branch->interval, interval);
    assert_int_equal(branch->match, match);
    assert_int_equal(branch->partial_joins, partial_joins);
    assert_int_equal(branch->depth, depth);
    assert_int_equal((branch->flags & GPUCHAR_SASS_BRANCH_OUTSIDE) != 0, interval == NONE);
    assert_true(branch->flags & GPUCHAR_SASS_BRANCH_DIVERGENT);
    const uint64_t joins = match == NONE ? GPUCHAR_SASS_NO_PC : result.intervals[match].bsync_bytes;
    assert_true(branch->bsync_bytes == joins);
}

static void check_interval(uint32_t index, uint32_t parent, uint32_t depth, uint32_t breaks, uint32_t flags) {
    assert_true(index < result.interval_count);
    assert_int_equal(result.intervals[index].parent, parent);
    assert_int_equal(result.intervals[index].depth, depth);
    assert_int_equal(result.intervals[index].breaks, breaks);
    assert_int_equal(result.intervals[index].flags, flags);
}

#define REACHED GPUCHAR_SASS_INTERVAL_REACHABLE
#define MATCHED GPUCHAR_SASS_INTERVAL_MATCHED
#define CROSSED GPUCHAR_SASS_INTERVAL_CROSSED

static const uint32_t ARCHS[] = {75, 80, 90, 100, 120};

/* if/else inside a barrier: its threads meet where its ways do */
static void test_at(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ARCHS / sizeof ARCHS[0]; i++) {
        begin(ARCHS[i]);
        code_divide();               /* 0, 1 */
        code_bssy(parts, 5, 6);      /* 2 */
        code_bra(parts, P0, 5);      /* 3 */
        code_bra(parts, CODE_PT, 6); /* 4 */
        code_nop(parts);             /* 5 */
        code_bsync(parts, 5);        /* 6 */
        code_exit(parts, CODE_PT);
        read_result();
        assert_int_equal(result.branch_count, 1);
        assert_int_equal(result.interval_count, 1);
        check_branch(3, "=====", 0, 0, 0, 1);
        check_interval(0, NONE, 1, 0, REACHED | MATCHED);
        assert_int_equal(result.branches[0].meet_bytes, 0x60);
        assert_int_equal(result.intervals[0].barrier, 5);
        assert_int_equal(result.divergent, 1);
        assert_int_equal(result.depth, 1);
        assert_int_equal(result.live_barriers, 1);
        assert_int_equal(result.unmatched, 0);
        for (uint32_t rule = 0; rule < GPUCHAR_SASS_RULES; rule++)
            assert_int_equal(result.placed[GPUCHAR_SASS_PLACED(rule, GPUCHAR_SASS_PLACED_AT)], 1);
        assert_int_equal(result.intervals[0].innermost[GPUCHAR_SASS_PLACED_AT], 1);
        assert_int_equal(result.intervals[0].primary[GPUCHAR_SASS_PLACED_AT], 1);
        end();
    }
}

static void test_outside(void **state) {
    (void)state;
    begin(90);
    code_divide();
    code_bra(parts, P0, 4); /* 2 */
    code_nop(parts);
    code_exit(parts, CODE_PT);
    read_result();
    check_branch(2, "nnnnn", NONE, NONE, 0, 0);
    assert_int_equal(result.placed[GPUCHAR_SASS_PLACED(GPUCHAR_SASS_RULE_PRIMARY, GPUCHAR_SASS_PLACED_NONE)], 1);
    assert_int_equal(result.depth, 0);
    end();
}

/* The ways meet, go on together, and wait only later. */
static void test_after(void **state) {
    (void)state;
    begin(90);
    code_divide();          /* 0, 1 */
    code_bssy(parts, 0, 8); /* 2 */
    code_bra(parts, P0, 5); /* 3 */
    code_nop(parts);
    code_nop(parts);        /* 5: they meet */
    code_bra(parts, P0, 8); /* 6: a second one, which waits at once */
    code_nop(parts);
    code_bsync(parts, 0); /* 8 */
    code_exit(parts, CODE_PT);
    read_result();
    check_branch(3, "aaaaa", 0, 0, 0, 1);
    check_branch(6, "=====", 0, 0, 0, 1);
    assert_int_equal(branch_at(3)->meet_bytes, 0x50);
    assert_int_equal(result.intervals[0].primary[GPUCHAR_SASS_PLACED_AFTER], 1);
    assert_int_equal(result.intervals[0].innermost[GPUCHAR_SASS_PLACED_AT], 1);
    end();
}

/*
 * An inner barrier that some threads leave by BREAK, in a way that does not come back to its BSYNC: a partial join. By the
 * innermost rule the threads meet before the branch's ways do.
 */
static void test_before_is_a_partial_join(void **state) {
    (void)state;
    begin(100);
    code_divide();                /* 0, 1 */
    code_bssy(parts, 0, 11);      /* 2: outer */
    code_bssy(parts, 1, 9);       /* 3: inner */
    code_bra(parts, P0, 8);       /* 4 */
    code_break(parts, NOT_P0, 1); /* 5 */
    code_bra(parts, NOT_P0, 10);  /* 6: leaves the inner one */
    code_nop(parts);
    code_nop(parts);      /* 8 */
    code_bsync(parts, 1); /* 9 */
    code_nop(parts);      /* 10 */
    code_bsync(parts, 0); /* 11 */
    code_exit(parts, CODE_PT);
    read_result();
    /* 10 and 11 are one block: the outer one waits at the immediate post-dominator. */
    check_branch(4, "=b==b", 1, 0, 1, 2);
    check_branch(6, "=b==b", 1, 0, 1, 2);
    check_interval(0, NONE, 1, 0, REACHED | MATCHED);
    check_interval(1, 0, 2, 1, REACHED | MATCHED);
    assert_int_equal(result.depth, 2);
    assert_int_equal(result.live_barriers, 2);
    /* The BREAK belongs to the inner one; the match of both is the outer one. */
    assert_false(branch_at(4)->flags & GPUCHAR_SASS_BRANCH_BROKEN);
    assert_int_equal(result.intervals[1].innermost[GPUCHAR_SASS_PLACED_BEFORE], 2);
    assert_int_equal(result.intervals[0].primary[GPUCHAR_SASS_PLACED_AT], 2);
    end();
}

/* The BSYNC of the interval around it is on a way that the branch's ways do not come to: neither above nor below. */
static void test_aside(void **state) {
    (void)state;
    begin(90);
    code_divide();              /* 0, 1 */
    code_bra(parts, NOT_P0, 7); /* 2: to the BSYNC without coming by */
    code_bssy(parts, 2, 7);     /* 3 */
    code_bra(parts, P0, 6);     /* 4 */
    code_nop(parts);
    code_bra(parts, CODE_PT, 8); /* 6: leaves */
    code_bsync(parts, 2);        /* 7 */
    code_nop(parts);             /* 8: but 7 does not lead here alone */
    code_exit(parts, CODE_PT);
    read_result();
    /* 4 meets at 6, which 7 neither follows on every way nor comes before. */
    check_branch(4, "nxxnx", 0, NONE, 1, 1);
    check_branch(2, "nnnnb", NONE, NONE, 0, 0);
    end();
}

static void test_loop_with_breaks(void **state) {
    (void)state;
    begin(90);
    code_divide();            /* 0, 1 */
    code_bssy(parts, 3, 8);   /* 2 */
    code_bssy(parts, 3, 6);   /* 3: the same register again, inside; the loop's head */
    code_break(parts, P0, 3); /* 4: of the inner one */
    code_bra(parts, P0, 6);   /* 5 */
    code_bsync(parts, 3);     /* 6 */
    code_break(parts, P0, 3); /* 7: of the outer one */
    code_bsync(parts, 3);     /* 8 */
    code_bra(parts, P0, 3);   /* 9: back */
    code_break(parts, P0, 3); /* 10: of none */
    code_exit(parts, CODE_PT);
    read_result();
    check_interval(0, NONE, 1, 1, REACHED | MATCHED);
    check_interval(1, 0, 2, 1, REACHED | MATCHED);
    assert_int_equal(result.live_barriers, 1);
    assert_int_equal(result.depth, 2);
    check_branch(9, "nnnnn", NONE, NONE, 0, 0);
    assert_true(branch_at(9)->flags & GPUCHAR_SASS_BRANCH_BACK);
    assert_int_equal(result.placed_back[GPUCHAR_SASS_PLACED(GPUCHAR_SASS_RULE_PRIMARY, GPUCHAR_SASS_PLACED_NONE)], 1);
    assert_int_equal(result.divergent, result.branch_count);
    end();
}

static void test_broken_flag(void **state) {
    (void)state;
    begin(90);
    code_divide();
    code_bssy(parts, 0, 6);   /* 2 */
    code_bra(parts, P0, 5);   /* 3 */
    code_break(parts, P0, 0); /* 4 */
    code_nop(parts);
    code_bsync(parts, 0); /* 6 */
    code_exit(parts, CODE_PT);
    read_result();
    assert_true(branch_at(3)->flags & GPUCHAR_SASS_BRANCH_BROKEN);
    end();
}

static void test_crossing(void **state) {
    (void)state;
    begin(90);
    code_divide();           /* 0, 1 */
    code_bssy(parts, 0, 14); /* 2: A, around all */
    code_bssy(parts, 1, 8);  /* 3: B */
    code_bssy(parts, 2, 11); /* 4: C crosses B */
    code_bssy(parts, 3, 6);  /* 5: D inside both */
    code_bsync(parts, 3);
    code_nop(parts);
    code_bsync(parts, 1);    /* 8 */
    code_bssy(parts, 4, 10); /* 9: E, in A and C, behind B */
    code_bsync(parts, 4);    /* 10 */
    code_bsync(parts, 2);    /* 11 */
    code_bra(parts, P0, 14); /* 12 */
    code_nop(parts);
    code_bsync(parts, 0); /* 14 */
    code_exit(parts, CODE_PT);
    read_result();
    check_interval(0, NONE, 1, 0, REACHED | MATCHED);
    check_interval(1, 0, 2, 0, REACHED | MATCHED | CROSSED);
    check_interval(2, 1, 3, 0, REACHED | MATCHED | CROSSED);
    check_interval(3, 2, 4, 0, REACHED | MATCHED);
    check_interval(4, 2, 3, 0, REACHED | MATCHED);
    assert_int_equal(result.depth, 4);
    assert_int_equal(result.live_barriers, 4);
    check_branch(12, "=====", 0, 0, 0, 1);
    end();
}

/* One that begins inside two others and ends behind both crosses both. */
static void test_crossing_two(void **state) {
    (void)state;
    begin(90);
    code_bssy(parts, 0, 5); /* 0 */
    code_bssy(parts, 1, 4); /* 1 */
    code_bssy(parts, 2, 6); /* 2 */
    code_nop(parts);
    code_bsync(parts, 1);
    code_bsync(parts, 0);
    code_bsync(parts, 2);
    code_exit(parts, CODE_PT);
    read_result();
    for (uint32_t i = 0; i < 3; i++) assert_true(result.intervals[i].flags & CROSSED);
    end();
}

/* Targets that lead back, to the next instruction, out of the function, and to something that is no BSYNC. */
static void test_unmatched(void **state) {
    (void)state;
    begin(90);
    code_divide();            /* 0, 1 */
    code_bssy(parts, 0, 0);   /* 2: back */
    code_bssy(parts, 1, 3);   /* 3: itself */
    code_bssy(parts, 2, 500); /* 4: out */
    code_bssy(parts, 3, 9);   /* 5: no BSYNC there */
    code_bssy(parts, 4, 10);  /* 6: another barrier's */
    code_bra(parts, P0, 9);   /* 7 */
    code_nop(parts);          /* 8 */
    code_nop(parts);          /* 9 */
    code_bsync(parts, 5);     /* 10 */
    code_exit(parts, CODE_PT);
    read_result();
    assert_int_equal(result.interval_count, 5);
    assert_int_equal(result.unmatched, 5);
    for (uint32_t i = 0; i < 5; i++) assert_int_equal(result.intervals[i].flags & MATCHED, 0);
    assert_true(result.intervals[0].bsync_bytes == GPUCHAR_SASS_NO_PC);
    assert_true(result.intervals[3].bsync_bytes == 0x90);
    /* Both of the last two are around the branch, and neither can match. */
    check_branch(7, "nnn==", 4, NONE, 2, 2);
    end();
}

/* A barrier that waits in a vector register comes back in another barrier register. */
static void test_spilled(void **state) {
    (void)state;
    for (uint32_t restored = 0; restored < 3; restored++) {
        begin(90);
        code_divide();                          /* 0, 1 */
        code_bssy(parts, 1, 9);                 /* 2 */
        code_barrier(parts, 0x355, CODE_PT, 0); /* 3: BMOV R, B1 */
        code_field(parts, 3, 27, 24, 1);
        code_bssy(parts, 0, 6); /* 4: B0 is somebody else's meanwhile */
        code_bra(parts, P0, 6); /* 5 */
        code_bsync(parts, 0);   /* 6 */
        if (restored == 1)
            code_barrier(parts, 0x356, CODE_PT, 0); /* 7: BMOV B0, R */
        else if (restored == 2)
            code_barrier(parts, 0x356, CODE_PT, 0);
        else
            code_nop(parts);
        if (restored == 2) code_field(parts, 7, 29, 24, 2);
        code_bra(parts, P0, 9); /* 8 */
        code_bsync(parts, 0);   /* 9 */
        code_exit(parts, CODE_PT);
        read_result();
        assert_int_equal(result.unmatched, restored != 1);
        assert_int_equal(result.intervals[0].flags, restored == 1 ? REACHED | MATCHED : REACHED);
        assert_true(result.intervals[0].bsync_bytes == 0x90);
        end();
    }
}

static void test_unreachable(void **state) {
    (void)state;
    begin(90);
    code_divide();
    code_bra(parts, P0, 4); /* 2 */
    code_nop(parts);
    code_exit(parts, CODE_PT); /* 4 */
    code_bssy(parts, 0, 8);    /* 5 */
    code_bra(parts, P0, 7);    /* 6 */
    code_nop(parts);
    code_bsync(parts, 0); /* 8 */
    code_exit(parts, CODE_PT);
    read_result();
    assert_int_equal(result.branch_count, 1);
    check_branch(2, "nnnnn", NONE, NONE, 0, 0);
    check_interval(0, NONE, 1, 0, MATCHED);
    assert_int_equal(result.depth, 0);
    assert_int_equal(result.live_barriers, 0);
    end();
}

/* Twenty deep, on sixteen registers. */
static void test_depth(void **state) {
    (void)state;
    begin(120);
    code_divide();
    for (uint32_t i = 0; i < 20; i++) code_bssy(parts, i % 16, 2 + 20 + 2 + 19 - i);
    code_bra(parts, P0, 2 + 20 + 2); /* 22 */
    code_nop(parts);
    for (uint32_t i = 20; i-- > 0;) code_bsync(parts, i % 16);
    code_exit(parts, CODE_PT);
    read_result();
    assert_int_equal(result.depth, 20);
    assert_int_equal(result.live_barriers, 16);
    check_branch(22, "=====", 19, 19, 0, 20);
    for (uint32_t i = 0; i < 20; i++) check_interval(i, i ? i - 1 : NONE, i + 1, 0, REACHED | MATCHED);
    end();
}

/* From sm_100 on barriers have classes. */
static void test_classes(void **state) {
    (void)state;
    begin(100);
    for (uint32_t i = 0; i < 4; i++) code_field(parts, code_bssy(parts, i, 8 - i - 1), 73, 72, i);
    for (uint32_t i = 4; i-- > 0;) code_bsync(parts, i);
    code_exit(parts, CODE_PT);
    read_result();
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(result.intervals[i].barrier_class, i);
    assert_int_equal(result.unmatched, 0);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at),           cmocka_unit_test(test_outside),
        cmocka_unit_test(test_after),        cmocka_unit_test(test_before_is_a_partial_join),
        cmocka_unit_test(test_aside),        cmocka_unit_test(test_loop_with_breaks),
        cmocka_unit_test(test_broken_flag),  cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_crossing_two), cmocka_unit_test(test_unmatched),
        cmocka_unit_test(test_spilled),      cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_depth),        cmocka_unit_test(test_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
