#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <experiments/divergence_reduce.h>
#include <experiments/evidence.h>

#define PROVED GPUCHAR_FLAG_PROVED
#define COUNTED GPUCHAR_FLAG_COUNTED

/* What is demanded and missing is an error, whatever else is missing; the rest is a caveat. */
static void test_settle(void **state) {
    (void)state;
    static const struct {
        uint32_t flags;
        gpuchar_status counters;
        uint32_t require;
        gpuchar_status status;
    } cases[] = {
        {PROVED | COUNTED, GPUCHAR_OK, 7, GPUCHAR_OK},
        {PROVED, GPUCHAR_E_NO_PERMISSION, 0, GPUCHAR_OK},
        {PROVED, GPUCHAR_OK, 0, GPUCHAR_CAVEAT}, /* read, and they disagree */
        {PROVED, GPUCHAR_OK, GPUCHAR_REQUIRE_COUNTED, GPUCHAR_E_MEASUREMENT},
        {PROVED, GPUCHAR_E_NO_PERMISSION, GPUCHAR_REQUIRE_COUNTED, GPUCHAR_E_MEASUREMENT},
        {0, GPUCHAR_OK, 0, GPUCHAR_CAVEAT},
        {0, GPUCHAR_OK, GPUCHAR_REQUIRE_PROVED, GPUCHAR_E_NOT_PROVED},
        {0, GPUCHAR_OK, GPUCHAR_REQUIRE_COUNTED, GPUCHAR_E_NOT_PROVED},
        {GPUCHAR_FLAG_UNSTABLE, GPUCHAR_OK, GPUCHAR_REQUIRE_STABLE, GPUCHAR_E_MEASUREMENT},
        {GPUCHAR_FLAG_THROTTLED, GPUCHAR_OK, GPUCHAR_REQUIRE_STABLE, GPUCHAR_E_MEASUREMENT},
        {PROVED | COUNTED | GPUCHAR_FLAG_OFF_LAW, GPUCHAR_OK, GPUCHAR_REQUIRE_STABLE, GPUCHAR_E_MEASUREMENT},
        {PROVED | COUNTED | GPUCHAR_FLAG_OFF_LAW, GPUCHAR_OK, 3, GPUCHAR_CAVEAT},
        {PROVED | COUNTED | GPUCHAR_FLAG_UNSTABLE, GPUCHAR_OK, 0, GPUCHAR_CAVEAT},
        {PROVED | GPUCHAR_FLAG_COMPILE_ONLY, GPUCHAR_E_NOT_APPLICABLE, 1, GPUCHAR_CAVEAT},
    };
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        gpuchar_evidence evidence = {.flags = cases[i].flags, .counters_status = cases[i].counters};
        gpuchar_status status = gc_evidence_settle(&evidence, cases[i].require, "no reason");
        if (status != cases[i].status) fail_msg("case %zu: %d, not %d", i, status, cases[i].status);
    }
}

static void test_time(void **state) {
    (void)state;
    gc_timing timing = {.steady = true, .throttle_known = true, .sm_clock_hz = 1.98e9};
    gpuchar_evidence evidence = {0};
    gc_evidence_time(&timing, &evidence);
    assert_int_equal(evidence.flags, 0);
    assert_int_equal(evidence.known, GPUCHAR_EVIDENCE_CLOCK | GPUCHAR_EVIDENCE_THROTTLE);
    timing = (gc_timing){.throttle_reasons = GPUCHAR_THROTTLE_POWER_CAP};
    memset(&evidence, 0, sizeof evidence);
    gc_evidence_time(&timing, &evidence);
    assert_int_equal(evidence.flags, GPUCHAR_FLAG_THROTTLED | GPUCHAR_FLAG_UNSTABLE);
    assert_int_equal(evidence.known, 0);
}

/* Two points as the counters of a good GPU show them. */
static gpuchar_divergence_sweep_result good(gpuchar_divergence_point points[2]) {
    gpuchar_divergence_sweep_result result = {.points = points,
                                              .point_count = 2,
                                              .known = GPUCHAR_DIVERGENCE_VALIDATED,
                                              .validation_convergent = 32,
                                              .validation_two_way = 16,
                                              .validation_full = 1};
    for (uint32_t i = 0; i < 2; ++i) {
        points[i] =
            (gpuchar_divergence_point){.ways = 1 + i,
                                       .known = GPUCHAR_DIVERGENCE_POINT_COUNTERS | GPUCHAR_DIVERGENCE_POINT_EXPECTED,
                                       .efficiency = 32.0 / (1 + i),
                                       .executed_count = 1000 * (1 + i),
                                       .expected_count = 1000 * (1 + i)};
    }
    result.evidence.flags = PROVED;
    result.evidence.known = GPUCHAR_EVIDENCE_DECODED;
    result.evidence.scaffold_count = 10;
    return result;
}

static void check_counted(gpuchar_divergence_sweep_result *result, bool counted) {
    gc_divergence_recount(result);
    assert_int_equal((result->evidence.flags & COUNTED) != 0, counted);
}

/* COUNTED is a word for all of it: how many, with how many threads, and whether the counter can be trusted. */
static void test_counted(void **state) {
    (void)state;
    gpuchar_divergence_point points[2];
    gpuchar_divergence_sweep_result result = good(points);
    check_counted(&result, true);
    assert_int_equal(result.evidence.executed_count, 1990);
    result = good(points);
    points[1].executed_count--;
    check_counted(&result, false);
    result = good(points);
    points[1].efficiency = 15.8;
    check_counted(&result, false);
    result = good(points);
    result.validation_two_way = 16.2;
    check_counted(&result, false);
    result = good(points);
    result.validation_full = 1.02;
    check_counted(&result, false);
    result = good(points);
    result.validation_convergent = 31;
    check_counted(&result, false);
    result = good(points);
    result.known = 0;
    check_counted(&result, false);
    result = good(points);
    result.evidence.flags = 0;
    check_counted(&result, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settle),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
