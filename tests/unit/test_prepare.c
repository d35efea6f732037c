/* gpuchar_experiment_prepare on the fakes: what it compiles is not compiled again, and what fails in it is told or fails later. */
#include <core/util.h>
#include <fakes/planted.h>

enum { EXPERIMENTS_MAX = 64 };

/* All experiments with their quick presets. */
typedef struct requests {
    gpuchar_experiment_request all[EXPERIMENTS_MAX];
    size_t count;
} requests;

static void *sized(size_t size) {
    size_t *made = calloc(1, size);
    assert_non_null(made);
    *made = size;
    return made;
}

static requests make_requests(void) {
    requests r = {.count = 0};
    const gpuchar_experiment *experiment;
    for (; (experiment = gpuchar_experiment_at(r.count)) != NULL; r.count++) {
        assert_true(r.count < EXPERIMENTS_MAX);
        void *options = sized(experiment->options_size_bytes);
        assert_int_equal(gpuchar_experiment_preset(experiment->name, GPUCHAR_PRESET_QUICK, options), GPUCHAR_OK);
        r.all[r.count] = (gpuchar_experiment_request){experiment->name, options};
    }
    assert_true(r.count >= 5);
    return r;
}

static void free_requests(requests *r) {
    for (size_t i = 0; i < r->count; i++) free((void *)(uintptr_t)r->all[i].options);
}

typedef struct bench {
    gpuchar_runtime *runtime;
    gpuchar_session *session;
    planted law;
    requests requests;
} bench;

static void open_bench(bench *b, const char *device) {
    *b = (bench){.runtime = fake_runtime_with(FAKE_WITH_ALL), .law = planted_default(), .requests = make_requests()};
    fake()->nvrtc_canned = true;
    plant(&b->law);
    assert_failure(gpuchar_session_open(b->runtime, device, NULL, &b->session), GPUCHAR_OK);
}

static void close_bench(bench *b) {
    free_requests(&b->requests);
    gpuchar_session_close(b->session);
    gpuchar_runtime_close(b->runtime);
    assert_fakes_clean();
}

static gpuchar_status prepare(const bench *b) {
    return gpuchar_experiment_prepare(b->session, b->requests.all, b->requests.count);
}

static void run_all(const bench *b, bool live) {
    for (size_t i = 0; i < b->requests.count; i++) {
        const gpuchar_experiment_request *request = &b->requests.all[i];
        /* Its kernels run in another process, which has no fake machine. */
        if (live && strcmp(request->name, "forward_progress") == 0) continue;
        void *result = sized(gpuchar_experiment_get(request->name)->result_size_bytes);
        gpuchar_status status = gpuchar_experiment_run(b->session, request->name, request->options, result);
        if (status < 0) fail_msg("%s: %s", request->name, gpuchar_last_error()->message);
        gpuchar_experiment_result_free(request->name, result);
        free(result);
    }
}

static void test_compiles_once(void **state) {
    (void)state;
    static const char *const devices[] = {"0", "sm_90"};
    for (size_t i = 0; i < GC_COUNT(devices); i++) {
        bench b;
        open_bench(&b, devices[i]);
        assert_failure(prepare(&b), GPUCHAR_OK);
        const unsigned compiled = fake_call_count("nvrtcCompileProgram");
        assert_true(compiled >= 10);
        assert_failure(prepare(&b), GPUCHAR_OK);
        run_all(&b, i == 0);
        assert_int_equal(fake_call_count("nvrtcCompileProgram"), compiled);
        close_bench(&b);
    }
}

/* Other options are other kernels. */
static void test_other_options(void **state) {
    (void)state;
    bench b;
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    const gpuchar_experiment_request request = {"divergence_sweep", &options};
    open_bench(&b, "0");
    options.body = 64;
    options.counters = GPUCHAR_COUNTERS_OFF;
    assert_failure(gpuchar_experiment_prepare(b.session, &request, 1), GPUCHAR_OK);
    assert_int_equal(fake_call_count("nvrtcCompileProgram"), 1);
    assert_int_equal(fake_call_count("cuptiProfilerHostInitialize"), 0); /* nobody reads counters */
    options.body = 128;
    assert_true(gpuchar_divergence_sweep(b.session, &options, &result) >= 0);
    assert_int_equal(fake_call_count("nvrtcCompileProgram"), 2);
    gpuchar_divergence_sweep_result_free(&result);
    close_bench(&b);
}

/* CUPTI is made ready and nothing of it stays; that it is not there, or fails, is for those to tell who read counters. */
static void test_counters(void **state) {
    (void)state;
    bench b;
    open_bench(&b, "0");
    assert_failure(prepare(&b), GPUCHAR_OK);
    assert_int_equal(fake_call_count("cuptiProfilerHostInitialize"), 1);
    assert_int_equal(fake()->profilers, 0);
    assert_int_equal(fake_held(FAKE_HOST), 0);
    assert_int_equal(fake_call_count("cuLaunchKernel"), 0);
    static const char *const calls[] = {"cuptiProfilerInitialize", "cuptiProfilerDeviceSupported",
                                        "cuptiDeviceGetChipName", "cuptiProfilerHostInitialize"};
    for (size_t i = 0; i < GC_COUNT(calls); i++) {
        fake_fail(calls[i], 1, CUPTI_ERROR_UNKNOWN);
        assert_failure(prepare(&b), GPUCHAR_OK);
        assert_int_equal(fake_failed(), 1);
        fake_fail(NULL, 0, 0);
        assert_int_equal(fake()->profilers, 0);
    }
    close_bench(&b);
    open_bench(&b, "0");
    gpuchar_session_close(b.session);
    gpuchar_runtime_close(b.runtime);
    b.runtime = fake_runtime_with(FAKE_WITH_NVRTC); /* no CUPTI */
    assert_failure(gpuchar_session_open(b.runtime, "0", NULL, &b.session), GPUCHAR_OK);
    assert_failure(prepare(&b), GPUCHAR_OK);
    close_bench(&b);
}

static void test_bad_input(void **state) {
    (void)state;
    bench b;
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    const gpuchar_experiment_request unknown = {"no such thing", NULL}, nameless = {NULL, NULL};
    const gpuchar_experiment_request two[] = {{"divergence_shapes", NULL}, {"divergence_sweep", &options}};
    open_bench(&b, "0");
    const requests *r = &b.requests;
    assert_failure(gpuchar_experiment_prepare(NULL, r->all, r->count), GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_experiment_prepare(b.session, NULL, 1), GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_experiment_prepare(b.session, &unknown, 1), GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_experiment_prepare(b.session, &nameless, 1), GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_experiment_prepare(b.session, NULL, 0), GPUCHAR_OK);
    options.body = 65;
    assert_failure(gpuchar_experiment_prepare(b.session, two, 2), GPUCHAR_E_LIMIT);
    options = gpuchar_divergence_sweep_options_make();
    options.struct_size = 3;
    assert_failure(gpuchar_experiment_prepare(b.session, two, 2), GPUCHAR_E_STRUCT_SIZE);
    assert_int_equal(fake_call_count("nvrtcCompileProgram"), 0);
    options = gpuchar_divergence_sweep_options_make();
    fake_fail("nvrtcCompileProgram", 2, NVRTC_ERROR_COMPILATION);
    assert_failure(gpuchar_experiment_prepare(b.session, two, 2), GPUCHAR_E_COMPILE);
    fake_fail(NULL, 0, 0);
    gpuchar_session_cancel(b.session);
    assert_failure(gpuchar_experiment_prepare(b.session, two, 2), GPUCHAR_E_CANCELLED);
    assert_failure(gpuchar_experiment_prepare(b.session, two, 2), GPUCHAR_OK);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiles_once),
        cmocka_unit_test(test_other_options),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
