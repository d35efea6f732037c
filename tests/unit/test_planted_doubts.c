/* On the planted GPU each thing that is spoiled is told, by every experiment that times launches and counts them. */
#include "planted_bench.h"

#include <core/util.h>
#include <experiments/experiment.h>

typedef union any_options {
    size_t struct_size;
    gpuchar_divergence_sweep_options sweep;
    gpuchar_divergence_shapes_options shapes;
    gpuchar_divergence_occupancy_options occupancy;
} any_options;
typedef union any_result {
    size_t struct_size;
    gpuchar_divergence_sweep_result sweep;
    gpuchar_divergence_shapes_result shapes;
    gpuchar_divergence_occupancy_result occupancy;
} any_result;

/* ---- the experiments, small */

static void small_sweep(any_options *options) {
    options->sweep = gpuchar_divergence_sweep_options_make();
    options->sweep.launches = LAUNCHES;
    options->sweep.iterations = 64;
    options->sweep.body = BODY;
}

static void small_shapes(any_options *options) {
    options->shapes = gpuchar_divergence_shapes_options_make();
    options->shapes.launches = LAUNCHES;
    options->shapes.turns = 6;
    options->shapes.shapes_count = 2;
    options->shapes.shapes[0] = GPUCHAR_SHAPE_EARLY_4;
    options->shapes.shapes[1] = GPUCHAR_SHAPE_LINEAR;
}

static void small_occupancy(any_options *options) {
    options->occupancy = gpuchar_divergence_occupancy_options_make();
    options->occupancy.launches = 3 * LAUNCHES; /* enough for a clock to move */
    options->occupancy.warps_count = 3;
    for (uint32_t i = 0; i < 3; i++) options->occupancy.warps[i] = 1u << 2 * i;
}

static const struct {
    const char *name;
    void (*make)(any_options *options);
} subjects[] = {
    {"divergence_sweep", small_sweep},
    {"divergence_shapes", small_shapes},
    {"divergence_occupancy", small_occupancy},
};

/* One call that demands so much; its evidence, of a failure an empty one. */
static gpuchar_status call(size_t subject, unsigned with, planted p, uint32_t counters, uint32_t require,
                           gpuchar_evidence *evidence) {
    const gc_experiment *experiment;
    any_options options;
    any_result result;
    assert_int_equal(gc_experiment_find(subjects[subject].name, &experiment), GPUCHAR_OK);
    subjects[subject].make(&options);
    memcpy((char *)&options + experiment->fields.counters, &counters, sizeof counters);
    memcpy((char *)&options + experiment->fields.require, &require, sizeof require);
    memset(&result, 0, sizeof result);
    result.struct_size = experiment->about.result_size_bytes;
    gpuchar_status status = measure(with, &p, subjects[subject].name, &options, &result);
    memcpy(evidence, (char *)&result + experiment->fields.evidence, sizeof *evidence);
    gpuchar_experiment_result_free(subjects[subject].name, &result);
    return status;
}

/* A caveat with exactly these flags beside PROVED and COUNTED; demanded steady it is a failure. */
static void expect_doubt(planted p, uint32_t flags) {
    for (size_t i = 0; i < GC_COUNT(subjects); i++) {
        gpuchar_evidence evidence;
        assert_failure(call(i, FAKE_WITH_ALL, p, GPUCHAR_COUNTERS_AUTO, GPUCHAR_REQUIRE_STABLE, &evidence),
                       GPUCHAR_E_MEASUREMENT);
        assert_failure(call(i, FAKE_WITH_ALL, p, GPUCHAR_COUNTERS_AUTO, 0, &evidence), GPUCHAR_CAVEAT);
        if (evidence.flags != (flags | GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED)) {
            fail_msg("%s: flags %#x", subjects[i].name, evidence.flags);
        }
    }
}

static void test_nothing_spoiled(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < GC_COUNT(subjects); i++) {
        gpuchar_evidence evidence;
        const uint32_t all = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_STABLE;
        assert_failure(call(i, FAKE_WITH_ALL, planted_default(), GPUCHAR_COUNTERS_REQUIRED, all, &evidence),
                       GPUCHAR_OK);
        assert_true(evidence.known & GPUCHAR_EVIDENCE_THROTTLE);
        expect_near(evidence.sm_clock_hz, 1.98e9, 1e-3);
        /* Not asked for. */
        assert_failure(call(i, FAKE_WITH_ALL, planted_default(), GPUCHAR_COUNTERS_OFF, 0, &evidence), GPUCHAR_OK);
        assert_int_equal(evidence.counters_status, GPUCHAR_E_NOT_REQUESTED);
        assert_int_equal(evidence.flags, GPUCHAR_FLAG_PROVED);
    }
}

static void test_throttled(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    p.reasons = 0x4;
    expect_doubt(p, GPUCHAR_FLAG_THROTTLED);
    p.reasons = 0x41;
    p.reasons_from = 2; /* not at open, not after the warm-up: at the end */
    expect_doubt(p, GPUCHAR_FLAG_THROTTLED);
}

/* Idle, a clock that somebody asked for, and a display are no throttling. */
static void test_not_throttled(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < GC_COUNT(subjects); i++) {
        planted p = planted_default();
        gpuchar_evidence evidence;
        p.reasons = 0x1 | 0x2 | 0x100;
        assert_failure(call(i, FAKE_WITH_ALL, p, GPUCHAR_COUNTERS_OFF, 0, &evidence), GPUCHAR_OK);
        assert_false(evidence.flags & GPUCHAR_FLAG_THROTTLED);
    }
}

static void test_clock_moves(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    p.clock_drift = 1e-4; /* one part in 10,000 a launch: cycles stay, nanoseconds do not */
    expect_doubt(p, GPUCHAR_FLAG_UNSTABLE);
}

static void test_spread(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    p.jitter = 0.015; /* no further from the law than it allows */
    expect_doubt(p, GPUCHAR_FLAG_UNSTABLE);
}

static void test_counters_disagree(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < GC_COUNT(subjects); i++) {
        planted p = planted_default();
        gpuchar_evidence evidence;
        p.surplus = 1;
        assert_failure(call(i, FAKE_WITH_ALL, p, GPUCHAR_COUNTERS_AUTO, 0, &evidence), GPUCHAR_CAVEAT);
        assert_int_equal(evidence.counters_status, GPUCHAR_OK);
        assert_int_equal(evidence.flags, GPUCHAR_FLAG_PROVED);
        assert_failure(call(i, FAKE_WITH_ALL, p, GPUCHAR_COUNTERS_AUTO, GPUCHAR_REQUIRE_COUNTED, &evidence),
                       GPUCHAR_E_MEASUREMENT);
    }
}

static void test_without_libraries(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < GC_COUNT(subjects); i++) {
        const planted p = planted_default();
        gpuchar_evidence evidence;
        assert_failure(call(i, FAKE_WITH_CUPTI, p, GPUCHAR_COUNTERS_AUTO, 0, &evidence), GPUCHAR_OK);
        assert_false(evidence.known & GPUCHAR_EVIDENCE_THROTTLE);
        assert_int_equal(evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
        assert_failure(call(i, FAKE_WITH_NVML, p, GPUCHAR_COUNTERS_AUTO, 0, &evidence), GPUCHAR_OK);
        assert_int_equal(evidence.counters_status, GPUCHAR_E_NO_CUPTI);
        assert_int_equal(evidence.flags, GPUCHAR_FLAG_PROVED);
        assert_failure(call(i, FAKE_WITH_NVML, p, GPUCHAR_COUNTERS_REQUIRED, 0, &evidence), GPUCHAR_E_NO_CUPTI);
    }
}

/* Times that no GPU can have. */
static void test_impossible(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < GC_COUNT(subjects); i++) {
        planted p = planted_default();
        gpuchar_evidence evidence;
        p.clock_hz = 50e9;
        assert_failure(call(i, FAKE_WITH_ALL, p, GPUCHAR_COUNTERS_OFF, 0, &evidence), GPUCHAR_E_MEASUREMENT);
        assert_contains(gpuchar_last_error()->message, "SM clock");
        p = planted_default();
        p.link = p.intercept = 0;
        p.control = 0;
        if (strcmp(subjects[i].name, "divergence_occupancy") == 0) continue; /* which then issues */
        assert_failure(call(i, FAKE_WITH_ALL, p, GPUCHAR_COUNTERS_OFF, 0, &evidence), GPUCHAR_E_MEASUREMENT);
        assert_contains(gpuchar_last_error()->message, "0 cycles");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_spoiled),
        cmocka_unit_test(test_throttled),
        cmocka_unit_test(test_not_throttled),
        cmocka_unit_test(test_clock_moves),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_counters_disagree),
        cmocka_unit_test(test_without_libraries),
        cmocka_unit_test(test_impossible),
    };
    return cmocka_run_group_tests(tests, find_nvrtc, NULL);
}
