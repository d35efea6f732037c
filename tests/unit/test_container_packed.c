/* Packed images: unpacked to just what was packed; refused when they are more, less, damaged, or say what cannot be. */
#include "unit/container_files.h"

#include <stdbool.h>

#ifdef TEST_LZ4
#include <lz4.h>
#endif
#ifdef TEST_ZSTD
#include <zstd.h>
#endif

static size_t pack(uint64_t flag, const bytes *from, uint8_t *to, size_t capacity) {
#ifdef TEST_LZ4
    if (flag == MADE_LZ4)
        return (size_t)LZ4_compress_default((const char *)from->at, (char *)to, (int)from->size, (int)capacity);
#endif
#ifdef TEST_ZSTD
    if (flag == MADE_ZSTD) return ZSTD_compress(to, capacity, from->at, from->size, 3);
#endif
    (void)from;
    memset(to, 0x11, capacity < 64 ? capacity : 64);
    return flag ? 64 : 0;
}

static bool can_unpack(uint64_t flag) {
#ifdef TEST_LZ4
    if (flag == MADE_LZ4) return true;
#endif
#ifdef TEST_ZSTD
    if (flag == MADE_ZSTD) return true;
#endif
    (void)flag;
    return false;
}

static bytes make_packed(uint64_t flag, const void *packed, size_t size, size_t unpacked) {
    bytes file = {0};
    begin_fatbin(&file);
    add_entry(&file, packed_entry(MADE_CUBIN, 90, size, unpacked, flag), packed, size);
    end_fatbin(&file, 0);
    return file;
}

static gpuchar_status unpack_first(const bytes *file, const bytes *expected) {
    gc_container container;
    gpuchar_status status = gc_container_open(file->at, file->size, &container);
    assert_int_equal(status, GPUCHAR_OK);
    const uint8_t *found = NULL;
    size_t size = 0;
    void *owned = NULL;
    status = gc_container_unpack(&container, 0, &found, &size, &owned);
    if (status == GPUCHAR_OK) {
        assert_int_equal(size, expected->size);
        assert_memory_equal(found, expected->at, size);
        assert_ptr_equal(found, owned);
    } else {
        assert_null(found);
        assert_null(owned);
    }
    free(owned);
    gc_container_close(&container);
    return status;
}

static void check_packed(uint64_t flag, const char *package) {
    const bytes cubin = make_cubin(90, 5);
    uint8_t packed[4096];
    const size_t size = pack(flag, &cubin, packed, sizeof packed);
    assert_true(size > 0 && size < sizeof packed);
    bytes file = make_packed(flag, packed, size, cubin.size);
    if (!can_unpack(flag)) {
        assert_int_equal(unpack_first(&file, &cubin), GPUCHAR_E_SASS_UNKNOWN);
        assert_non_null(strstr(gpuchar_last_error()->hint, package));
        free(file.at);
        free(cubin.at);
        return;
    }
    assert_int_equal(unpack_first(&file, &cubin), GPUCHAR_OK);
    free(file.at);
    /* One byte less or more than it tells; cut off; changed. */
    for (int lie = 0; lie < 4; lie++) {
        uint8_t changed[sizeof packed];
        memcpy(changed, packed, size);
        if (lie == 3) memset(changed, 0xff, size < 12 ? size : 12);
        file = make_packed(flag, changed, lie == 2 ? size / 2 : size, cubin.size + (lie == 0) - (lie == 1));
        assert_int_equal(unpack_first(&file, &cubin), GPUCHAR_E_SASS_FORMAT);
        assert_int_equal(gpuchar_last_error()->status, GPUCHAR_E_SASS_FORMAT);
        free(file.at);
    }
    free(cubin.at);
}

static void test_lz4(void **state) {
    (void)state;
    check_packed(MADE_LZ4, "liblz4-dev");
}

static void test_zstd(void **state) {
    (void)state;
    check_packed(MADE_ZSTD, "libzstd-dev");
}

/* Sizes that no such image can unpack to are refused before memory is asked for. */
static void test_bombs(void **state) {
    (void)state;
    const uint8_t packed[16] = {0};
    const struct {
        uint64_t flag;
        size_t unpacked;
    } bombs[] = {{MADE_LZ4, 16 * 255 + 65},
                 {MADE_LZ4, (size_t)1 << 40},
                 {MADE_ZSTD, (5u << 17) + 1},
                 {MADE_ZSTD, SIZE_MAX},
                 {MADE_LZ4, 0},
                 {MADE_ZSTD | MADE_LZ4, ((size_t)1 << 30) + 1}};
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        bytes file = make_packed(bombs[i].flag, packed, sizeof packed, bombs[i].unpacked);
        assert_refused(&file, GPUCHAR_E_SASS_FORMAT);
    }
}

/* Blocks that repeat one byte 128 Ki times: the most that zstd can do in four bytes. What they say and what the entry says agree or not. */
static void test_zstd_run(void **state) {
    (void)state;
    if (!can_unpack(MADE_ZSTD)) skip();
    bytes packed = {0}, expected = {0};
    const size_t blocks = 64, block = (size_t)1 << 17;
    const uint8_t head[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38}; /* a window of 128 KiB, no size */
    append(&packed, head, sizeof head);
    for (size_t i = 0; i < blocks; i++) {
        const uint32_t header = (uint32_t)(block << 3) | 1u << 1 | (i + 1 == blocks);
        append(&packed, &header, 3);
        append(&packed, "z", 1);
    }
    expected.at = malloc(blocks * block);
    assert_non_null(expected.at);
    expected.size = blocks * block;
    memset(expected.at, 'z', expected.size);
    bytes file = make_packed(MADE_ZSTD, packed.at, packed.size, expected.size);
    assert_int_equal(unpack_first(&file, &expected), GPUCHAR_OK);
    free(file.at);
    file = make_packed(MADE_ZSTD, packed.at, packed.size, 1000);
    assert_int_equal(unpack_first(&file, &expected), GPUCHAR_E_SASS_FORMAT);
    free(file.at);
    free(packed.at);
    free(expected.at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lz4),
        cmocka_unit_test(test_zstd),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_zstd_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
