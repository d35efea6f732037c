/* The sweep on a fake GPU recovers the law that was planted in it. */
#include "planted_bench.h"

#include <core/util.h>

typedef gpuchar_divergence_sweep_options sweep_options;
typedef gpuchar_divergence_sweep_result sweep_result;

enum { ITERATIONS = 64, LINKS = ITERATIONS * BODY };

static sweep_options small_sweep(void) {
    sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    options.launches = LAUNCHES;
    options.iterations = ITERATIONS;
    options.body = BODY;
    return options;
}

static gpuchar_status sweep(planted *p, const sweep_options *options, sweep_result *result) {
    *result = gpuchar_divergence_sweep_result_make();
    return measure(FAKE_WITH_ALL, p, "divergence_sweep", options, result);
}

static void check_counters(const sweep_result *result) {
    for (size_t i = 0; i < result->point_count; i++) {
        const gpuchar_divergence_point *point = &result->points[i];
        expect_near(point->efficiency, 32.0 / point->ways, 1e-12);
        assert_int_equal(point->executed_count, point->ways * ITERATIONS * (BODY + planted_control));
        assert_int_equal(point->executed_count, point->expected_count);
    }
    expect_near(result->validation_convergent, 32, 1e-12);
    expect_near(result->validation_two_way, 16, 1e-12);
    expect_near(result->validation_full, 1, 1e-12);
    assert_int_equal(result->evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    assert_int_equal(result->evidence.executed_count, 32 * LINKS);
    assert_string_equal(result->evidence.mnemonic, "FFMA");
}

static void test_law(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    sweep_options options = small_sweep();
    sweep_result result;
    const double slope = p.link * LINKS;
    options.keep_samples = 1;
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_STABLE;
    assert_failure(sweep(&p, &options, &result), GPUCHAR_OK);
    expect_near(result.slope.value, slope, 1e-9);
    expect_near(result.intercept.value, 40, 1e-6);
    expect_near(result.slope_robust, slope, 1e-9);
    expect_near(result.path_mean_cycles, slope + 40, 1e-12);
    expect_near(result.ratio_32, (40 + slope * 32) / (slope + 40), 1e-12);
    expect_near(result.evidence.sm_clock_hz, 1.98e9, 1e-4);
    assert_true(result.flatness == 0);
    assert_int_equal(result.point_count, 6);
    assert_int_equal(result.sample_count, 6 * LAUNCHES);
    for (size_t i = 0; i < result.point_count; i++) {
        const gpuchar_divergence_point *point = &result.points[i];
        assert_true(point->cycles.median == 40 + slope * point->ways);
        assert_true(result.samples[point->sample_offset + LAUNCHES - 1] == point->cycles.median);
    }
    assert_true(result.evidence.known & GPUCHAR_EVIDENCE_THROTTLE);
    check_counters(&result);
    gpuchar_divergence_sweep_result_free(&result);
}

/* The law is in the lane map, not in the place of a launch. */
static void test_other_maps(void **state) {
    NEEDS_NVRTC();
    static const uint32_t maps[] = {GPUCHAR_LANES_CONTIGUOUS, GPUCHAR_LANES_RANDOM};
    for (size_t i = 0; i < GC_COUNT(maps); i++) {
        planted p = planted_default();
        sweep_options options = small_sweep();
        sweep_result result;
        p.link = 3;
        options.lane_map = maps[i];
        options.ways_count = 3;
        options.ways[0] = 31;
        options.ways[1] = 3;
        options.ways[2] = 17;
        assert_failure(sweep(&p, &options, &result), GPUCHAR_OK);
        expect_near(result.slope.value, 3 * LINKS, 1e-9);
        expect_near(result.points[0].efficiency, 32.0 / 31, 1e-12);
        gpuchar_divergence_sweep_result_free(&result);
    }
}

/* Other turns and another body are another slope; a chain of loads finds its table. */
static void test_other_paths(void **state) {
    NEEDS_NVRTC();
    static const uint32_t kinds[] = {GPUCHAR_PATH_FP32, GPUCHAR_PATH_MEMORY};
    for (size_t i = 0; i < GC_COUNT(kinds); i++) {
        planted p = planted_default();
        sweep_options options = small_sweep();
        sweep_result result;
        options.kind = kinds[i];
        options.body = 128;
        options.iterations = 20;
        options.counters = GPUCHAR_COUNTERS_OFF;
        assert_failure(sweep(&p, &options, &result), GPUCHAR_OK);
        expect_near(result.slope.value, p.link * 20 * 128, 1e-9);
        gpuchar_divergence_sweep_result_free(&result);
    }
}

/* Each of the 32 paths is timed alone: one that takes 3 % longer is told, though no point is further off than that. */
static void test_longer_path(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    sweep_options options = small_sweep();
    sweep_result result;
    p.longer_path = 0.03;
    assert_failure(sweep(&p, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_OFF_LAW | GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    expect_near(result.paths[7].median, p.link * LINKS * 1.03 + 40, 1e-4);
    gpuchar_divergence_sweep_result_free(&result);
    options.require = GPUCHAR_REQUIRE_STABLE;
    p.launches = 0;
    assert_failure(sweep(&p, &options, &result), GPUCHAR_E_MEASUREMENT);
}

static void test_counters_off_by_one(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    sweep_options options = small_sweep();
    sweep_result result;
    p.surplus = 1; /* a turn */
    assert_failure(sweep(&p, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.points[0].executed_count, result.points[0].expected_count + ITERATIONS);
    gpuchar_divergence_sweep_result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law),
        cmocka_unit_test(test_other_maps),
        cmocka_unit_test(test_other_paths),
        cmocka_unit_test(test_longer_path),
        cmocka_unit_test(test_counters_off_by_one),
    };
    return cmocka_run_group_tests(tests, find_nvrtc, NULL);
}
