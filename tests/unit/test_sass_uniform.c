/* Which branches are told to go the same way in all threads, on functions made by hand whose answers are known. */
#include "cubin_writer.h"

static cubin_parts *parts;
static uint32_t arch;

static void begin(void) {
    parts = cubin_begin(arch);
}

/* ---- instructions ---- */

static uint32_t put(uint32_t opcode, uint32_t guard, uint32_t to, uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t at = code_add(parts, opcode, guard);
    code_field(parts, at, 23, 16, to);
    code_field(parts, at, 31, 24, a);
    code_field(parts, at, 63, 32, b);
    code_field(parts, at, 71, 64, c);
    code_field(parts, at, 80, 77, 7);
    return at;
}

#define RZ CODE_RZ
#define PT CODE_PT

static void move(uint32_t to, uint32_t value) {
    put(0x802, PT, to, 0, value, 0);
}
static void copy(uint32_t to, uint32_t from) {
    put(0x202, PT, to, 0, from, 0);
}
static void add(uint32_t to, uint32_t a, uint32_t b) {
    put(0x210, PT, to, a, b, RZ);
}
static void special(uint32_t to, uint32_t which) {
    code_field(parts, put(0x919, PT, to, 0, 0, 0), 79, 72, which);
}
#define TID 0x21
#define BLOCK 0x25

/* size: 4 for 32 bits, 5 for 64, 6 for 128 */
static void load(uint32_t to, uint32_t size) {
    code_field(parts, put(0x981, PT, to, 30, 0, 0), 75, 72, size << 1);
}
static void parameter(uint32_t to, uint32_t offset, uint32_t size) {
    code_field(parts, put(0xb82, PT, to, RZ, offset << 6, 0), 75, 72, size << 1);
}

/* predicate = a is b, or not (b an immediate), under a guard */
static uint32_t compare_under(uint32_t guard, uint32_t predicate, uint32_t a, uint32_t b) {
    const uint32_t at = put(0x80c, guard, 0, a, b, 0);
    code_field(parts, at, 79, 72, 0x20);
    code_field(parts, at, 83, 81, predicate);
    return at;
}
static uint32_t compare(uint32_t predicate, uint32_t a) {
    return compare_under(PT, predicate, a, 0);
}

/* A condition without else of one instruction, which code_aim ends. */
static uint32_t unless(uint32_t predicate) {
    return code_bra(parts, predicate, parts->count + 1);
}
static void end_unless(uint32_t branch) {
    code_aim(parts, branch, parts->count);
}

/* Ends the function; what is told of the branch at an index: 'u' uniform by its data, 'f' by its form, 'd' not. */
static char told(uint32_t branch) {
    cubin_image image;
    code_exit(parts, PT);
    gpuchar_sass *sass = cubin_open(parts, &image);
    gpuchar_sass_reconvergence result = GPUCHAR_SASS_RECONVERGENCE_INIT;
    assert_int_equal(gpuchar_sass_reconvergence_get(sass, 0, &result), GPUCHAR_OK);
    char is = '?';
    for (size_t i = 0; i < result.branch_count; i++) {
        if (result.branches[i].instruction != branch) continue;
        const uint32_t flags = result.branches[i].flags;
        is = flags & GPUCHAR_SASS_BRANCH_UNIFORM_DATA ? 'u' : flags & GPUCHAR_SASS_BRANCH_UNIFORM_FORM ? 'f' : 'd';
    }
    gpuchar_sass_reconvergence_free(&result);
    gpuchar_sass_close(sass);
    free(image.bytes);
    free(parts);
    return is;
}

/* By predicate 0, with something to skip. */
static char told_of_p0(void) {
    const uint32_t branch = code_bra(parts, 0, parts->count + 2);
    code_nop(parts);
    return told(branch);
}

/* ---- where values come from ---- */

static void test_sources(void **state) {
    (void)state;
    begin();
    parameter(4, 0x160, 4);
    compare(0, 4);
    assert_int_equal(told_of_p0(), 'u');
    begin();
    special(4, BLOCK);
    add(5, 4, 4);
    compare(0, 5);
    assert_int_equal(told_of_p0(), 'u');
    begin();
    special(4, TID);
    compare(0, 4);
    assert_int_equal(told_of_p0(), 'd');
    begin();
    special(4, TID);
    special(5, BLOCK);
    add(6, 4, 5);
    copy(7, 6);
    compare(0, 7);
    assert_int_equal(told_of_p0(), 'd');
    begin();
    load(4, 4);
    compare(0, 4);
    assert_int_equal(told_of_p0(), 'd');
    begin(); /* what a caller left: arguments of functions, and of nobody */
    compare(0, 4);
    assert_int_equal(told_of_p0(), 'd');
    begin();
    assert_int_equal(told_of_p0(), 'd');
    begin(); /* a uniform register, in the place of b and in that of c */
    put(0x1c10, PT, 4, RZ, 6, RZ);
    put(0x1e24, PT, 5, RZ, 6, RZ);
    add(6, 4, 5);
    compare(0, 6);
    assert_int_equal(told_of_p0(), 'u');
    begin(); /* a constant at a place that differs */
    special(4, TID);
    code_field(parts, put(0xb82, PT, 5, 4, 0x160 << 6, 0), 75, 72, 8);
    compare(0, 5);
    assert_int_equal(told_of_p0(), 'd');
}

/* What is written in several registers. */
static void test_pairs(void **state) {
    (void)state;
    for (uint32_t wide = 0; wide < 6; wide++) {
        for (uint32_t at = 0; at < 5; at++) {
            begin();
            for (uint32_t r = 4; r < 9; r++) move(r, 1);
            special(9, TID);
            if (wide < 3) load(4, 4 + wide);             /* 1, 2, 4 registers */
            if (wide == 3) put(0x225, PT, 4, 9, RZ, RZ); /* a wide product: 2 */
            if (wide == 4) put(0x227, PT, 4, 9, RZ, RZ); /* its upper half: 1 */
            if (wide == 5) put(0x224, PT, 4, 9, RZ, RZ);
            compare(0, 4 + at);
            const uint32_t written = (const uint32_t[]){1, 2, 4, 2, 1, 1}[wide];
            assert_int_equal(told_of_p0(), at < written ? 'd' : 'u');
        }
    }
    for (uint32_t upper = 0; upper < 2; upper++) { /* the pair that is added */
        for (uint32_t opcode = 0x225; opcode <= 0x227; opcode += 2) {
            begin();
            move(4, 1);
            move(5, 1);
            special(4 + upper, TID);
            put(opcode, PT, 6, RZ, RZ, 4);
            compare(0, 6);
            assert_int_equal(told_of_p0(), 'd');
        }
    }
    begin(); /* one of them is written again */
    load(4, 6);
    move(6, 1);
    compare(0, 6);
    assert_int_equal(told_of_p0(), 'u');
}

static void test_predicates(void **state) {
    (void)state;
    for (uint32_t second = 0; second < 2; second++) { /* a compare has two results */
        begin();
        special(4, TID);
        code_field(parts, compare(second ? PT : 0, 4), 86, 84, second ? 0 : PT);
        assert_int_equal(told_of_p0(), 'd');
    }
    begin(); /* it goes by another predicate */
    special(4, TID);
    compare(1, 4);
    move(5, 0);
    code_field(parts, compare(0, 5), 89, 87, 1);
    assert_int_equal(told_of_p0(), 'd');
    begin(); /* SEL */
    special(4, TID);
    compare(1, 4);
    move(5, 0);
    code_field(parts, put(0x207, PT, 6, 5, 5, 0), 90, 87, 1);
    compare(0, 6);
    assert_int_equal(told_of_p0(), 'd');
    begin(); /* all predicates at once */
    move(5, 0);
    compare(0, 5);
    special(4, TID);
    put(0x804, PT, 0, 4, 0x7f, 0);
    assert_int_equal(told_of_p0(), 'd');
    begin(); /* the second predicate of a branch */
    move(5, 0);
    compare(0, 5);
    special(4, TID);
    compare(1, 4);
    const uint32_t branch = code_bra_by(parts, 0, 1, parts->count + 2);
    code_nop(parts);
    assert_int_equal(told(branch), 'd');
}

static void test_guarded_writes(void **state) {
    (void)state;
    for (uint32_t differs = 0; differs < 2; differs++) {
        begin(); /* a constant, in some threads only */
        special(4, differs ? TID : BLOCK);
        compare(1, 4);
        move(5, 1);
        put(0x802, 1, 5, 0, 2, 0);
        compare(0, 5);
        assert_int_equal(told_of_p0(), differs ? 'd' : 'u');
        begin(); /* the old value may stay */
        special(5, differs ? TID : BLOCK);
        parameter(4, 0x160, 4);
        compare(1, 4);
        put(0x802, 1, 5, 0, 2, 0);
        compare(0, 5);
        assert_int_equal(told_of_p0(), differs ? 'd' : 'u');
    }
    begin(); /* never written: the old value stays */
    special(5, TID);
    put(0x802, PT | CODE_NOT, 5, 0, 2, 0);
    compare(0, 5);
    assert_int_equal(told_of_p0(), 'd');
}

/* ---- where threads are apart ---- */

static void test_merged_values(void **state) {
    (void)state;
    for (uint32_t differs = 0; differs < 2; differs++) {
        begin(); /* one way or the other */
        special(4, differs ? TID : BLOCK);
        compare(1, 4);
        move(5, 1);
        const uint32_t branch = unless(1);
        move(5, 2);
        end_unless(branch);
        compare(0, 5);
        assert_int_equal(told_of_p0(), differs ? 'd' : 'u');
    }
    begin(); /* another register is as it was */
    special(4, TID);
    compare(1, 4);
    move(5, 1);
    const uint32_t branch = unless(1);
    move(6, 2);
    end_unless(branch);
    compare(0, 5);
    assert_int_equal(told_of_p0(), 'u');
}

/* for (r5 = 0; r5 != bound; r5++); the branch that goes back, and one behind the loop that goes by the counter. */
static void put_loop(uint32_t bound_from, uint32_t *back, uint32_t *behind) {
    begin();
    special(4, bound_from);
    move(5, 0);
    const uint32_t head = parts->count;
    put(0x810, PT, 5, 5, 1, RZ);
    put(0x20c, PT, 0, 5, 4, 0);
    code_field(parts, parts->count - 1, 79, 72, 0x50);
    code_field(parts, parts->count - 1, 83, 81, 1);
    *back = code_bra(parts, 1, head);
    compare(0, 5);
    *behind = code_bra(parts, 0, parts->count + 2);
    code_nop(parts);
}

static void test_loops(void **state) {
    (void)state;
    uint32_t back, behind;
    put_loop(BLOCK, &back, &behind);
    assert_int_equal(told(back), 'u');
    put_loop(BLOCK, &back, &behind);
    assert_int_equal(told(behind), 'u');
    put_loop(TID, &back, &behind);
    assert_int_equal(told(back), 'd');
    put_loop(TID, &back, &behind); /* the counter holds when each thread left */
    assert_int_equal(told(behind), 'd');
}

/* A predicate of constants that is only made where some threads are. */
static void test_a_branch_inside_another(void **state) {
    (void)state;
    for (uint32_t made_inside = 0; made_inside < 2; made_inside++) {
        begin();
        special(4, TID);
        compare(1, 4);
        parameter(5, 0x160, 4);
        if (!made_inside) compare(0, 5);
        const uint32_t outer = unless(1);
        if (made_inside) compare(0, 5);
        const uint32_t inner = code_bra(parts, 0, parts->count + 2);
        code_nop(parts);
        end_unless(outer);
        assert_int_equal(told(inner), made_inside ? 'd' : 'u');
    }
}

static void test_calls_change_all(void **state) {
    (void)state;
    begin();
    move(5, 0);
    compare(0, 5);
    code_field(parts, code_call(parts, PT, 0), 91, 91, 0);
    assert_int_equal(told_of_p0(), 'd');
    begin();
    move(5, 0);
    code_call(parts, PT, 0);
    compare(0, 5);
    assert_int_equal(told_of_p0(), 'd');
}

/* ---- indirect ones, and those that their form tells ---- */

static void test_indirect(void **state) {
    (void)state;
    for (uint32_t which = 0; which < 3; which++) {
        begin();
        move(4, 0);
        move(5, 0);
        if (which) special(3 + which, TID); /* either half of the address */
        const uint32_t branch = code_brx(parts, PT, 4);
        code_exit(parts, PT);
        const uint32_t targets[] = {branch + 1, branch + 2};
        code_table(parts, branch, targets, 2);
        assert_int_equal(told(branch), which ? 'd' : 'u');
    }
}

static void test_forms(void **state) {
    (void)state;
    for (uint32_t condition = 1; condition < 4; condition++) {
        begin();
        const uint32_t branch = code_bra(parts, 0, parts->count + 2);
        code_field(parts, branch, 33, 32, condition);
        code_nop(parts);
        assert_int_equal(told(branch), 'f');
    }
}

/* A uniform predicate or register decides alike for all threads; a predicate of each thread beside it does not. */
static void test_second_predicates(void **state) {
    (void)state;
    for (uint32_t opcode = 0x1547; opcode <= 0x1947 && arch >= 80; opcode += 0x400) {
        for (uint32_t second = 0; second < 2; second++) {
            begin();
            special(4, TID);
            compare(1, 4);
            const uint32_t branch = code_bra(parts, PT, parts->count + 2);
            code_field(parts, branch, 11, 0, opcode & 0xfff);
            code_field(parts, branch, 91, 91, opcode >> 12);
            if (second) code_field(parts, branch, 90, 87, 1); /* P1 */
            code_nop(parts);
            assert_int_equal(told(branch), second ? 'd' : 'f');
        }
    }
}

/* IADD of sm_120 has 32 bits, or 64: bit 73 tells, and only then the registers behind matter. */
static void test_widths(void **state) {
    (void)state;
    for (uint32_t wide = 0; wide < 2 && arch >= 120; wide++) {
        begin();
        parameter(6, 0x160, 4);
        special(7, TID);
        code_field(parts, put(0x235, PT, 6, 6, RZ, 0), 73, 73, wide);
        compare(0, 6);
        assert_int_equal(told_of_p0(), wide ? 'd' : 'u');
    }
}

/* What is never taken is no branch, whatever the end of its block does. */
static void test_never(void **state) {
    (void)state;
    begin();
    special(4, TID);
    compare(0, 4);
    const uint32_t never = code_bra(parts, 0xf, parts->count + 2); /* @!PT */
    code_nop(parts);
    code_bra(parts, 0, parts->count + 2);
    code_nop(parts);
    assert_int_equal(told(never), '?');
}

static const uint32_t ARCHS[] = {75, 80, 90, 100, 120};

static int next_arch(void **state) {
    arch = *(const uint32_t *)*state;
    return 0;
}

#define ON(test, index)                                                                                                \
    { #test ", architecture " #index, test, next_arch, NULL, (void *)&ARCHS[index] }
#define ALL(test) ON(test, 0), ON(test, 1), ON(test, 2), ON(test, 3), ON(test, 4)

int main(void) {
    const struct CMUnitTest tests[] = {
        ALL(test_sources),
        ALL(test_pairs),
        ALL(test_predicates),
        ALL(test_guarded_writes),
        ALL(test_merged_values),
        ALL(test_loops),
        ALL(test_a_branch_inside_another),
        ALL(test_calls_change_all),
        ALL(test_indirect),
        ALL(test_forms),
        ALL(test_second_predicates),
        ALL(test_widths),
        ALL(test_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
