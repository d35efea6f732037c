/* For tests: cmocka, the book of the fakes, and a runtime on them. */
#ifndef FAKE_CLIENT_H
#define FAKE_CLIENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda.h>
#include <dlfcn.h>
#include <fakes/book.h>
#include <gpuchar/gpuchar.h>
#include <string.h>

#define FAKE_CUDA_PATH GPUCHAR_FAKES_DIR "/fake_cuda.so"
#define FAKE_CUPTI_PATH GPUCHAR_FAKES_DIR "/fake_cupti.so"
#define FAKE_NVML_PATH GPUCHAR_FAKES_DIR "/fake_nvml.so"
#define FAKE_NVRTC_PATH GPUCHAR_FAKES_DIR "/fake_nvrtc.so"
/* For what shall be missing: the machine's own would answer otherwise. */
#define FAKE_NOWHERE "/nonexistent/library.so"

/* The driver and, where the bits say so, the others; the rest is missing. */
enum { FAKE_WITH_CUPTI = 1, FAKE_WITH_NVML = 2, FAKE_WITH_NVRTC = 4, FAKE_WITH_ALL = 7 };

static inline gpuchar_runtime_options fake_options(unsigned with) {
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    options.cuda_path = FAKE_CUDA_PATH;
    options.cupti_path = with & FAKE_WITH_CUPTI ? FAKE_CUPTI_PATH : FAKE_NOWHERE;
    options.nvml_path = with & FAKE_WITH_NVML ? FAKE_NVML_PATH : FAKE_NOWHERE;
    options.nvrtc_path = with & FAKE_WITH_NVRTC ? FAKE_NVRTC_PATH : FAKE_NOWHERE;
    return options;
}

/* The fakes are reset. */
static inline gpuchar_runtime *fake_runtime_with(unsigned with) {
    fake_reset();
    gpuchar_runtime_options options = fake_options(with);
    gpuchar_runtime *runtime = NULL;
    assert_int_equal(gpuchar_runtime_open(&options, &runtime), GPUCHAR_OK);
    return runtime;
}

/* The driver alone, and the machine's own NVRTC. */
static inline gpuchar_runtime *fake_runtime(void) {
    fake_reset();
    gpuchar_runtime_options options = fake_options(0);
    options.nvrtc_path = NULL;
    gpuchar_runtime *runtime = NULL;
    assert_int_equal(gpuchar_runtime_open(&options, &runtime), GPUCHAR_OK);
    return runtime;
}

static inline int fake_depth(void) {
    return fake_this_thread()->depth;
}

static inline CUstreamCaptureMode fake_capture_mode(void) {
    return (CUstreamCaptureMode)fake_this_thread()->capture_mode;
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

/* All was given back, and nothing was done wrong. */
static inline void assert_fakes_clean(void) {
    if (fake_held_all() != 0) fail_msg("held: %s", fake_held_text());
    if (fake_misuses()[0]) fail_msg("misuse: %s", fake_misuses());
    assert_int_equal(fake()->swept, 0);
    assert_int_equal(fake_depth(), 0);
    assert_int_equal(fake_capture_mode(), CU_STREAM_CAPTURE_MODE_GLOBAL);
}

#endif
