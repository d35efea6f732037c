/* Statuses, the thread's error detail, the log, utilities. */
#undef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* usleep, setrlimit under -std=c11 */
#include "core/error.h"
#include "core/log.h"
#include "core/util.h"

#include <gpuchar/version.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Statuses. */

static void test_names(void **state) {
    (void)state;
    assert_string_equal(gpuchar_status_name(GPUCHAR_OK), "GPUCHAR_OK");
    assert_string_equal(gpuchar_status_name(1), "GPUCHAR_CAVEAT");
    assert_string_equal(gpuchar_status_name(-4), "GPUCHAR_E_BUSY");
    assert_string_equal(gpuchar_status_name(-99), "GPUCHAR_E_INTERNAL");
    assert_string_equal(gpuchar_status_name(-12345), "unknown status");
    assert_string_equal(gpuchar_status_text(GPUCHAR_E_NO_NVRTC), "NVRTC not found");
    assert_true(strlen(gpuchar_status_text(12345)) > 0);
    assert_string_equal(gpuchar_domain_name(GPUCHAR_DOMAIN_NONE), "");
    assert_string_equal(gpuchar_domain_name(GPUCHAR_DOMAIN_CUBLASLT), "cuBLASLt");
    assert_true(strlen(gpuchar_domain_name(99)) > 0);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", GPUCHAR_VERSION_MAJOR, GPUCHAR_VERSION_MINOR, GPUCHAR_VERSION_PATCH);
    assert_string_equal(gpuchar_version(), version);
}

/* Error detail. Each test starts on a thread that has failed before; what counts is what it then sets. */

static void assert_error(gpuchar_status status, uint32_t domain, int64_t code, const char *name, const char *call) {
    const gpuchar_error *error = gpuchar_last_error();
    assert_int_equal(error->struct_size, sizeof *error);
    assert_int_equal(error->status, status);
    assert_int_equal(error->domain, domain);
    assert_int_equal(error->native_code, code);
    assert_string_equal(error->native_name, name);
    assert_string_equal(error->call, call);
}

static void test_no_failure_yet(void **state) {
    (void)state;
    assert_error(GPUCHAR_OK, GPUCHAR_DOMAIN_NONE, 0, "", "");
    assert_string_equal(gpuchar_last_error()->message, "");
    assert_string_equal(gpuchar_last_error()->hint, "");
    assert_string_equal(gpuchar_last_error()->log, "");
}

static void test_fail(void **state) {
    (void)state;
    assert_int_equal(gc_fail(GPUCHAR_E_LIMIT, "k is %d", 33), GPUCHAR_E_LIMIT);
    gc_hint("take 1..%d", 32);
    gc_attach_log("line 1\nline 2\n");
    assert_error(GPUCHAR_E_LIMIT, GPUCHAR_DOMAIN_NONE, 0, "", "");
    assert_string_equal(gpuchar_last_error()->message, "k is 33");
    assert_string_equal(gpuchar_last_error()->hint, "take 1..32");
    assert_string_equal(gpuchar_last_error()->log, "line 1\nline 2\n");

    assert_int_equal(gc_fail(GPUCHAR_OK, "no failure"), GPUCHAR_OK);
    assert_int_equal(gc_fail(GPUCHAR_CAVEAT, "no failure"), GPUCHAR_CAVEAT);
    assert_string_equal(gpuchar_last_error()->message, "k is 33");

    gc_native native = {GPUCHAR_DOMAIN_CUDA, 2, "CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc"};
    assert_int_equal(gc_fail_native(GPUCHAR_E_OUT_OF_DEVICE_MEMORY, native, "%s", "no room"),
                     GPUCHAR_E_OUT_OF_DEVICE_MEMORY);
    assert_error(GPUCHAR_E_OUT_OF_DEVICE_MEMORY, GPUCHAR_DOMAIN_CUDA, 2, "CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc");
    assert_string_equal(gpuchar_last_error()->message, "no room");
    assert_string_equal(gpuchar_last_error()->hint, "");
    assert_string_equal(gpuchar_last_error()->log, "");

    gc_native unnamed = {GPUCHAR_DOMAIN_NVML, 999, NULL, NULL};
    gc_fail_native(GPUCHAR_E_NVML, unnamed, "x");
    assert_error(GPUCHAR_E_NVML, GPUCHAR_DOMAIN_NVML, 999, "", "");

    assert_int_equal(gc_fail_os(GPUCHAR_E_IO, ENOENT, "open", "cannot read %s", "a.json"), GPUCHAR_E_IO);
    assert_error(GPUCHAR_E_IO, GPUCHAR_DOMAIN_OS, ENOENT, "ENOENT", "open");
    assert_string_equal(gpuchar_last_error()->message, "cannot read a.json: No such file or directory");
    gc_fail_os(GPUCHAR_E_IO, 123456, "open", "odd");
    assert_error(GPUCHAR_E_IO, GPUCHAR_DOMAIN_OS, 123456, "", "open");

    assert_int_equal(gc_fail_memory(4096), GPUCHAR_E_OUT_OF_MEMORY);
    assert_non_null(strstr(gpuchar_last_error()->message, "4096"));
}

static void test_arguments_from_the_failure_itself(void **state) {
    (void)state;
    gc_native native = {GPUCHAR_DOMAIN_CUDA, 1, "NAME", "call"};
    gc_fail_native(GPUCHAR_E_CUDA, native, "inner");
    gc_hint("do this");
    gc_attach_log("the log");
    const gpuchar_error *inner = gpuchar_last_error();
    gc_attach_log(inner->log);
    inner = gpuchar_last_error();
    assert_string_equal(inner->log, "the log");
    gc_native again = {inner->domain, inner->native_code, inner->native_name, inner->call};
    gc_fail_native(GPUCHAR_E_INTERNAL, again, "outer: %s; %s; %s", inner->message, inner->hint, inner->log);
    assert_string_equal(gpuchar_last_error()->message, "outer: inner; do this; the log");
    assert_error(GPUCHAR_E_INTERNAL, GPUCHAR_DOMAIN_CUDA, 1, "NAME", "call");
    gc_hint("first");
    gc_hint("%s and second", gpuchar_last_error()->hint);
    assert_string_equal(gpuchar_last_error()->hint, "first and second");
}

static void test_long_texts(void **state) {
    (void)state;
    enum { LONG = 5000 };
    char text[LONG + 1];
    memset(text, 'x', LONG);
    text[LONG] = 0;
    gc_native native = {GPUCHAR_DOMAIN_CUDA, 1, text, text};
    gc_fail_native(GPUCHAR_E_CUDA, native, "%s", text);
    gc_hint("%s", text);
    const gpuchar_error *error = gpuchar_last_error();
    size_t length = strlen(error->message);
    assert_in_range(length, 200, LONG - 1);
    assert_string_equal(error->message + length - 4, "x...");
    assert_in_range(strlen(error->hint), 200, LONG - 1);
    assert_in_range(strlen(error->native_name), 60, LONG - 1);
    assert_in_range(strlen(error->call), 60, LONG - 1);

    /* Two-byte characters at every alignment: the cut never leaves half of one. */
    for (size_t i = 0; i < LONG; i++) {
        text[i] = i % 2 == 0 ? (char)0xc3 : (char)0xa9;
    }
    for (int shift = 0; shift < 2; shift++) {
        gc_fail(GPUCHAR_E_CUDA, "%.*s%s", shift, "x", text);
        error = gpuchar_last_error();
        size_t end = strlen(error->message) - 3;
        assert_string_equal(error->message + end, "...");
        assert_int_equal((unsigned char)error->message[end - 1], 0xa9);
    }

    /* The log is kept whole. */
    size_t huge = (size_t)1 << 20;
    char *log = malloc(huge + 1);
    assert_non_null(log);
    memset(log, 'l', huge);
    log[huge] = 0;
    gc_attach_log(log);
    assert_int_equal(strlen(gpuchar_last_error()->log), huge);
    free(log);
    gc_attach_log(NULL);
    assert_string_equal(gpuchar_last_error()->log, "");
}

static void test_copy(void **state) {
    (void)state;
    gc_native native = {GPUCHAR_DOMAIN_NVRTC, 6, "NVRTC_ERROR_COMPILATION", "nvrtcCompileProgram"};
    gc_fail_native(GPUCHAR_E_COMPILE, native, "kernel.cu");
    gc_hint("look at the log");
    gc_attach_log("error: x");
    gpuchar_error *copy = gpuchar_error_copy();
    assert_non_null(copy);
    gc_fail(GPUCHAR_E_BUSY, "another");
    assert_int_equal(copy->struct_size, sizeof *copy);
    assert_int_equal(copy->status, GPUCHAR_E_COMPILE);
    assert_int_equal(copy->domain, GPUCHAR_DOMAIN_NVRTC);
    assert_int_equal(copy->native_code, 6);
    assert_string_equal(copy->native_name, "NVRTC_ERROR_COMPILATION");
    assert_string_equal(copy->call, "nvrtcCompileProgram");
    assert_string_equal(copy->message, "kernel.cu");
    assert_string_equal(copy->hint, "look at the log");
    assert_string_equal(copy->log, "error: x");
    gpuchar_error_free(copy);
    gpuchar_error_free(NULL);
}

/* Threads. */

enum { ROUNDS = 200, THREADS = 4 };

static void *fail_often(void *argument) {
    int id = *(int *)argument;
    bool good = gpuchar_last_error()->status == GPUCHAR_OK;
    for (int round = 0; round < ROUNDS && good; round++) {
        char expected[64];
        snprintf(expected, sizeof expected, "thread %d round %d", id, round);
        gc_fail(GPUCHAR_E_LIMIT, "thread %d round %d", id, round);
        gc_attach_log(expected); /* the last one is left for the end of the thread: a leak checker sees it */
        good = strcmp(gpuchar_last_error()->message, expected) == 0 && strcmp(gpuchar_last_error()->log, expected) == 0;
    }
    return good ? argument : NULL;
}

static void test_threads_are_independent(void **state) {
    (void)state;
    gc_fail(GPUCHAR_E_BUSY, "of the main thread");
    gc_attach_log("main's log");
    pthread_t threads[THREADS];
    int ids[THREADS];
    for (int i = 0; i < THREADS; i++) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, fail_often, &ids[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &ids[i]);
    }
    assert_string_equal(gpuchar_last_error()->message, "of the main thread");
    assert_string_equal(gpuchar_last_error()->log, "main's log");
}

/* A host's own key may be destroyed after the library's: the detail must still be readable then, and be freed. */
static pthread_key_t late_key;
static int late_rounds;

static void look_late(void *value) {
    gc_fail(GPUCHAR_E_INTERNAL, "late, %zu", strlen(gpuchar_last_error()->log));
    gc_attach_log("a late log");
    if (++late_rounds < 2) {
        pthread_setspecific(late_key, value);
    }
}

static void *end_with_late_key(void *argument) {
    gc_fail(GPUCHAR_E_LIMIT, "x");
    gc_attach_log("early");
    pthread_setspecific(late_key, argument);
    return argument;
}

static void test_use_while_the_thread_ends(void **state) {
    (void)state;
    int something = 0;
    assert_int_equal(pthread_key_create(&late_key, look_late), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_with_late_key, &something), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(late_rounds, 2);
    assert_int_equal(pthread_key_delete(late_key), 0);
}

static void *fail_and_take(void *argument) {
    (void)argument;
    gc_native native = {GPUCHAR_DOMAIN_CUPTI, 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", "cuptiX"};
    gc_fail_native(GPUCHAR_E_NO_PERMISSION, native, "not allowed");
    gc_hint("ask root");
    gc_attach_log("long log");
    gc_error_box *box = gc_error_take();
    bool clean = gpuchar_last_error()->status == GPUCHAR_OK && gpuchar_last_error()->message[0] == 0 &&
                 gpuchar_last_error()->log[0] == 0 && gc_error_take() == NULL;
    if (!clean) {
        gc_error_put(box, GPUCHAR_OK);
        return NULL;
    }
    return box;
}

static void test_take_and_put(void **state) {
    (void)state;
    gc_fail(GPUCHAR_E_BUSY, "before");
    gc_attach_log("log before");
    pthread_t thread;
    void *box = NULL;
    assert_int_equal(pthread_create(&thread, NULL, fail_and_take, NULL), 0);
    assert_int_equal(pthread_join(thread, &box), 0);
    assert_non_null(box);
    assert_string_equal(gpuchar_last_error()->message, "before");
    assert_int_equal(gc_error_put(box, GPUCHAR_E_NO_PERMISSION), GPUCHAR_E_NO_PERMISSION);
    assert_error(GPUCHAR_E_NO_PERMISSION, GPUCHAR_DOMAIN_CUPTI, 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", "cuptiX");
    assert_string_equal(gpuchar_last_error()->message, "not allowed");
    assert_string_equal(gpuchar_last_error()->hint, "ask root");
    assert_string_equal(gpuchar_last_error()->log, "long log");

    /* Put under another status: the detail stays. */
    gc_error_box *renamed = gc_error_take();
    assert_non_null(renamed);
    assert_int_equal(gc_error_put(renamed, GPUCHAR_E_CANCELLED), GPUCHAR_E_CANCELLED);
    assert_error(GPUCHAR_E_CANCELLED, GPUCHAR_DOMAIN_CUPTI, 35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", "cuptiX");
    assert_string_equal(gpuchar_last_error()->log, "long log");

    /* Put as no failure: only freed. */
    gc_error_box *unused = gc_error_take();
    assert_non_null(unused);
    gc_fail(GPUCHAR_E_BUSY, "kept");
    assert_int_equal(gc_error_put(unused, GPUCHAR_OK), GPUCHAR_OK);
    assert_string_equal(gpuchar_last_error()->message, "kept");

    /* The box is lost. */
    assert_int_equal(gc_error_put(NULL, GPUCHAR_E_CUDA), GPUCHAR_E_CUDA);
    assert_error(GPUCHAR_E_CUDA, GPUCHAR_DOMAIN_NONE, 0, "", "");
    assert_non_null(strstr(gpuchar_last_error()->message, gpuchar_status_text(GPUCHAR_E_CUDA)));
}

/* No memory. */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_BREAK_THE_ALLOCATOR 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define LIMITS_BREAK_THE_ALLOCATOR 1
#endif
#endif
#ifndef LIMITS_BREAK_THE_ALLOCATOR
#define LIMITS_BREAK_THE_ALLOCATOR 0
#endif

/* 0 when all is as it should be, else which check failed. Runs in a child with no address space to spare. */
static int check_without_memory(const char *huge_log) {
    gc_fail(GPUCHAR_E_LIMIT, "first");
    gc_attach_log("small log");
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_AS, &none) != 0) {
        return 1;
    }
    gc_hint("a hint");
    gc_attach_log(huge_log);
    const gpuchar_error *error = gpuchar_last_error();
    if (error->log[0] != 0 || strcmp(error->message, "first") != 0 || strcmp(error->hint, "a hint") != 0) {
        return 2;
    }
    if (gc_fail_memory(77) != GPUCHAR_E_OUT_OF_MEMORY || !strstr(gpuchar_last_error()->message, "77")) {
        return 3;
    }
    gc_text text = {0};
    gc_text_append(&text, "kept", 4);
    gc_text_append(&text, huge_log, strlen(huge_log));
    gc_text_add(&text, "ignored");
    if (!text.failed || !text.data || strcmp(text.data, "kept") != 0) {
        return 4;
    }
    return 0;
}

static void test_without_memory(void **state) {
    (void)state;
    const char *preload = getenv("LD_PRELOAD");
    if (LIMITS_BREAK_THE_ALLOCATOR || (preload && strstr(preload, "vgpreload"))) {
        skip();
    }
    size_t huge = (size_t)256 << 20;
    char *log = malloc(huge + 1);
    assert_non_null(log);
    memset(log, 'l', huge);
    log[huge] = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(check_without_memory(log));
    }
    free(log);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Log. */

typedef struct heard {
    int lines;
    uint32_t level;
    char last[2048];
} heard;

static void hear(void *user, uint32_t level, const char *message) {
    heard *h = user;
    h->lines++;
    h->level = level;
    snprintf(h->last, sizeof h->last, "%s", message);
}

static void test_log(void **state) {
    (void)state;
    heard h = {0};
    gc_log log = {hear, &h, GPUCHAR_LOG_INFO};
    gc_log_write(&log, GPUCHAR_LOG_DEBUG, "too fine");
    assert_int_equal(h.lines, 0);
    gc_log_write(&log, GPUCHAR_LOG_INFO, "found %d", 7);
    assert_int_equal(h.lines, 1);
    assert_int_equal(h.level, GPUCHAR_LOG_INFO);
    assert_string_equal(h.last, "found 7");
    gc_log_write(&log, GPUCHAR_LOG_ERROR, "%2000d", 1);
    assert_int_equal(h.lines, 2);
    assert_string_equal(h.last + strlen(h.last) - 3, "...");
    gc_log silent = {NULL, NULL, GPUCHAR_LOG_DEBUG};
    gc_log_write(&silent, GPUCHAR_LOG_ERROR, "x");
    gc_log_write(NULL, GPUCHAR_LOG_ERROR, "x");
}

/* Utilities. */

static void test_random(void **state) {
    (void)state;
    /* The published SplitMix64 sequence of seed 1234567. */
    gc_random random = gc_random_seed(1234567);
    assert_true(gc_random_u64(&random) == 6457827717110365317u);
    assert_true(gc_random_u64(&random) == 3203168211198807973u);

    enum { BOUND = 7, DRAWS = 70000 };
    int counts[BOUND] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint32_t drawn = gc_random_below(&random, BOUND);
        assert_in_range(drawn, 0, BOUND - 1);
        counts[drawn]++;
    }
    for (int i = 0; i < BOUND; i++) {
        assert_in_range(counts[i], 9500, 10500); /* 5 standard deviations around 10,000 */
    }
    /* A bound of 3 * 2^30 shows bias: without drawing again, multiples of 3 (or, by remainder, the lowest third) come
     * twice as often. */
    int low = 0, multiples = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint32_t drawn = gc_random_below(&random, 3u << 30);
        low += drawn < 1u << 30;
        multiples += drawn % 3 == 0;
    }
    assert_in_range(low, DRAWS / 3 - 700, DRAWS / 3 + 700);
    assert_in_range(multiples, DRAWS / 3 - 700, DRAWS / 3 + 700);
    assert_int_equal(gc_random_below(&random, 1), 0);
    assert_int_equal(gc_random_below(&random, 0), 0);

    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        double unit = gc_random_unit(&random);
        assert_true(unit >= 0 && unit < 1);
        sum += unit;
    }
    assert_true(sum / DRAWS > 0.494 && sum / DRAWS < 0.506);
}

static void test_text(void **state) {
    (void)state;
    gc_text text = {0};
    gc_text_add(&text, "%s", "");
    assert_non_null(text.data);
    assert_string_equal(text.data, "");
    char expected[4096] = "";
    size_t length = 0;
    for (int i = 0; i < 300; i++) {
        gc_text_add(&text, "%d,", i);
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%d,", i);
        assert_int_equal(text.length, length);
        assert_in_range(text.capacity, text.length + 1, 8192);
    }
    assert_string_equal(text.data, expected);
    gc_text_append(&text, "a\0b", 3);
    assert_int_equal(text.length, length + 3);
    assert_memory_equal(text.data + length, "a\0b", 4);
    gc_text_append(&text, NULL, 0);
    assert_int_equal(text.length, length + 3);
    gc_text_append(&text, "x", SIZE_MAX);
    assert_true(text.failed);
    assert_int_equal(text.length, length + 3);
    gc_text_free(&text);
    assert_null(text.data);
    assert_false(text.failed);
    gpuchar_string_free(NULL);
}

static void test_hash(void **state) {
    (void)state;
    /* Published FNV-1a test vectors of 128 bits. */
    gc_hash hash = gc_hash_add(gc_hash_start(), "a", 1);
    assert_true(hash.high == 0xd228cb696f1a8cafu && hash.low == 0x78912b704e4a8964u);
    hash = gc_hash_add(gc_hash_start(), "foobar", 6);
    assert_true(hash.high == 0x343e1662793c64bfu && hash.low == 0x6f0d3597ba446f18u);
    gc_hash parts = gc_hash_add(gc_hash_add(gc_hash_start(), "foo", 3), "bar", 3);
    assert_true(parts.high == hash.high && parts.low == hash.low);
}

static void test_now(void **state) {
    (void)state;
    uint64_t start = gc_now_ns();
    usleep(20000);
    uint64_t elapsed = gc_now_ns() - start;
    assert_true(elapsed >= 20000000u && elapsed < 20000000000u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_failure_yet), /* before all that fail */
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_arguments_from_the_failure_itself),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_threads_are_independent),
        cmocka_unit_test(test_use_while_the_thread_ends),
        cmocka_unit_test(test_take_and_put),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_now),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    /* Left for the end of the process, where a leak checker looks for it. */
    gc_fail(GPUCHAR_E_INTERNAL, "last");
    gc_attach_log("the main thread's log");
    return failed;
}
