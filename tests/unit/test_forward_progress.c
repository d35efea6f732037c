/*
 * gpuchar_forward_progress from the outside: the real worker on a driver with planted launches, each end and each
 * failure; compile-only sessions on every architecture; recordings; JSON and text. The kernels are NVRTC's.
 */
#include "sweep_helper.h"
#include "document.h"
#include "schema_walk.h"
#include "worker_helper.h" /* before `folder`, which its locals would hide */
#include "temp_folder.h"

#include <cuda.h>
#include <fakes/book.h>
#include <signal.h>

enum { LAUNCHES = 2, LOCK = 1, PRODUCER = 3, PEER = 5, PEER_SWAPPED = 7, SILENT = 9, SILENT_SWAPPED = 11 };

typedef gpuchar_forward_progress_options progress_options;
typedef gpuchar_forward_progress_result progress_result;

/* ---- a session whose worker's launches are planted */

static gpuchar_runtime *runtime;
static gpuchar_session *session;
static char said[8192]; /* what was logged */

static void take_log(void *user, uint32_t level, const char *message) {
    (void)user;
    (void)level;
    const size_t length = strlen(said);
    snprintf(said + length, sizeof said - length, "%s\n", message);
}

static char steps[64];           /* of the last call, as told */
static bool worker_beside;       /* while it compiled */
static const char *cancel_after; /* a step; NULL: none */

static void take_step(void *user, const char *step, double fraction_done) {
    (void)user;
    (void)fraction_done;
    const size_t length = strlen(steps);
    snprintf(steps + length, sizeof steps - length, "%s, ", step);
    if (strcmp(step, "compile") == 0) worker_beside = child_of(getpid()) != 0;
    if (cancel_after && strcmp(step, cancel_after) == 0) gpuchar_session_cancel(session);
}

static const gpuchar_session_options *telling(void) {
    static gpuchar_session_options options;
    gpuchar_session_options_init(&options, sizeof options);
    options.progress = take_step;
    return &options;
}

static void open_live(const char *worker) {
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    options.cuda_path = WORKER_DRIVER;
    options.cupti_path = options.nvml_path = "/nonexistent/library.so";
    options.worker_path = worker;
    options.log = take_log;
    options.log_level = GPUCHAR_LOG_DEBUG;
    assert_int_equal(gpuchar_runtime_open(&options, &runtime), GPUCHAR_OK);
    assert_int_equal(gpuchar_session_open(runtime, "0", telling(), &session), GPUCHAR_OK);
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
    open_live(GPUCHAR_WORKER_FILE);
    return 0;
}

static int close_all(void **state) {
    if (arch_count == 0) return 0;
    close_live();
    return remove_folder(state);
}

static progress_options small(void) {
    progress_options options = GPUCHAR_FORWARD_PROGRESS_OPTIONS_INIT;
    options.launches = LAUNCHES;
    options.producer_turns_count = 1;
    options.producer_turns[0] = 1000;
    options.limit_ms = 50;
    options.spin_limit = 500;
    return options;
}

/* Launch number `which` goes wrong as `plan` says; the result is full of rubbish before. */
static gpuchar_status run_shaped(const progress_options *options, const char *shape, unsigned which, const char *plan,
                                 progress_result *result) {
    char number[300], text[64];
    snprintf(number, sizeof number, "%s/count", folder);
    unlink(number);
    snprintf(text, sizeof text, "%u %s", which, plan);
    setenv("PLAN_COUNT", number, 1);
    setenv("PLAN_SHAPE", shape, 1);
    setenv("PLAN", text, 1);
    memset(result, 0xa5, sizeof *result);
    result->struct_size = sizeof *result;
    said[0] = steps[0] = 0;
    worker_beside = false;
    const gpuchar_status status = gpuchar_forward_progress(session, options, result);
    assert_int_equal(child_of(getpid()), 0);
    if (status < 0) {
        expect_empty(result, sizeof *result);
        assert_int_equal(gpuchar_last_error()->status, status);
        if (!gpuchar_last_error()->hint[0]) fail_msg("no hint: %s", gpuchar_last_error()->message);
    }
    return status;
}

static gpuchar_status run(const progress_options *options, unsigned which, const char *plan, progress_result *result) {
    return run_shaped(options, "2 1", which, plan, result);
}

static gpuchar_status run_small(unsigned which, const char *plan, progress_result *result) {
    const progress_options options = small();
    return run(&options, which, plan, result);
}

static void expect_status(gpuchar_status got, gpuchar_status wanted) {
    if (got != wanted) fail_msg("%s: %s", gpuchar_status_name(got), gpuchar_last_error()->message);
}

static void release(progress_result *result) {
    gpuchar_forward_progress_result_free(result);
}

/* ---- JSON, text, recordings */

static char *text_of(const progress_result *result) {
    char *text = NULL;
    assert_int_equal(gpuchar_experiment_text("forward_progress", result, &text), GPUCHAR_OK);
    return text;
}

static void expect_text(const progress_result *result, const char *part) {
    char *text = text_of(result);
    if (!strstr(text, part)) fail_msg("no \"%s\" in\n%s", part, text);
    gpuchar_string_free(text);
}

static void expect_json(const progress_result *result, const char *part) {
    char *text = NULL;
    assert_int_equal(gpuchar_json_write("gpuchar_forward_progress_result", result, &text), GPUCHAR_OK);
    if (!strstr(text, part)) fail_msg("no %s in\n%s", part, text);
    gpuchar_string_free(text);
}

/* A recording of it answers, with everything in it. */
static void expect_recorded(const progress_result *result, gpuchar_status wanted) {
    char path[300];
    gpuchar_session *recorded = NULL;
    progress_result answer = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT, copy = *result;
    snprintf(path, sizeof path, "%s/profile.json", folder);
    write_document(path, "forward_progress", result);
    if (gpuchar_session_open_recorded(NULL, path, &recorded) != GPUCHAR_OK)
        fail_msg("%s", gpuchar_last_error()->message);
    expect_status(gpuchar_forward_progress(recorded, NULL, &answer), wanted);
    copy.evidence.flags |= GPUCHAR_FLAG_RECORDED;
    assert_true(walk_equal(gpuchar_schema_get("gpuchar_forward_progress_result"), &copy, &answer));
    release(&answer);
    gpuchar_session_close(recorded);
}

static void check_shown(const progress_result *result, gpuchar_status status) {
    expect_text(result, "counters:     none (the kernels run in another process, where nothing is counted)");
    expect_recorded(result, status);
}

/* ---- all went well */

static void check_ended(const gpuchar_progress_run *made, uint32_t spins_min, uint32_t spins_max, uint64_t launch) {
    assert_int_equal(made->end, GPUCHAR_PROGRESS_ENDED);
    assert_int_equal(made->known, GPUCHAR_PROGRESS_RUN_COUNTS);
    assert_int_equal(made->launches, LAUNCHES);
    assert_int_equal(made->lanes_done, 32);
    assert_int_equal(made->spins_min, spins_min);
    assert_int_equal(made->spins_max, spins_max);
    assert_int_equal(made->cycles, 1000 + launch + LAUNCHES - 1); /* the last one; a turn of the producer is one more */
    assert_int_equal(made->elapsed_ns, 1500000);
}

static void check_code(const gpuchar_progress_code *code) {
    assert_int_equal(code->proof_status, GPUCHAR_OK);
    assert_int_equal(code->known, GPUCHAR_PROGRESS_CODE_COUNTS);
    assert_in_range(code->instructions, 4, 40);
}

static void check_all_well(const progress_result *result) {
    assert_int_equal(result->known, GPUCHAR_PROGRESS_LAUNCHED | GPUCHAR_PROGRESS_LOCK);
    assert_int_equal(result->spin_limit, 500);
    assert_int_equal(result->lock_served, 32);
    assert_int_equal(result->lock_broken, 0);
    for (uint32_t lane = 0; lane < 32; ++lane) assert_int_equal(result->lock_turns[lane], lane + 1);
    check_ended(&result->lock, 1, 32, LOCK);
    assert_int_equal(result->producer_count, 1);
    assert_int_equal(result->producers[0].turns, 1000);
    check_ended(&result->producers[0].run, 2, 2, PRODUCER + 1000);
    check_ended(&result->peers[0].run, 2, 2, PEER);
    check_ended(&result->peers[1].run, 2, 2, PEER_SWAPPED);
    check_code(&result->lock_code);
    check_code(&result->producer_code);
    for (size_t i = 0; i < 4; ++i) check_code(&result->peers[i].code);
}

static void test_all_well(void **state) {
    NEEDS_NVRTC();
    progress_result result;
    expect_status(run_small(99, "nothing", &result), GPUCHAR_OK);
    check_all_well(&result);
    for (size_t i = 2; i < 4; ++i) {
        const gpuchar_progress_run *silent = &result.peers[i].run;
        assert_int_equal(silent->end, GPUCHAR_PROGRESS_SPIN_LIMIT);
        assert_int_equal(silent->lanes_done, 31);
        assert_int_equal(silent->spins_max, 500);
        assert_int_equal(result.peers[i].code.yields, 0);
        assert_true(result.peers[i].code.yields_removed >= result.peers[i - 2].code.yields);
    }
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    assert_int_equal(result.evidence.counters_status, GPUCHAR_E_NOT_APPLICABLE);
    assert_true(result.launches_ns > 0 && result.call_ns >= result.launches_ns);
    expect_text(&result, "one lock, served 32 lanes");
    expect_text(&result, "producer of 1000 turns");
    expect_json(&result, "\"native_code\": null");
    check_shown(&result, GPUCHAR_OK);
    release(&result);
    progress_options options = small();
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_STABLE;
    expect_status(run(&options, 99, "nothing", &result), GPUCHAR_OK);
    release(&result);
}

/* Time for loading and copies is not the kernel's: four times the limit of a launch. */
static void test_slow_around(void **state) {
    NEEDS_NVRTC();
    static const char *const plans[] = {"slow load", "slow read"};
    for (size_t i = 0; i < GC_COUNT(plans); ++i) {
        progress_result result;
        expect_status(run_small(PRODUCER, plans[i], &result), GPUCHAR_OK);
        check_all_well(&result);
        release(&result);
    }
}

/* ---- findings */

static void expect_unstable(unsigned which, const char *plan) {
    progress_options options = small();
    progress_result result;
    options.require = GPUCHAR_REQUIRE_STABLE;
    expect_status(run(&options, which, plan, &result), GPUCHAR_E_MEASUREMENT);
}

static void check_unknown(const gpuchar_progress_run *made) {
    assert_int_equal(made->known & GPUCHAR_PROGRESS_RUN_COUNTS, 0);
    assert_true(made->lanes_done == 0 && made->spins_min == 0 && made->spins_max == 0);
    assert_true(made->cycles == 0 && made->elapsed_ns == 0);
}

/* The first and the second launch of each probe in turn does not end: known is what ended, and null all else. */
static void test_endless(void **state) {
    NEEDS_NVRTC();
    for (unsigned which = LOCK; which <= SILENT_SWAPPED + 1; ++which) {
        progress_result result;
        expect_status(run_small(which, "endless", &result), GPUCHAR_CAVEAT);
        const gpuchar_progress_run *made = which < PRODUCER ? &result.lock
                                           : which < PEER   ? &result.producers[0].run
                                                            : &result.peers[(which - PEER) / LAUNCHES].run;
        assert_int_equal(made->end, GPUCHAR_PROGRESS_TIMED_OUT);
        assert_int_equal(made->launches, (which - 1) % LAUNCHES + 1);
        check_unknown(made);
        assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE);
        expect_text(&result, "did not end\n");
        expect_text(&result, "did not all end alike, or not all were made");
        check_shown(&result, GPUCHAR_CAVEAT);
        if (which < PRODUCER) {
            assert_int_equal(result.known, GPUCHAR_PROGRESS_LAUNCHED);
            expect_json(&result, "\"lock_served\": null");
            expect_json(&result, "\"lock_turns\": null");
            expect_json(&result, "\"spins_min\": null");
            expect_json(&result, "\"lanes_done\": null");
            expect_json(&result, "\"elapsed_ns\": null");
        }
        release(&result);
    }
    expect_unstable(PEER, "endless");
    expect_unstable(LOCK + 1, "endless");
}

/* With one launch there is nothing that could disagree. */
static void test_endless_once(void **state) {
    NEEDS_NVRTC();
    progress_options options = small();
    progress_result result;
    options.launches = 1;
    options.require = GPUCHAR_REQUIRE_STABLE;
    expect_status(run_shaped(&options, "1 1", 1, "endless", &result), GPUCHAR_OK);
    assert_int_equal(result.lock.end, GPUCHAR_PROGRESS_TIMED_OUT);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    release(&result);
}

/* A kernel that breaks its context: a caveat, with the driver's code in the result and its name in the log. */
static void test_fault(void **state) {
    NEEDS_NVRTC();
    static const char *const plans[] = {"fault", "read"};
    for (size_t i = 0; i < GC_COUNT(plans); ++i) {
        progress_result result;
        expect_status(run_small(PRODUCER, plans[i], &result), GPUCHAR_CAVEAT);
        const gpuchar_progress_run *made = &result.producers[0].run;
        assert_int_equal(made->end, GPUCHAR_PROGRESS_FAILED);
        assert_int_equal(made->known, GPUCHAR_PROGRESS_RUN_NATIVE);
        assert_int_equal(made->native_code, CUDA_ERROR_ILLEGAL_ADDRESS);
        check_unknown(made);
        const uint32_t doubts = GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW;
        assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | doubts);
        if (!strstr(said, "CUDA_ERROR_ILLEGAL_ADDRESS")) fail_msg("the log says only: %s", said);
        expect_text(&result, "failed, CUDA error 700 broke its context");
        expect_text(&result, "something happened that the machine code cannot do");
        check_shown(&result, GPUCHAR_CAVEAT);
        release(&result);
        expect_unstable(PRODUCER, plans[i]);
    }
    progress_options options = small(); /* nor with one launch, where nothing can disagree */
    progress_result result;
    options.launches = 1;
    options.require = GPUCHAR_REQUIRE_STABLE;
    expect_status(run_shaped(&options, "1 1", 1, "fault", &result), GPUCHAR_E_MEASUREMENT);
}

/* Two lanes with one turn, in the first, the last and in each launch: the worst one is told. */
static void test_broken_lock(void **state) {
    NEEDS_NVRTC();
    static const unsigned where[] = {LOCK, LOCK + 1, 0};
    for (size_t i = 0; i < GC_COUNT(where); ++i) {
        progress_result result;
        expect_status(run_small(where[i], "together", &result), GPUCHAR_CAVEAT);
        assert_int_equal(result.lock.end, GPUCHAR_PROGRESS_ENDED);
        assert_int_equal(result.lock.lanes_done, 32);
        assert_int_equal(result.lock_served, 30);
        assert_int_equal(result.lock_broken, where[i] ? 1 : 2);
        assert_int_equal(result.lock_turns[3], result.lock_turns[4]);
        assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_OFF_LAW);
        expect_text(&result, "one lock, served 30 lanes");
        expect_text(&result, "the lock did not hold: lanes had it together in");
        check_shown(&result, GPUCHAR_CAVEAT);
        release(&result);
        expect_unstable(where[i], "together");
    }
}

/* Lanes that give up are a finding without a doubt, as long as they do so each time. */
static void test_gives_up(void **state) {
    NEEDS_NVRTC();
    progress_result result;
    expect_status(run_small(0, "starved", &result), GPUCHAR_OK);
    assert_int_equal(result.lock.end, GPUCHAR_PROGRESS_SPIN_LIMIT);
    assert_int_equal(result.lock.lanes_done, 20);
    assert_int_equal(result.lock_served, 20);
    assert_int_equal(result.lock.spins_max, 500);
    check_shown(&result, GPUCHAR_OK);
    release(&result);
    expect_status(run_small(LOCK, "starved", &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.lock.lanes_done, 20); /* the worst, though the last one served all */
    assert_int_equal(result.lock_served, 20);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE);
    check_shown(&result, GPUCHAR_CAVEAT);
    release(&result);
    expect_unstable(LOCK, "starved");
    expect_status(run_small(PRODUCER + 1, "gives up", &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.producers[0].run.end, GPUCHAR_PROGRESS_SPIN_LIMIT);
    assert_int_equal(result.producers[0].run.spins_max, 1000); /* as many as the producer's turns */
    check_shown(&result, GPUCHAR_CAVEAT);
    release(&result);
    expect_unstable(PEER_SWAPPED, "gives up");
}

/* ---- failures */

static void expect_native(unsigned which, const char *plan, gpuchar_status wanted, int code, const char *call) {
    progress_result result;
    expect_status(run_small(which, plan, &result), wanted);
    const gpuchar_error *error = gpuchar_last_error();
    assert_int_equal(error->domain, GPUCHAR_DOMAIN_CUDA);
    assert_int_equal(error->native_code, code);
    assert_string_equal(error->call, call);
}

/* What the driver refuses, or the hardware, is no word on forward progress. */
static void test_driver_failures(void **state) {
    NEEDS_NVRTC();
    static const unsigned where[] = {LOCK, PRODUCER + 1, PEER, SILENT_SWAPPED + 1};
    for (size_t i = 0; i < GC_COUNT(where); ++i) {
        expect_native(where[i], "load", GPUCHAR_E_CUDA, CUDA_ERROR_NO_BINARY_FOR_GPU, "cuModuleLoadData");
        expect_native(where[i], "memory", GPUCHAR_E_OUT_OF_DEVICE_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc");
        expect_native(where[i], "refuse", GPUCHAR_E_CUDA, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "cuLaunchKernel");
        expect_native(where[i], "ecc", GPUCHAR_E_CUDA, CUDA_ERROR_ECC_UNCORRECTABLE, "cuEventQuery");
    }
    progress_result result;
    expect_status(run_small(PEER, "crash", &result), GPUCHAR_E_WORKER);
    assert_non_null(strstr(gpuchar_last_error()->message, "signal 9"));
    expect_status(run_small(PEER, "quit", &result), GPUCHAR_E_WORKER);
    assert_non_null(strstr(gpuchar_last_error()->message, "status 3"));
    expect_status(run_small(99, "nothing", &result), GPUCHAR_OK); /* and the session is as before */
    release(&result);
}

static void test_impossible(void **state) {
    NEEDS_NVRTC();
    static const struct {
        unsigned which;
        const char *plan;
    } cases[] = {{LOCK, "all ones"},
                 {LOCK + 1, "untouched"},
                 {LOCK, "no cycles"},
                 {LOCK + 1, "too many spins"},
                 {LOCK, "never asked"},
                 {LOCK, "gave up early"},
                 {LOCK, "locked"},
                 {LOCK + 1, "counter"},
                 {PRODUCER, "all ones"},
                 {PRODUCER, "untouched"},
                 {PRODUCER + 1, "no cycles"},
                 {PRODUCER, "never asked"},
                 {PEER, "all ones"},
                 {PEER, "untouched"},
                 {PEER_SWAPPED, "too many spins"},
                 {SILENT, "gave up early"},
                 {SILENT_SWAPPED, "locked"}};
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        progress_result result;
        const gpuchar_status status = run_small(cases[i].which, cases[i].plan, &result);
        if (status != GPUCHAR_E_MEASUREMENT) fail_msg("%u %s: %d", cases[i].which, cases[i].plan, status);
    }
}

static void expect_worker(const char *worker, const char *impostor, gpuchar_status wanted) {
    progress_result result;
    close_live();
    setenv("IMPOSTOR", impostor, 1);
    open_live(worker);
    expect_status(run_small(99, "nothing", &result), wanted);
    /* Nothing is compiled in vain for one that is not there. */
    assert_string_equal(steps, wanted == GPUCHAR_E_NO_WORKER ? "" : "compile, proof, ");
}

static void test_other_workers(void **state) {
    NEEDS_NVRTC();
    expect_worker("/nonexistent/gpuchar-worker", "", GPUCHAR_E_NO_WORKER);
    expect_worker(WORKER_IMPOSTOR, "protocol", GPUCHAR_E_WORKER_VERSION);
    expect_worker(WORKER_IMPOSTOR, "version", GPUCHAR_E_WORKER_VERSION);
    expect_worker(WORKER_IMPOSTOR, "garbage", GPUCHAR_E_WORKER);
    expect_worker(WORKER_IMPOSTOR, "dies at once", GPUCHAR_E_WORKER);
    expect_worker(WORKER_IMPOSTOR, "ends without a launch", GPUCHAR_E_WORKER);
    close_live();
    open_live(GPUCHAR_WORKER_FILE);
}

/* It starts while the kernels are compiled and proved; a call that ends there does not wait for it. */
static void test_beside(void **state) {
    NEEDS_NVRTC();
    static const char *const after[] = {"compile", "proof", "lock", "producer"};
    progress_result result;
    expect_status(run_small(99, "nothing", &result), GPUCHAR_OK);
    assert_true(worker_beside);
    assert_string_equal(steps, "compile, proof, lock, producer, peer wait, ");
    if (!strstr(said, "gpuchar-worker was waited for")) fail_msg("the log says only: %s", said);
    release(&result);
    const size_t descriptors = count_descriptors();
    for (size_t i = 0; i < GC_COUNT(after); ++i) {
        setenv("SLOW_INIT_MS", i < 2 ? "30000" : "0", 1);
        cancel_after = after[i];
        const uint64_t begin = gc_now_ns();
        expect_status(run_small(99, "nothing", &result), GPUCHAR_E_CANCELLED);
        assert_in_range(gc_now_ns() - begin, 0, UINT64_C(10000000000));
        assert_true(worker_beside);
        assert_int_equal(count_descriptors(), descriptors);
    }
    cancel_after = NULL;
    setenv("SLOW_INIT_MS", "300", 1); /* what it does longer than the kernels take is no time of theirs */
    expect_status(run_small(99, "nothing", &result), GPUCHAR_OK);
    assert_true(result.call_ns - result.launches_ns >= 300 * NS_PER_MS);
    check_all_well(&result);
    release(&result);
    setenv("SLOW_INIT_MS", "0", 1);
}

static void test_cancel(void **state) {
    NEEDS_NVRTC();
    progress_result result;
    gpuchar_session_cancel(session);
    expect_status(run_small(99, "nothing", &result), GPUCHAR_E_CANCELLED);
    expect_status(run_small(99, "nothing", &result), GPUCHAR_OK);
    release(&result);
}

static void test_bad_options(void **state) {
    NEEDS_NVRTC();
#define BAD(wanted, word, change)                                                                                      \
    {                                                                                                                  \
        progress_options options = small();                                                                            \
        progress_result result;                                                                                        \
        change;                                                                                                        \
        expect_failure(run(&options, 99, "nothing", &result), wanted, word, "");                                       \
    }
    BAD(GPUCHAR_E_LIMIT, "producer_turns_count", options.producer_turns_count = 9)
    BAD(GPUCHAR_E_LIMIT, "producer_turns[0]", options.producer_turns[0] = 0)
    BAD(GPUCHAR_E_LIMIT, "producer_turns[0]", options.producer_turns[0] = UINT64_C(1) << 32)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "producer_turns[7]", options.producer_turns[7] = 1)
    BAD(GPUCHAR_E_LIMIT, "spin_limit", options.spin_limit = (1u << 30) + 1)
    BAD(GPUCHAR_E_LIMIT, "launches", options.launches = 101)
    BAD(GPUCHAR_E_LIMIT, "limit_ms", options.limit_ms = 9)
    BAD(GPUCHAR_E_LIMIT, "limit_ms", options.limit_ms = 60001)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "counters", options.counters = 3)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "require", options.require = 8)
    BAD(GPUCHAR_E_NOT_APPLICABLE, "another process", options.counters = GPUCHAR_COUNTERS_REQUIRED)
    BAD(GPUCHAR_E_NOT_APPLICABLE, "another process", options.require = GPUCHAR_REQUIRE_COUNTED)
    BAD(GPUCHAR_E_STRUCT_SIZE, "struct_size", options.struct_size = 7)
#undef BAD
    assert_int_equal(gpuchar_forward_progress(session, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
}

static void test_default_options(void **state) {
    NEEDS_NVRTC();
    progress_result result = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
    unsetenv("PLAN");
    setenv("PLAN_SHAPE", "3 4", 1);
    char number[300];
    snprintf(number, sizeof number, "%s/count", folder);
    unlink(number);
    setenv("PLAN_COUNT", number, 1);
    expect_status(gpuchar_forward_progress(session, NULL, &result), GPUCHAR_OK);
    static const uint64_t turns[] = {10, 1000, 100000, 10000000};
    assert_int_equal(result.producer_count, GC_COUNT(turns));
    for (size_t i = 0; i < GC_COUNT(turns); ++i) assert_int_equal(result.producers[i].turns, turns[i]);
    assert_int_equal(result.spin_limit, 1 << 16);
    assert_int_equal(result.launches, 3);
    assert_int_equal(result.limit_ms, 5000);
    release(&result);
}

/* ---- sessions that run nothing */

static void test_compile_only(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < arch_count; ++i) {
        gpuchar_session *compiling = open_arch(archs[i], telling());
        progress_result result = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
        worker_beside = false;
        expect_status(gpuchar_forward_progress(compiling, NULL, &result), GPUCHAR_CAVEAT);
        assert_false(worker_beside);
        if (archs[i] >= 70 && result.evidence.flags != (GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COMPILE_ONLY))
            fail_msg("sm_%u: flags %x", archs[i], result.evidence.flags);
        assert_int_equal(result.known, 0);
        assert_int_equal(result.lock.end, GPUCHAR_PROGRESS_NOT_RUN);
        expect_json(&result, "\"launches_ns\": null");
        expect_json(&result, "\"lock_served\": null");
        expect_json(&result, "\"cycles\": null");
        check_shown(&result, GPUCHAR_CAVEAT);
        release(&result);
        progress_options options = GPUCHAR_FORWARD_PROGRESS_OPTIONS_INIT;
        options.require = GPUCHAR_REQUIRE_STABLE;
        expect_status(gpuchar_forward_progress(compiling, &options, &result), GPUCHAR_E_NOT_APPLICABLE);
        gpuchar_session_close(compiling);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_well),     cmocka_unit_test(test_slow_around),
        cmocka_unit_test(test_endless),      cmocka_unit_test(test_endless_once),
        cmocka_unit_test(test_fault),        cmocka_unit_test(test_broken_lock),
        cmocka_unit_test(test_gives_up),     cmocka_unit_test(test_driver_failures),
        cmocka_unit_test(test_impossible),   cmocka_unit_test(test_other_workers),
        cmocka_unit_test(test_beside),       cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_bad_options),  cmocka_unit_test(test_default_options),
        cmocka_unit_test(test_compile_only),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
