/* Counters without a GPU: CUPTI's Host API for every chip that it knows, and what the public call refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <core/util.h>
#include <gpuchar/gpuchar.h>
#include <measure/range_counters.h>
#include <stdio.h>

/* The metrics that the divergence sweep reads. */
static const char *const METRICS[] = {"smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
                                      "smsp__thread_inst_executed_per_inst_executed.ratio"};

/* CUPTI opens libnvperf_host.so with RTLD_DEEPBIND, which the sanitizers' runtimes end the process for. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static gc_cupti cupti; /* stays open until the process ends */
static bool has_cupti;

static int find_cupti(void **state) {
    (void)state;
    has_cupti = gc_cupti_load(NULL, 0, &cupti) == GPUCHAR_OK;
    if (!has_cupti) printf("no CUPTI: %s\n", gpuchar_last_error()->message);
    return 0;
}

static void need_cupti(void) {
    if (!has_cupti || SANITIZED) skip();
}

static void check_says(gpuchar_status status, gpuchar_status wanted, const char *first, const char *second) {
    const gpuchar_error *error = gpuchar_last_error();
    assert_int_equal(status, wanted);
    assert_int_equal(error->status, wanted);
    if (!strstr(error->message, first)) fail_msg("no \"%s\" in: %s", first, error->message);
    if (!strstr(error->message, second)) fail_msg("no \"%s\" in: %s", second, error->message);
}

/* ---- CUPTI's Host API ---- */

static size_t chips(const char *const **names) {
    CUpti_Profiler_Host_GetSupportedChips_Params ask = {.structSize =
                                                            CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE};
    assert_int_equal(cupti.ProfilerHostGetSupportedChips(&ask), CUPTI_SUCCESS);
    *names = ask.ppChipNames;
    return ask.numChips;
}

/* Passes for the metrics; 0 where this CUPTI lists the chip and then says that it cannot profile it. */
static uint32_t passes_of(const char *chip, size_t metric_count) {
    uint32_t passes = 77;
    gpuchar_status status = gc_counters_passes(&cupti, chip, METRICS, metric_count, &passes);
    if (status == GPUCHAR_OK) {
        assert_in_range(passes, 1, 8);
    } else {
        check_says(status, GPUCHAR_E_COUNTERS_UNSUPPORTED, chip, "CUPTI_ERROR_");
        assert_int_equal(passes, 0);
    }
    return passes;
}

static void test_passes_of_all_chips(void **state) {
    (void)state;
    need_cupti();
    const char *const *names = NULL;
    size_t count = chips(&names), usable = 0;
    printf("CUPTI %u, %s: passes for the sweep's metrics\n", cupti.version, cupti.library.path);
    for (size_t i = 0; i < count; ++i) {
        uint32_t all = passes_of(names[i], GC_COUNT(METRICS)), one = passes_of(names[i], 1);
        printf("  %-8s %u, the first metric alone %u\n", names[i], all, one);
        assert_in_range(one, all > 0, all);
        usable += all > 0;
    }
    printf("%zu of %zu chips can be profiled\n", usable, count);
    assert_true(2 * usable > count);
}

/* Every CUPTI with a range profiler knows these. */
static void test_passes_of_known_chips(void **state) {
    (void)state;
    need_cupti();
    static const char *const known[] = {"TU102", "GA100", "GA102", "AD102", "GH100"};
    for (size_t i = 0; i < GC_COUNT(known); ++i) {
        if (passes_of(known[i], GC_COUNT(METRICS)) == 0) fail_msg("%s", gpuchar_last_error()->message);
    }
}

static void check_unknown_metric(const char *chip) {
    static const char *const mixed[] = {"smsp__inst_executed.sum", "smsp__no_such_thing.sum"};
    static const char *const empty[] = {""};
    uint32_t passes = 77;
    gpuchar_status status = gc_counters_passes(&cupti, chip, mixed, 2, &passes);
    check_says(status, GPUCHAR_E_METRIC_UNKNOWN, mixed[1], chip);
    assert_null(strstr(gpuchar_last_error()->message, mixed[0]));
    assert_int_equal(gpuchar_last_error()->domain, GPUCHAR_DOMAIN_CUPTI);
    assert_int_equal(passes, 0);
    status = gc_counters_passes(&cupti, chip, empty, 1, &passes);
    check_says(status, GPUCHAR_E_METRIC_UNKNOWN, "\"\"", chip);
}

static void test_unknown_metric(void **state) {
    (void)state;
    need_cupti();
    const char *const *names = NULL;
    size_t count = chips(&names);
    for (size_t i = 0; i < count; ++i) {
        if (passes_of(names[i], 1) > 0) check_unknown_metric(names[i]);
    }
}

static void test_unknown_chip(void **state) {
    (void)state;
    need_cupti();
    uint32_t passes = 77;
    gpuchar_status status = gc_counters_passes(&cupti, "ZZ999", METRICS, GC_COUNT(METRICS), &passes);
    printf("unknown chip: %s: %s (%s)\n", gpuchar_status_name(status), gpuchar_last_error()->message,
           gpuchar_last_error()->hint);
    check_says(status, GPUCHAR_E_COUNTERS_UNSUPPORTED, "ZZ999", "chip");
    assert_int_equal(gpuchar_last_error()->domain, GPUCHAR_DOMAIN_CUPTI);
    assert_string_equal(gpuchar_last_error()->call, "cuptiProfilerHostInitialize");
    assert_true(gpuchar_last_error()->native_code != 0);
    assert_true(gpuchar_last_error()->hint[0] != 0);
    assert_int_equal(passes, 0);
}

/* ---- the public call ---- */

static int launch_nothing(void *user, size_t range, void *stream) {
    (void)range;
    (void)stream;
    ++*(int *)user;
    return 0;
}

static int launches;

static gpuchar_counters_options good_options(void) {
    gpuchar_counters_options options = GPUCHAR_COUNTERS_OPTIONS_INIT;
    options.metrics = METRICS;
    options.metric_count = GC_COUNT(METRICS);
    options.launch = launch_nothing;
    options.launch_user = &launches;
    return options;
}

/* Reads into a struct full of rubbish: whatever fails, nothing but the size is left. */
static gpuchar_status read_counters(gpuchar_session *session, const gpuchar_counters_options *options) {
    gpuchar_counters_result result;
    const gpuchar_counters_result zero = GPUCHAR_COUNTERS_RESULT_INIT;
    memset(&result, 0xa5, sizeof result);
    result.struct_size = sizeof result;
    gpuchar_status status = gpuchar_counters_read(session, options, &result);
    assert_memory_equal(&result, &zero, sizeof zero);
    assert_int_equal(launches, 0);
    return status;
}

static gpuchar_session *new_session(void) {
    gpuchar_session *session = NULL;
    assert_int_equal(gc_session_new(NULL, GC_SESSION_COMPILE_ONLY, &session), GPUCHAR_OK);
    return session;
}

static void test_bad_input(void **state) {
    (void)state;
    gpuchar_session *session = new_session();
    static const char *many[513];
    static const char *const holed[] = {"smsp__inst_executed.sum", NULL};
    for (size_t i = 0; i < GC_COUNT(many); ++i) many[i] = METRICS[0];
    gpuchar_counters_options options = good_options();
    options.launch = NULL;
    check_says(read_counters(session, &options), GPUCHAR_E_INVALID_ARGUMENT, "launch", "callback");
    options = good_options();
    options.metric_count = 0;
    check_says(read_counters(session, &options), GPUCHAR_E_INVALID_ARGUMENT, "no", "metrics");
    options = good_options();
    options.metrics = NULL;
    check_says(read_counters(session, &options), GPUCHAR_E_INVALID_ARGUMENT, "no", "metrics");
    options.metrics = holed;
    options.metric_count = 2;
    check_says(read_counters(session, &options), GPUCHAR_E_INVALID_ARGUMENT, "metric 1", "NULL");
    options.metrics = many;
    options.metric_count = 513;
    check_says(read_counters(session, &options), GPUCHAR_E_LIMIT, "513 metrics", "512");
    options.metric_count = 512;
    check_says(read_counters(session, &options), GPUCHAR_E_NOT_APPLICABLE, "counters", "GPU");
    options.range_count = 4097;
    check_says(read_counters(session, &options), GPUCHAR_E_LIMIT, "4097 ranges", "4096");
    check_says(read_counters(session, NULL), GPUCHAR_E_INVALID_ARGUMENT, "launch", "callback");
    gpuchar_session_close(session);
}

static void test_struct_sizes(void **state) {
    (void)state;
    gpuchar_session *session = new_session();
    gpuchar_counters_options options = good_options();
    gpuchar_counters_result result = GPUCHAR_COUNTERS_RESULT_INIT;
    static const size_t bad[] = {0, 8, sizeof options - 1, SIZE_MAX};
    for (size_t i = 0; i < GC_COUNT(bad); ++i) {
        options.struct_size = bad[i];
        check_says(read_counters(session, &options), GPUCHAR_E_STRUCT_SIZE, "gpuchar_counters_options", "struct_size");
    }
    options = good_options();
    result.struct_size = sizeof result - 1;
    gpuchar_status status = gpuchar_counters_read(session, &options, &result);
    check_says(status, GPUCHAR_E_STRUCT_SIZE, "gpuchar_counters_result", "struct_size");
    gpuchar_session_close(session);
}

static void test_no_gpu(void **state) {
    (void)state;
    gpuchar_session *session = new_session();
    gpuchar_counters_options options = good_options();
    check_says(read_counters(session, &options), GPUCHAR_E_NOT_APPLICABLE, "counters", "GPU");
    check_says(read_counters(NULL, &options), GPUCHAR_E_INVALID_ARGUMENT, "session", "NULL");
    check_says(gpuchar_counters_read(session, &options, NULL), GPUCHAR_E_INVALID_ARGUMENT, "gpuchar_counters_result",
               "NULL");
    gpuchar_session_cancel(session);
    check_says(read_counters(session, &options), GPUCHAR_E_CANCELLED, "cancelled", "");
    check_says(read_counters(session, &options), GPUCHAR_E_NOT_APPLICABLE, "counters", "GPU"); /* not busy any more */
    gpuchar_session_close(session);
    gpuchar_counters_result_free(NULL);
    gpuchar_counters_result zero = GPUCHAR_COUNTERS_RESULT_INIT;
    gpuchar_counters_result_free(&zero);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes_of_all_chips),
        cmocka_unit_test(test_passes_of_known_chips),
        cmocka_unit_test(test_unknown_metric),
        cmocka_unit_test(test_unknown_chip),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_struct_sizes),
        cmocka_unit_test(test_no_gpu),
    };
    return cmocka_run_group_tests(tests, find_cupti, NULL);
}
