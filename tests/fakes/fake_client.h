/* For tests: cmocka, a runtime on the fake driver, and the fake's state. */
#ifndef FAKE_CLIENT_H
#define FAKE_CLIENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <fakes/fake_cuda.h>
#include <gpuchar/gpuchar.h>
#include <string.h>

#define FAKE_CUDA_PATH GPUCHAR_FAKES_DIR "/fake_cuda.so"
#define FAKE_NVML_PATH GPUCHAR_FAKES_DIR "/fake_nvml.so"

static inline void *fake_symbol(const char *name) {
    void *handle = dlopen(FAKE_CUDA_PATH, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    void *address = dlsym(handle, name);
    assert_non_null(address);
    return address;
}

static inline fake_cuda *fake(void) {
    fake_cuda_state_function get;
    void *address = fake_symbol("fake_cuda_state");
    memcpy(&get, &address, sizeof get);
    return get();
}

static inline void fake_reset(void) {
    fake_cuda_reset_function reset;
    void *address = fake_symbol("fake_cuda_reset");
    memcpy(&reset, &address, sizeof reset);
    reset();
}

static inline CUcontext fake_context(int device) {
    fake_cuda_context_function get;
    void *address = fake_symbol("fake_cuda_context");
    memcpy(&get, &address, sizeof get);
    return get(device);
}

static inline int fake_depth(void) {
    fake_cuda_depth_function get;
    void *address = fake_symbol("fake_cuda_depth");
    memcpy(&get, &address, sizeof get);
    return get();
}

static inline CUstreamCaptureMode fake_capture_mode(void) {
    fake_cuda_capture_mode_function get;
    void *address = fake_symbol("fake_cuda_capture_mode");
    memcpy(&get, &address, sizeof get);
    return get();
}

/* The fake is reset; NVML is named where it cannot be, so that the machine's own does not answer. */
static inline gpuchar_runtime *fake_runtime(void) {
    fake_reset();
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    options.cuda_path = FAKE_CUDA_PATH;
    options.nvml_path = "/nonexistent/libnvidia-ml.so.1";
    gpuchar_runtime *runtime = NULL;
    assert_int_equal(gpuchar_runtime_open(&options, &runtime), GPUCHAR_OK);
    return runtime;
}

static inline void assert_failure(gpuchar_status got, gpuchar_status expected) {
    if (got != expected) {
        const gpuchar_error *error = gpuchar_last_error();
        print_message("%s: %s (%s)\n", gpuchar_status_name(got), error->message, error->hint);
    }
    assert_int_equal(got, expected);
    if (expected < 0) {
        assert_int_equal(gpuchar_last_error()->status, expected);
        assert_true(gpuchar_last_error()->message[0] != 0);
    }
}

static inline void assert_contains(const char *text, const char *part) {
    if (!strstr(text, part)) {
        fail_msg("\"%s\" does not hold \"%s\"", text, part);
    }
}

#endif
