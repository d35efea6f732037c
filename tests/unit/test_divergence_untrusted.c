/* Recorded profiles of the divergence sweep that lie: refused, with the name of the field, and never read out of bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/recorded_sweep.h"

#include <math.h>

static gpuchar_status add(const sweep_result *result) {
    gpuchar_session *session = NULL;
    gpuchar_profile *profile = NULL;
    assert_int_equal(gc_session_new(NULL, GC_SESSION_COMPILE_ONLY, &session), GPUCHAR_OK);
    session->info.architecture = 90;
    assert_int_equal(gpuchar_profile_create(session, &profile), GPUCHAR_OK);
    gpuchar_status status = gpuchar_profile_add(profile, NAME, result);
    assert_int_equal(json_array_size(gc_profile_results(profile, NAME)), status == GPUCHAR_OK);
    gpuchar_profile_free(profile);
    gpuchar_session_close(session);
    return status;
}

/* In a file, and from a caller who would make such a file. */
static void check_refused(sweep_result *wrong, const char *field) {
    gpuchar_session *session = NULL;
    assert_int_equal(add(wrong), GPUCHAR_E_INVALID_ARGUMENT);
    if (!strstr(gpuchar_last_error()->message, field)) fail_msg("no %s in: %s", field, gpuchar_last_error()->message);
    save(wrong);
    gpuchar_status status = gpuchar_session_open_recorded(NULL, path, &session);
    if (status != GPUCHAR_E_FORMAT) fail_msg("%s: %s", field, gpuchar_status_name(status));
    if (!strstr(gpuchar_last_error()->message, field)) fail_msg("no %s in: %s", field, gpuchar_last_error()->message);
}

/* A file may say anything: what no sweep can have is refused, with the name of the field. */
static void test_impossible_numbers(void **state) {
    (void)state;
#define WRONG(member, value, field)                                                                                    \
    {                                                                                                                  \
        sweep_result wrong = new_counted();                                                                            \
        wrong.member = value;                                                                                          \
        check_refused(&wrong, "divergence_sweep[0]." field);                                                           \
    }
    WRONG(body, 0, "body")
    WRONG(iterations, 0, "iterations")
    WRONG(launches, 0, "launches")
    WRONG(launches, 4000000000u, "points[].cycles.samples")
    WRONG(points[1].ways, 0, "points[].ways")
    WRONG(points[1].ways, 33, "points[].ways")
    WRONG(points[1].cycles.median, -1, "points[].cycles")
    WRONG(points[1].cycles.median, 1e300, "points[].cycles")
    WRONG(points[1].cycles.median, 1e-300, "points[].cycles")
    WRONG(points[1].cycles.mad, -1, "points[].cycles")
    WRONG(points[1].cycles.cv, -1, "points[].cycles")
    WRONG(points[1].cycles.outliers, LAUNCHES + 1, "points[].cycles")
    WRONG(points[1].ratio, -1, "points[].ratio")
    WRONG(paths[3].max, 1e20, "paths[]")
    WRONG(paths[3].median, 0.25, "paths[]")
    WRONG(samples[4], -1, "samples[]")
    WRONG(sm_clock_hz.median, -1, "sm_clock_hz")
    WRONG(path_mean_cycles, 1e20, "path_mean_cycles")
    WRONG(flatness, -0.1, "flatness")
    WRONG(ratio_32, 1e200, "ratio_32")
    WRONG(intercept_ratio, -1, "intercept_ratio")
    WRONG(points[1].efficiency, -5, "points[].efficiency")
    WRONG(points[1].efficiency, 32.001, "points[].efficiency")
    WRONG(points[1].efficiency_kernel, 1e300, "points[].efficiency_kernel")
    WRONG(points[1].predicted_cycles, -1e308, "points[].predicted_cycles")
    WRONG(points[1].expected_count, 7, "points[].expected_count")
    WRONG(loop_instructions, 130, "points[].expected_count")
    WRONG(points[1].cycles.mad, 1e15, "points[].cycles")
    WRONG(points[1].cycles.cv, 1e308, "points[].cycles")
    WRONG(points[1].cycles.min, 1e15, "points[].cycles")
    WRONG(points[1].cycles.ci95_low, 1e15, "points[].cycles")
    WRONG(points[1].cycles.mean, 1, "points[].cycles")
    WRONG(slope.value, 1e308, "slope")
    WRONG(slope.ci95_low, 1e9, "slope")
    WRONG(slope.r2, 7, "slope")
    WRONG(intercept.r2, -0.1, "intercept")
    WRONG(slope_robust, 1e308, "slope_robust")
    WRONG(validation_convergent, 33, "validation_convergent")
    WRONG(validation_two_way, 1e9, "validation_two_way")
    WRONG(validation_full, -1, "validation_full")
    WRONG(evidence.sm_clock_hz, -1, "evidence.sm_clock_hz")
    WRONG(evidence.arch, 0, "evidence.arch")
    WRONG(evidence.proof_status, GPUCHAR_E_NOT_PROVED, "evidence.proof_status")
    WRONG(evidence.flags, 0, "evidence.proof_status")
    WRONG(evidence.counters_status, GPUCHAR_E_NO_PERMISSION, "evidence.counters_status")
    WRONG(evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_COMPILE_ONLY, "evidence.flags")
#undef WRONG
}

/* JSON has no word for these: only a caller can say them. */
static void test_not_finite(void **state) {
    (void)state;
#define WRONG(member, value, field)                                                                                    \
    {                                                                                                                  \
        sweep_result wrong = new_counted();                                                                            \
        wrong.member = value;                                                                                          \
        assert_int_equal(add(&wrong), GPUCHAR_E_INVALID_ARGUMENT);                                                     \
        assert_non_null(strstr(gpuchar_last_error()->message, "divergence_sweep." field " is not"));                   \
        gpuchar_divergence_sweep_result_free(&wrong);                                                                  \
    }
    WRONG(slope.value, NAN, "slope.value")
    WRONG(flatness, INFINITY, "flatness")
    WRONG(points[3].cycles.mad, -INFINITY, "points.cycles.mad")
    WRONG(samples[4], NAN, "samples")
#undef WRONG
}

/* A struct that no call has filled, arrays that are not there, machine code of another GPU. */
static void test_add_refuses(void **state) {
    (void)state;
    sweep_result empty = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT, good = new_counted();
    assert_int_equal(add(&good), GPUCHAR_OK);
    assert_int_equal(add(&empty), GPUCHAR_E_INVALID_ARGUMENT);
    assert_non_null(strstr(gpuchar_last_error()->message, "divergence_sweep[0].body"));
    assert_true(gpuchar_last_error()->hint[0]);
    empty.point_count = 5;
    assert_int_equal(add(&empty), GPUCHAR_E_INVALID_ARGUMENT);
    good.evidence.arch = 75;
    assert_int_equal(add(&good), GPUCHAR_E_INVALID_ARGUMENT);
    assert_non_null(strstr(gpuchar_last_error()->message, "evidence.arch"));
    gpuchar_divergence_sweep_result_free(&good);
}

static void test_impossible_points(void **state) {
    (void)state;
    static const size_t counts[] = {0, 33};
    for (size_t i = 0; i < GC_COUNT(counts); ++i) {
        sweep_result wrong = new_counted();
        free(wrong.points);
        wrong.points = calloc(33, sizeof wrong.points[0]);
        assert_non_null(wrong.points);
        wrong.point_count = counts[i];
        for (uint32_t k = 0; k < 33; ++k) wrong.points[k].ways = k % 32 + 1;
        check_refused(&wrong, "divergence_sweep[0].points:");
    }
}

/* Values of a newer library are no mistake. */
static void test_unknown_values(void **state) {
    (void)state;
    sweep_result newer = new_counted(), result;
    newer.kind = 77;
    newer.lane_map = 78;
    newer.evidence.flags |= 1u << 31;
    newer.known |= 1u << 31;
    gpuchar_session *session = record(&newer);
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_OK);
    assert_true(result.kind == 77 && result.lane_map == 78);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

/* Offsets that lie, the last one so that a sum of it wraps around: the samples are not recorded, and nothing outside of them is read. */
static void test_lying_offsets(void **state) {
    (void)state;
    static const uint64_t offsets[] = {POINTS * LAUNCHES - LAUNCHES + 1, POINTS * LAUNCHES, UINT64_MAX,
                                       UINT64_MAX - LAUNCHES + 1};
    sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    options.keep_samples = 1;
    for (size_t i = 0; i < GC_COUNT(offsets); ++i) {
        sweep_result lying = new_result(), result;
        lying.points[2].sample_offset = offsets[i];
        gpuchar_session *session = record(&lying);
        assert_int_equal(run_sweep(session, &options, &result), GPUCHAR_E_NOT_RECORDED);
        assert_non_null(strstr(gpuchar_last_error()->hint, "keep_samples"));
        gpuchar_divergence_sweep_result_free(&result);
        gpuchar_session_close(session);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
        FOLDER_TEST(test_impossible_numbers), FOLDER_TEST(test_not_finite),     FOLDER_TEST(test_add_refuses),
        FOLDER_TEST(test_impossible_points),  FOLDER_TEST(test_unknown_values), FOLDER_TEST(test_lying_offsets),
#undef FOLDER_TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
