/* Bad input and interruptions on a live session: a clear error each, and the session works afterwards. */
#include "gpu_check.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static gpuchar_status sweep(gpuchar_session *session, const gpuchar_divergence_sweep_options *options) {
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    gpuchar_status status = gpuchar_divergence_sweep(session, options, &result);
    CHECK(status >= 0 || (result.points == NULL && result.call_ns == 0), "a failed result is not zeroed");
    gpuchar_divergence_sweep_result_free(&result);
    return status;
}

static void works(gpuchar_session *session, const char *after) {
    gpuchar_divergence_sweep_options options = small_sweep();
    gpuchar_status status = sweep(session, &options);
    CHECK(status >= 0, "after %s the session is unusable: %d", after, status);
}

static void expect(gpuchar_session *session, const char *what, const gpuchar_divergence_sweep_options *options,
                   gpuchar_status wanted) {
    gpuchar_status status = sweep(session, options);
    const gpuchar_error *error = gpuchar_last_error();
    printf("%-24s %-28s %s\n", what, gpuchar_status_name(status), error->message);
    CHECK(status == wanted, "%s: %d instead of %d", what, status, wanted);
    CHECK(error->status == wanted && error->message[0], "%s: the detail is missing", what);
    works(session, what);
}

static void bad_options(gpuchar_session *session) {
    gpuchar_divergence_sweep_options options;
#define BAD(what, field, value, wanted)                                                                                \
    options = small_sweep();                                                                                           \
    options.field = value;                                                                                             \
    expect(session, what, &options, wanted)
    BAD("k of 33", ways[0], 33, GPUCHAR_E_LIMIT);
    BAD("k of 0", ways[0], 0, GPUCHAR_E_LIMIT);
    BAD("33 values of k", ways_count, 33, GPUCHAR_E_LIMIT);
    BAD("10^9 launches", launches, 1000000000, GPUCHAR_E_LIMIT);
    BAD("body of 10^12", body, (uint32_t)1000000000000ull, GPUCHAR_E_LIMIT);
    BAD("body of 100", body, 100, GPUCHAR_E_LIMIT);
    BAD("2^32 - 1 iterations", iterations, UINT32_MAX, GPUCHAR_E_LIMIT);
    BAD("kind of 9", kind, 9, GPUCHAR_E_INVALID_ARGUMENT);
    BAD("lane map of 9", lane_map, 9, GPUCHAR_E_INVALID_ARGUMENT);
    BAD("counters of 9", counters, 9, GPUCHAR_E_INVALID_ARGUMENT);
    BAD("keep_samples of 2", keep_samples, 2, GPUCHAR_E_INVALID_ARGUMENT);
    BAD("require of 8", require, 8, GPUCHAR_E_INVALID_ARGUMENT);
    BAD("struct_size of 7", struct_size, 7, GPUCHAR_E_STRUCT_SIZE);
    BAD("struct_size of 0", struct_size, 0, GPUCHAR_E_STRUCT_SIZE);
#undef BAD
    options = small_sweep();
    options.lane_map = GPUCHAR_LANES_GIVEN;
    options.lanes[31] = 32;
    expect(session, "lane on path 32", &options, GPUCHAR_E_LIMIT);
    options.lanes[31] = 1; /* two paths are given, ways asks for 1 and 2 */
    expect(session, "given lanes and ways", &options, GPUCHAR_E_INVALID_ARGUMENT);
    CHECK(gpuchar_divergence_sweep(session, NULL, NULL) == GPUCHAR_E_INVALID_ARGUMENT, "NULL result");
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    CHECK(gpuchar_divergence_sweep(NULL, NULL, &result) == GPUCHAR_E_INVALID_ARGUMENT, "NULL session");
    gpuchar_session *other = NULL;
    CHECK(gpuchar_session_open(NULL, "99", NULL, &other) == GPUCHAR_E_DEVICE_NOT_FOUND, "device 99");
    CHECK(gpuchar_session_open(NULL, "GPU-00000000-0000-0000-0000-000000000000", NULL, &other) ==
              GPUCHAR_E_DEVICE_NOT_FOUND,
          "unknown UUID");
}

static int failing_launch(void *user, size_t range, void *stream) {
    (void)user, (void)range, (void)stream;
    return 5;
}

/* A sanitizer is a profiler of its own. */
static bool not_to_be_had(gpuchar_status status) {
    return status == GPUCHAR_E_NO_PERMISSION || (!times_count() && status == GPUCHAR_E_PROFILER_ACTIVE);
}

static void bad_counters(gpuchar_session *session) {
    static const char *const unknown[] = {"sm__no_such_metric.sum"}, *const known[] = {"smsp__inst_executed.sum"};
    gpuchar_counters_options options = GPUCHAR_COUNTERS_OPTIONS_INIT;
    gpuchar_counters_result result = GPUCHAR_COUNTERS_RESULT_INIT;
    options.launch = failing_launch;
    options.metrics = unknown;
    options.metric_count = 1;
    gpuchar_status status = gpuchar_counters_read(session, &options, &result);
    printf("%-24s %-28s %s\n", "unknown metric", gpuchar_status_name(status), gpuchar_last_error()->message);
    CHECK(status == GPUCHAR_E_METRIC_UNKNOWN || not_to_be_had(status), "%d", status);
    works(session, "an unknown metric");
    options.metrics = known;
    status = gpuchar_counters_read(session, &options, &result);
    printf("%-24s %-28s %s\n", "failing callback", gpuchar_status_name(status), gpuchar_last_error()->message);
    CHECK(status == GPUCHAR_E_CALLBACK || not_to_be_had(status), "%d", status);
    works(session, "a failing callback");
}

/* Either counted, or an error that says why not; never a result without counters. */
static void required_counters(gpuchar_session *session) {
    gpuchar_divergence_sweep_options options = small_sweep();
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    options.counters = GPUCHAR_COUNTERS_REQUIRED;
    gpuchar_status status = gpuchar_divergence_sweep(session, &options, &result);
    const gpuchar_error *error = gpuchar_last_error();
    printf("%-24s %-28s %s\n", "counters required", gpuchar_status_name(status), status < 0 ? error->message : "");
    if (status >= 0) {
        CHECK(result.evidence.counters_status == GPUCHAR_OK, "counters_status %d", result.evidence.counters_status);
        CHECK(result.known & GPUCHAR_DIVERGENCE_VALIDATED, "nothing was counted");
    } else {
        CHECK(error->status == status && error->message[0] && error->hint[0], "the detail is missing");
        CHECK(result.points == NULL, "a failed result is not zeroed");
    }
    gpuchar_divergence_sweep_result_free(&result);
    works(session, "required counters");
}

/* ---- cancel and busy ---- */

static void *cancel_soon(void *session) {
    usleep(150000);
    gpuchar_session_cancel(session);
    return NULL;
}

static void cancelled(gpuchar_session *session) {
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    pthread_t thread;
    options.counters = GPUCHAR_COUNTERS_OFF;
    options.launches = 10000;
    double begin = seconds_now();
    pthread_create(&thread, NULL, cancel_soon, session);
    gpuchar_status status = sweep(session, &options);
    double took = seconds_now() - begin;
    pthread_join(thread, NULL);
    printf("cancel after 150 ms: %s after %.0f ms\n", gpuchar_status_name(status), took * 1e3);
    CHECK(status == GPUCHAR_E_CANCELLED, "%d", status);
    if (times_count()) CHECK(took < 0.2, "%.3f s", took);
    works(session, "a cancel");
    gpuchar_session_cancel(session);
    options = small_sweep();
    CHECK(sweep(session, &options) == GPUCHAR_E_CANCELLED, "a cancel before the call");
    works(session, "a cancel before the call");
}

static void *second_call(void *session) {
    gpuchar_divergence_sweep_options options = small_sweep();
    usleep(150000);
    gpuchar_status status = sweep(session, &options);
    CHECK(status == GPUCHAR_E_BUSY, "a second call returned %d", status);
    gpuchar_session_cancel(session);
    return NULL;
}

static void busy(gpuchar_session *session) {
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    pthread_t thread;
    options.counters = GPUCHAR_COUNTERS_OFF;
    options.launches = 10000;
    pthread_create(&thread, NULL, second_call, session);
    CHECK(sweep(session, &options) == GPUCHAR_E_CANCELLED, "ended by the second thread");
    pthread_join(thread, NULL);
    works(session, "a second call");
}

int main(void) {
    gpuchar_session *session = open_or_skip(NULL);
    works(session, "opening");
    bad_options(session);
    bad_counters(session);
    required_counters(session);
    cancelled(session);
    busy(session);
    gpuchar_session_close(session);
    return gpu_finish();
}
