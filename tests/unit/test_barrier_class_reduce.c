/* What follows from the memory that launches of barrier_class.cu leave: planted records and cycles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <experiments/barrier_class_reduce.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARPS = 2, THREADS = 64, LAUNCHES = 4, TURNS = 10, SPINS = 100 };

typedef struct planted_run {
    gc_barrier_record records[LAUNCHES * THREADS];
    uint64_t cycles[LAUNCHES * WARPS];
} planted_run;

static gc_barrier_output output_of(const planted_run *p) {
    return (gc_barrier_output){p->records, p->cycles, WARPS, LAUNCHES};
}

static planted_run good(uint32_t probe) {
    planted_run p;
    for (uint32_t i = 0; i < LAUNCHES * THREADS; ++i) {
        p.records[i] = (gc_barrier_record){2 * (i % THREADS) + 1, TURNS * 32, 0, 0};
        if (probe == GPUCHAR_BARRIER_PROBE_WAIT) p.records[i].seen = TURNS;
        if (probe == GPUCHAR_BARRIER_PROBE_WAIT) p.records[i].spins = TURNS + i % 5;
    }
    for (uint32_t i = 0; i < LAUNCHES * WARPS; ++i) p.cycles[i] = 1000 + 10 * (i / WARPS) + i % WARPS;
    return p;
}

/* ---- what cannot be */

static void expect_possible(const planted_run *p, uint32_t probe, bool possible) {
    const gc_barrier_output output = output_of(p);
    const gc_barrier_bounds bounds = {probe, TURNS, SPINS};
    assert_int_equal(gc_barrier_impossible(&output, &bounds) == NULL, possible);
}

static void test_impossible(void **state) {
    (void)state;
    const uint32_t last = LAUNCHES * THREADS - 1;
    for (uint32_t probe = 0; probe < GPUCHAR_BARRIER_PROBES; ++probe) {
        planted_run p = good(probe);
        const bool waits = probe == GPUCHAR_BARRIER_PROBE_WAIT, leaves = probe == GPUCHAR_BARRIER_PROBE_EXIT;
        expect_possible(&p, probe, true);
#define TRY(possible, change)                                                                                          \
    p = good(probe);                                                                                                   \
    change;                                                                                                            \
    expect_possible(&p, probe, possible)
        TRY(false, p.records[last].value = 0);
        TRY(false, p.records[last].value = 2);
        TRY(false, p.records[0].met = TURNS - 1);
        TRY(true, p.records[0].met = TURNS);
        TRY(leaves, p.records[last].met = TURNS * 32 + 1);
        TRY(leaves, p.records[last].met = TURNS * 25 * 32);
        TRY(false, p.records[last].met = TURNS * 25 * 32 + 1);
        TRY(waits, p.records[5].seen = TURNS - 1);
        TRY(false, p.records[5].seen = TURNS + 1);
        TRY(waits, p.records[5].spins = TURNS * SPINS);
        TRY(false, p.records[5].spins = TURNS * SPINS + 1);
        TRY(!waits, p.records[5].spins = 0);
        TRY(false, p.cycles[LAUNCHES * WARPS - 1] = 0);
        TRY(false, p.cycles[0] = UINT64_MAX);
#undef TRY
    }
}

/* ---- runs */

static void test_runs(void **state) {
    (void)state;
    planted_run p = good(GPUCHAR_BARRIER_PROBE_WAIT);
    gc_barrier_record reference[THREADS];
    gpuchar_barrier_run run = {0};
    memcpy(reference, p.records, sizeof reference);
    gc_barrier_output output = output_of(&p);
    gc_barrier_add(&output, reference, &run);
    assert_true(run.end == GPUCHAR_BARRIER_ENDED && run.known == GPUCHAR_BARRIER_RUN_COUNTS);
    assert_true(run.runs == 1 && run.launches == LAUNCHES && run.differing == 0);
    assert_true(run.met_min == TURNS * 32 * THREADS && run.met_max == run.met_min);
    assert_true(run.seen_min == TURNS * THREADS && run.seen_max == run.seen_min);
    assert_true(run.spins_min >= TURNS * THREADS && run.spins_max <= (TURNS + 4) * THREADS);
    assert_true(run.spins_min < run.spins_max); /* which is no difference */
    p.records[THREADS + 3].value += 2;          /* launch 1 */
    p.records[2 * THREADS + 63].met -= 1;       /* launch 2 */
    p.records[2 * THREADS].seen -= 1;
    gc_barrier_add(&output, reference, &run);
    assert_true(run.runs == 2 && run.launches == 2 * LAUNCHES && run.differing == 2);
    assert_true(run.values_differing == 1 && run.met_differing == 1 && run.seen_differing == 1);
    assert_int_equal(run.met_min, TURNS * 32 * THREADS - 1);
    assert_int_equal(run.seen_min, TURNS * THREADS - 1);
    assert_false(gc_barrier_is_steady(&run));
    gc_barrier_add_lost(GPUCHAR_BARRIER_TIMED_OUT, 0, &run);
    assert_true(run.end == GPUCHAR_BARRIER_TIMED_OUT && run.known == GPUCHAR_BARRIER_RUN_COUNTS && run.runs == 3);
    gc_barrier_add_lost(GPUCHAR_BARRIER_FAILED, 715, &run);
    assert_true(run.end == GPUCHAR_BARRIER_FAILED && run.native_code == 715);
    gc_barrier_add_lost(GPUCHAR_BARRIER_TIMED_OUT, 0, &run);
    gc_barrier_add(&output, reference, &run);
    assert_true(run.end == GPUCHAR_BARRIER_FAILED && run.native_code == 715 && run.runs == 6); /* the worst */
}

/* Cycles are those of the longest warp, without the warm-up. */
static void test_cycles(void **state) {
    (void)state;
    planted_run p = good(0);
    double cycles[LAUNCHES - 1];
    p.cycles[2 * WARPS] = 5000;
    const gc_barrier_output output = output_of(&p);
    gc_barrier_cycles(&output, cycles);
    assert_true(cycles[0] == 1011 && cycles[1] == 5000 && cycles[2] == 1031);
}

static void test_compare(void **state) {
    (void)state;
    static const double medians[] = {1000, 1004, 996, 1002, 998};
    double scratch[10];
    gpuchar_barrier_shape shape = {0};
    gc_barrier_take_noise(medians, 5, scratch, &shape);
    assert_true(shape.known == GPUCHAR_BARRIER_NOISE && shape.median_cycles == 1000);
    assert_true(shape.median_min_cycles == 996 && shape.median_max_cycles == 1004);
    assert_true(fabs(shape.noise_cycles - sqrt(10)) < 1e-9);
    gpuchar_barrier_case one = {.run.cycles = {.median = 1004, .samples = 5}};
    gc_barrier_compare(&shape, &one);
    assert_true(one.known == 3 && one.outside == 0 && one.difference_cycles == 4);
    assert_true(fabs(one.difference_noise - 4 / sqrt(10)) < 1e-9);
    one.run.cycles.median = 995.5;
    gc_barrier_compare(&shape, &one);
    assert_true(one.outside == 1 && one.difference_cycles == -4.5 && one.difference_noise < -1);
    one.run.cycles.samples = 0; /* it did not end */
    gc_barrier_compare(&shape, &one);
    assert_true(one.known == 0 && one.outside == 0 && one.difference_cycles == 0 && one.difference_noise == 0);
    gpuchar_barrier_shape few = {0}; /* one median says nothing of how far they scatter */
    gc_barrier_take_noise(medians, 1, scratch, &few);
    assert_int_equal(few.known, 0);
    one.run.cycles.samples = 5;
    gc_barrier_compare(&few, &one);
    assert_int_equal(one.known, 0);
    static const double same[] = {1000, 1000, 1000};
    gpuchar_barrier_shape still = {0};
    gc_barrier_take_noise(same, 3, scratch, &still);
    one.run.cycles.median = 1000;
    gc_barrier_compare(&still, &one);
    assert_true(one.known == 3 && one.outside == 0 && one.difference_noise == 0);
    one.run.cycles.median = 1001;
    gc_barrier_compare(&still, &one);
    assert_true(one.known == GPUCHAR_BARRIER_DIFFERENCE && one.outside == 1 && one.difference_noise == 0);
}

/* Were patched and unpatched runs alike, as many cases lie outside as chance puts there: seen with planted noise. */
static void test_chance(void **state) {
    (void)state;
    enum { CASES = 24, ROUNDS = 400 };
    gc_random random = gc_random_seed(11);
    double outside = 0, by_chance = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        double medians[CASES + 1], scratch[2 * (CASES + 1)];
        gpuchar_barrier_shape shape = {.warps = 1, .run = {.cycles.samples = 5 * (CASES + 1)}};
        gpuchar_barrier_case cases[CASES];
        gpuchar_barrier_class_experiment_result result = {
            .shapes = &shape, .shape_count = 1, .cases = cases, .case_count = CASES, .launches = 5};
        for (int i = 0; i <= CASES; ++i) medians[i] = 1000 + gc_random_unit(&random);
        gc_barrier_take_noise(medians, CASES + 1, scratch, &shape);
        for (int i = 0; i < CASES; ++i) {
            cases[i] = (gpuchar_barrier_case){.warps = 1};
            cases[i].run = (gpuchar_barrier_run){.end = GPUCHAR_BARRIER_ENDED, .runs = 1};
            cases[i].run.cycles = (gpuchar_stat){.median = 1000 + gc_random_unit(&random), .samples = 5};
            gc_barrier_compare(&shape, &cases[i]);
        }
        gc_barrier_sum(&result);
        assert_int_equal(result.cases_run, CASES);
        outside += result.cases_outside;
        by_chance += result.cases_outside_by_chance;
    }
    print_message("%.0f of %d cases outside, by chance %.0f\n", outside, CASES * ROUNDS, by_chance);
    assert_true(fabs(outside - by_chance) < 0.1 * by_chance);
}

/* ---- doubts */

static void test_doubts(void **state) {
    (void)state;
    gpuchar_barrier_shape shape = {.run = {.end = GPUCHAR_BARRIER_ENDED, .launches = 8}};
    gpuchar_barrier_case one = {.run = {.end = GPUCHAR_BARRIER_ENDED, .launches = 4}};
    gpuchar_barrier_class_experiment_result result = {
        .shapes = &shape, .shape_count = 1, .cases = &one, .case_count = 1};
    for (int i = 0; i < 3; ++i)
        result.kernels[i].store = (gpuchar_barrier_run){.end = GPUCHAR_BARRIER_ENDED, .launches = 4, .differing = 4};
#define EXPECT(unsteady_, off_law_)                                                                                    \
    {                                                                                                                  \
        const gc_barrier_doubts doubts = gc_barrier_find_doubts(&result);                                              \
        assert_int_equal(doubts.unsteady, unsteady_);                                                                  \
        assert_int_equal(doubts.off_law, off_law_);                                                                    \
    }
    EXPECT(false, false)
    one.run.values_differing = one.run.differing = 4; /* all launches alike: a finding, not a doubt */
    EXPECT(false, false)
    one.run.values_differing = one.run.differing = 3;
    EXPECT(true, false)
    one.run = (gpuchar_barrier_run){.end = GPUCHAR_BARRIER_TIMED_OUT, .runs = 1};
    EXPECT(false, false)
    one.run = (gpuchar_barrier_run){.end = GPUCHAR_BARRIER_NOT_RUN};
    EXPECT(true, false)
    one.run = (gpuchar_barrier_run){.end = GPUCHAR_BARRIER_ENDED, .launches = 4};
    shape.run.differing = 1;
    EXPECT(true, false)
    shape.run.differing = 0;
    shape.run.end = GPUCHAR_BARRIER_TIMED_OUT;
    EXPECT(false, true)
    shape.run.end = GPUCHAR_BARRIER_ENDED;
    result.kernels[2].store.differing = 3;
    EXPECT(false, true)
    result.kernels[2].store.end = GPUCHAR_BARRIER_FAILED;
    EXPECT(false, true)
#undef EXPECT
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_impossible), cmocka_unit_test(test_runs),
                                       cmocka_unit_test(test_cycles),     cmocka_unit_test(test_compare),
                                       cmocka_unit_test(test_chance),     cmocka_unit_test(test_doubts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
