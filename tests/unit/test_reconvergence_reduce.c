/* The study's counts, rates and pairs, from planted instructions, branches and intervals. */
#include <experiments/reconvergence_reduce.h>
#include <experiments/reconvergence_resample.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NONE, AT, BEFORE, AFTER, ASIDE };

static gpuchar_reconvergence_counts count_one(gpuchar_sass_instruction instruction, uint32_t architecture,
                                              bool in_kernel) {
    gpuchar_reconvergence_counts counts = {0};
    gc_study_count_instruction(&instruction, architecture, in_kernel, &counts);
    assert_int_equal(counts.instructions, 1);
    return counts;
}

static gpuchar_sass_instruction branch_of(uint32_t opcode, uint32_t mode) {
    return (gpuchar_sass_instruction){
        .mnemonic = "BRA", .kind = GPUCHAR_SASS_BRANCH, .opcode = opcode, .mode = mode, .guard = 7};
}

static void test_branch_forms(void **state) {
    (void)state;
    assert_int_equal(count_one(branch_of(0x947, 1), 120, true).bra_u, 1);
    assert_int_equal(count_one(branch_of(0x947, 0), 120, true).bra_u, 0);
    assert_int_equal(count_one(branch_of(0x1547, 1), 120, true).bra_uniform_predicate, 1);
    assert_int_equal(count_one(branch_of(0x1547, 1), 120, true).bra_u, 0);
    assert_int_equal(count_one(branch_of(0x1947, 2), 90, true).bra_uniform_register, 1);
    assert_int_equal(count_one(branch_of(0x1947, 2), 90, true).bra_div, 1);
    assert_int_equal(count_one(branch_of(0x947, 3), 75, true).bra_conv, 1);
    gpuchar_sass_instruction call = branch_of(0x944, 0);
    call.mnemonic = "CALL";
    assert_int_equal(count_one(call, 86, true).call_branches, 1);
    assert_int_equal(count_one(call, 86, true).calls, 0);
    call.kind = GPUCHAR_SASS_CALL;
    assert_int_equal(count_one(call, 86, true).calls, 1);
}

static void test_warpsync(void **state) {
    (void)state;
    const struct {
        uint32_t architecture, mode, flags, all, partial, collective, exclusive;
    } cases[] = {
        {80, 0, GPUCHAR_SASS_WHOLE_WARP, 1, 0, 0, 0},
        {80, 0, 0, 0, 1, 0, 0},
        {80, 2, 0, 0, 0, 0, 1},
        {90, 0, GPUCHAR_SASS_WHOLE_WARP, 1, 0, 0, 0},
        {90, 0, 0, 0, 1, 0, 0},
        {90, 1, 0, 0, 0, 0, 1},
        {90, 2, 0, 0, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const gpuchar_sass_instruction one = {.mnemonic = "WARPSYNC",
                                              .kind = GPUCHAR_SASS_WARPSYNC,
                                              .mode = cases[i].mode,
                                              .flags = cases[i].flags,
                                              .guard = 7};
        const gpuchar_reconvergence_counts in_kernel = count_one(one, cases[i].architecture, true);
        const gpuchar_reconvergence_counts in_function = count_one(one, cases[i].architecture, false);
        assert_int_equal(in_kernel.warpsync_kernels.all, cases[i].all);
        assert_int_equal(in_kernel.warpsync_kernels.partial, cases[i].partial);
        assert_int_equal(in_kernel.warpsync_kernels.collective, cases[i].collective);
        assert_int_equal(in_kernel.warpsync_kernels.exclusive, cases[i].exclusive);
        assert_memory_equal(&in_kernel.warpsync_kernels, &in_function.warpsync_functions,
                            sizeof in_kernel.warpsync_kernels);
        assert_int_equal(in_function.warpsync_kernels.partial, 0);
    }
}

/* Words as NVRTC makes them: into R2, into RZ, back from R19, from one barrier register into another. */
static void test_bmov(void **state) {
    (void)state;
    const struct {
        uint64_t low;
        uint32_t opcode, flags, saves, restores;
    } cases[] = {
        {0x0000000000027355, 0x355, GPUCHAR_SASS_CLEAR, 1, 0},
        {0x0000000000ff7355, 0x355, GPUCHAR_SASS_CLEAR, 0, 0},
        {0x0000001300007356, 0x356, 0, 0, 1},
        {0x00000000090a7f55, 0xf55, GPUCHAR_SASS_CLEAR, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const gpuchar_reconvergence_counts counts = count_one((gpuchar_sass_instruction){.low = cases[i].low,
                                                                                         .mnemonic = "BMOV",
                                                                                         .kind = GPUCHAR_SASS_BMOV,
                                                                                         .opcode = cases[i].opcode,
                                                                                         .flags = cases[i].flags,
                                                                                         .guard = 7},
                                                              80, true);
        assert_int_equal(counts.bmov, 1);
        assert_int_equal(counts.bmov_clear, cases[i].flags != 0);
        assert_int_equal(counts.bmov_saves, cases[i].saves);
        assert_int_equal(counts.bmov_restores, cases[i].restores);
    }
}

static void test_other_instructions(void **state) {
    (void)state;
    gpuchar_sass_instruction one = {.mnemonic = "FFMA", .kind = GPUCHAR_SASS_OTHER, .guard = 7, .guard_not = 1};
    assert_int_equal(count_one(one, 80, true).guarded, 0);
    one.guard = 0;
    assert_int_equal(count_one(one, 80, true).guarded, 1);
    one.mnemonic = NULL;
    assert_int_equal(count_one(one, 80, true).unknown, 1);
    one = (gpuchar_sass_instruction){.mnemonic = "BREAK", .kind = GPUCHAR_SASS_BREAK, .barrier_class = 1};
    assert_int_equal(count_one(one, 100, true).breaks[1], 1);
    one = (gpuchar_sass_instruction){.mnemonic = "BSSY", .kind = GPUCHAR_SASS_BSSY, .barrier_class = 2};
    assert_int_equal(count_one(one, 100, true).bssy[2], 1);
    one = (gpuchar_sass_instruction){.mnemonic = "PBK", .kind = GPUCHAR_SASS_PUSH};
    assert_int_equal(count_one(one, 61, true).pbk, 1);
    assert_int_equal(count_one(one, 61, true).ssy, 0);
    one.mnemonic = "SSY";
    assert_int_equal(count_one(one, 61, true).ssy, 1);
}

static void place(gpuchar_sass_branch *branch, uint32_t flags, uint32_t primary, uint32_t innermost) {
    *branch = (gpuchar_sass_branch){.flags = flags, .placement = {primary, innermost, AT, AT, AFTER}};
}

static void test_records(void **state) {
    (void)state;
    const uint32_t divergent = GPUCHAR_SASS_BRANCH_DIVERGENT;
    gpuchar_sass_branch branches[7];
    place(&branches[0], divergent, AT, BEFORE);
    branches[0].partial_joins = 2;
    place(&branches[1], divergent, AT, AT);
    place(&branches[2], divergent | GPUCHAR_SASS_BRANCH_BACK, BEFORE, BEFORE);
    place(&branches[3], divergent | GPUCHAR_SASS_BRANCH_OUTSIDE, NONE, NONE);
    place(&branches[4], GPUCHAR_SASS_BRANCH_UNIFORM_FORM | GPUCHAR_SASS_BRANCH_UNIFORM_COMPARE, AT, AT);
    place(&branches[5], GPUCHAR_SASS_BRANCH_UNIFORM_DATA, AT, AT);
    place(&branches[6], divergent, 77, AT); /* a placement of a later library: left out of the rule that says so */
    gpuchar_sass_interval intervals[3] = {
        {.flags = GPUCHAR_SASS_INTERVAL_REACHABLE, .barrier_class = 1, .breaks = 1, .innermost = {0, 1, 2, 3, 4}},
        {.flags = GPUCHAR_SASS_INTERVAL_REACHABLE, .barrier_class = 1, .breaks = 0, .primary = {0, 5, 0, 0, 0}},
        {.flags = 0, .barrier_class = 1, .breaks = 1},
    };
    gpuchar_sass_reconvergence records = GPUCHAR_SASS_RECONVERGENCE_INIT;
    records.branches = branches;
    records.branch_count = 7;
    records.intervals = intervals;
    records.interval_count = 3;
    records.depth = 4;
    records.live_barriers = 3;
    records.unmatched = 1;
    gpuchar_reconvergence_counts counts = {.depth = 5, .live_barriers = 2};
    gc_study_count_records(&records, &counts);
    assert_int_equal(counts.branches, 7);
    assert_int_equal(counts.divergent, 5);
    assert_int_equal(counts.uniform_form, 1);
    assert_int_equal(counts.uniform_data, 1);
    assert_int_equal(counts.bra_uniform_compare, 1);
    assert_int_equal(counts.partial_joins, 2);
    assert_int_equal(counts.joined_partly, 1);
    const gpuchar_reconvergence_placing *primary = &counts.placings[0], *innermost = &counts.placings[1];
    const uint64_t in_primary[5] = {0, 2, 0, 0, 0}, in_innermost[5] = {0, 2, 1, 0, 0}, before[5] = {0, 0, 1, 0, 0};
    assert_memory_equal(primary->inside, in_primary, sizeof in_primary);
    assert_memory_equal(innermost->inside, in_innermost, sizeof in_innermost);
    assert_memory_equal(primary->back, before, sizeof before);
    assert_int_equal(primary->outside[NONE], 1);
    assert_int_equal(counts.barriers[3].intervals, 1);
    assert_int_equal(counts.barriers[3].innermost[AFTER], 3);
    assert_int_equal(counts.barriers[2].intervals, 1);
    assert_int_equal(counts.barriers[2].primary[AT], 5);
    assert_int_equal(counts.unmatched, 1);
    assert_int_equal(counts.depth, 5); /* the greatest, not sums */
    assert_int_equal(counts.live_barriers, 3);
}

static void test_sums(void **state) {
    (void)state;
    gpuchar_reconvergence_counts sum = {0}, part = {0};
    uint64_t words[sizeof part / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) words[i] = i + 1;
    memcpy(&part, words, sizeof part);
    gc_study_add(&sum, &part);
    assert_memory_equal(&sum, &part, sizeof sum);
    gc_study_add(&sum, &part);
    const size_t count = sizeof words / sizeof words[0];
    memcpy(words, &sum, sizeof words);
    for (size_t i = 0; i < count; i++) assert_int_equal(words[i], i + 2 < count ? 2 * (i + 1) : i + 1);
}

static void test_deep(void **state) {
    (void)state;
    const gpuchar_reconvergence_kernel kernels[] = {
        {.levels = 4, .counts = {.depth = 4}},
        {.levels = 12, .counts = {.depth = 11}},
        {.levels = 16, .counts = {.depth = 16, .bmov_saves = 3}},
        {.levels = 24, .counts = {.depth = 20, .bmov_saves = 1}},
        {.levels = 0, .counts = {.depth = 0}},  /* a function with a section of its own */
        {.levels = 8, .counts = {.unread = 1}}, /* nothing is known of its nests */
    };
    const gpuchar_reconvergence_deep deep = gc_study_deep(kernels, 6);
    assert_int_equal(deep.kernels, 4);
    assert_int_equal(deep.spilled, 2);
    assert_int_equal(deep.fewer_levels, 2);
    assert_int_equal(deep.fewer_unspilled, 1);
    assert_int_equal(deep.deepest_unspilled, 12);
}

static void test_release(void **state) {
    (void)state;
    assert_int_equal(gc_study_release("Cuda compilation tools, release 13.0, V13.0.88"), 13000);
    assert_int_equal(gc_study_release("Cuda compilation tools, release 12.9, V12.9.86"), 12090);
    assert_int_equal(gc_study_release("NVRTC 12.9"), 0);
    assert_int_equal(gc_study_release("release x.9"), 0);
    assert_int_equal(gc_study_release("release 13"), 0);
    assert_int_equal(gc_study_release("release 13.1234"), 0);
    assert_int_equal(gc_study_release(""), 0);
}

/* ---- rates */

static gpuchar_reconvergence_kernel kernel_of(uint64_t at, uint64_t before) {
    gpuchar_reconvergence_kernel made = {.levels = 0};
    made.counts.placings[0].inside[AT] = at;
    made.counts.placings[0].inside[BEFORE] = before;
    made.counts.placings[0].inside[NONE] = 1000; /* what matches nothing is in no rate */
    made.counts.placings[0].back[AT] = 1000;
    made.counts.placings[0].outside[AT] = 1000;
    return made;
}

static void test_rates(void **state) {
    (void)state;
    enum { KERNELS = 40, ROUNDS = 4000 };
    gpuchar_reconvergence_kernel kernels[KERNELS];
    double *scratch = calloc((size_t)ROUNDS * 5, sizeof *scratch);
    gpuchar_reconvergence_rate rates[5], again[5];
    assert_non_null(scratch);
    /* One branch per kernel, half of them at: the share of 40 coins, whose middle 95 % are about 0.35 to 0.65. */
    for (size_t i = 0; i < KERNELS; i++) kernels[i] = kernel_of(i % 2, !(i % 2));
    gc_study_resample(kernels, KERNELS, ROUNDS, 1, scratch, rates);
    assert_true(rates[0].rate == 0.5 && rates[0].samples == KERNELS);
    assert_true(rates[0].low >= 0.325 && rates[0].low <= 0.375);
    assert_true(rates[0].high >= 0.625 && rates[0].high <= 0.675);
    for (size_t rule = 1; rule < 5; rule++) assert_int_equal(rates[rule].samples, 0);
    gc_study_resample(kernels, KERNELS, ROUNDS, 1, scratch, again);
    assert_memory_equal(rates, again, sizeof rates);
    gc_study_resample(kernels, KERNELS, 100, 2, scratch, again);
    assert_true(rates[0].low != again[0].low || rates[0].high != again[0].high);
    /* The same branches in two kernels: only 0, 1/2 and 1 can be drawn. */
    const gpuchar_reconvergence_kernel two[] = {kernel_of(20, 0), kernel_of(0, 20)};
    gc_study_resample(two, 2, ROUNDS, 1, scratch, rates);
    assert_true(rates[0].rate == 0.5 && rates[0].low == 0 && rates[0].high == 1);
    /* All alike: no doubt. */
    const gpuchar_reconvergence_kernel alike[] = {kernel_of(3, 1), kernel_of(6, 2)};
    gc_study_resample(alike, 2, 100, 1, scratch, rates);
    assert_true(rates[0].rate == 0.75 && rates[0].low == 0.75 && rates[0].high == 0.75);
    gc_study_resample(kernels, 0, 100, 1, scratch, rates);
    assert_int_equal(rates[0].samples, 0);
    free(scratch);
}

/* ---- lines */

static gc_study_site site(uint64_t kernel, uint32_t line, uint32_t where) {
    return (gc_study_site){.kernel = kernel, .file = 1, .line = line, .place = where};
}

static void expect_pair(gc_study_site *a, size_t a_count, gc_study_site *b, size_t b_count, const uint64_t wanted[4]) {
    gpuchar_reconvergence_pair pair = {0}, turned = {0};
    qsort(a, a_count, sizeof *a, gc_study_site_order);
    qsort(b, b_count, sizeof *b, gc_study_site_order);
    gc_study_match(a, a_count, b, b_count, &pair);
    gc_study_match(b, b_count, a, a_count, &turned);
    assert_int_equal(pair.alike, wanted[0]);
    assert_int_equal(pair.otherwise, wanted[1]);
    assert_int_equal(pair.only_a, wanted[2]);
    assert_int_equal(pair.only_b, wanted[3]);
    assert_int_equal(turned.alike, wanted[0]);
    assert_int_equal(turned.otherwise, wanted[1]);
    assert_int_equal(turned.only_a, wanted[3]);
    assert_int_equal(turned.only_b, wanted[2]);
}

static void test_match(void **state) {
    (void)state;
    /* Alike; the same line of another kernel; another place; more of them; a line of one side only, first and last. */
    gc_study_site a[] = {site(1, 5, AT),    site(2, 5, AT), site(1, 9, AT), site(1, 9, AT),
                         site(1, 9, AFTER), site(9, 1, AT), site(1, 7, AT)};
    gc_study_site b[] = {site(1, 5, AT), site(1, 9, BEFORE), site(1, 9, AT), site(1, 7, GC_STUDY_OUTSIDE),
                         site(0, 1, AT)};
    /* 1:5 alike; 1:9 has AT AT AFTER and AT BEFORE: one alike, one otherwise, one more; 1:7 otherwise. */
    expect_pair(a, 7, b, 5, (const uint64_t[]){2, 2, 3, 1});
    expect_pair(a, 7, b, 0, (const uint64_t[]){0, 0, 7, 0});
    expect_pair(a, 7, a, 7, (const uint64_t[]){7, 0, 0, 0});
    a[0].file = 2;
    gc_study_site other = a[0];
    other.file = 1;
    expect_pair(&a[0], 1, &other, 1, (const uint64_t[]){0, 0, 1, 1});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_branch_forms), cmocka_unit_test(test_warpsync),
        cmocka_unit_test(test_bmov),         cmocka_unit_test(test_other_instructions),
        cmocka_unit_test(test_records),      cmocka_unit_test(test_sums),
        cmocka_unit_test(test_deep),         cmocka_unit_test(test_release),
        cmocka_unit_test(test_rates),        cmocka_unit_test(test_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
