/* What the tests of the divergence sweep's public face share: sessions without GPU, results full of rubbish, errors. */
#ifndef TEST_SWEEP_HELPER_H
#define TEST_SWEEP_HELPER_H

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
#define ARCHS_MAX 64

typedef gpuchar_divergence_sweep_options sweep_options;
typedef gpuchar_divergence_sweep_result sweep_result;

static uint32_t archs[ARCHS_MAX];
static size_t arch_count; /* 0: no NVRTC */

static inline int find_archs(void **state) {
    (void)state;
    if (gpuchar_runtime_architectures(NULL, archs, ARCHS_MAX, &arch_count) != GPUCHAR_OK) arch_count = 0;
    if (arch_count > ARCHS_MAX) return -1;
    if (arch_count == 0) printf("no NVRTC: %s\n", gpuchar_last_error()->message);
    return 0;
}

#define NEEDS_NVRTC()                                                                                                  \
    do {                                                                                                               \
        (void)state;                                                                                                   \
        if (arch_count == 0) skip();                                                                                   \
    } while (0)

/* All sessions share the default runtime, so that one kernel is compiled once a program. */
static inline gpuchar_session *open_arch(uint32_t arch, const gpuchar_session_options *options) {
    char name[16];
    gpuchar_session *session = NULL;
    snprintf(name, sizeof name, "sm_%u", arch);
    if (gpuchar_session_open(NULL, name, options, &session) != GPUCHAR_OK) {
        fail_msg("%s: %s", name, gpuchar_last_error()->message);
    }
    return session;
}

/* One of the list's middle; the same each time, so that its kernels come from the cache. */
static inline gpuchar_session *open_any(void) {
    return open_arch(archs[arch_count / 2], NULL);
}

static inline sweep_options default_options(void) {
    return GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
}

/* As a caller may reuse one. */
static inline sweep_result dirty_result(void) {
    sweep_result result;
    memset(&result, 0xa5, sizeof result);
    result.struct_size = sizeof result;
    return result;
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

/* Runs into a struct full of rubbish; after a failure nothing but the size may be left of it. */
static inline gpuchar_status run_sweep(gpuchar_session *session, const sweep_options *options, sweep_result *result) {
    *result = dirty_result();
    gpuchar_status status = gpuchar_divergence_sweep(session, options, result);
    if (status < 0) {
        expect_empty(result, sizeof *result);
        assert_int_equal(gpuchar_last_error()->status, status);
    }
    return status;
}

/* The status, and for a failure its detail, with a hint, and with both texts in the message or the hint. */
static inline void expect_failure(gpuchar_status status, gpuchar_status wanted, const char *first, const char *second) {
    const gpuchar_error *error = gpuchar_last_error();
    char said[2048];
    snprintf(said, sizeof said, "%s (%s)", error->message, error->hint);
    if (status != wanted) {
        fail_msg("%s instead of %s: %s", gpuchar_status_name(status), gpuchar_status_name(wanted), said);
    }
    assert_int_equal(error->status, wanted);
    if (wanted < 0 && !error->hint[0]) fail_msg("no hint: %s", said);
    if (!strstr(said, first) || !strstr(said, second)) fail_msg("no \"%s\" and \"%s\" in: %s", first, second, said);
}

static inline void check_fails(gpuchar_session *session, const sweep_options *options, gpuchar_status wanted,
                               const char *first, const char *second) {
    sweep_result result;
    expect_failure(run_sweep(session, options, &result), wanted, first, second);
}

/* The session still answers, and its success leaves the detail of the older failure alone. */
static inline void expect_usable(gpuchar_session *session) {
    sweep_result result;
    gpuchar_error *before = gpuchar_error_copy();
    assert_non_null(before);
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_CAVEAT);
    assert_int_equal(gpuchar_last_error()->status, before->status);
    assert_string_equal(gpuchar_last_error()->message, before->message);
    assert_string_equal(gpuchar_last_error()->hint, before->hint);
    gpuchar_error_free(before);
    gpuchar_divergence_sweep_result_free(&result);
}

#endif
