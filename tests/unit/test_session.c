/* Sessions on the fake driver: names, contexts, busy, cancel, locks, forks, failures half-way. */
#include <fakes/fake_client.h>
#include <pthread.h>
#include <session/devices.h>
#include <session/session_internal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static gpuchar_session *open_fake(gpuchar_runtime *runtime, const char *device) {
    gpuchar_session *session = NULL;
    assert_failure(gpuchar_session_open(runtime, device, NULL, &session), GPUCHAR_OK);
    assert_non_null(session);
    return session;
}

static void test_names(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",      "x",         "-1",     "0x1",     "GPU-",  "GPU-1234",     "MIG-GPU-1/2/3",
        "sm_",   "sm_9",      "sm_90x", "sm_90a",  "sm_f",  "01:00",        "01:00.00",
        "0:1:2", "g:01:00.0", "1 ",     "sm_90aa", "SM_90", "0000:01:00.0 "};
    for (size_t i = 0; i < GC_COUNT(wrong); i++) {
        gpuchar_session *session = NULL;
        assert_failure(gpuchar_session_open(NULL, wrong[i], NULL, &session), GPUCHAR_E_INVALID_ARGUMENT);
        assert_true(gpuchar_last_error()->hint[0] != 0);
        assert_null(session);
    }
    gc_device_name name;
    assert_failure(gc_device_name_read("gpu-00102030-4050-6070-8090-A0B0C0D0E0F0", &name), GPUCHAR_OK);
    assert_string_equal(name.text, "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0");
    assert_failure(gc_device_name_read("C1:00.0", &name), GPUCHAR_OK);
    assert_string_equal(name.text, "00000000:c1:00.0");
    assert_failure(gc_device_name_read("99999999999999999999999", &name), GPUCHAR_OK);
    assert_int_equal(name.number, INT32_MAX);
    assert_failure(gc_device_name_read(NULL, &name), GPUCHAR_OK);
    assert_int_equal(name.number, 0);
}

static void test_open_by_each_name(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    static const struct {
        const char *name;
        uint32_t architecture;
    } good[] = {
        {NULL, 90},
        {"0", 90},
        {"1", 80},
        {"GPU-00102030-4050-6070-8090-a0b0c0d0e0f0", 90},
        {"MIG-01112131-4151-6171-8191-a1b1c1d1e1f1", 80},
        {"0000:01:00.0", 90},
        {"00000000:C1:00.0", 80},
        {"c1:00.0", 80},
    };
    for (size_t i = 0; i < GC_COUNT(good); i++) {
        gpuchar_session *session = open_fake(runtime, good[i].name);
        assert_int_equal(session->architecture, good[i].architecture);
        assert_int_equal(fake_depth(), 0);
        assert_int_equal(fake_held(FAKE_STREAM), 1);
        gpuchar_session_close(session);
        assert_fakes_clean();
    }
    static const char *const absent[] = {"2", "99999999999999", "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1",
                                         "0001:01:00.0"};
    for (size_t i = 0; i < GC_COUNT(absent); i++) {
        gpuchar_session *session = NULL;
        assert_failure(gpuchar_session_open(runtime, absent[i], NULL, &session), GPUCHAR_E_DEVICE_NOT_FOUND);
        assert_contains(gpuchar_last_error()->hint, "2 GPUs");
    }
    assert_fakes_clean();
    gpuchar_runtime_close(runtime);
}

static void test_arguments(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    gpuchar_session *session = NULL;
    assert_failure(gpuchar_session_open(runtime, "0", NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    options.struct_size = 9;
    assert_failure(gpuchar_session_open(runtime, "0", &options, &session), GPUCHAR_E_STRUCT_SIZE);
    gpuchar_session_close(NULL);
    gpuchar_session_cancel(NULL);
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    assert_failure(gpuchar_device_info_get(NULL, &info), GPUCHAR_E_INVALID_ARGUMENT);
    session = open_fake(runtime, "0");
    assert_failure(gpuchar_device_info_get(session, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    info.struct_size = 0;
    assert_failure(gpuchar_device_info_get(session, &info), GPUCHAR_E_STRUCT_SIZE);
    gpuchar_runtime_close(runtime); /* the session keeps it */
    info.struct_size = sizeof info;
    assert_failure(gpuchar_device_info_get(session, &info), GPUCHAR_OK);
    gpuchar_session_close(session);
    assert_fakes_clean();
}

static void test_info(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    gpuchar_session *session = open_fake(runtime, "1");
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    assert_failure(gpuchar_device_info_get(session, &info), GPUCHAR_OK);
    assert_int_equal(info.struct_size, sizeof info);
    assert_int_equal(info.sm_count, 16);
    assert_true(info.memory_bytes == (uint64_t)80 << 30);
    assert_int_equal(info.driver_version, 13000);
    assert_string_equal(info.name, "Fake GPU MIG 1g.5gb");
    assert_int_equal(info.mig_enabled, 1);
    assert_true(info.known & GPUCHAR_DEVICE_MIG);
    assert_false(info.known & GPUCHAR_DEVICE_DRIVER_SM_CLOCK); /* the attribute says 0 */
    assert_true(info.known & GPUCHAR_DEVICE_DRIVER_MEMORY_CLOCK);
    /* Without NVML. */
    assert_false(info.known & (GPUCHAR_DEVICE_THROTTLE | GPUCHAR_DEVICE_OTHER_PROCESSES | GPUCHAR_DEVICE_POWER_LIMIT));
    assert_int_equal(fake_depth(), 0);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
}

/* An NVML of an older driver: two functions under their former names, others not there. */
static gpuchar_runtime *open_with_older_nvml(void) {
    gpuchar_runtime *runtime = fake_runtime_with(FAKE_WITH_NVML);
    fake_hide("nvmlDeviceGetCurrentClocksEventReasons");
    fake_hide("nvmlDeviceGetComputeRunningProcesses_v3");
    fake_hide("nvmlDeviceGetApplicationsClock");
    fake_hide("nvmlDeviceGetPowerManagementDefaultLimit");
    return runtime;
}

static void test_info_of_nvml(void **state) {
    (void)state;
    gpuchar_runtime *runtime = open_with_older_nvml();
    gpuchar_session *session = open_fake(runtime, "0");
    assert_int_equal(fake()->nvml_users, 1);
    fake()->throttle_reasons[1] = 0x1 | 0x4; /* idle is none, the power cap is one */
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    fake()->nvml_processes = 0; /* this one is not even shown: nothing is known */
    assert_failure(gpuchar_device_info_get(session, &info), GPUCHAR_OK);
    assert_false(info.known & GPUCHAR_DEVICE_OTHER_PROCESSES);
    fake()->nvml_processes = 300;
    assert_failure(gpuchar_device_info_get(session, &info), GPUCHAR_OK);
    assert_true(info.known & GPUCHAR_DEVICE_OTHER_PROCESSES);
    assert_int_equal(info.other_processes, 299);
    assert_string_equal(info.driver_name, "580.159.04");
    assert_string_equal(info.vbios, "96.00.99.00.01");
    assert_int_equal(info.max_sm_clock_hz, 1980000000);
    assert_int_equal(info.current_sm_clock_hz, 345000000);
    assert_int_equal(info.current_memory_clock_hz, 3201000000);
    assert_false(info.known & GPUCHAR_DEVICE_APPLICATION_SM_CLOCK);
    assert_true(info.power_limit_watts == 700.0);
    assert_false(info.known & GPUCHAR_DEVICE_DEFAULT_POWER_LIMIT);
    assert_true(info.temperature_celsius == 41.0);
    assert_true(info.known & GPUCHAR_DEVICE_MIG);
    assert_int_equal(info.mig_enabled, 0);
    assert_true(info.known & GPUCHAR_DEVICE_THROTTLE);
    assert_int_equal(info.throttle_reasons, GPUCHAR_THROTTLE_POWER_CAP);
    gpuchar_session_close(session);

    /* A device that NVML does not know. */
    session = open_fake(runtime, "1");
    uint32_t reasons = 1;
    assert_false(gc_session_throttle_reasons(session, &reasons));
    assert_int_equal(reasons, 0);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
    assert_fakes_clean();
}

static void test_context_of_the_caller(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    gpuchar_session *session = NULL;
    options.context = (void *)fake_context(1);
    assert_failure(gpuchar_session_open(runtime, "0", &options, &session), GPUCHAR_E_INVALID_ARGUMENT);
    assert_contains(gpuchar_last_error()->message, "another device");
    assert_fakes_clean();
    assert_failure(gpuchar_session_open(runtime, "1", &options, &session), GPUCHAR_OK);
    assert_int_equal(fake()->retains[1], 0);
    gpuchar_session_close(session);
    assert_fakes_clean();
    gpuchar_runtime_close(runtime);
}

static void test_every_failure_of_open_gives_all_back(void **state) {
    (void)state;
    static const char *const calls[] = {"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent",
                                        "cuThreadExchangeStreamCaptureMode", "cuStreamCreate", "cuDeviceGetAttribute"};
    for (size_t i = 0; i < GC_COUNT(calls); i++) {
        gpuchar_runtime *runtime = fake_runtime();
        fake_fail(calls[i], 0, CUDA_ERROR_OUT_OF_MEMORY);
        gpuchar_session *session = NULL;
        assert_failure(gpuchar_session_open(runtime, "0", NULL, &session), GPUCHAR_E_OUT_OF_DEVICE_MEMORY);
        assert_contains(gpuchar_last_error()->call, calls[i]);
        assert_null(session);
        assert_fakes_clean();
        gpuchar_runtime_close(runtime);
    }
}

static void test_scope(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    gpuchar_session *session = open_fake(runtime, "0");
    gc_scope scope, second;
    assert_failure(gc_session_enter(session, &scope), GPUCHAR_OK);
    assert_int_equal(fake_depth(), 1);
    assert_int_equal(fake_capture_mode(), CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_failure(gc_session_enter(session, &second), GPUCHAR_E_BUSY);
    gc_session_leave(&second); /* nothing to undo */
    assert_int_equal(fake_depth(), 1);

    /* From a callback on the same thread: would wait for itself. */
    gpuchar_session *other = open_fake(runtime, "0");
    assert_failure(gc_session_enter(other, &second), GPUCHAR_E_BUSY);
    gpuchar_session *elsewhere = open_fake(runtime, "1");
    assert_failure(gc_session_enter(elsewhere, &second), GPUCHAR_OK);
    assert_int_equal(fake_depth(), 2);
    gc_session_leave(&second);

    gc_session_leave(&scope);
    gc_session_leave(&scope);
    assert_int_equal(fake_depth(), 0);
    assert_int_equal(fake_capture_mode(), CU_STREAM_CAPTURE_MODE_GLOBAL);

    fake_fail("cuCtxPushCurrent", 0, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_failure(gc_session_enter(session, &scope), GPUCHAR_E_CONTEXT_LOST);
    fake_fail(NULL, 0, 0);
    assert_failure(gc_session_enter(session, &scope), GPUCHAR_OK);
    gc_session_leave(&scope);
    gpuchar_session_close(session);
    gpuchar_session_close(other);
    gpuchar_session_close(elsewhere);
    assert_fakes_clean();
    gpuchar_runtime_close(runtime);
}

static void test_cancel(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    gpuchar_session *session = open_fake(runtime, "0");
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    gpuchar_session_cancel(session);
    gpuchar_session_cancel(session);
    assert_failure(gpuchar_device_info_get(session, &info), GPUCHAR_E_CANCELLED);
    assert_int_equal(info.sm_count, 0);
    assert_failure(gpuchar_device_info_get(session, &info), GPUCHAR_OK);
    gc_scope scope;
    assert_failure(gc_session_enter(session, &scope), GPUCHAR_OK);
    assert_false(gc_session_cancel_pending(session));
    gpuchar_session_cancel(session);
    assert_true(gc_session_cancel_pending(session));
    assert_failure(gc_session_check_cancel(session), GPUCHAR_E_CANCELLED);
    assert_failure(gc_session_check_cancel(session), GPUCHAR_OK);
    gc_session_leave(&scope);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
}

typedef struct waiter {
    gpuchar_session *session;
    gpuchar_status status;
    atomic_int *order;
    int position;
} waiter;

static void *wait_for_device(void *user) {
    waiter *w = user;
    gc_scope scope;
    w->status = gc_session_enter(w->session, &scope);
    w->position = atomic_fetch_add(w->order, 1);
    gc_session_leave(&scope);
    return NULL;
}

static void nap(void) {
    struct timespec time = {.tv_nsec = 60 * 1000 * 1000};
    nanosleep(&time, NULL);
}

static void test_device_lock(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    gpuchar_session *first = open_fake(runtime, "0"), *second = open_fake(runtime, "0");
    gc_scope scope;
    atomic_int order = 0;
    waiter w = {.session = second, .order = &order};
    pthread_t thread;
    assert_failure(gc_session_enter(first, &scope), GPUCHAR_OK);
    pthread_create(&thread, NULL, wait_for_device, &w);
    nap();
    assert_int_equal(atomic_fetch_add(&order, 1), 0); /* the other still waits */
    gc_session_leave(&scope);
    pthread_join(thread, NULL);
    assert_int_equal(w.status, GPUCHAR_OK);
    assert_int_equal(w.position, 1);

    assert_failure(gc_session_enter(first, &scope), GPUCHAR_OK);
    pthread_create(&thread, NULL, wait_for_device, &w);
    nap();
    gpuchar_session_cancel(second);
    pthread_join(thread, NULL); /* ends although the device is held */
    assert_int_equal(w.status, GPUCHAR_E_CANCELLED);
    gc_session_leave(&scope);
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    assert_failure(gpuchar_device_info_get(second, &info), GPUCHAR_OK);
    gpuchar_session_close(first);
    gpuchar_session_close(second);
    gpuchar_runtime_close(runtime);
}

static void test_close_on_a_dead_context(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    gpuchar_session *session = open_fake(runtime, "0");
    fake()->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
    gpuchar_error *before = gpuchar_error_copy();
    gpuchar_session_close(session);
    assert_int_equal(gpuchar_last_error()->status, before->status);
    gpuchar_error_free(before);
    fake()->sticky = CUDA_SUCCESS;
    assert_fakes_clean();
    gpuchar_runtime_close(runtime);
}

static int releases;
static bool released_gone;

static char first_value[] = "first", second_value[] = "second";

static void release(gpuchar_session *session, void *value) {
    assert_ptr_equal(value, releases == 0 ? second_value : first_value);
    released_gone = gc_session_device_gone(session);
    assert_int_equal(fake_depth(), released_gone ? 0 : 1);
    releases++;
}

static void test_attachments(void **state) {
    (void)state;
    static const char first_key, second_key, unused_key;
    gpuchar_runtime *runtime = fake_runtime();
    for (int dead = 0; dead < 2; dead++) {
        gpuchar_session *session = open_fake(runtime, "0");
        releases = 0;
        assert_failure(gc_session_attach(session, &first_key, first_value, release), GPUCHAR_OK);
        assert_failure(gc_session_attach(session, &second_key, second_value, release), GPUCHAR_OK);
        assert_string_equal(gc_session_attached(session, &first_key), "first");
        assert_null(gc_session_attached(session, &unused_key));
        fake_fail(dead ? "cuCtxPushCurrent" : NULL, 0, CUDA_ERROR_CONTEXT_IS_DESTROYED);
        gpuchar_session_close(session);
        assert_int_equal(releases, 2);
        assert_int_equal(released_gone, dead);
    }
    gpuchar_runtime_close(runtime);
}

static void remember_step(void *user, const char *step, double fraction) {
    assert_string_equal(step, "half");
    *(double *)user = fraction;
}

static void test_progress(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    double seen = 0;
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    options.progress = remember_step;
    options.progress_user = &seen;
    gpuchar_session *session = NULL;
    assert_failure(gpuchar_session_open(runtime, "0", &options, &session), GPUCHAR_OK);
    gc_session_progress(session, "half", 0.5);
    assert_true(seen == 0.5);
    gpuchar_session_close(session);
    session = open_fake(runtime, "0");
    gc_session_progress(session, "nobody listens", 0.5);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
}

static void test_fork(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    gpuchar_session *session = open_fake(runtime, "0");
    gc_scope scope;
    assert_failure(gc_session_enter(session, &scope), GPUCHAR_OK);
    gc_session_leave(&scope);
    pid_t child = fork();
    if (child == 0) {
        gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
        bool good = gpuchar_device_info_get(session, &info) == GPUCHAR_E_FORKED;
        gpuchar_session_close(session);
        /* The driver was not called. */
        good = good && fake()->retains[0] == 1 && fake_held(FAKE_STREAM) == 1 && fake_depth() == 0;
        gpuchar_session *another = NULL;
        good = good && gpuchar_session_open(runtime, "0", NULL, &another) == GPUCHAR_E_FORKED;
        _exit(good ? 7 : 1);
    }
    int code = -1;
    waitpid(child, &code, 0);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 7);
    gpuchar_session_close(session);
    assert_fakes_clean();
    gpuchar_runtime_close(runtime);
}

static void test_compile_only(void **state) {
    (void)state;
    uint32_t list[64];
    size_t count = 0;
    if (gpuchar_runtime_architectures(NULL, list, 64, &count) != GPUCHAR_OK) {
        skip();
    }
    gpuchar_session *session = open_fake(NULL, "sm_90");
    assert_int_equal(session->kind, GC_SESSION_COMPILE_ONLY);
    assert_int_equal(session->architecture, 90);
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    assert_failure(gpuchar_device_info_get(session, &info), GPUCHAR_E_NOT_APPLICABLE);
    gc_scope scope, second;
    assert_failure(gc_session_enter(session, &scope), GPUCHAR_OK);
    assert_failure(gc_session_enter(session, &second), GPUCHAR_E_BUSY);
    gc_session_leave(&scope);
    gpuchar_session_cancel(session);
    assert_failure(gc_session_enter(session, &scope), GPUCHAR_E_CANCELLED);
    gpuchar_session_close(session);

    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    options.context = (void *)fake_context(0);
    assert_failure(gpuchar_session_open(NULL, "sm_90", &options, &session), GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_session_open(NULL, "sm_999", NULL, &session), GPUCHAR_E_ARCH_UNSUPPORTED);
    if (list[0] > 61) { /* NVRTC 13 */
        assert_failure(gpuchar_session_open(NULL, "sm_61", NULL, &session), GPUCHAR_E_ARCH_UNSUPPORTED);
        assert_contains(gpuchar_last_error()->hint, "12.x");
    }
    gpuchar_runtime_options nothing = GPUCHAR_RUNTIME_OPTIONS_INIT;
    nothing.nvrtc_path = "/nonexistent/libnvrtc.so";
    gpuchar_runtime *runtime = NULL;
    assert_failure(gpuchar_runtime_open(&nothing, &runtime), GPUCHAR_OK);
    assert_failure(gpuchar_session_open(runtime, "sm_90", NULL, &session), GPUCHAR_E_NO_NVRTC);
    gpuchar_runtime_close(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_open_by_each_name),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_info_of_nvml),
        cmocka_unit_test(test_context_of_the_caller),
        cmocka_unit_test(test_every_failure_of_open_gives_all_back),
        cmocka_unit_test(test_scope),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_device_lock),
        cmocka_unit_test(test_close_on_a_dead_context),
        cmocka_unit_test(test_attachments),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_compile_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
