/* Recorded profiles of the divergence sweep that lie: refused, with the name of the field, and never read out of bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/recorded_sweep.h"

static void check_refused(sweep_result *wrong, const char *field) {
    gpuchar_session *session = NULL;
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
    WRONG(evidence.sm_clock_hz, -1, "evidence.sm_clock_hz")
#undef WRONG
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
        FOLDER_TEST(test_impossible_numbers),
        FOLDER_TEST(test_impossible_points),
        FOLDER_TEST(test_unknown_values),
        FOLDER_TEST(test_lying_offsets),
#undef FOLDER_TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
