/* What the tests of the divergence sweep's public face share: sessions without GPU, results full of rubbish, errors. */
#ifndef TEST_SWEEP_HELPER_H
#define TEST_SWEEP_HELPER_H

#include <gpuchar/gpuchar.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARCHS_MAX 64

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

static inline gpuchar_session *open_arch(uint32_t arch) {
    char name[16];
    gpuchar_session *session = NULL;
    snprintf(name, sizeof name, "sm_%u", arch);
    if (gpuchar_session_open(NULL, name, NULL, &session) != GPUCHAR_OK) {
        fail_msg("%s: %s", name, gpuchar_last_error()->message);
    }
    return session;
}

/* One of the list's middle; the same each time, so that its kernels come from the cache. */
static inline gpuchar_session *open_any(void) {
    return open_arch(archs[arch_count / 2]);
}

/* Runs into a struct full of rubbish; after a failure nothing but the size may be left of it. */
static inline gpuchar_status run_sweep(gpuchar_session *session, const gpuchar_divergence_sweep_options *options,
                                       gpuchar_divergence_sweep_result *result) {
    const gpuchar_divergence_sweep_result zero = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    memset(result, 0xa5, sizeof *result);
    result->struct_size = sizeof *result;
    gpuchar_status status = gpuchar_divergence_sweep(session, options, result);
    if (status < 0) {
        assert_memory_equal(result, &zero, sizeof zero);
        assert_int_equal(gpuchar_last_error()->status, status);
    }
    return status;
}

/* A call that must fail, with both texts in its message or hint. */
static inline void check_fails(gpuchar_session *session, const gpuchar_divergence_sweep_options *options,
                               gpuchar_status wanted, const char *first, const char *second) {
    gpuchar_divergence_sweep_result result;
    gpuchar_status status = run_sweep(session, options, &result);
    const gpuchar_error *error = gpuchar_last_error();
    char said[2048];
    snprintf(said, sizeof said, "%s (%s)", error->message, error->hint);
    if (status != wanted) {
        fail_msg("%s instead of %s: %s", gpuchar_status_name(status), gpuchar_status_name(wanted), said);
    }
    if (!strstr(said, first) || !strstr(said, second)) fail_msg("no \"%s\" and \"%s\" in: %s", first, second, said);
}

#endif
