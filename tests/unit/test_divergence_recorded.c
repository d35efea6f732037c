/* The divergence sweep answered from a recorded profile: whole, in part, and what it does not hold. Needs no NVRTC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/finite_walk.h"
#include "unit/recorded_sweep.h"
#include "unit/schema_walk.h"

static void test_defaults(void **state) {
    (void)state;
    sweep_result wanted = new_counted(), result;
    gpuchar_session *session = record_new();
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_OK);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_RECORDED);
    assert_true(!result.samples && result.sample_count == 0);
    assert_int_equal(result.point_count, POINTS);
    free(wanted.samples); /* not asked for */
    wanted.samples = NULL;
    wanted.sample_count = 0;
    wanted.evidence.flags |= GPUCHAR_FLAG_RECORDED;
    for (size_t i = 0; i < POINTS; ++i) wanted.points[i].sample_offset = 0;
    assert_true(walk_equal(gpuchar_schema_get("gpuchar_divergence_sweep_result"), &wanted, &result));
    gpuchar_divergence_sweep_result_free(&wanted);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

static void test_subset(void **state) {
    (void)state;
    gpuchar_session *session = record_new();
    sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    sweep_result all, result;
    size_t seen = 0;
    assert_int_equal(run_sweep(session, NULL, &all), GPUCHAR_OK);
    options.ways_count = 2;
    options.ways[0] = 8; /* in the order asked */
    options.ways[1] = 2;
    assert_int_equal(run_sweep(session, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.point_count, 2);
    assert_int_equal(result.points[0].ways, 8);
    assert_int_equal(result.points[1].ways, 2);
    double slope = (result.points[0].cycles.median - result.points[1].cycles.median) / 6;
    assert_true(fabs(result.slope.value - slope) < 1e-6 && fabs(all.slope.value - slope) > 1);
    assert_int_equal(result.slope.points, 2);
    assert_true(fabs(result.points[0].predicted_cycles - result.points[0].cycles.median) < 1e-6);
    assert_true(result.points[0].cycles.median == all.points[3].cycles.median);
    assert_true(all.known & GPUCHAR_DIVERGENCE_RATIO32);
    assert_int_equal(result.known & GPUCHAR_DIVERGENCE_RATIO32, 0);
    assert_true(result.ratio_32 == 0 && result.path_mean_cycles == all.path_mean_cycles);
    assert_null(find_infinite(gpuchar_schema_get("gpuchar_divergence_sweep_result"), &result, &seen));
    gpuchar_divergence_sweep_result_free(&result);
    options.ways_count = 1;
    options.ways[1] = 0;
    assert_int_equal(run_sweep(session, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.slope.points, 0);
    assert_int_equal(result.points[0].known & (GPUCHAR_DIVERGENCE_POINT_RATIO | GPUCHAR_DIVERGENCE_POINT_PREDICTED),
                     GPUCHAR_DIVERGENCE_POINT_RATIO);
    assert_true(result.points[0].predicted_cycles == 0); /* nothing of the whole fit is left */
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_divergence_sweep_result_free(&all);
    gpuchar_session_close(session);
}

static gpuchar_status run_part(gpuchar_session *session, uint32_t first, uint32_t second, uint32_t require,
                               sweep_result *result) {
    sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    options.ways_count = second ? 2 : 1;
    options.ways[0] = first;
    options.ways[1] = second;
    options.require = require;
    return run_sweep(session, &options, result);
}

/* Counts and clock of a part: of its own largest point, or unknown. */
static void test_part_counts(void **state) {
    (void)state;
    sweep_result whole = new_counted(), result;
    gpuchar_session *session = record(&whole);
    assert_int_equal(run_part(session, 2, 8, GPUCHAR_REQUIRE_COUNTED, &result), GPUCHAR_OK);
    const gpuchar_evidence *evidence = &result.evidence;
    assert_int_equal(evidence->intended_count, 8 * 64 * 128);
    assert_int_equal(evidence->decoded_count, 8 * 64 * 128);
    assert_int_equal(evidence->scaffold_count, 8 * 64 * 3);
    assert_int_equal(evidence->executed_count, 8 * 64 * 128);
    assert_int_equal(evidence->known, GPUCHAR_EVIDENCE_DECODED | GPUCHAR_EVIDENCE_EXECUTED);
    assert_true(evidence->sm_clock_hz == 0 && result.sm_clock_hz.samples == 0);
    assert_int_equal(result.launches_ns + result.counters_ns + result.call_ns + result.device_memory_bytes, 0);
    gpuchar_divergence_sweep_result_free(&result);
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_OK);
    assert_true(evidence->decoded_count == 32 * 64 * 128 && evidence->sm_clock_hz == 1.98e9);
    assert_true(result.sm_clock_hz.samples == 9 && result.call_ns == 1000);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

/* A recording that does not say what a part had. */
static void test_part_unknown(void **state) {
    (void)state;
    sweep_result whole = new_counted(), result;
    whole.points[1].known &= ~(uint32_t)GPUCHAR_DIVERGENCE_POINT_COUNTERS;
    whole.evidence.decoded_count += 1; /* 32 paths cannot share it */
    gpuchar_session *session = record(&whole);
    assert_int_equal(run_part(session, 2, 8, GPUCHAR_REQUIRE_COUNTED, &result), GPUCHAR_E_NOT_RECORDED);
    assert_int_equal(run_part(session, 2, 8, 0, &result), GPUCHAR_OK);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_RECORDED);
    assert_int_equal(result.evidence.counters_status, GPUCHAR_E_NOT_RECORDED);
    assert_int_equal(result.evidence.known, 0);
    assert_int_equal(result.evidence.decoded_count + result.evidence.executed_count, 0);
    gpuchar_divergence_sweep_result_free(&result);
    assert_int_equal(run_part(session, 8, 0, 0, &result), GPUCHAR_OK);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_RECORDED);
    assert_int_equal(result.evidence.known, 0);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

/* 32 paths are unsteady, off the law, and counted otherwise than decoded; the other points are as they should be. */
static void test_part_flags(void **state) {
    (void)state;
    const uint32_t unsteady = GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW;
    const uint32_t all = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_STABLE;
    sweep_result whole = new_counted(), result;
    stretch(&whole.points[5].cycles, 1.1);
    whole.points[5].cycles.flags = GPUCHAR_FLAG_UNSTABLE;
    whole.points[5].executed_count += 1;
    whole.evidence.flags = GPUCHAR_FLAG_PROVED | unsteady;
    gpuchar_session *session = record(&whole);
    assert_int_equal(run_part(session, 2, 8, all, &result), GPUCHAR_OK);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_RECORDED);
    gpuchar_divergence_sweep_result_free(&result);
    assert_int_equal(run_part(session, 8, 32, GPUCHAR_REQUIRE_STABLE, &result), GPUCHAR_E_NOT_RECORDED);
    assert_int_equal(run_part(session, 8, 32, GPUCHAR_REQUIRE_COUNTED, &result), GPUCHAR_E_NOT_RECORDED);
    assert_int_equal(run_part(session, 8, 32, 0, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_RECORDED | unsteady);
    assert_true(result.known & GPUCHAR_DIVERGENCE_RATIO32);
    assert_int_equal(result.evidence.executed_count, 32 * 64 * 128 + 1);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

/* The other way round: the flags of a part that the whole does not have. */
static void test_part_off_law(void **state) {
    (void)state;
    sweep_result whole = new_counted(), result;
    stretch(&whole.points[1].cycles, 1.1);
    gpuchar_session *session = record(&whole);
    assert_int_equal(run_part(session, 2, 4, GPUCHAR_REQUIRE_STABLE, &result), GPUCHAR_E_NOT_RECORDED);
    assert_int_equal(run_part(session, 2, 4, 0, &result), GPUCHAR_CAVEAT);
    assert_true(result.evidence.flags & GPUCHAR_FLAG_OFF_LAW);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

/* What a file says of its fit and of its counters is worked out from its points. */
static void test_derived_again(void **state) {
    (void)state;
    sweep_result truth = new_counted(), lying = new_counted(), result;
    lying.slope.value = lying.slope.ci95_high = 1e9;
    lying.intercept_ratio = lying.ratio_32 = lying.flatness = lying.points[1].ratio = 7;
    lying.slope_robust = lying.path_mean_cycles = lying.points[1].predicted_cycles = 7;
    for (size_t i = 0; i < POINTS; ++i) lying.points[i].executed_count = 7;
    gpuchar_session *session = record(&lying);
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_RECORDED);
    assert_memory_equal(&result.slope, &truth.slope, sizeof truth.slope);
    assert_true(result.intercept_ratio == truth.intercept_ratio && result.ratio_32 == truth.ratio_32);
    assert_true(result.flatness == truth.flatness && result.slope_robust == truth.slope_robust);
    assert_true(result.path_mean_cycles == truth.path_mean_cycles);
    assert_true(result.points[1].ratio == truth.points[1].ratio);
    assert_true(result.points[1].predicted_cycles == truth.points[1].predicted_cycles);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_divergence_sweep_result_free(&truth);
    gpuchar_session_close(session);
}

/* Points of one k have no line through them, whatever the file says. */
static void test_no_line(void **state) {
    (void)state;
    sweep_result twice = new_counted(), result;
    for (size_t i = 0; i < POINTS; ++i) {
        twice.points[i] = twice.points[1];
        stretch(&twice.points[i].cycles, 1 + 0.001 * (double)i);
    }
    gpuchar_session *session = record(&twice);
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_OK);
    assert_int_equal(result.slope.points, 0);
    assert_int_equal(result.known & (GPUCHAR_DIVERGENCE_INTERCEPT | GPUCHAR_DIVERGENCE_RATIO32), 0);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

static void test_samples(void **state) {
    (void)state;
    gpuchar_session *session = record_new();
    sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    sweep_result result;
    options.keep_samples = 1;
    options.ways_count = 2;
    options.ways[0] = 32;
    options.ways[1] = 4;
    assert_int_equal(run_sweep(session, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.sample_count, 2 * LAUNCHES);
    assert_int_equal(result.points[1].sample_offset, LAUNCHES);
    for (size_t i = 0; i < LAUNCHES; ++i) {
        assert_true(result.samples[i] == law(32) + (double)((5 * LAUNCHES + i) % 5));
        assert_true(result.samples[LAUNCHES + i] == law(4) + (double)((2 * LAUNCHES + i) % 5));
    }
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

static void test_equal_options(void **state) {
    (void)state;
    gpuchar_session *session = record_new();
    sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    sweep_result result;
    options.kind = GPUCHAR_PATH_FP32;
    options.lane_map = GPUCHAR_LANES_STRIDED;
    options.body = 128;
    options.iterations = 64;
    options.launches = LAUNCHES;
    options.seed = 1;
    options.counters = GPUCHAR_COUNTERS_REQUIRED;
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_STABLE;
    memcpy(options.ways, WAYS, sizeof WAYS);
    options.ways_count = POINTS;
    assert_int_equal(run_sweep(session, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.point_count, POINTS);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

static void test_not_recorded(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        uint32_t value;
        const char *name;
    } others[] = {
#define OTHER(member, value) {offsetof(sweep_options, member), value, "\"" #member "\""}
        OTHER(kind, GPUCHAR_PATH_INT32), OTHER(lane_map, GPUCHAR_LANES_RANDOM), OTHER(body, 256),
        OTHER(iterations, 65),           OTHER(launches, LAUNCHES + 1),         OTHER(seed, 2),
#undef OTHER
    };
    gpuchar_session *session = record_new();
    sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    for (size_t i = 0; i < GC_COUNT(others); ++i) {
        options = gpuchar_divergence_sweep_options_make();
        memcpy((char *)&options + others[i].offset, &others[i].value, sizeof others[i].value);
        check_fails(session, &options, GPUCHAR_E_NOT_RECORDED, SWEEP_NAME, others[i].name);
    }
    options = gpuchar_divergence_sweep_options_make();
    options.ways_count = 2;
    options.ways[0] = 1;
    options.ways[1] = 3;
    check_fails(session, &options, GPUCHAR_E_NOT_RECORDED, SWEEP_NAME, "\"ways\"");
    gpuchar_session_close(session);
}

/* A recording without counters, proof and samples cannot stand in where the caller requires them. */
static void test_required(void **state) {
    (void)state;
    sweep_result bare = new_result(), result;
    free(bare.samples);
    bare.samples = NULL;
    bare.sample_count = 0;
    bare.evidence.flags = 0;
    bare.evidence.proof_status = GPUCHAR_E_NOT_PROVED;
    gpuchar_session *session = record(&bare);
    sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    assert_int_equal(run_sweep(session, &options, &result), GPUCHAR_CAVEAT);
    gpuchar_divergence_sweep_result_free(&result);
    options.counters = GPUCHAR_COUNTERS_REQUIRED;
    check_fails(session, &options, GPUCHAR_E_NOT_RECORDED, SWEEP_NAME, "\"counters\"");
    options.counters = GPUCHAR_COUNTERS_AUTO;
    options.require = GPUCHAR_REQUIRE_PROVED;
    check_fails(session, &options, GPUCHAR_E_NOT_RECORDED, SWEEP_NAME, "\"require\"");
    options.require = GPUCHAR_REQUIRE_COUNTED;
    check_fails(session, &options, GPUCHAR_E_NOT_RECORDED, SWEEP_NAME, "\"require\"");
    options.require = 0;
    options.keep_samples = 1;
    check_fails(session, &options, GPUCHAR_E_NOT_RECORDED, SWEEP_NAME, "\"keep_samples\"");
    gpuchar_session_cancel(session);
    check_fails(session, NULL, GPUCHAR_E_CANCELLED, "cancelled", "");
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_CAVEAT);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

/* What the measuring call had returned, the recorded one returns again. */
static void test_caveats_stay(void **state) {
    (void)state;
    static const struct {
        uint32_t flags;
        gpuchar_status counters_status, wanted;
    } cases[] = {
        {GPUCHAR_FLAG_PROVED, GPUCHAR_E_NOT_REQUESTED, GPUCHAR_OK},
        {GPUCHAR_FLAG_PROVED, GPUCHAR_OK, GPUCHAR_CAVEAT}, /* the counters disagreed */
        {GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_OFF_LAW, GPUCHAR_E_NOT_REQUESTED, GPUCHAR_CAVEAT},
        {GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE, GPUCHAR_E_NOT_REQUESTED, GPUCHAR_CAVEAT},
        {GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_THROTTLED, GPUCHAR_E_NOT_REQUESTED, GPUCHAR_CAVEAT},
    };
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        sweep_result made = new_counted(), result;
        made.points[5].executed_count += 1;
        made.evidence.flags = cases[i].flags;
        made.evidence.counters_status = cases[i].counters_status;
        gpuchar_session *session = record(&made);
        assert_int_equal(run_sweep(session, NULL, &result), cases[i].wanted);
        assert_int_equal(result.evidence.flags, cases[i].flags | GPUCHAR_FLAG_RECORDED);
        gpuchar_divergence_sweep_result_free(&result);
        gpuchar_session_close(session);
    }
}

/* No file could answer wrong values: they are refused as on a GPU. */
static void test_bad_options(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        uint32_t value;
        gpuchar_status wanted;
        const char *name;
    } bad[] = {
#define BAD(member, value, wanted) {offsetof(sweep_options, member), value, wanted, #member}
        BAD(ways_count, 33, GPUCHAR_E_LIMIT),
        BAD(ways_count, UINT32_MAX, GPUCHAR_E_LIMIT),
        BAD(body, 100, GPUCHAR_E_LIMIT),
        BAD(launches, 4, GPUCHAR_E_LIMIT),
        BAD(kind, 9, GPUCHAR_E_INVALID_ARGUMENT),
        BAD(require, 64, GPUCHAR_E_INVALID_ARGUMENT),
        BAD(keep_samples, 2, GPUCHAR_E_INVALID_ARGUMENT),
        BAD(ways[0], 2, GPUCHAR_E_INVALID_ARGUMENT),  /* ways_count is 0 */
        BAD(lanes[5], 2, GPUCHAR_E_INVALID_ARGUMENT), /* they are not given */
#undef BAD
    };
    gpuchar_session *session = record_new();
    for (size_t i = 0; i < GC_COUNT(bad); ++i) {
        sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
        memcpy((char *)&options + bad[i].offset, &bad[i].value, sizeof bad[i].value);
        check_fails(session, &options, bad[i].wanted, bad[i].name, "");
    }
    gpuchar_session_close(session);
}

/* What was compiled only has no times: nothing is derived from them. */
static void test_compile_only(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *compiling = open_any();
    sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    sweep_result made, result;
    assert_int_equal(run_sweep(compiling, NULL, &made), GPUCHAR_CAVEAT);
    gpuchar_session_close(compiling);
    gpuchar_session *session = record(&made);
    options.ways_count = 1;
    options.ways[0] = 16;
    assert_int_equal(run_sweep(session, &options, &result), GPUCHAR_CAVEAT);
    const uint32_t flags = GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COMPILE_ONLY | GPUCHAR_FLAG_RECORDED;
    assert_int_equal(result.evidence.flags, flags);
    assert_int_equal(result.known, GPUCHAR_DIVERGENCE_DECODED);
    assert_int_equal(result.point_count, 1);
    assert_int_equal(result.points[0].known, GPUCHAR_DIVERGENCE_POINT_EXPECTED);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
        FOLDER_TEST(test_defaults),      FOLDER_TEST(test_subset),       FOLDER_TEST(test_part_counts),
        FOLDER_TEST(test_part_unknown),  FOLDER_TEST(test_part_flags),   FOLDER_TEST(test_part_off_law),
        FOLDER_TEST(test_derived_again), FOLDER_TEST(test_no_line),      FOLDER_TEST(test_samples),
        FOLDER_TEST(test_equal_options), FOLDER_TEST(test_not_recorded), FOLDER_TEST(test_required),
        FOLDER_TEST(test_caveats_stay),  FOLDER_TEST(test_bad_options),  FOLDER_TEST(test_compile_only),
#undef FOLDER_TEST
    };
    return cmocka_run_group_tests(tests, find_archs, NULL);
}
