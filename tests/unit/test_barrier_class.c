/*
 * gpuchar_barrier_class_experiment from the outside: the real worker on a driver whose kernels do what the bits of their image
 * say (barrier_plan.h), with laws planted for classes; compile-only sessions; recordings; JSON and text. The kernels are
 * NVRTC's.
 */
#include "sweep_helper.h"
#include "document.h"
#include "schema_walk.h"
#include "worker_helper.h" /* before `folder`, which its locals would hide */
#include "temp_folder.h"

#include <cuda.h>
#include <experiments/barrier_class_reduce.h>
#include <fakes/book.h>

typedef gpuchar_barrier_class_experiment_options barrier_options;
typedef gpuchar_barrier_class_experiment_result barrier_result;

enum { KEEP = GPUCHAR_BARRIER_AS_COMPILED };

static gpuchar_runtime *runtime;
static gpuchar_session *session;
static char said[8192]; /* what was logged */
static char steps[128]; /* of the last call, as told */
static const char *cancel_after;

static void take_log(void *user, uint32_t level, const char *message) {
    (void)user;
    (void)level;
    const size_t length = strlen(said);
    snprintf(said + length, sizeof said - length, "%s\n", message);
}

static void take_step(void *user, const char *step, double fraction_done) {
    (void)user;
    (void)fraction_done;
    const size_t length = strlen(steps);
    snprintf(steps + length, sizeof steps - length, "%s, ", step);
    if (cancel_after && strcmp(step, cancel_after) == 0) gpuchar_session_cancel(session);
}

/* `major`: of the chip's compute capability. */
static void open_live(const char *worker, const char *major) {
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    gpuchar_session_options session_options = GPUCHAR_SESSION_OPTIONS_INIT;
    setenv("DEVICE_MAJOR", major, 1);
    options.cuda_path = WORKER_DRIVER;
    options.cupti_path = options.nvml_path = "/nonexistent/library.so";
    options.worker_path = worker;
    options.log = take_log;
    options.log_level = GPUCHAR_LOG_WARNING;
    session_options.progress = take_step;
    assert_int_equal(gpuchar_runtime_open(&options, &runtime), GPUCHAR_OK);
    assert_int_equal(gpuchar_session_open(runtime, "0", &session_options, &session), GPUCHAR_OK);
}

static void close_live(void) {
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
    session = NULL;
    runtime = NULL;
}

static int open_all(void **state) {
    find_archs(state);
    if (arch_count == 0) return 0;
    make_folder(state);
    fake_reset();
    open_live(GPUCHAR_WORKER_FILE, "10");
    return 0;
}

static int close_all(void **state) {
    if (arch_count == 0) return 0;
    close_live();
    return remove_folder(state);
}

/* One shape, and each class on all and on each alone: 12, 16 and 12 edits. */
static barrier_options small(void) {
    barrier_options options = GPUCHAR_BARRIER_CLASS_EXPERIMENT_OPTIONS_INIT;
    options.combinations = GPUCHAR_BARRIER_COMBINATIONS_FEW;
    options.warps_count = 1;
    options.warps[0] = 2;
    options.blocks = 3;
    options.launches = 4;
    options.turns = 5;
    options.spin_limit = 50;
    options.limit_ms = 20;
    return options;
}

enum { SMALL_CASES = 40, SMALL_LAUNCHES = 5, JOIN_CASES = 12 };

/* Into a result full of rubbish. */
static gpuchar_status run(const barrier_options *options, const char *law, barrier_result *result) {
    char number[300];
    snprintf(number, sizeof number, "%s/count", folder);
    unlink(number);
    setenv("BARRIER_COUNT", number, 1);
    setenv("BARRIER_LAW", law, 1);
    memset(result, 0xa5, sizeof *result);
    result->struct_size = sizeof *result;
    said[0] = steps[0] = 0;
    const gpuchar_status status = gpuchar_barrier_class_experiment(session, options, result);
    assert_int_equal(child_of(getpid()), 0);
    if (status < 0) {
        expect_empty(result, sizeof *result);
        assert_int_equal(gpuchar_last_error()->status, status);
        if (!gpuchar_last_error()->hint[0]) fail_msg("no hint: %s", gpuchar_last_error()->message);
    }
    return status;
}

static gpuchar_status run_small(const char *law, barrier_result *result) {
    const barrier_options options = small();
    return run(&options, law, result);
}

static void expect_status(gpuchar_status got, gpuchar_status wanted) {
    if (got != wanted) fail_msg("%s: %s", gpuchar_status_name(got), gpuchar_last_error()->message);
}

static void release(barrier_result *result) {
    gpuchar_barrier_class_experiment_result_free(result);
}

/* ---- JSON, text, recordings */

static void expect_text(const barrier_result *result, const char *part) {
    char *text = NULL;
    assert_int_equal(gpuchar_experiment_text("barrier_class_experiment", result, &text), GPUCHAR_OK);
    if (!strstr(text, part)) fail_msg("no \"%s\" in\n%s", part, text);
    gpuchar_string_free(text);
}

static void expect_json(const barrier_result *result, const char *part) {
    char *text = NULL;
    assert_int_equal(gpuchar_json_write("gpuchar_barrier_class_experiment_result", result, &text), GPUCHAR_OK);
    if (!strstr(text, part)) fail_msg("no %s in\n%s", part, text);
    gpuchar_string_free(text);
}

static gpuchar_status read_back(const barrier_result *result, const barrier_options *options, barrier_result *answer) {
    char path[300];
    gpuchar_session *recorded = NULL;
    snprintf(path, sizeof path, "%s/profile.json", folder);
    write_document(path, "barrier_class_experiment", result);
    gpuchar_status status = gpuchar_session_open_recorded(NULL, path, &recorded);
    if (status != GPUCHAR_OK) return status;
    *answer = GPUCHAR_BARRIER_CLASS_EXPERIMENT_RESULT_INIT;
    status = gpuchar_barrier_class_experiment(recorded, options, answer);
    gpuchar_session_close(recorded);
    return status;
}

/* A recording of it answers, with everything in it. */
static void expect_recorded(const barrier_result *result, gpuchar_status wanted) {
    barrier_result answer, copy = *result;
    expect_status(read_back(result, NULL, &answer), wanted);
    copy.evidence.flags |= GPUCHAR_FLAG_RECORDED;
    assert_true(walk_equal(gpuchar_schema_get("gpuchar_barrier_class_experiment_result"), &copy, &answer));
    release(&answer);
}

/* ---- all went well */

static void check_control(const gpuchar_barrier_kernel *kernel) {
    assert_int_equal(kernel->stores_disabled, 1);
    assert_int_equal(kernel->store.end, GPUCHAR_BARRIER_ENDED);
    assert_int_equal(kernel->store.runs, 1);
    assert_int_equal(kernel->store.launches, SMALL_LAUNCHES);
    assert_int_equal(kernel->store.differing, SMALL_LAUNCHES);
}

static void check_kernels(const barrier_result *result) {
    for (uint32_t i = 0; i < GPUCHAR_BARRIER_PROBES; ++i) {
        const gpuchar_barrier_kernel *kernel = &result->kernels[i];
        assert_int_equal(kernel->probe, i);
        assert_int_equal(kernel->proof_status, GPUCHAR_OK);
        assert_int_equal(kernel->known, GPUCHAR_BARRIER_CODE);
        assert_true(kernel->bssy_in_loops >= 2 && kernel->bsync_in_loops >= 2);
        assert_int_equal(kernel->breaks_in_loops > 0, i == GPUCHAR_BARRIER_PROBE_EXIT);
        check_control(kernel);
    }
}

static void check_shape(const gpuchar_barrier_shape *shape, uint32_t probe, uint32_t cases) {
    const uint32_t threads = 2 * 3 * 32;
    assert_int_equal(shape->probe, probe);
    assert_int_equal(shape->warps, 2);
    assert_int_equal(shape->blocks, 3);
    assert_int_equal(shape->known, GPUCHAR_BARRIER_NOISE);
    assert_int_equal(shape->run.end, GPUCHAR_BARRIER_ENDED);
    assert_int_equal(shape->run.runs, cases + 1);
    assert_int_equal(shape->run.launches, (cases + 1) * SMALL_LAUNCHES);
    assert_int_equal(shape->run.differing, 0);
    assert_int_equal(shape->run.cycles.samples, (cases + 1) * 4);
    assert_int_equal(shape->run.met_min, 5 * 32 * threads);
    assert_int_equal(shape->run.met_max, 5 * 32 * threads);
    assert_int_equal(shape->run.seen_max, probe == GPUCHAR_BARRIER_PROBE_WAIT ? 5 * threads : 0);
    assert_in_range(shape->median_cycles, 10005, 10007); /* the longest warp of six, by three kinds of runs */
    assert_in_range(shape->median_min_cycles, 10005, 10005);
    assert_in_range(shape->median_max_cycles, 10007, 10007);
    assert_true(shape->noise_cycles > 0.5 && shape->noise_cycles < 1.2);
    assert_true(shape->run.cycles.max < 10010); /* without the warm-ups */
}

static void check_alike(const gpuchar_barrier_case *one) {
    assert_int_equal(one->run.end, GPUCHAR_BARRIER_ENDED);
    assert_int_equal(one->run.runs, 1);
    assert_int_equal(one->run.launches, SMALL_LAUNCHES);
    assert_int_equal(one->run.differing, 0);
    assert_int_equal(one->run.cycles.samples, 4);
    assert_int_equal(one->known, GPUCHAR_BARRIER_DIFFERENCE | GPUCHAR_BARRIER_UNITS);
    assert_int_equal(one->outside, 0);
    assert_true(one->difference_cycles >= -2 && one->difference_cycles <= 2);
    assert_true(one->edited > 0 && one->changed <= one->edited);
}

static void check_all_well(const barrier_result *result) {
    static const uint32_t cases[] = {12, 16, 12};
    assert_int_equal(result->known, GPUCHAR_BARRIER_LAUNCHED);
    assert_int_equal(result->shape_count, 3);
    assert_int_equal(result->case_count, SMALL_CASES);
    assert_int_equal(result->cases_run, SMALL_CASES);
    assert_int_equal(result->cases_not_ended + result->cases_differing + result->cases_outside, 0);
    check_kernels(result);
    for (uint32_t i = 0; i < 3; ++i) check_shape(&result->shapes[i], i, cases[i]);
    for (size_t i = 0; i < SMALL_CASES; ++i) check_alike(&result->cases[i]);
    const double chance = 2 * (12 * 2.0 / 14) + 16 * 2.0 / 18;
    assert_true(fabs(result->cases_outside_by_chance - chance) < 1e-9);
}

static void test_all_well(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    barrier_options options = small();
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_STABLE;
    expect_status(run(&options, "none at-all", &result), GPUCHAR_OK);
    check_all_well(&result);
    assert_int_equal(result.field_exists, 1);
    assert_int_equal(result.evidence.arch, 100);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    assert_int_equal(result.evidence.counters_status, GPUCHAR_E_NOT_APPLICABLE);
    assert_string_equal(steps, "compile, proof, join, early exit, wait, ");
    expect_text(&result, "the class of BSSY, BSYNC and BREAK, bits [73:72], changed in place");
    expect_text(&result, "store disabled: changes the output");
    expect_text(&result, "of 40 edits 0 did not end, 0 changed the output");
    expect_text(&result, "counters:     none (the kernels run in another process, where nothing is counted)");
    expect_json(&result, "\"native_code\": null");
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
}

/* Both compiled classes and none: what "as compiled" stands for on a chip with the field. */
static void test_classes_as_compiled(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    expect_status(run_small("none at-all", &result), GPUCHAR_OK);
    const gpuchar_barrier_kernel *join = &result.kernels[0], *leaves = &result.kernels[1], *waits = &result.kernels[2];
    assert_true(join->bssy[2] > 0 && join->bsync[2] == join->bssy[2]);
    assert_true(leaves->bssy[1] > 0 && leaves->bsync[1] == leaves->bssy[1] && leaves->bssy[2] > 0);
    assert_true(leaves->breaks[1] > 0 && leaves->breaks[0] + leaves->breaks[2] + leaves->breaks[3] == 0);
    assert_true(waits->bssy[0] > 0);
    for (size_t i = 0; i < result.case_count; ++i) { /* the edit that changes nothing is told */
        const gpuchar_barrier_case *one = &result.cases[i];
        if (one->probe == 1 && one->breaks == 1 && one->bssy == KEEP && one->bsync == KEEP)
            assert_int_equal(one->changed, 0);
        if (one->probe == 1 && one->breaks == 2 && one->bssy == KEEP && one->bsync == KEEP)
            assert_int_equal(one->changed, one->edited);
    }
    release(&result);
}

static void test_reserved_bits(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    close_live();
    open_live(GPUCHAR_WORKER_FILE, "9");
    expect_status(run_small("none at-all", &result), GPUCHAR_OK);
    check_all_well(&result);
    assert_int_equal(result.field_exists, 0);
    for (uint32_t i = 0; i < 3; ++i) {
        const gpuchar_barrier_kernel *kernel = &result.kernels[i];
        for (uint32_t class = 1; class < 4; ++class)
            assert_int_equal(kernel->bssy[class] + kernel->bsync[class] + kernel->breaks[class], 0);
    }
    expect_text(&result, "this chip has no class field: bits [73:72], changed in place, are reserved here, and this is "
                         "not the paper's experiment");
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
    close_live();
    open_live(GPUCHAR_WORKER_FILE, "10");
}

static void test_every_combination(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    barrier_options options = small();
    options.combinations = 0;
    options.warps_count = 2;
    options.warps[1] = 1;
    options.launches = 3;
    expect_status(run(&options, "none at-all", &result), GPUCHAR_OK);
    assert_int_equal(result.case_count, 2 * (24 + 124 + 24));
    assert_int_equal(result.shape_count, 6);
    assert_int_equal(result.combinations, GPUCHAR_BARRIER_COMBINATIONS_EVERY);
    bool seen[2][3][5][5][5] = {0};
    for (size_t i = 0; i < result.case_count; ++i) {
        const gpuchar_barrier_case *one = &result.cases[i];
        bool *at = &seen[one->warps - 1][one->probe][one->bssy][one->bsync][one->breaks];
        assert_false(*at);
        *at = true;
    }
    assert_true(seen[0][1][2][1][3] && seen[1][1][0][3][KEEP] && seen[1][0][KEEP][3][KEEP]);
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
    options.classes = 1u << 3; /* one class: 3 and 7 edits */
    expect_status(run(&options, "none at-all", &result), GPUCHAR_OK);
    assert_int_equal(result.case_count, 2 * (3 + 7 + 3));
    release(&result);
}

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
    expect_doubt("load4 value", GPUCHAR_FLAG_UNSTABLE, "launches that should be alike were not"); /* unpatched */
    expect_doubt("all stubborn", GPUCHAR_FLAG_OFF_LAW, "store disabled: DOES NOT CHANGE THE OUTPUT");
    expect_doubt("load1 endless", GPUCHAR_FLAG_OFF_LAW, "an unpatched kernel did not end");
    expect_doubt("load6 endless", GPUCHAR_FLAG_OFF_LAW, "an unpatched kernel did not end");
    expect_doubt("load2 fault", GPUCHAR_FLAG_OFF_LAW, "store disabled: DID NOT END");
}

static void test_impossible(void **state) {
    NEEDS_NVRTC();
    static const char *const laws[] = {"all nothing", "load4 many", "load1 timeless", "all eager"};
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

/* ---- options */

static void test_bad_options(void **state) {
    NEEDS_NVRTC();
#define BAD(wanted, word, change)                                                                                      \
    {                                                                                                                  \
        barrier_options options = small();                                                                             \
        barrier_result result;                                                                                         \
        change;                                                                                                        \
        expect_failure(run(&options, "none at-all", &result), wanted, word, "");                                       \
    }
    BAD(GPUCHAR_E_LIMIT, "warps_count", options.warps_count = 9)
    BAD(GPUCHAR_E_LIMIT, "warps", options.warps[0] = 0)
    BAD(GPUCHAR_E_LIMIT, "warps", options.warps[0] = 33)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "warps[7]", options.warps[7] = 1)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "are both 2", options.warps[1] = 2; options.warps_count = 2)
    BAD(GPUCHAR_E_LIMIT, "blocks", options.blocks = 65)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "classes", options.classes = 16)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "combinations", options.combinations = 3)
    BAD(GPUCHAR_E_LIMIT, "turns", options.turns = 1025)
    BAD(GPUCHAR_E_LIMIT, "launches", options.launches = 2)
    BAD(GPUCHAR_E_LIMIT, "launches", options.launches = 65)
    BAD(GPUCHAR_E_LIMIT, "spin_limit", options.spin_limit = 65537)
    BAD(GPUCHAR_E_LIMIT, "limit_ms", options.limit_ms = 9)
    BAD(GPUCHAR_E_LIMIT, "lost_limit", options.lost_limit = 10001)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "require", options.require = 8)
    BAD(GPUCHAR_E_NOT_APPLICABLE, "another process", options.counters = GPUCHAR_COUNTERS_REQUIRED)
    BAD(GPUCHAR_E_STRUCT_SIZE, "struct_size", options.struct_size = 7)
#undef BAD
    assert_int_equal(gpuchar_barrier_class_experiment(session, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
}

static void test_defaults_and_presets(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    expect_status(run(NULL, "none at-all", &result), GPUCHAR_OK);
    assert_int_equal(result.shape_count, 9);
    assert_int_equal(result.shapes[1].warps, 4);
    assert_int_equal(result.shapes[2].warps, 32);
    assert_int_equal(result.case_count, 3 * 172);
    assert_int_equal(result.cases_run, 3 * 172);
    assert_true(result.blocks == 4 && result.launches == 5 && result.turns == 32);
    release(&result);
    barrier_options options = GPUCHAR_BARRIER_CLASS_EXPERIMENT_OPTIONS_INIT;
    assert_int_equal(gpuchar_experiment_preset("barrier_class_experiment", GPUCHAR_PRESET_QUICK, &options), GPUCHAR_OK);
    expect_status(run(&options, "none at-all", &result), GPUCHAR_OK);
    assert_int_equal(result.case_count, SMALL_CASES);
    release(&result);
}

/* ---- recordings that cannot be */

static void expect_refused(const barrier_result *result, const char *field) {
    barrier_result answer;
    const gpuchar_status status = read_back(result, NULL, &answer);
    if (status >= 0) fail_msg("a recording with a wrong %s is believed", field);
    const gpuchar_error *error = gpuchar_last_error();
    if (!strstr(error->message, field)) fail_msg("no \"%s\" in: %s", field, error->message);
}

static void test_wrong_recordings(void **state) {
    NEEDS_NVRTC();
    barrier_result result, answer;
    expect_status(run_small("bssy3 value", &result), GPUCHAR_OK);
#define WRONG(field, member, value)                                                                                    \
    {                                                                                                                  \
        const __typeof__(result.member) before = result.member;                                                        \
        result.member = value;                                                                                         \
        expect_refused(&result, field);                                                                                \
        result.member = before;                                                                                        \
    }
    WRONG("blocks", blocks, 0)
    WRONG("classes", classes, 16)
    WRONG("cases", classes, 7)
    WRONG("cases", combinations, 1)
    WRONG("launches", launches, 65)
    WRONG("field_exists", field_exists, 0)
    WRONG("kernels", kernels[1].breaks_in_loops, 0)
    WRONG("kernels", kernels[0].store.launches, 4)
    WRONG("kernels", kernels[0].store.met_differing, 6)
    WRONG("shapes", shapes[1].blocks, 5)
    WRONG("shapes", shapes[1].run.met_max, UINT64_MAX)
    WRONG("shapes", shapes[0].run.seen_max, 1)
    WRONG("shapes", shapes[2].run.spins_max, 1u << 30)
    WRONG("shapes", shapes[0].median_cycles, 9000)
    WRONG("shapes", shapes[0].noise_cycles, 900)
    WRONG("shapes", shapes[0].run.cycles.samples, 3)
    WRONG("cases", shapes[0].warps, 3)
    WRONG("cases", cases[3].bssy, 3)
    WRONG("cases", cases[3].warps, 1)
    WRONG("cases[].edited", cases[3].changed, 5000)
    WRONG("cases[].run", cases[3].run.differing, 9)
    WRONG("cases[].run", cases[3].run.end, 2)
    WRONG("cases[].outside", cases[3].outside, 1)
    WRONG("cases[].difference_cycles", cases[3].difference_cycles, 50)
    WRONG("cases[].difference_noise", cases[3].difference_noise, 50)
    WRONG("cases_run", cases_run, 39)
    WRONG("cases_differing", cases_differing, 0)
    WRONG("cases_outside_by_chance", cases_outside_by_chance, 0)
    WRONG("evidence.flags", evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_OFF_LAW)
    WRONG("evidence.flags", evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE)
#undef WRONG
    /* And a good one does not answer another question. */
    barrier_options other = small();
    expect_status(read_back(&result, &other, &answer), GPUCHAR_OK);
    release(&answer);
    other.warps[0] = 4;
    expect_status(read_back(&result, &other, &answer), GPUCHAR_E_NOT_RECORDED);
    other.warps[0] = 2;
    other.turns = 6;
    expect_status(read_back(&result, &other, &answer), GPUCHAR_E_NOT_RECORDED);
    release(&result);
}

/* ---- sessions that run nothing */

static void test_compile_only(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < arch_count; ++i) {
        gpuchar_session *compiling = open_arch(archs[i], NULL);
        barrier_result result = GPUCHAR_BARRIER_CLASS_EXPERIMENT_RESULT_INIT;
        const gpuchar_status status = gpuchar_barrier_class_experiment(compiling, NULL, &result);
        if (archs[i] < 70) {
            expect_status(status, GPUCHAR_E_NOT_APPLICABLE);
        } else {
            expect_status(status, GPUCHAR_CAVEAT);
            if (result.evidence.flags != (GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COMPILE_ONLY))
                fail_msg("sm_%u: flags %x", archs[i], result.evidence.flags);
            assert_int_equal(result.field_exists, archs[i] >= 100);
            assert_int_equal(result.known, 0);
            assert_int_equal(result.case_count, 3 * 172);
            assert_int_equal(result.cases[0].run.end, GPUCHAR_BARRIER_NOT_RUN);
            expect_json(&result, "\"launches_ns\": null");
            expect_recorded(&result, GPUCHAR_CAVEAT);
            release(&result);
        }
        gpuchar_session_close(compiling);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_well),
        cmocka_unit_test(test_classes_as_compiled),
        cmocka_unit_test(test_reserved_bits),
        cmocka_unit_test(test_every_combination),
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_lost_limit),
        cmocka_unit_test(test_doubts),
        cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_defaults_and_presets),
        cmocka_unit_test(test_wrong_recordings),
        cmocka_unit_test(test_compile_only),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
