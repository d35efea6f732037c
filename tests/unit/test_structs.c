/* The rules of size-stamped structs: older and newer callers, garbage sizes, nothing written past the caller's end. */
#include "core/error.h"
#include "core/structs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A struct in its first release, in this library's, and in a later one. */
typedef struct options_v1 {
    size_t struct_size;
    uint64_t a;
} options_v1;

typedef struct options_v2 {
    size_t struct_size;
    uint64_t a;
    uint64_t b;
} options_v2;

typedef struct options_v3 {
    size_t struct_size;
    uint64_t a;
    uint64_t b;
    uint64_t c[4];
} options_v3;

static gpuchar_status read_v2(const void *caller, options_v2 *known) {
    memset(known, 0xee, sizeof *known); /* what it held before must not show through */
    return gc_options_read(caller, known, sizeof *known, sizeof(options_v1), "sample_options");
}

static void test_options_null_is_default(void **state) {
    (void)state;
    options_v2 known;
    assert_int_equal(read_v2(NULL, &known), GPUCHAR_OK);
    assert_int_equal(known.struct_size, sizeof known);
    assert_int_equal(known.a, 0);
    assert_int_equal(known.b, 0);
}

static void test_options_older_caller(void **state) {
    (void)state;
    /* What follows the old struct in the caller's memory is not the library's business. */
    struct {
        options_v1 options;
        uint64_t neighbour;
    } caller = {{sizeof(options_v1), 7}, UINT64_MAX};
    options_v2 known;
    assert_int_equal(read_v2(&caller, &known), GPUCHAR_OK);
    assert_int_equal(known.struct_size, sizeof known);
    assert_int_equal(known.a, 7);
    assert_int_equal(known.b, 0);
}

static void test_options_same_caller(void **state) {
    (void)state;
    options_v2 caller = {sizeof caller, 7, 8}, known;
    assert_int_equal(read_v2(&caller, &known), GPUCHAR_OK);
    assert_memory_equal(&caller, &known, sizeof known);
}

static void test_options_newer_caller_zero_tail(void **state) {
    (void)state;
    options_v3 caller = {sizeof caller, 7, 8, {0}};
    options_v2 known;
    assert_int_equal(read_v2(&caller, &known), GPUCHAR_OK);
    assert_int_equal(known.struct_size, sizeof known);
    assert_int_equal(known.a, 7);
    assert_int_equal(known.b, 8);
}

static void test_options_newer_caller_set_tail(void **state) {
    (void)state;
    options_v2 known;
    /* Each byte of the tail counts, the first and the last too. */
    for (size_t offset = sizeof(options_v2); offset < sizeof(options_v3); offset++) {
        options_v3 caller = {sizeof caller, 7, 8, {0}};
        ((unsigned char *)&caller)[offset] = 1;
        assert_int_equal(read_v2(&caller, &known), GPUCHAR_E_STRUCT_SIZE);
        const gpuchar_error *error = gpuchar_last_error();
        assert_int_equal(error->status, GPUCHAR_E_STRUCT_SIZE);
        assert_non_null(strstr(error->message, "sample_options"));
        char expected[48];
        snprintf(expected, sizeof expected, "byte offset %zu ", offset);
        assert_non_null(strstr(error->hint, expected));
        assert_int_equal(known.a, 0); /* nothing half-read */
    }
}

static void test_options_garbage_size(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, sizeof(size_t), sizeof(options_v1) - 1, GC_STRUCT_SIZE_MAX + 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        options_v2 caller = {sizes[i], 7, 8}, known;
        assert_int_equal(read_v2(&caller, &known), GPUCHAR_E_STRUCT_SIZE);
        assert_int_equal(known.a, 0);
        assert_int_equal(known.struct_size, sizeof known);
        assert_non_null(strstr(gpuchar_last_error()->hint, "sample_options_init"));
    }
}

/* A result of `size` bytes as the caller sees it, with bytes behind it that must stay. */
enum { ROOM = 96, CANARY = 0xa5 };

static void make_caller(unsigned char *room, size_t size) {
    memset(room, CANARY, ROOM);
    memset(room, 0x77, size); /* not initialized by the caller, apart from struct_size */
    memcpy(room, &size, sizeof size);
}

static void assert_canaries(const unsigned char *room, size_t size) {
    for (size_t i = size; i < ROOM; i++) {
        assert_int_equal(room[i], CANARY);
    }
}

static void test_result_write(void **state) {
    (void)state;
    const size_t sizes[] = {sizeof(options_v1), sizeof(options_v2), sizeof(options_v3)};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char room[ROOM];
        make_caller(room, sizes[i]);
        assert_int_equal(gc_result_check(room, sizeof(options_v1), "sample_result"), GPUCHAR_OK);
        assert_canaries(room, sizes[i]);
        for (size_t byte = sizeof(size_t); byte < sizes[i]; byte++) {
            assert_int_equal(room[byte], 0);
        }

        options_v2 known = {sizeof known, 11, 12};
        gc_result_write(room, &known, sizeof known);
        assert_canaries(room, sizes[i]);
        options_v3 seen = {0};
        memcpy(&seen, room, sizes[i]);
        assert_int_equal(seen.struct_size, sizes[i]);
        assert_int_equal(seen.a, 11);
        assert_int_equal(seen.b, sizes[i] >= sizeof(options_v2) ? 12 : 0);
        assert_int_equal(seen.c[0], 0);
        assert_int_equal(seen.c[3], 0);
    }
}

static void test_result_bad(void **state) {
    (void)state;
    assert_int_equal(gc_result_check(NULL, sizeof(options_v1), "sample_result"), GPUCHAR_E_INVALID_ARGUMENT);
    assert_non_null(strstr(gpuchar_last_error()->message, "sample_result"));

    const size_t sizes[] = {0, sizeof(options_v1) - 1, GC_STRUCT_SIZE_MAX + 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char room[ROOM], before[ROOM];
        make_caller(room, sizeof(options_v1));
        memcpy(room, &sizes[i], sizeof sizes[i]);
        memcpy(before, room, ROOM);
        assert_int_equal(gc_result_check(room, sizeof(options_v1), "sample_result"), GPUCHAR_E_STRUCT_SIZE);
        assert_memory_equal(room, before, ROOM); /* a size that is not believed is not written to either */
    }
}

GC_DEFINE_INIT(options_v3)

static void test_init(void **state) {
    (void)state;
    _Alignas(options_v3) unsigned char room[ROOM];
    make_caller(room, sizeof(options_v1));
    /* An older caller's size, given to a newer library. */
    options_v3_init((options_v3 *)(void *)room, sizeof(options_v1));
    assert_canaries(room, sizeof(options_v1));
    options_v1 seen;
    memcpy(&seen, room, sizeof seen);
    assert_int_equal(seen.struct_size, sizeof seen);
    assert_int_equal(seen.a, 0);

    memset(room, CANARY, ROOM);
    gc_struct_init(room, 3); /* no room for the size itself */
    assert_int_equal(room[2], 0);
    assert_canaries(room, 3);
    gc_struct_init(NULL, sizeof(options_v1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_null_is_default),
        cmocka_unit_test(test_options_older_caller),
        cmocka_unit_test(test_options_same_caller),
        cmocka_unit_test(test_options_newer_caller_zero_tail),
        cmocka_unit_test(test_options_newer_caller_set_tail),
        cmocka_unit_test(test_options_garbage_size),
        cmocka_unit_test(test_result_write),
        cmocka_unit_test(test_result_bad),
        cmocka_unit_test(test_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
