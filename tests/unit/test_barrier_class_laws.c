/*
 * gpuchar_barrier_class_experiment with laws planted for classes: who did something is told, and nobody else; doubts; what
 * cannot be; failures.
 */
#include "barrier_bench.h"

/* ---- planted laws: who did something is told, and nobody else */

typedef bool (*case_rule)(const gpuchar_barrier_case *one);

static bool has_bssy_3(const gpuchar_barrier_case *one) {
    return one->bssy == 3;
}
static bool has_break_2(const gpuchar_barrier_case *one) {
    return one->breaks == 2;
}
static bool waits_with_bssy_3(const gpuchar_barrier_case *one) {
    return one->probe == GPUCHAR_BARRIER_PROBE_WAIT && one->bssy == 3;
}

/* Counts those of the rule, and checks that the sum says the same. */
static uint32_t expect_only(const barrier_result *result, case_rule rule, bool (*did)(const gpuchar_barrier_case *)) {
    uint32_t found = 0;
    for (size_t i = 0; i < result->case_count; ++i) {
        const gpuchar_barrier_case *one = &result->cases[i];
        if (did(one) != rule(one))
            fail_msg("kernel %u, %u %u %u: end %u, differing %u", one->probe, one->bssy, one->bsync, one->breaks,
                     one->run.end, one->run.differing);
        found += rule(one);
    }
    assert_true(found > 0);
    return found;
}

static bool differs(const gpuchar_barrier_case *one) {
    return one->run.differing == SMALL_LAUNCHES;
}
static bool is_slow(const gpuchar_barrier_case *one) {
    return one->outside && one->difference_cycles > 90 && one->difference_noise > 50;
}
static bool is_late(const gpuchar_barrier_case *one) {
    return one->run.end == GPUCHAR_BARRIER_TIMED_OUT && one->run.known == 0 && one->known == 0;
}
static bool is_broken(const gpuchar_barrier_case *one) {
    return one->run.end == GPUCHAR_BARRIER_FAILED && one->run.native_code == CUDA_ERROR_ILLEGAL_INSTRUCTION;
}

static void test_output(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    expect_status(run_small("bssy3 value", &result), GPUCHAR_OK);
    assert_int_equal(result.cases_differing, expect_only(&result, has_bssy_3, differs));
    for (size_t i = 0; i < result.case_count; ++i) {
        const gpuchar_barrier_run *made = &result.cases[i].run;
        assert_int_equal(made->values_differing, made->differing);
        assert_int_equal(made->met_differing + made->seen_differing, 0);
    }
    expect_text(&result, "BSSY 3, BSYNC -, BREAK -: ended, another output in 5 of 5 launches: values 5, met 0, seen 0");
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
    expect_status(run_small("break2 met", &result), GPUCHAR_OK);
    assert_int_equal(result.cases_differing, expect_only(&result, has_break_2, differs));
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
    expect_status(run_small("bssy3 seen", &result), GPUCHAR_OK);
    assert_int_equal(result.cases_differing, expect_only(&result, waits_with_bssy_3, differs));
    release(&result);
}

static void test_cycles(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    expect_status(run_small("bssy3 slow", &result), GPUCHAR_OK);
    assert_int_equal(result.cases_outside, expect_only(&result, has_bssy_3, is_slow));
    assert_int_equal(result.cases_differing, 0);
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
    setenv("BARRIER_QUIET", "1", 1); /* runs that never differ leave no unit */
    expect_status(run_small("bssy3 slow", &result), GPUCHAR_OK);
    for (size_t i = 0; i < result.case_count; ++i) {
        const gpuchar_barrier_case *one = &result.cases[i];
        const bool slow = one->bssy == 3;
        assert_int_equal(one->outside, slow);
        assert_int_equal(one->known, GPUCHAR_BARRIER_DIFFERENCE | (slow ? 0 : GPUCHAR_BARRIER_UNITS));
        assert_true(one->difference_cycles == (slow ? 100 : 0) && one->difference_noise == 0);
    }
    assert_true(result.shapes[0].noise_cycles == 0);
    expect_json(&result, "\"difference_noise\": null");
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
    unsetenv("BARRIER_QUIET");
}

static void test_ends(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    expect_status(run_small("bssy3 endless", &result), GPUCHAR_OK);
    assert_int_equal(result.cases_not_ended, expect_only(&result, has_bssy_3, is_late));
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    expect_text(&result, "BSSY 3, BSYNC 3, BREAK 3: did not end\n");
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
    expect_status(run_small("break2 fault", &result), GPUCHAR_OK);
    assert_int_equal(result.cases_not_ended, expect_only(&result, has_break_2, is_broken));
    expect_text(&result, "BREAK 2: broke its context (CUDA error 715)");
    if (!strstr(said, "(715)")) fail_msg("the log says only: %s", said);
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
}

/* What costs a process each time is done only so often, and what was left out is told. */
static void test_lost_limit(void **state) {
    NEEDS_NVRTC();
    barrier_options options = small();
    barrier_result result;
    options.lost_limit = 2;
    expect_status(run(&options, "bssy3 endless", &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.cases_not_ended, 2);
    assert_true(result.cases_run < SMALL_CASES);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE);
    expect_text(&result, "runs were left out");
    expect_recorded(&result, GPUCHAR_CAVEAT);
    release(&result);
    options.require = GPUCHAR_REQUIRE_STABLE;
    expect_status(run(&options, "bssy3 endless", &result), GPUCHAR_E_MEASUREMENT);
}

/* ---- doubts */

static void expect_doubt(const char *law, uint32_t flag, const char *text) {
    barrier_result result;
    barrier_options options = small();
    expect_status(run_small(law, &result), GPUCHAR_CAVEAT);
    if (!(result.evidence.flags & flag)) fail_msg("%s: flags %x", law, result.evidence.flags);
    expect_text(&result, text);
    expect_recorded(&result, GPUCHAR_CAVEAT);
    release(&result);
    options.require = GPUCHAR_REQUIRE_STABLE;
    expect_status(run(&options, law, &result), GPUCHAR_E_MEASUREMENT);
}

static void test_doubts(void **state) {
    NEEDS_NVRTC();
    expect_doubt("bssy3 flicker", GPUCHAR_FLAG_UNSTABLE, "launches that should be alike were not");
    expect_doubt("all flicker", GPUCHAR_FLAG_UNSTABLE, "launches that should be alike were not");
    expect_doubt("load8 value", GPUCHAR_FLAG_UNSTABLE, "launches that should be alike were not"); /* unpatched */
    expect_doubt("all stubborn", GPUCHAR_FLAG_OFF_LAW, "store disabled: DOES NOT CHANGE THE OUTPUT");
    expect_doubt("load1 endless", GPUCHAR_FLAG_OFF_LAW, "an unpatched kernel did not end");
    expect_doubt("load8 endless", GPUCHAR_FLAG_OFF_LAW, "an unpatched kernel did not end");
    expect_doubt("load2 fault", GPUCHAR_FLAG_OFF_LAW, "store disabled: DID NOT END");
}

static void test_impossible(void **state) {
    NEEDS_NVRTC();
    static const char *const laws[] = {"all nothing", "load8 many", "load1 timeless", "all eager"};
    for (size_t i = 0; i < GC_COUNT(laws); ++i) {
        barrier_result result;
        const gpuchar_status status = run_small(laws[i], &result);
        if (status != GPUCHAR_E_MEASUREMENT) fail_msg("%s: %d", laws[i], status);
    }
    barrier_result result; /* of a patched kernel it is a finding */
    expect_status(run_small("bssy3 nothing", &result), GPUCHAR_OK);
    assert_int_equal(result.cases_differing, expect_only(&result, has_bssy_3, differs));
    release(&result);
}

static void test_failures(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    expect_status(run_small("load7 refuse", &result), GPUCHAR_E_CUDA);
    assert_int_equal(gpuchar_last_error()->native_code, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    static const char *const after[] = {"compile", "proof", "join", "wait"};
    for (size_t i = 0; i < GC_COUNT(after); ++i) {
        cancel_after = after[i];
        const size_t descriptors = count_descriptors();
        const gpuchar_status status = run_small("none at-all", &result);
        /* After the last run there is nothing to cancel: it is the next call's. */
        if (status >= 0) release(&result);
        if (i < 3) expect_status(status, GPUCHAR_E_CANCELLED);
        assert_int_equal(count_descriptors(), descriptors);
    }
    cancel_after = NULL;
    run_small("none at-all", &result);
    release(&result);
    close_live();
    open_live("/nonexistent/gpuchar-worker", "10");
    expect_status(run_small("none at-all", &result), GPUCHAR_E_NO_WORKER);
    close_live();
    open_live(GPUCHAR_WORKER_FILE, "6"); /* Pascal */
    expect_status(run_small("none at-all", &result), GPUCHAR_E_NOT_APPLICABLE);
    assert_string_equal(steps, "");
    close_live();
    open_live(GPUCHAR_WORKER_FILE, "10");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_output),  cmocka_unit_test(test_cycles),
                                       cmocka_unit_test(test_ends),    cmocka_unit_test(test_lost_limit),
                                       cmocka_unit_test(test_doubts),  cmocka_unit_test(test_impossible),
                                       cmocka_unit_test(test_failures)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
