/* The public API on a fake GPU recovers the law that was planted in it, and tells each thing that was spoiled. */
#include <core/util.h>
#include <fakes/planted.h>
#include <math.h>

typedef gpuchar_divergence_sweep_options sweep_options;
typedef gpuchar_divergence_sweep_result sweep_result;

enum { LAUNCHES = 9, ITERATIONS = 64, BODY = 64 };

static bool has_nvrtc;
static uint64_t loop_instructions; /* by the machine code, from a compile-only session */

static sweep_options small_sweep(void) {
    sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    options.launches = LAUNCHES;
    options.iterations = ITERATIONS;
    options.body = BODY;
    return options;
}

static int find_nvrtc(void **state) {
    (void)state;
    has_nvrtc = plant_nvrtc();
    if (!has_nvrtc) return 0;
    gpuchar_runtime *runtime = fake_runtime_with(FAKE_WITH_NVRTC);
    gpuchar_session *session = NULL;
    sweep_options options = small_sweep();
    sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    options.counters = GPUCHAR_COUNTERS_OFF;
    if (gpuchar_session_open(runtime, "sm_90", NULL, &session) != GPUCHAR_OK) return 1;
    if (gpuchar_divergence_sweep(session, &options, &result) != GPUCHAR_CAVEAT) return 1;
    loop_instructions = result.loop_instructions;
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
    return loop_instructions > BODY ? 0 : 1;
}

/* One sweep on a fake GPU of its own, planted as `p` says after `before` has spoiled what it will. */
static gpuchar_status measure(unsigned with, planted *p, const sweep_options *options, sweep_result *result) {
    gpuchar_runtime *runtime = fake_runtime_with(with | FAKE_WITH_NVRTC);
    gpuchar_session *session = NULL;
    *result = gpuchar_divergence_sweep_result_make();
    if (p->loop_instructions == 0) p->loop_instructions = loop_instructions;
    plant(p);
    assert_failure(gpuchar_session_open(runtime, "0", NULL, &session), GPUCHAR_OK);
    gpuchar_status status = gpuchar_divergence_sweep(session, options, result);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
    assert_fakes_clean();
    return status;
}

#define NEEDS_NVRTC()                                                                                                  \
    (void)state;                                                                                                       \
    if (!has_nvrtc) skip()

static void expect_near(double value, double wanted, double relative) {
    if (!(fabs(value - wanted) <= relative * fabs(wanted))) fail_msg("%.9g instead of %.9g", value, wanted);
}

static void test_law(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    sweep_options options = small_sweep();
    sweep_result result;
    options.keep_samples = 1;
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_STABLE;
    assert_failure(measure(FAKE_WITH_ALL, &p, &options, &result), GPUCHAR_OK);
    expect_near(result.slope.value, 33000, 1e-9);
    expect_near(result.intercept.value, 40, 1e-6);
    expect_near(result.slope_robust, 33000, 1e-9);
    expect_near(result.path_mean_cycles, 33040, 1e-12);
    expect_near(result.ratio_32, (40 + 33000.0 * 32) / 33040, 1e-12);
    expect_near(result.evidence.sm_clock_hz, 1.98e9, 1e-4);
    assert_true(result.flatness == 0);
    assert_int_equal(result.point_count, 6);
    assert_int_equal(result.sample_count, 6 * LAUNCHES);
    for (size_t i = 0; i < result.point_count; i++) {
        const gpuchar_divergence_point *point = &result.points[i];
        assert_true(point->cycles.median == 40 + 33000.0 * point->ways);
        assert_true(result.samples[point->sample_offset + LAUNCHES - 1] == point->cycles.median);
        expect_near(point->efficiency, 32.0 / point->ways, 1e-12);
        assert_int_equal(point->executed_count, point->ways * ITERATIONS * loop_instructions);
        assert_int_equal(point->executed_count, point->expected_count);
    }
    expect_near(result.validation_two_way, 16, 1e-12);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    assert_int_equal(result.evidence.executed_count, 32 * ITERATIONS * BODY);
    assert_true(result.evidence.known & GPUCHAR_EVIDENCE_THROTTLE);
    assert_string_equal(result.evidence.mnemonic, "FFMA");
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
        p.slope = 12345;
        options.lane_map = maps[i];
        options.ways_count = 3;
        options.ways[0] = 31;
        options.ways[1] = 3;
        options.ways[2] = 17;
        assert_failure(measure(FAKE_WITH_ALL, &p, &options, &result), GPUCHAR_OK);
        expect_near(result.slope.value, 12345, 1e-9);
        expect_near(result.points[0].efficiency, 32.0 / 31, 1e-12);
        gpuchar_divergence_sweep_result_free(&result);
    }
}

/* ---- spoiled in one thing each */

/* A caveat with exactly these flags beside PROVED and COUNTED; demanded steady it is a failure. */
static void expect_doubt(planted p, uint32_t flags) {
    sweep_options options = small_sweep();
    for (int demanded = 0; demanded < 2; demanded++) {
        planted fresh = p;
        sweep_result result;
        options.require = demanded ? GPUCHAR_REQUIRE_STABLE : 0;
        gpuchar_status status = measure(FAKE_WITH_ALL, &fresh, &options, &result);
        assert_failure(status, demanded ? GPUCHAR_E_MEASUREMENT : GPUCHAR_CAVEAT);
        if (!demanded) assert_int_equal(result.evidence.flags, flags | GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
        gpuchar_divergence_sweep_result_free(&result);
    }
}

static void test_throttled(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    p.reasons = 0x4;
    expect_doubt(p, GPUCHAR_FLAG_THROTTLED);
    p.reasons = 0x41;
    expect_doubt(p, GPUCHAR_FLAG_THROTTLED);
    p.reasons_from = 2; /* not at open, not after the warm-up: at the end */
    expect_doubt(p, GPUCHAR_FLAG_THROTTLED);
}

/* Idle, a clock that somebody asked for, and a display are no throttling. */
static void test_not_throttled(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    sweep_options options = small_sweep();
    sweep_result result;
    p.reasons = 0x1 | 0x2 | 0x100;
    assert_failure(measure(FAKE_WITH_ALL, &p, &options, &result), GPUCHAR_OK);
    assert_false(result.evidence.flags & GPUCHAR_FLAG_THROTTLED);
    gpuchar_divergence_sweep_result_free(&result);
}

static void test_clock_moves(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    p.clock_drift = 2e-5; /* one part in 50,000 a launch: cycles stay, nanoseconds do not */
    expect_doubt(p, GPUCHAR_FLAG_UNSTABLE);
}

static void test_longer_path(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    p.longer_path = 0.03 * 33040; /* of 32 paths one, and no point further than 3 % off */
    expect_doubt(p, GPUCHAR_FLAG_OFF_LAW);
}

static void test_counters_off_by_one(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    sweep_options options = small_sweep();
    sweep_result result;
    p.surplus = 1; /* a turn */
    assert_failure(measure(FAKE_WITH_ALL, &p, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.counters_status, GPUCHAR_OK);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    assert_int_equal(result.points[0].executed_count, result.points[0].expected_count + ITERATIONS);
    gpuchar_divergence_sweep_result_free(&result);
    options.require = GPUCHAR_REQUIRE_COUNTED;
    assert_failure(measure(FAKE_WITH_ALL, &p, &options, &result), GPUCHAR_E_MEASUREMENT);
}

static void test_without_nvml(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    sweep_options options = small_sweep();
    sweep_result result;
    assert_failure(measure(FAKE_WITH_CUPTI, &p, &options, &result), GPUCHAR_OK);
    assert_false(result.evidence.known & GPUCHAR_EVIDENCE_THROTTLE);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    gpuchar_divergence_sweep_result_free(&result);
}

static void test_without_cupti(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    sweep_options options = small_sweep();
    sweep_result result;
    assert_failure(measure(FAKE_WITH_NVML, &p, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.evidence.counters_status, GPUCHAR_E_NO_CUPTI);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    options.counters = GPUCHAR_COUNTERS_REQUIRED;
    gpuchar_divergence_sweep_result_free(&result);
    assert_failure(measure(FAKE_WITH_NVML, &p, &options, &result), GPUCHAR_E_NO_CUPTI);
}

/* A kernel that writes no time at all breaks a physical bound. */
static void test_no_cycles(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    sweep_options options = small_sweep();
    sweep_result result;
    p.slope = p.intercept = 0;
    assert_failure(measure(FAKE_WITH_ALL, &p, &options, &result), GPUCHAR_E_MEASUREMENT);
    p = planted_default();
    p.clock_hz = 50e9;
    assert_failure(measure(FAKE_WITH_ALL, &p, &options, &result), GPUCHAR_E_MEASUREMENT);
    assert_contains(gpuchar_last_error()->message, "SM clock");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law),
        cmocka_unit_test(test_other_maps),
        cmocka_unit_test(test_throttled),
        cmocka_unit_test(test_not_throttled),
        cmocka_unit_test(test_clock_moves),
        cmocka_unit_test(test_longer_path),
        cmocka_unit_test(test_counters_off_by_one),
        cmocka_unit_test(test_without_nvml),
        cmocka_unit_test(test_without_cupti),
        cmocka_unit_test(test_no_cycles),
    };
    return cmocka_run_group_tests(tests, find_nvrtc, NULL);
}
