/* Runtimes: options, what was found, remembered failures, architectures, compilation, threads, forks. */
#include <fakes/fake_client.h>
#include <pthread.h>
#include <session/runtime_internal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_null_and_sizes(void **state) {
    (void)state;
    gpuchar_runtime *runtime = NULL;
    assert_failure(gpuchar_runtime_open(NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    options.struct_size = 4;
    assert_failure(gpuchar_runtime_open(&options, &runtime), GPUCHAR_E_STRUCT_SIZE);
    assert_null(runtime);
    options.struct_size = sizeof options;
    options.log_level = 77;
    assert_failure(gpuchar_runtime_open(&options, &runtime), GPUCHAR_E_LIMIT);
    options.log_level = 0;
    options.reserved = 1;
    assert_failure(gpuchar_runtime_open(&options, &runtime), GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_runtime_get_info(NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_runtime_architectures(NULL, NULL, 0, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    size_t count = 7;
    assert_failure(gpuchar_runtime_architectures(NULL, NULL, 3, &count), GPUCHAR_E_INVALID_ARGUMENT);
    options.reserved = 0;
    options.cache_dir = "/dev/null";
    assert_failure(gpuchar_runtime_open(&options, &runtime), GPUCHAR_E_IO);
    assert_string_equal(gpuchar_last_error()->native_name, "ENOTDIR");
    assert_null(runtime);
    gpuchar_runtime_close(NULL);
    assert_failure(gpuchar_runtime_open(NULL, &runtime), GPUCHAR_OK);
    gpuchar_runtime_close(runtime);
}

static void test_info_of_nothing(void **state) {
    (void)state;
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    options.cuda_path = options.nvrtc_path = options.cupti_path = options.nvml_path = "/nonexistent/lib.so";
    gpuchar_runtime *runtime = NULL;
    assert_failure(gpuchar_runtime_open(&options, &runtime), GPUCHAR_OK);
    gc_fail(GPUCHAR_E_LIMIT, "an earlier failure");
    gpuchar_runtime_info info = GPUCHAR_RUNTIME_INFO_INIT;
    assert_int_equal(gpuchar_runtime_get_info(runtime, &info), GPUCHAR_OK);
    assert_string_equal(gpuchar_last_error()->message, "an earlier failure");
    assert_int_equal(info.cuda.status, GPUCHAR_E_NO_DRIVER);
    assert_int_equal(info.nvrtc.status, GPUCHAR_E_NO_NVRTC);
    assert_int_equal(info.cupti.status, GPUCHAR_E_NO_CUPTI);
    assert_int_equal(info.nvml.status, GPUCHAR_E_NO_NVML);
    assert_string_equal(info.cuda.path, "");
    assert_contains(info.cuda.message, "/nonexistent/lib.so");

    /* The same detail each time. */
    for (int i = 0; i < 3; i++) {
        gpuchar_device_list_result list = GPUCHAR_DEVICE_LIST_RESULT_INIT;
        assert_failure(gpuchar_device_list(runtime, &list), GPUCHAR_E_NO_DRIVER);
        assert_contains(gpuchar_last_error()->message, "/nonexistent/lib.so");
        assert_true(gpuchar_last_error()->hint[0] != 0);
        assert_null(list.devices);
    }
    size_t count = 7;
    assert_failure(gpuchar_runtime_architectures(runtime, NULL, 0, &count), GPUCHAR_E_NO_NVRTC);
    assert_int_equal(count, 0);
    gpuchar_runtime_close(runtime);
}

static void test_info_of_fake(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    gpuchar_runtime_info info = GPUCHAR_RUNTIME_INFO_INIT;
    assert_failure(gpuchar_runtime_get_info(runtime, &info), GPUCHAR_OK);
    assert_int_equal(info.cuda.status, GPUCHAR_OK);
    assert_int_equal(info.cuda.version, 13000);
    assert_contains(info.cuda.path, "fake_cuda.so");
    assert_int_equal(fake()->init_calls, 0); /* no GPU is touched */
    gpuchar_runtime_close(runtime);
}

static void test_failing_init_is_remembered(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    fake()->init_result = CUDA_ERROR_NO_DEVICE;
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    for (int i = 0; i < 2; i++) {
        gpuchar_device_list_result list = GPUCHAR_DEVICE_LIST_RESULT_INIT;
        assert_failure(gpuchar_device_list(runtime, &list), GPUCHAR_E_NO_DEVICE);
        assert_contains(gpuchar_last_error()->hint, "CUDA_VISIBLE_DEVICES is \"-1\"");
        assert_string_equal(gpuchar_last_error()->call, "cuInit");
        assert_string_equal(gpuchar_last_error()->native_name, "CUDA_ERROR_NO_DEVICE");
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_int_equal(fake()->init_calls, 1);
    gpuchar_runtime_close(runtime);
    static const struct {
        CUresult code;
        gpuchar_status status;
        const char *hint;
    } cases[] = {
        {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, GPUCHAR_E_CUDA, "restart"},
        {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, GPUCHAR_E_CUDA, "LD_LIBRARY_PATH"},
        {CUDA_ERROR_UNKNOWN, GPUCHAR_E_CUDA, "/dev/nvidia"},
        {CUDA_ERROR_STUB_LIBRARY, GPUCHAR_E_NO_DRIVER, "libcuda.so.1"},
        {CUDA_ERROR_NOT_INITIALIZED, GPUCHAR_E_FORKED, "spawn"},
    };
    for (size_t i = 0; i < GC_COUNT(cases); i++) {
        runtime = fake_runtime();
        fake()->init_result = (int)cases[i].code;
        gpuchar_device_list_result list = GPUCHAR_DEVICE_LIST_RESULT_INIT;
        assert_failure(gpuchar_device_list(runtime, &list), cases[i].status);
        assert_contains(gpuchar_last_error()->hint, cases[i].hint);
        gpuchar_runtime_close(runtime);
    }
}

static void test_device_list(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    gpuchar_device_list_result list = GPUCHAR_DEVICE_LIST_RESULT_INIT;
    assert_failure(gpuchar_device_list(runtime, &list), GPUCHAR_OK);
    assert_int_equal(list.device_count, 2);
    assert_string_equal(list.devices[0].uuid, "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0");
    assert_string_equal(list.devices[1].uuid, "MIG-01112131-4151-6171-8191-a1b1c1d1e1f1");
    assert_string_equal(list.devices[0].pci_id, "00000000:01:00.0");
    assert_string_equal(list.devices[1].pci_id, "00000000:c1:00.0");
    assert_int_equal(list.devices[0].architecture, 90);
    assert_int_equal(list.devices[1].ordinal, 1);
    gpuchar_device_list_result_free(&list);
    gpuchar_device_list_result_free(&list);
    gpuchar_device_list_result_free(NULL);

    fake()->device_count = 0;
    assert_failure(gpuchar_device_list(runtime, &list), GPUCHAR_E_NO_DEVICE);
    fake_reset();
    fake_fail("cuDeviceGetAttribute", 0, CUDA_ERROR_UNKNOWN);
    assert_failure(gpuchar_device_list(runtime, &list), GPUCHAR_E_CUDA);
    assert_null(list.devices);
    list.struct_size = 8;
    assert_failure(gpuchar_device_list(runtime, &list), GPUCHAR_E_STRUCT_SIZE);
    gpuchar_runtime_close(runtime);
}

static bool has_nvrtc(void) {
    size_t count = 0;
    return gpuchar_runtime_architectures(NULL, NULL, 0, &count) == GPUCHAR_OK;
}

static void test_architectures(void **state) {
    (void)state;
    if (!has_nvrtc()) {
        skip();
    }
    uint32_t list[64];
    size_t count = 0, few = 0;
    assert_failure(gpuchar_runtime_architectures(NULL, list, 64, &count), GPUCHAR_OK);
    assert_in_range(count, 5, 64);
    bool has_90 = false;
    for (size_t i = 0; i < count; i++) {
        has_90 = has_90 || list[i] == 90;
        assert_true(i == 0 || list[i - 1] < list[i]);
    }
    assert_true(has_90);
    uint32_t two[3] = {0, 0, 12345};
    assert_failure(gpuchar_runtime_architectures(NULL, two, 2, &few), GPUCHAR_OK);
    assert_int_equal(few, count);
    assert_int_equal(two[1], list[1]);
    assert_int_equal(two[2], 12345);
}

static void test_compile(void **state) {
    (void)state;
    gpuchar_compile_options options = GPUCHAR_COMPILE_OPTIONS_INIT;
    gpuchar_compile_result result = GPUCHAR_COMPILE_RESULT_INIT;
    assert_failure(gpuchar_compile(NULL, NULL, &result), GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_compile(NULL, &options, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    options.source = "extern \"C\" __global__ void k(int *p) { *p = 1; }";
    assert_failure(gpuchar_compile(NULL, &options, &result), GPUCHAR_E_INVALID_ARGUMENT);
    static const char *const wrong[] = {"", "90", "sm_", "sm_9", "sm_90x", "sm_90aa", "compute_90", "sm_9000"};
    for (size_t i = 0; i < GC_COUNT(wrong); i++) {
        options.architecture = wrong[i];
        assert_failure(gpuchar_compile(NULL, &options, &result), GPUCHAR_E_INVALID_ARGUMENT);
    }
    options.architecture = "sm_90";
    options.flag_count = 1;
    assert_failure(gpuchar_compile(NULL, &options, &result), GPUCHAR_E_INVALID_ARGUMENT);
    if (!has_nvrtc()) {
        skip();
    }
    static const char *const other[] = {"-arch=sm_80"};
    options.flags = other;
    assert_failure(gpuchar_compile(NULL, &options, &result), GPUCHAR_E_INVALID_ARGUMENT);
    assert_contains(gpuchar_last_error()->message, "`architecture`");
    assert_contains(gpuchar_last_error()->hint, "-arch");
    assert_null(result.cubin);
    options.flag_count = 0;
    assert_failure(gpuchar_compile(NULL, &options, &result), GPUCHAR_OK);
    assert_memory_equal(result.cubin, "\177ELF", 4);
    assert_non_null(result.log);
    assert_int_equal(result.from_cache, 0);
    assert_true(result.compile_ns > 0);
    gpuchar_compile_result_free(&result);
    assert_failure(gpuchar_compile(NULL, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.from_cache, 1);
    gpuchar_compile_result_free(&result);
    options.architecture = "sm_999";
    assert_failure(gpuchar_compile(NULL, &options, &result), GPUCHAR_E_ARCH_UNSUPPORTED);
    options.architecture = "sm_90";
    options.source = "this is no program";
    assert_failure(gpuchar_compile(NULL, &options, &result), GPUCHAR_E_COMPILE);
    assert_contains(gpuchar_last_error()->log, "error");
    assert_null(result.cubin);
    gpuchar_compile_result_free(&result);
    gpuchar_compile_result_free(NULL);
}

static void *resolve_default(void *user) {
    (void)user;
    gpuchar_runtime *runtime = NULL;
    gpuchar_runtime_info info = GPUCHAR_RUNTIME_INFO_INIT;
    gpuchar_runtime_get_info(NULL, &info);
    gc_runtime_resolve(NULL, &runtime);
    return runtime;
}

/* First, so that the two threads race for the making of it. */
static void test_default_from_two_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    void *got[4] = {NULL};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, resolve_default, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &got[i]);
        assert_non_null(got[i]);
        assert_ptr_equal(got[i], got[0]);
    }
}

/* What the child finds is told by its exit code. */
static int in_child(int (*work)(void *), void *user) {
    pid_t child = fork();
    if (child == 0) {
        _exit(work(user));
    }
    int code = -1;
    waitpid(child, &code, 0);
    return WIFEXITED(code) ? WEXITSTATUS(code) : 255;
}

static int list_in_child(void *runtime) {
    gpuchar_device_list_result list = GPUCHAR_DEVICE_LIST_RESULT_INIT;
    gpuchar_status status = gpuchar_device_list(runtime, &list);
    return status == GPUCHAR_E_FORKED && strstr(gpuchar_last_error()->hint, "spawn") ? 7 : 1;
}

static int first_use_in_child(void *runtime) {
    gpuchar_device_list_result list = GPUCHAR_DEVICE_LIST_RESULT_INIT;
    return gpuchar_device_list(runtime, &list) == GPUCHAR_OK ? 7 : 1;
}

static void test_fork(void **state) {
    (void)state;
    gpuchar_runtime *runtime = fake_runtime();
    assert_int_equal(in_child(first_use_in_child, runtime), 7);
    gpuchar_device_list_result list = GPUCHAR_DEVICE_LIST_RESULT_INIT;
    assert_failure(gpuchar_device_list(runtime, &list), GPUCHAR_OK);
    gpuchar_device_list_result_free(&list);
    assert_int_equal(in_child(list_in_child, runtime), 7);
    assert_failure(gpuchar_device_list(runtime, &list), GPUCHAR_OK);
    gpuchar_device_list_result_free(&list);
    gpuchar_runtime_close(runtime);
}

static void count_line(void *user, uint32_t level, const char *message) {
    assert_true(level <= GPUCHAR_LOG_DEBUG && message[0]);
    ++*(int *)user;
}

static void test_log(void **state) {
    (void)state;
    fake_reset();
    int lines = 0;
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    options.cuda_path = FAKE_CUDA_PATH;
    options.log = count_line;
    options.log_user = &lines;
    gpuchar_runtime *runtime = NULL;
    gpuchar_device_list_result list = GPUCHAR_DEVICE_LIST_RESULT_INIT;
    for (uint32_t level = 0; level <= GPUCHAR_LOG_INFO; level += GPUCHAR_LOG_INFO) {
        lines = 0;
        options.log_level = level;
        assert_failure(gpuchar_runtime_open(&options, &runtime), GPUCHAR_OK);
        assert_failure(gpuchar_device_list(runtime, &list), GPUCHAR_OK);
        gpuchar_device_list_result_free(&list);
        assert_int_equal(lines, level ? 1 : 0);
        gpuchar_runtime_close(runtime);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_from_two_threads),
        cmocka_unit_test(test_null_and_sizes),
        cmocka_unit_test(test_info_of_nothing),
        cmocka_unit_test(test_info_of_fake),
        cmocka_unit_test(test_failing_init_is_remembered),
        cmocka_unit_test(test_device_list),
        cmocka_unit_test(test_architectures),
        cmocka_unit_test(test_compile),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
