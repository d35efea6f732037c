#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <experiments/divergence_reduce.h>
#include <experiments/evidence.h>
#include <schema/json.h>
#include <schema/table.h>

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

/* A fit through two points has no interval, which is not one of no width. */
static void test_missing_interval(void **state) {
    (void)state;
    for (uint64_t points = 2; points <= 3; ++points) {
        gpuchar_fit fit = {.value = 5, .ci95_low = 4, .ci95_high = 6, .r2 = 1, .points = points};
        json_t *json = gc_json_from_struct(&gc_schema_fit, &fit);
        assert_non_null(json);
        assert_int_equal(json_is_null(json_object_get(json, "ci95_low")), points == 2);
        assert_int_equal(json_is_null(json_object_get(json, "ci95_high")), points == 2);
        assert_true(json_is_real(json_object_get(json, "value")));
        json_decref(json);
    }
}

/* Nothing is known of an empty one: not that it is proved, and not that success is why it is not. */
static void test_empty_text(void **state) {
    (void)state;
    gpuchar_evidence evidence = {0};
    gc_text text = {0};
    gc_evidence_text(&evidence, &text);
    assert_non_null(text.data);
    assert_non_null(strstr(text.data, "not proved (why is not known)"));
    gc_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settle),           cmocka_unit_test(test_time),       cmocka_unit_test(test_counted),
        cmocka_unit_test(test_missing_interval), cmocka_unit_test(test_empty_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
