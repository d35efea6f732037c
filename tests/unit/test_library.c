/* Finding libraries: places and their order, named paths, stubs, wrong files, versions. */
#include <fakes/fake_client.h>
#include <core/error.h>
#include <platform/cuda_driver.h>
#include <platform/cupti.h>
#include <platform/library.h>
#include <platform/nvml.h>
#include <platform/nvrtc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int set_up(void **state) {
    (void)state;
    static const char *const variables[] = {"GPUCHAR_LIBCUDA", "GPUCHAR_LIBNVRTC", "GPUCHAR_LIBCUPTI",
                                            "GPUCHAR_LIBNVML", "GPUCHAR_LIBTEST"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        unsetenv(variables[i]);
    }
    strcpy(folder, "/tmp/gpuchar-library-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    unsetenv("PYTHONPATH");
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Links the fake driver to folder/sub/name. A link's target is found by its inode: one library however it is reached. */
static void put_library(const char *sub, const char *name, bool sound) {
    char path[256];
    snprintf(path, sizeof path, "mkdir -p '%s/%s'", folder, sub);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/%s/%s", folder, sub, name);
    if (sound) {
        assert_int_equal(symlink(FAKE_CUDA_PATH, path), 0);
    } else {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        for (int i = 0; i < 100; i++) {
            fputs("This is not a library.\n", file);
        }
        fclose(file);
    }
}

static const char *const test_sonames[] = {"libgpuchar-test.so.2", "libgpuchar-test.so.1", NULL};
static const char *const test_wheels[] = {"nvidia/cu13/lib", "nvidia/test/lib", NULL};
static const char *const test_toolkits[] = {"lib64", NULL};

static gc_library_spec test_spec(void) {
    return (gc_library_spec){
        .environment = "GPUCHAR_LIBTEST",
        .sonames = test_sonames,
        .wheel_folders = test_wheels,
        .toolkit_folders = test_toolkits,
        .missing = GPUCHAR_E_NO_NVRTC,
        .hint = "install it",
    };
}

static void test_found_nowhere(void **state) {
    (void)state;
    gc_library library;
    gc_library_spec spec = test_spec();
    assert_failure(gc_library_open(&spec, NULL, &library), GPUCHAR_E_NO_NVRTC);
    assert_string_equal(gpuchar_last_error()->hint, "install it");
    assert_null(library.handle);
    assert_string_equal(library.path, "");
}

static void test_wheel_and_toolkit(void **state) {
    (void)state;
    gc_library library;
    gc_library_spec spec = test_spec();
    char path[128];
    put_library("toolkit [1]/lib64", "libgpuchar-test.so.1", true);
    snprintf(path, sizeof path, "%s/toolkit [1]", folder);
    setenv("CUDA_HOME", path, 1);
    assert_failure(gc_library_open(&spec, NULL, &library), GPUCHAR_OK);
    assert_contains(library.path, "fake_cuda.so"); /* the real file */

    /* A virtual environment whose name means something in a pattern. */
    put_library("venv*[x]/lib/python3.11/site-packages/nvidia/test/lib", "libgpuchar-test.so.1", true);
    snprintf(path, sizeof path, "%s/venv*[x]", folder);
    setenv("VIRTUAL_ENV", path, 1);
    unsetenv("CUDA_HOME");
    assert_failure(gc_library_open(&spec, NULL, &library), GPUCHAR_OK);
    unsetenv("VIRTUAL_ENV");
    assert_failure(gc_library_open(&spec, NULL, &library), GPUCHAR_E_NO_NVRTC);

    snprintf(path, sizeof path, ":/nonexistent:%s/venv*[x]/lib/python3.11/site-packages", folder);
    setenv("PYTHONPATH", path, 1);
    assert_failure(gc_library_open(&spec, NULL, &library), GPUCHAR_OK);
}

static void test_broken_candidate_is_told(void **state) {
    (void)state;
    gc_library library;
    gc_library_spec spec = test_spec();
    put_library("nvidia/test/lib", "libgpuchar-test.so.1", false);
    setenv("PYTHONPATH", folder, 1);
    assert_failure(gc_library_open(&spec, NULL, &library), GPUCHAR_E_NO_NVRTC);
    assert_contains(gpuchar_last_error()->message, "invalid ELF header");
}

static gpuchar_status refuse(const gc_library *library, void *user) {
    (void)library;
    ++*(int *)user;
    return gc_fail(GPUCHAR_E_NVRTC_TOO_OLD, "refused");
}

static void test_refusal_is_the_answer_when_nothing_is_better(void **state) {
    (void)state;
    int asked = 0;
    gc_library library;
    gc_library_spec spec = test_spec();
    spec.accept = refuse;
    spec.accept_user = &asked;
    put_library("nvidia/test/lib", "libgpuchar-test.so.1", true);
    put_library("nvidia/cu13/lib", "libgpuchar-test.so.2", true);
    setenv("PYTHONPATH", folder, 1);
    assert_failure(gc_library_open(&spec, NULL, &library), GPUCHAR_E_NVRTC_TOO_OLD);
    assert_string_equal(gpuchar_last_error()->message, "refused");
    assert_int_equal(asked, 2);
}

static void test_success_leaves_the_detail_alone(void **state) {
    (void)state;
    gc_library library;
    gc_library_spec spec = test_spec();
    put_library("nvidia/test/lib", "libgpuchar-test.so.1", true);
    setenv("PYTHONPATH", folder, 1);
    gc_fail(GPUCHAR_E_LIMIT, "an earlier failure");
    assert_int_equal(gc_library_open(&spec, NULL, &library), GPUCHAR_OK);
    assert_int_equal(gpuchar_last_error()->status, GPUCHAR_E_LIMIT);
    assert_string_equal(gpuchar_last_error()->message, "an earlier failure");
}

static void test_named_library_has_no_fallback(void **state) {
    (void)state;
    gc_library library;
    gc_library_spec spec = test_spec();
    put_library("nvidia/test/lib", "libgpuchar-test.so.1", true);
    setenv("PYTHONPATH", folder, 1);
    assert_failure(gc_library_open(&spec, "/nonexistent/lib.so", &library), GPUCHAR_E_NO_NVRTC);
    assert_contains(gpuchar_last_error()->message, "No such file");
    assert_failure(gc_library_open(&spec, folder, &library), GPUCHAR_E_NO_NVRTC);
    assert_contains(gpuchar_last_error()->message, "is a folder");
    setenv("GPUCHAR_LIBTEST", "/nonexistent/other.so", 1);
    assert_failure(gc_library_open(&spec, "", &library), GPUCHAR_E_NO_NVRTC);
    assert_contains(gpuchar_last_error()->message, "GPUCHAR_LIBTEST");
    /* The option comes before the variable. */
    assert_failure(gc_library_open(&spec, FAKE_CUDA_PATH, &library), GPUCHAR_OK);
    setenv("GPUCHAR_LIBTEST", FAKE_CUDA_PATH, 1);
    assert_failure(gc_library_open(&spec, NULL, &library), GPUCHAR_OK);
}

/* What a file begins with and how long it is tell builds apart; where it lies does not. */
static gc_hash build_of(const char *name, char content, size_t size) {
    gc_library library = {0};
    snprintf(library.path, sizeof library.path, "%s/%s", folder, name);
    FILE *file = fopen(library.path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < size; i++) {
        fputc(i == 100 ? content : 'x', file);
    }
    fclose(file);
    return gc_library_build(&library);
}

static bool same(gc_hash a, gc_hash b) {
    return a.high == b.high && a.low == b.low;
}

static void test_builds(void **state) {
    (void)state;
    enum { SIZE = 100000 };
    gc_hash build = build_of("a", 'x', SIZE);
    assert_true(same(build, build_of("copy", 'x', SIZE)));
    assert_false(same(build, build_of("other", 'y', SIZE)));
    assert_false(same(build, build_of("longer", 'x', SIZE + 1)));
    gc_library gone = {.path = "/nonexistent/lib.so"};
    assert_false(same(gc_library_build(&gone), gc_library_build(&gone)));
    gc_nvrtc nvrtc;
    if (gc_nvrtc_load(NULL, 0, &nvrtc) != GPUCHAR_OK) {
        skip();
    }
    assert_true(same(nvrtc.build, gc_library_build(&nvrtc.library)));
}

/* ---- the driver */

static void test_driver_missing(void **state) {
    (void)state;
    gc_cuda cuda;
    assert_failure(gc_cuda_load("/nonexistent/libcuda.so.1", &cuda), GPUCHAR_E_NO_DRIVER);
    assert_true(gpuchar_last_error()->hint[0] != 0);
    gpuchar_status status = gc_cuda_load(NULL, &cuda);
    if (status) { /* a machine without a driver */
        assert_failure(status, GPUCHAR_E_NO_DRIVER);
        assert_contains(gpuchar_last_error()->hint, "GPUCHAR_LIBCUDA");
    }
}

static void test_driver_stub(void **state) {
    (void)state;
    static const char stub[] = "/usr/local/cuda/lib64/stubs/libcuda.so";
    if (access(stub, R_OK) != 0) {
        skip();
    }
    gc_cuda cuda;
    assert_failure(gc_cuda_load(stub, &cuda), GPUCHAR_E_NO_DRIVER);
    assert_contains(gpuchar_last_error()->message, "toolkit stub");
    assert_int_equal(gpuchar_last_error()->native_code, CUDA_ERROR_STUB_LIBRARY);
}

static void test_driver_wrong_files(void **state) {
    (void)state;
    gc_cuda cuda;
    put_library("nvidia", "libcuda.so.1", false);
    char path[128];
    snprintf(path, sizeof path, "%s/nvidia/libcuda.so.1", folder);
    assert_failure(gc_cuda_load(path, &cuda), GPUCHAR_E_NO_DRIVER);
    assert_contains(gpuchar_last_error()->message, "invalid ELF header");
    assert_failure(gc_cuda_load("libm.so.6", &cuda), GPUCHAR_E_SYMBOL_MISSING);
    assert_contains(gpuchar_last_error()->hint, "not libcuda.so.1");
}

static void test_driver_fake(void **state) {
    (void)state;
    fake_reset();
    gc_cuda cuda;
    assert_failure(gc_cuda_load(FAKE_CUDA_PATH, &cuda), GPUCHAR_OK);
    assert_int_equal(cuda.version, 13000);
    assert_int_equal(fake()->init_calls, 0);
    assert_non_null(cuda.LaunchKernel);
    fake()->version = 11080;
    assert_failure(gc_cuda_load(FAKE_CUDA_PATH, &cuda), GPUCHAR_E_DRIVER_TOO_OLD);
    assert_contains(gpuchar_last_error()->message, "11.8");
    assert_contains(gpuchar_last_error()->hint, "525");
    fake_reset();
    fake_hide("cuLaunchKernel");
    assert_failure(gc_cuda_load(FAKE_CUDA_PATH, &cuda), GPUCHAR_E_SYMBOL_MISSING);
    assert_contains(gpuchar_last_error()->message, "cuLaunchKernel");
    assert_null(cuda.library.handle);
    fake_reset();
}

static void test_cuda_check(void **state) {
    (void)state;
    fake_reset();
    gc_cuda cuda;
    assert_failure(gc_cuda_load(FAKE_CUDA_PATH, &cuda), GPUCHAR_OK);
    assert_int_equal(gc_cuda_check(&cuda, CUDA_SUCCESS, "cuX"), GPUCHAR_OK);
    assert_failure(gc_cuda_check(&cuda, CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc"), GPUCHAR_E_OUT_OF_DEVICE_MEMORY);
    assert_string_equal(gpuchar_last_error()->call, "cuMemAlloc");
    assert_int_equal(gpuchar_last_error()->domain, GPUCHAR_DOMAIN_CUDA);
    assert_failure(gc_cuda_check(&cuda, CUDA_ERROR_ILLEGAL_ADDRESS, "cuX"), GPUCHAR_E_CONTEXT_LOST);
    assert_failure(gc_cuda_check(&cuda, CUDA_ERROR_INVALID_VALUE, "cuX"), GPUCHAR_E_CUDA);
}

/* ---- the others */

static void test_nvrtc(void **state) {
    (void)state;
    gc_nvrtc nvrtc;
    assert_failure(gc_nvrtc_load("libm.so.6", 0, &nvrtc), GPUCHAR_E_SYMBOL_MISSING);
    if (gc_nvrtc_load(NULL, 0, &nvrtc) != GPUCHAR_OK) {
        skip();
    }
    assert_true(nvrtc.version >= 12000);
    assert_true(nvrtc.library.path[0] == '/');
    char path[512];
    strcpy(path, nvrtc.library.path);
    /* A driver of the major before does not take its machine code. A refused library leaves nothing in the table. */
    assert_failure(gc_nvrtc_load(path, nvrtc.version / 1000 - 1, &nvrtc), GPUCHAR_E_NVRTC_TOO_NEW);
    assert_contains(gpuchar_last_error()->hint, "pip install");
    static const gc_nvrtc zero;
    assert_memory_equal(&nvrtc, &zero, sizeof zero);
}

static void test_nvrtc_fail(void **state) {
    (void)state;
    gc_nvrtc nvrtc;
    if (gc_nvrtc_load(NULL, 0, &nvrtc) != GPUCHAR_OK) {
        skip();
    }
    assert_failure(gc_nvrtc_fail(&nvrtc, NVRTC_ERROR_COMPILATION, "nvrtcCompileProgram"), GPUCHAR_E_COMPILE);
    assert_string_equal(gpuchar_last_error()->native_name, "NVRTC_ERROR_COMPILATION");
    assert_contains(gpuchar_last_error()->message, nvrtc.library.path);
    assert_failure(gc_nvrtc_fail(&nvrtc, NVRTC_ERROR_INTERNAL_ERROR, "nvrtcCompileProgram"), GPUCHAR_E_NVRTC);
}

static void test_cupti(void **state) {
    (void)state;
    gc_cupti cupti;
    memset(&cupti, 0, sizeof cupti);
    static const struct {
        int code;
        gpuchar_status status;
    } cases[] = {
        {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, GPUCHAR_E_NO_PERMISSION},
        {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, GPUCHAR_E_PROFILER_ACTIVE},
        {CUPTI_ERROR_HARDWARE_BUSY, GPUCHAR_E_PROFILER_ACTIVE},
        {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, GPUCHAR_E_COUNTERS_UNSUPPORTED},
        {CUPTI_ERROR_INVALID_METRIC_NAME, GPUCHAR_E_METRIC_UNKNOWN},
        {CUPTI_ERROR_UNKNOWN, GPUCHAR_E_CUPTI},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_failure(gc_cupti_check(&cupti, (CUptiResult)cases[i].code, "cuptiX"), cases[i].status);
        assert_int_equal(gpuchar_last_error()->native_code, cases[i].code);
        if (cases[i].status != GPUCHAR_E_METRIC_UNKNOWN) {
            assert_true(gpuchar_last_error()->hint[0] != 0);
        }
    }
    gc_cupti_check(&cupti, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "cuptiX");
    assert_contains(gpuchar_last_error()->hint, "RmProfilingAdminOnly");
    assert_failure(gc_cupti_load("libm.so.6", 0, &cupti), GPUCHAR_E_SYMBOL_MISSING);
    if (gc_cupti_load(NULL, 0, &cupti) == GPUCHAR_OK) {
        assert_true(cupti.version >= 24);
        assert_int_equal(gc_cupti_check(&cupti, CUPTI_SUCCESS, "cuptiX"), GPUCHAR_OK);
        gc_cupti_check(&cupti, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "cuptiX");
        assert_string_equal(gpuchar_last_error()->native_name, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
    }
}

static void test_nvml(void **state) {
    (void)state;
    gc_nvml nvml;
    assert_failure(gc_nvml_load("/nonexistent/libnvidia-ml.so.1", &nvml), GPUCHAR_E_NO_NVML);
    assert_failure(gc_nvml_load("libm.so.6", &nvml), GPUCHAR_E_SYMBOL_MISSING);
    assert_null(nvml.Init);
    assert_failure(gc_nvml_check(&nvml, 3, "nvmlX"), GPUCHAR_E_NVML);
    assert_int_equal(gc_nvml_check(&nvml, 0, "nvmlX"), GPUCHAR_OK);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_found_nowhere),
        TEST(test_wheel_and_toolkit),
        TEST(test_broken_candidate_is_told),
        TEST(test_refusal_is_the_answer_when_nothing_is_better),
        TEST(test_success_leaves_the_detail_alone),
        TEST(test_named_library_has_no_fallback),
        TEST(test_builds),
        TEST(test_driver_missing),
        TEST(test_driver_stub),
        TEST(test_driver_wrong_files),
        TEST(test_driver_fake),
        TEST(test_cuda_check),
        TEST(test_nvrtc),
        TEST(test_nvrtc_fail),
        TEST(test_cupti),
        TEST(test_nvml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
