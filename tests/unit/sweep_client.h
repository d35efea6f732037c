/* For tests of the divergence sweep without a GPU: sessions that compile only, and checks of statuses and emptied results. */
#ifndef GPUCHAR_TESTS_SWEEP_CLIENT_H
#define GPUCHAR_TESTS_SWEEP_CLIENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <gpuchar/gpuchar.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWEEP_NAME "divergence_sweep"

/* All sessions share the default runtime, so that one kernel is compiled once a program. */
static gpuchar_status open_compile_only(uint32_t arch, const gpuchar_session_options *options,
                                        gpuchar_session **session) {
    char name[16];
    snprintf(name, sizeof name, "sm_%u", arch);
    return gpuchar_session_open(NULL, name, options, session);
}

/* The architectures that NVRTC knows; none where there is no NVRTC. */
static inline size_t known_archs(uint32_t archs[64]) {
    size_t count = 0;
    return gpuchar_runtime_architectures(NULL, archs, 64, &count) == GPUCHAR_OK ? count : 0;
}

static inline gpuchar_session *new_compile_only(const gpuchar_session_options *options) {
    gpuchar_session *session = NULL;
    assert_int_equal(open_compile_only(90, options, &session), GPUCHAR_OK);
    assert_non_null(session);
    return session;
}

static inline void expect_status(gpuchar_status got, gpuchar_status wanted) {
    if (got != wanted) {
        fail_msg("%s instead of %s: %s (%s)", gpuchar_status_name(got), gpuchar_status_name(wanted),
                 gpuchar_last_error()->message, gpuchar_last_error()->hint);
    }
    if (wanted < 0) assert_int_equal(gpuchar_last_error()->status, wanted);
}

static inline void expect_words(const char *text, const char *words) {
    if (!strstr(text, words)) fail_msg("\"%s\" does not hold \"%s\"", text, words);
}

/* Zeros but for struct_size, `size` bytes of it. */
static inline void expect_empty(const void *result, size_t size) {
    const unsigned char *bytes = result;
    size_t stamped;
    memcpy(&stamped, result, sizeof stamped);
    assert_int_equal(stamped, size);
    for (size_t i = sizeof stamped; i < size; ++i) {
        if (bytes[i]) fail_msg("byte %zu of a failed result is %u", i, bytes[i]);
    }
}

/* A result full of rubbish, as a caller may reuse one. */
static inline gpuchar_divergence_sweep_result dirty_result(void) {
    gpuchar_divergence_sweep_result result;
    memset(&result, 0xa5, sizeof result);
    result.struct_size = sizeof result;
    return result;
}

/* The session still answers, and its success leaves the detail of the older failure alone. */
static inline void expect_usable(gpuchar_session *session) {
    gpuchar_divergence_sweep_result result = dirty_result();
    gpuchar_error *before = gpuchar_error_copy();
    assert_non_null(before);
    gpuchar_status status = gpuchar_divergence_sweep(session, NULL, &result);
    assert_int_equal(status, GPUCHAR_CAVEAT);
    assert_int_equal(gpuchar_last_error()->status, before->status);
    assert_string_equal(gpuchar_last_error()->message, before->message);
    assert_string_equal(gpuchar_last_error()->hint, before->hint);
    gpuchar_error_free(before);
    gpuchar_divergence_sweep_result_free(&result);
}

#endif
