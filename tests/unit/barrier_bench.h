/*
 * For tests of gpuchar_barrier_class_experiment: a session whose worker runs on a driver whose kernels do what the bits of
 * their image say (barrier_plan.h), a small experiment, and its result as text, JSON and recording. The kernels are NVRTC's.
 */
#ifndef TEST_BARRIER_BENCH_H
#define TEST_BARRIER_BENCH_H

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

static inline void take_log(void *user, uint32_t level, const char *message) {
    (void)user;
    (void)level;
    const size_t length = strlen(said);
    snprintf(said + length, sizeof said - length, "%s\n", message);
}

static inline void take_step(void *user, const char *step, double fraction_done) {
    (void)user;
    (void)fraction_done;
    const size_t length = strlen(steps);
    snprintf(steps + length, sizeof steps - length, "%s, ", step);
    if (cancel_after && strcmp(step, cancel_after) == 0) gpuchar_session_cancel(session);
}

/* `major`: of the chip's compute capability. */
static inline void open_live(const char *worker, const char *major) {
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

static inline void close_live(void) {
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
    session = NULL;
    runtime = NULL;
}

static inline int open_all(void **state) {
    find_archs(state);
    if (arch_count == 0) return 0;
    make_folder(state);
    fake_reset();
    open_live(GPUCHAR_WORKER_FILE, "10");
    return 0;
}

static inline int close_all(void **state) {
    if (arch_count == 0) return 0;
    close_live();
    return remove_folder(state);
}

/* One shape, and each class on all and on each alone: 12, 16 and 12 edits. */
static inline barrier_options small(void) {
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
static inline gpuchar_status run(const barrier_options *options, const char *law, barrier_result *result) {
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

static inline gpuchar_status run_small(const char *law, barrier_result *result) {
    const barrier_options options = small();
    return run(&options, law, result);
}

static inline void expect_status(gpuchar_status got, gpuchar_status wanted) {
    if (got != wanted) fail_msg("%s: %s", gpuchar_status_name(got), gpuchar_last_error()->message);
}

static inline void release(barrier_result *result) {
    gpuchar_barrier_class_experiment_result_free(result);
}

/* ---- JSON, text, recordings */

static inline void expect_text(const barrier_result *result, const char *part) {
    char *text = NULL;
    assert_int_equal(gpuchar_experiment_text("barrier_class_experiment", result, &text), GPUCHAR_OK);
    if (!strstr(text, part)) fail_msg("no \"%s\" in\n%s", part, text);
    gpuchar_string_free(text);
}

static inline void expect_json(const barrier_result *result, const char *part) {
    char *text = NULL;
    assert_int_equal(gpuchar_json_write("gpuchar_barrier_class_experiment_result", result, &text), GPUCHAR_OK);
    if (!strstr(text, part)) fail_msg("no %s in\n%s", part, text);
    gpuchar_string_free(text);
}

static inline gpuchar_status read_back(const barrier_result *result, const barrier_options *options,
                                       barrier_result *answer) {
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
static inline void expect_recorded(const barrier_result *result, gpuchar_status wanted) {
    barrier_result answer, copy = *result;
    expect_status(read_back(result, NULL, &answer), wanted);
    copy.evidence.flags |= GPUCHAR_FLAG_RECORDED;
    assert_true(walk_equal(gpuchar_schema_get("gpuchar_barrier_class_experiment_result"), &copy, &answer));
    release(&answer);
}

#endif
