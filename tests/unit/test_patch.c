/*
 * Patches in place, on the kernels of barrier_class.cu for every architecture of NVRTC: each edit of classes is what it says
 * and nothing else, its check sees every other bit that changes, and a disabled store is disabled.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <core/error.h>
#include <core/util.h>
#include <sass/patch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvrtc_helper.h"

#define KERNEL "gpuchar_barrier_class"
#define PROBES 3

static nvrtc_helper nvrtc;
static bool has_nvrtc;

typedef struct kernel {
    int arch, probe;
    test_cubin cubin;
} kernel;
static kernel kernels[64 * PROBES];
static size_t kernel_count;

static int compile_all(void **state) {
    (void)state;
    has_nvrtc = nvrtc_helper_open(&nvrtc) == 0;
    if (!has_nvrtc) return 0;
    char *prelude = read_kernel_text("prelude.cu"), *text = read_kernel_text("barrier_class.cu");
    if (!prelude || !text) return 1;
    const size_t room = strlen(prelude) + strlen(text) + 64;
    char *source = malloc(room);
    for (int i = 0; i < nvrtc.arch_count && source; ++i) {
        for (int probe = 1; probe <= PROBES && nvrtc.archs[i] >= 70; ++probe) {
            snprintf(source, room, "#define GPUCHAR_PROBE %d\n%s\n%s", probe, prelude, text);
            kernels[kernel_count] = (kernel){nvrtc.archs[i], probe, nvrtc_compile(&nvrtc, source, nvrtc.archs[i])};
            if (!kernels[kernel_count++].cubin.bytes) return 1;
        }
    }
    free(source);
    free(prelude);
    free(text);
    return 0;
}

static int free_all(void **state) {
    (void)state;
    for (size_t i = 0; i < kernel_count; ++i) free(kernels[i].cubin.bytes);
    return 0;
}

#define NEEDS_NVRTC()                                                                                                  \
    do {                                                                                                               \
        (void)state;                                                                                                   \
        if (!has_nvrtc) skip();                                                                                        \
    } while (0)

static test_cubin copy_of(const test_cubin *cubin) {
    test_cubin copy = {malloc(cubin->size), cubin->size};
    assert_non_null(copy.bytes);
    memcpy(copy.bytes, cubin->bytes, cubin->size);
    return copy;
}

static gc_code code_of(const test_cubin *cubin) {
    gc_cubin file;
    gc_code code;
    assert_int_equal(gc_cubin_open(cubin->bytes, cubin->size, &file), GPUCHAR_OK);
    assert_int_equal(gc_cubin_function(&file, KERNEL, &code), GPUCHAR_OK);
    return code;
}

static gpuchar_status check(const test_cubin *before, const test_cubin *after, const gc_class_edit *edit) {
    return gc_patch_check_classes(before->bytes, after->bytes, before->size, KERNEL, edit);
}

/* ---- every edit */

/* Counted by hand: bits that differ, all of which must be [73:72] of an instruction of an edited kind. */
static void expect_only_classes(const test_cubin *before, const test_cubin *after, const gc_class_edit *edit,
                                const gc_class_count *count) {
    const gc_code old = code_of(before), new = code_of(after);
    const size_t at = (size_t)(old.bytes - before->bytes);
    uint32_t edited = 0, changed = 0;
    for (size_t i = 0; i < before->size; ++i) {
        const uint8_t bits = before->bytes[i] ^ after->bytes[i];
        if (bits == 0) continue;
        assert_in_range(i, at, at + old.size - 1);
        assert_int_equal((i - at) % 16, 9);
        assert_int_equal(bits & ~3, 0);
        ++changed;
    }
    for (size_t offset = 0; offset + 16 <= new.size; offset += 16) {
        gc_instruction in;
        gc_decode(&new, offset, &in);
        const uint32_t kind = gc_class_kind(&in);
        if (kind == GC_CLASS_KINDS || edit->to[kind] == GC_CLASS_KEEP) continue;
        assert_int_equal(in.barrier_class, edit->to[kind]);
        assert_int_equal(gc_class_at(&new, offset), edit->to[kind]);
        ++edited;
    }
    assert_int_equal(count->edited, edited);
    assert_int_equal(count->changed, changed);
}

static uint32_t try_edit(const kernel *k, const gc_class_edit *edit) {
    test_cubin patched = copy_of(&k->cubin);
    gc_class_count count;
    assert_int_equal(gc_patch_classes(patched.bytes, patched.size, KERNEL, edit, &count), GPUCHAR_OK);
    assert_int_equal(check(&k->cubin, &patched, edit), GPUCHAR_OK);
    expect_only_classes(&k->cubin, &patched, edit, &count);
    /* There and back: what was compiled. */
    const gc_class_edit other = {{(edit->to[0] + 1) % 4, (edit->to[1] + 1) % 4, (edit->to[2] + 1) % 4}};
    if (count.edited > 0) assert_int_not_equal(check(&k->cubin, &patched, &other), GPUCHAR_OK);
    free(patched.bytes);
    return count.changed;
}

static void test_every_edit(void **state) {
    NEEDS_NVRTC();
    uint32_t edits = 0, changed = 0;
    for (size_t i = 0; i < kernel_count; ++i) {
        for (uint32_t n = 0; n < 125; ++n, ++edits) {
            const gc_class_edit edit = {{n % 5, n / 5 % 5, n / 25}};
            changed += try_edit(&kernels[i], &edit);
        }
    }
    print_message("%zu kernels, %u edits, %u instructions changed\n", kernel_count, edits, changed);
    assert_true(changed > 1000);
}

/* ---- what the check sees */

static size_t first_of(const gc_code *code, gc_op_kind kind) {
    for (size_t offset = 0; offset + 16 <= code->size; offset += 16) {
        gc_instruction in;
        gc_decode(code, offset, &in);
        if (in.kind == kind) return offset;
    }
    return SIZE_MAX;
}

/* Each bit of a BSSY, of the instruction before it and of the file's ends; then random ones all over the file. */
static void test_check_sees_each_bit(void **state) {
    NEEDS_NVRTC();
    const gc_class_edit edit = {{3, GC_CLASS_KEEP, 1}};
    gc_random random = gc_random_seed(5);
    for (size_t i = 0; i < kernel_count; ++i) {
        test_cubin patched = copy_of(&kernels[i].cubin);
        gc_class_count count;
        assert_int_equal(gc_patch_classes(patched.bytes, patched.size, KERNEL, &edit, &count), GPUCHAR_OK);
        const gc_code code = code_of(&patched);
        const size_t at = (size_t)(code.bytes - patched.bytes) + first_of(&code, GC_OP_BSSY);
        for (size_t n = 0; n < 1000; ++n) {
            const size_t bit = n < 256   ? (at - 16) * 8 + n
                               : n < 264 ? patched.size * 8 - 1 - (n - 256)
                                         : gc_random_u64(&random) % (patched.size * 8);
            patched.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (check(&kernels[i].cubin, &patched, &edit) == GPUCHAR_OK) fail_msg("bit %zu is not seen", bit);
            patched.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        assert_int_equal(check(&kernels[i].cubin, &patched, &edit), GPUCHAR_OK);
        free(patched.bytes);
    }
}

/* ---- stores */

static void test_stores(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < kernel_count; ++i) {
        for (uint32_t bytes = 8; bytes <= 16; bytes += 8) {
            test_cubin patched = copy_of(&kernels[i].cubin);
            const gc_code old = code_of(&kernels[i].cubin), new = code_of(&patched);
            uint32_t count = 0, never = 0;
            assert_int_equal(gc_patch_stores(patched.bytes, patched.size, KERNEL, bytes, &count), GPUCHAR_OK);
            assert_int_equal(count, 1); /* records are 16 bytes, cycles are 8 */
            for (size_t offset = 0; offset + 16 <= old.size; offset += 16) {
                gc_instruction in;
                gc_decode(&new, offset, &in);
                if (memcmp(old.bytes + offset, new.bytes + offset, 16) == 0) continue;
                assert_string_equal(in.mnemonic, "STG");
                assert_true(in.never);
                for (size_t byte = 0; byte < 16; ++byte) {
                    const uint8_t bits = old.bytes[offset + byte] ^ new.bytes[offset + byte];
                    assert_int_equal(byte == 1 ? bits & 0x0f : bits, 0);
                }
                ++never;
            }
            assert_int_equal(never, 1);
            free(patched.bytes);
        }
        test_cubin patched = copy_of(&kernels[i].cubin);
        uint32_t count = 7;
        assert_int_equal(gc_patch_stores(patched.bytes, patched.size, KERNEL, 4, &count), GPUCHAR_OK);
        assert_int_equal(count, 0);
        assert_memory_equal(patched.bytes, kernels[i].cubin.bytes, patched.size);
        free(patched.bytes);
    }
}

/* ---- what is no cubin, or has no such kernel */

static void test_refused(void **state) {
    NEEDS_NVRTC();
    const gc_class_edit edit = {{1, 1, 1}};
    gc_class_count count = {9, 9};
    uint32_t stores = 9;
    char text[64] = "no cubin";
    assert_int_equal(gc_patch_classes(text, sizeof text, KERNEL, &edit, &count), GPUCHAR_E_SASS_FORMAT);
    assert_int_equal(count.edited + count.changed, 0);
    assert_int_equal(gc_patch_stores(text, sizeof text, KERNEL, 16, &stores), GPUCHAR_E_SASS_FORMAT);
    assert_int_equal(stores, 0);
    test_cubin copy = copy_of(&kernels[0].cubin);
    assert_int_equal(gc_patch_classes(copy.bytes, copy.size, "another", &edit, &count), GPUCHAR_E_SASS_FORMAT);
    assert_int_equal(gc_patch_check_classes(copy.bytes, text, sizeof text, KERNEL, &edit), GPUCHAR_E_SASS_FORMAT);
    assert_memory_equal(copy.bytes, kernels[0].cubin.bytes, copy.size);
    /* Two kernels of one size that differ elsewhere. */
    copy.bytes[8] ^= 1;
    assert_int_not_equal(check(&kernels[0].cubin, &copy, &edit), GPUCHAR_OK);
    free(copy.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_edit), cmocka_unit_test(test_check_sees_each_bit),
                                       cmocka_unit_test(test_stores), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, compile_all, free_all);
}
