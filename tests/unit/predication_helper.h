/* What the tests of the predication comparison's public face share. Sessions, errors and rubbish are the sweep's. */
#ifndef TEST_PREDICATION_HELPER_H
#define TEST_PREDICATION_HELPER_H

#include "unit/sweep_helper.h"

#define COMPARE_NAME "predication_compare"

typedef gpuchar_predication_compare_options compare_options;
typedef gpuchar_predication_compare_result compare_result;

static inline compare_options default_compare(void) {
    return GPUCHAR_PREDICATION_COMPARE_OPTIONS_INIT;
}

/* Runs into a struct full of rubbish; after a failure nothing but the size may be left of it. */
static inline gpuchar_status run_compare(gpuchar_session *session, const compare_options *options,
                                         compare_result *result) {
    memset(result, 0xa5, sizeof *result);
    result->struct_size = sizeof *result;
    gpuchar_status status = gpuchar_predication_compare(session, options, result);
    if (status < 0) {
        expect_empty(result, sizeof *result);
        assert_int_equal(gpuchar_last_error()->status, status);
    }
    return status;
}

static inline void compare_fails(gpuchar_session *session, const compare_options *options, gpuchar_status wanted,
                                 const char *first, const char *second) {
    compare_result result;
    expect_failure(run_compare(session, options, &result), wanted, first, second);
}

#endif
