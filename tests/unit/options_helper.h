/*
 * How an experiment must treat its caller's structs, whatever it measures: bad values, sizes, NULL, demands that a
 * session cannot meet, callbacks. A test says which experiment and which values; the session is compile-only.
 */
#ifndef TEST_OPTIONS_HELPER_H
#define TEST_OPTIONS_HELPER_H

#include "unit/sweep_helper.h"

typedef struct subject {
    const char *name;                                                                   /* of the experiment */
    gpuchar_status (*run)(gpuchar_session *session, const void *options, void *result); /* its own function */
    void (*result_free)(void *result);                                                  /* NULL is allowed */
    size_t counters, require;                                                           /* offsets of these options */
} subject;

/* The test defines it. */
static const subject SUBJECT;

static const gpuchar_experiment *about;
static gpuchar_session *session; /* NULL without NVRTC */

static inline int open_subject(void **state) {
    about = gpuchar_experiment_get(SUBJECT.name);
    if (!about || find_archs(state) != 0) return -1;
    if (arch_count > 0) session = open_any();
    return 0;
}

static inline int close_subject(void **state) {
    (void)state;
    gpuchar_session_close(session);
    session = NULL;
    return 0;
}

/* ---- structs of any experiment */

/* Zeros but for the size. The caller frees it, as all of these. */
static inline void *new_options(void) {
    void *options = calloc(1, about->options_size_bytes);
    assert_non_null(options);
    memcpy(options, &about->options_size_bytes, sizeof(size_t));
    return options;
}

/* Rubbish but for the size, as a caller may reuse one; `more` bytes longer than this library knows. */
static inline void *new_result(size_t more) {
    const size_t size = about->result_size_bytes + more;
    void *result = malloc(size);
    assert_non_null(result);
    memset(result, 0xa5, size);
    memcpy(result, &size, sizeof size);
    return result;
}

static inline void set_option(void *options, size_t offset, uint32_t value) {
    memcpy((char *)options + offset, &value, sizeof value);
}

/* Runs into a struct full of rubbish and forgets what it got. */
static inline gpuchar_status run_once(gpuchar_session *on, const void *options) {
    void *result = new_result(0);
    gpuchar_status status = SUBJECT.run(on, options, result);
    if (status < 0) expect_empty(result, about->result_size_bytes);
    if (status >= 0) SUBJECT.result_free(result);
    free(result);
    return status;
}

/* The session still answers, and its success leaves the detail of the older failure alone. */
static inline void expect_answer(void) {
    gpuchar_error *before = gpuchar_error_copy();
    assert_non_null(before);
    assert_int_equal(run_once(session, NULL), GPUCHAR_CAVEAT);
    assert_int_equal(gpuchar_last_error()->status, before->status);
    assert_string_equal(gpuchar_last_error()->message, before->message);
    assert_string_equal(gpuchar_last_error()->hint, before->hint);
    gpuchar_error_free(before);
}

/* Through its function and by its name: the status, words that name the field, an emptied result, a usable session. */
static inline void refuse(const void *options, gpuchar_status wanted, const char *field, const char *value) {
    expect_failure(run_once(session, options), wanted, field, value);
    void *result = new_result(0);
    expect_failure(gpuchar_experiment_run(session, SUBJECT.name, options, result), wanted, field, value);
    expect_empty(result, about->result_size_bytes);
    free(result);
    expect_answer();
}

/* ---- values */

typedef struct bad_value {
    size_t offset;
    uint32_t value;
    gpuchar_status wanted;
    const char *field;
} bad_value;

static inline void refuse_values(const bad_value *bad, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        void *options = new_options();
        char value[16];
        set_option(options, bad[i].offset, bad[i].value);
        snprintf(value, sizeof value, "is %u", bad[i].value);
        refuse(options, bad[i].wanted, bad[i].field, value);
        free(options);
    }
}

typedef struct good_value {
    size_t offset;
    uint32_t value;
} good_value;

static inline void accept_values(const good_value *good, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        void *options = new_options();
        set_option(options, good[i].offset, good[i].value);
        assert_int_equal(run_once(session, options), GPUCHAR_CAVEAT);
        free(options);
    }
}

/* What the 32 entries of an array option may not be, one of them at a time. */
static inline void refuse_entries(size_t array, size_t count_option, const uint32_t *bad, size_t count,
                                  const char *field) {
    for (size_t i = 0; i < count; ++i) {
        void *options = new_options();
        char value[16], name[32];
        for (uint32_t k = 0; k < 32; ++k) set_option(options, array + k * sizeof(uint32_t), k + 1);
        set_option(options, count_option, 32);
        set_option(options, array + 17 * sizeof(uint32_t), bad[i]);
        snprintf(value, sizeof value, "is %u", bad[i]);
        snprintf(name, sizeof name, "%s[17]", field);
        refuse(options, GPUCHAR_E_LIMIT, name, value);
        free(options);
    }
}

/* ---- tests that are the same for all: what is demanded */

/* What would be ignored is refused: its caller believes in it. */
static inline void test_counters_off_and_demanded(void **state) {
    NEEDS_NVRTC();
    void *options = new_options();
    set_option(options, SUBJECT.counters, GPUCHAR_COUNTERS_OFF);
    set_option(options, SUBJECT.require, GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_PROVED);
    refuse(options, GPUCHAR_E_INVALID_ARGUMENT, "`require`", "GPUCHAR_COUNTERS_OFF");
    free(options);
}

/* What only a run gives cannot be demanded of a session that runs nothing. */
static inline void test_demands(void **state) {
    NEEDS_NVRTC();
    static const struct {
        uint32_t counters, require;
        const char *field;
    } demands[] = {{GPUCHAR_COUNTERS_REQUIRED, 0, "counters"},
                   {GPUCHAR_COUNTERS_AUTO, GPUCHAR_REQUIRE_COUNTED, "require"},
                   {GPUCHAR_COUNTERS_OFF, GPUCHAR_REQUIRE_STABLE | GPUCHAR_REQUIRE_PROVED, "require"}};
    for (size_t i = 0; i < sizeof demands / sizeof demands[0]; ++i) {
        void *options = new_options();
        set_option(options, SUBJECT.counters, demands[i].counters);
        set_option(options, SUBJECT.require, demands[i].require);
        refuse(options, GPUCHAR_E_NOT_APPLICABLE, demands[i].field, "compile-only");
        free(options);
    }
}

/* ---- struct_size */

static inline void refuse_options_size(size_t size) {
    void *options = new_options();
    char value[32], maker[96];
    memcpy(options, &size, sizeof size);
    snprintf(value, sizeof value, "is %zu", size);
    snprintf(maker, sizeof maker, "%s_make", about->options_struct);
    refuse(options, GPUCHAR_E_STRUCT_SIZE, about->options_struct, value);
    assert_non_null(strstr(gpuchar_last_error()->hint, maker));
    free(options);
}

static inline void test_options_size(void **state) {
    NEEDS_NVRTC();
    const size_t known = about->options_size_bytes, grown = known + sizeof(uint64_t);
    const size_t bad[] = {0, 1, 8, known - 1, (size_t)1 << 40, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) refuse_options_size(bad[i]);
    char offset[48];
    unsigned char *newer = calloc(1, grown);
    assert_non_null(newer);
    memcpy(newer, &grown, sizeof grown);
    assert_int_equal(run_once(session, newer), GPUCHAR_CAVEAT);
    newer[grown - 1] = 0x80;
    snprintf(offset, sizeof offset, "offset %zu", grown - 1);
    refuse(newer, GPUCHAR_E_STRUCT_SIZE, about->options_struct, offset);
    newer[grown - 1] = 0;
    set_option(newer, SUBJECT.counters, 9); /* what is known of it counts */
    refuse(newer, GPUCHAR_E_INVALID_ARGUMENT, "counters", "is 9");
    free(newer);
}

/* Nobody knows how much of such a result there is: it stays as it was. */
static inline void refuse_result_size(size_t size) {
    unsigned char *result = new_result(0), *before = new_result(0);
    memcpy(result, &size, sizeof size);
    memcpy(before, &size, sizeof size);
    expect_failure(SUBJECT.run(session, NULL, result), GPUCHAR_E_STRUCT_SIZE, about->result_struct, "struct_size");
    assert_memory_equal(result, before, about->result_size_bytes);
    free(result);
    free(before);
    expect_answer();
}

static inline void test_result_size(void **state) {
    NEEDS_NVRTC();
    const size_t known = about->result_size_bytes, grown = known + sizeof(uint64_t);
    const size_t bad[] = {0, 1, 8, known - 1, (size_t)1 << 40, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) refuse_result_size(bad[i]);
    unsigned char *newer = new_result(sizeof(uint64_t));
    static const unsigned char zeros[sizeof(uint64_t)];
    assert_int_equal(SUBJECT.run(session, NULL, newer), GPUCHAR_CAVEAT);
    assert_memory_equal(newer, &grown, sizeof grown);
    assert_memory_equal(newer + known, zeros, sizeof zeros);
    SUBJECT.result_free(newer);
    free(newer);
    newer = new_result(sizeof(uint64_t));
    void *options = new_options();
    set_option(options, SUBJECT.counters, 9);
    expect_failure(SUBJECT.run(session, options, newer), GPUCHAR_E_INVALID_ARGUMENT, "counters", "is 9");
    expect_empty(newer, grown);
    free(options);
    free(newer);
}

static inline void test_null(void **state) {
    (void)state;
    void *result = new_result(0);
    expect_failure(run_once(NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT, "session", "NULL");
    assert_int_equal(SUBJECT.run(NULL, NULL, result), GPUCHAR_E_INVALID_ARGUMENT);
    SUBJECT.result_free(NULL);
    SUBJECT.result_free(result);
    SUBJECT.result_free(result);
    free(result);
    expect_failure(SUBJECT.run(NULL, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT, about->result_struct, "NULL");
    NEEDS_NVRTC();
    expect_failure(SUBJECT.run(session, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT, about->result_struct, "NULL");
    expect_answer();
}

/* ---- cancel and callbacks */

static inline void test_cancel(void **state) {
    NEEDS_NVRTC();
    gpuchar_session_cancel(session);
    expect_failure(run_once(session, NULL), GPUCHAR_E_CANCELLED, "cancelled", "");
    expect_answer();
}

typedef struct watcher {
    gpuchar_session *session;
    uint32_t calls;
    bool call_again;
    bool cancel;
} watcher;

static inline void watch(void *user, const char *step, double done) {
    watcher *w = user;
    w->calls++;
    assert_true(step && step[0] && done >= 0 && done <= 1);
    if (w->cancel) gpuchar_session_cancel(w->session);
    if (w->call_again) expect_failure(run_once(w->session, NULL), GPUCHAR_E_BUSY, "call", "");
}

static inline void test_callbacks(void **state) {
    NEEDS_NVRTC();
    watcher w = {.call_again = true};
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    options.progress = watch;
    options.progress_user = &w;
    w.session = open_arch(archs[arch_count / 2], &options);
    assert_int_equal(run_once(w.session, NULL), GPUCHAR_CAVEAT);
    assert_true(w.calls >= 2);
    w.call_again = false;
    w.cancel = true; /* from inside: the running call ends, not the one after it */
    expect_failure(run_once(w.session, NULL), GPUCHAR_E_CANCELLED, "cancelled", "");
    w.cancel = false;
    assert_int_equal(run_once(w.session, NULL), GPUCHAR_CAVEAT);
    gpuchar_session_close(w.session);
}

/* All of the above. */
#define TESTS_OF_ALL                                                                                                   \
    cmocka_unit_test(test_counters_off_and_demanded), cmocka_unit_test(test_demands),                                  \
        cmocka_unit_test(test_options_size), cmocka_unit_test(test_result_size), cmocka_unit_test(test_null),          \
        cmocka_unit_test(test_cancel), cmocka_unit_test(test_callbacks)

#endif
