/*
 * The machine code of barrier_class.cu for every architecture of NVRTC: it really holds BSSY, BSYNC and BREAK in loops; code
 * spoiled on purpose is not proved; and the lists of edits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <core/util.h>
#include <experiments/barrier_class_code.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvrtc_helper.h"

static nvrtc_helper nvrtc;

static test_cubin compile_probe(int arch, uint32_t probe) {
    char *prelude = read_kernel_text("prelude.cu"), *text = read_kernel_text("barrier_class.cu");
    assert_true(prelude && text);
    const size_t room = strlen(prelude) + strlen(text) + 64;
    char *source = malloc(room);
    assert_non_null(source);
    snprintf(source, room, "#define GPUCHAR_PROBE %u\n%s\n%s", probe + 1, prelude, text);
    const test_cubin cubin = nvrtc_compile(&nvrtc, source, arch);
    assert_non_null(cubin.bytes);
    free(source);
    free(prelude);
    free(text);
    return cubin;
}

static uint32_t all_of(const uint32_t counts[4]) {
    return counts[0] + counts[1] + counts[2] + counts[3];
}

static gpuchar_barrier_kernel read_code(const test_cubin *cubin, uint32_t probe, char *reason) {
    gpuchar_barrier_kernel kernel = {.probe = probe};
    assert_int_equal(gc_barrier_read_code(cubin->bytes, cubin->size, &kernel, reason), GPUCHAR_OK);
    return kernel;
}

/* On the chips with the field as NVRTC sets it, on the others never; below that, it is the same code. */
static void check_classes(int arch, const gpuchar_barrier_kernel *kernel) {
    const uint32_t classed = all_of(kernel->bssy) - kernel->bssy[0] + all_of(kernel->bsync) - kernel->bsync[0] +
                             all_of(kernel->breaks) - kernel->breaks[0];
    if (arch < 100) {
        assert_int_equal(classed, 0);
        return;
    }
    /* The waiting kernel has bare ones only on some. */
    assert_true((classed > 0 || kernel->probe == GPUCHAR_BARRIER_PROBE_WAIT) &&
                kernel->bssy[3] + kernel->bsync[3] + kernel->breaks[3] == 0);
    for (int class = 0; class < 4; ++class) assert_int_equal(kernel->bssy[class], kernel->bsync[class]);
    if (kernel->probe == GPUCHAR_BARRIER_PROBE_EXIT) assert_int_equal(kernel->breaks[1], all_of(kernel->breaks));
}

static void spoil(test_cubin *cubin, gc_op_kind kind) {
    uint32_t count = 0;
    assert_int_equal(gc_patch_out(cubin->bytes, cubin->size, GC_BARRIER_KERNEL, kind, &count), GPUCHAR_OK);
    assert_true(count > 0);
}

static void expect_unproved(const test_cubin *cubin, uint32_t probe, const char *why) {
    char reason[GC_BARRIER_REASON_BYTES];
    const gpuchar_barrier_kernel kernel = read_code(cubin, probe, reason);
    assert_int_equal(kernel.proof_status, GPUCHAR_E_NOT_PROVED);
    assert_int_equal(kernel.known, GPUCHAR_BARRIER_CODE);
    if (!strstr(reason, why)) fail_msg("no \"%s\" in: %s", why, reason);
}

/* The first `size` bytes of it. */
static test_cubin part_of(const test_cubin *from, size_t size) {
    test_cubin part = {calloc(size + 1, 1), size};
    assert_non_null(part.bytes);
    for (size_t i = 0; part.bytes && from->bytes && i < size; ++i) part.bytes[i] = from->bytes[i];
    return part;
}

static void check_spoiled(const test_cubin *good, uint32_t probe, gc_op_kind kind, const char *why) {
    test_cubin cubin = part_of(good, good->size);
    spoil(&cubin, kind);
    expect_unproved(&cubin, probe, why);
    free(cubin.bytes);
}

static void check_all_spoiled(const test_cubin *cubin, uint32_t probe) {
    check_spoiled(cubin, probe, GC_OP_BSSY, "no BSSY");
    check_spoiled(cubin, probe, GC_OP_BSYNC, "no BSYNC");
    check_spoiled(cubin, probe, GC_OP_CLOCK, "clock twice");
    /* Without branches it holds all of them and comes to none twice. */
    check_spoiled(cubin, probe, GC_OP_BRANCH, "in a loop");
    if (probe == GPUCHAR_BARRIER_PROBE_EXIT) check_spoiled(cubin, probe, GC_OP_BREAK, "no BREAK");
}

static void test_code(void **state) {
    (void)state;
    if (nvrtc_helper_open(&nvrtc)) skip();
    for (int i = 0; i < nvrtc.arch_count; ++i) {
        const int arch = nvrtc.archs[i];
        if (arch < 70) continue;
        for (uint32_t probe = 0; probe < GPUCHAR_BARRIER_PROBES; ++probe) {
            char reason[GC_BARRIER_REASON_BYTES];
            test_cubin cubin = compile_probe(arch, probe);
            const gpuchar_barrier_kernel kernel = read_code(&cubin, probe, reason);
            if (kernel.proof_status != GPUCHAR_OK) fail_msg("sm_%d, kernel %u: %s", arch, probe, reason);
            print_message("sm_%-3d kernel %u: %u instructions; BSSY %u, BSYNC %u, BREAK %u; in loops %u, %u, %u\n",
                          arch, probe, kernel.instructions, all_of(kernel.bssy), all_of(kernel.bsync),
                          all_of(kernel.breaks), kernel.bssy_in_loops, kernel.bsync_in_loops, kernel.breaks_in_loops);
            assert_true(kernel.bssy_in_loops >= 2 && kernel.bsync_in_loops >= 2);
            assert_int_equal(kernel.breaks_in_loops, probe == GPUCHAR_BARRIER_PROBE_EXIT);
            check_classes(arch, &kernel);
            check_all_spoiled(&cubin, probe);
            free(cubin.bytes);
        }
    }
}

/* What cannot be read is not proved and not known; nothing of it is believed. */
static void test_unreadable(void **state) {
    (void)state;
    if (nvrtc_helper_open(&nvrtc)) skip();
    char reason[GC_BARRIER_REASON_BYTES];
    test_cubin cubin = compile_probe(nvrtc.archs[nvrtc.arch_count - 1], 0);
    for (size_t size = 0; size < cubin.size; size += 97) {
        test_cubin cut = part_of(&cubin, size);
        const gpuchar_barrier_kernel kernel = read_code(&cut, 0, reason);
        if (kernel.proof_status != GPUCHAR_OK) assert_true(reason[0]);
        if (kernel.known == 0) assert_int_equal(kernel.instructions + all_of(kernel.bssy), 0);
        free(cut.bytes);
    }
    gc_random random = gc_random_seed(3);
    test_cubin patched = part_of(&cubin, cubin.size);
    for (int i = 0; i < 3000; ++i) {
        test_cubin damaged = part_of(&cubin, cubin.size);
        const gc_class_edit edit = {{1, 2, 3}};
        gc_class_count count;
        for (int n = 0; n < 3; ++n)
            damaged.bytes[gc_random_below(&random, (uint32_t)damaged.size)] ^=
                (uint8_t)(1u << gc_random_below(&random, 8));
        read_code(&damaged, 0, reason);
        gc_barrier_patch(damaged.bytes, damaged.size, &edit, patched.bytes, &count);
        free(damaged.bytes);
    }
    free(patched.bytes);
    free(cubin.bytes);
}

/* ---- lists of edits */

static bool are_different(const gc_class_edit *edits, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < i; ++k) {
            if (memcmp(&edits[i], &edits[k], sizeof edits[i]) == 0) return false;
        }
    }
    return true;
}

static void expect_edits(uint32_t combinations, uint32_t classes, bool breaks, size_t wanted) {
    gc_class_edit edits[GC_BARRIER_EDITS_MAX];
    const size_t count = gc_barrier_list_edits(combinations, classes, breaks, edits);
    assert_int_equal(count, wanted);
    assert_true(are_different(edits, count));
    for (size_t i = 0; i < count; ++i) {
        uint32_t kept = 0;
        for (uint32_t kind = 0; kind < GC_CLASS_KINDS; ++kind) {
            assert_true(edits[i].to[kind] == GC_CLASS_KEEP || (classes >> edits[i].to[kind] & 1));
            kept += edits[i].to[kind] == GC_CLASS_KEEP;
        }
        assert_true(kept < GC_CLASS_KINDS);
        if (!breaks) assert_int_equal(edits[i].to[GC_CLASS_BREAK], GC_CLASS_KEEP);
    }
}

static void test_edits(void **state) {
    (void)state;
    expect_edits(GPUCHAR_BARRIER_COMBINATIONS_EVERY, 15, true, 124);
    expect_edits(GPUCHAR_BARRIER_COMBINATIONS_EVERY, 15, false, 24);
    expect_edits(GPUCHAR_BARRIER_COMBINATIONS_FEW, 15, true, 16);
    expect_edits(GPUCHAR_BARRIER_COMBINATIONS_FEW, 15, false, 12);
    expect_edits(GPUCHAR_BARRIER_COMBINATIONS_EVERY, 5, true, 26);
    expect_edits(GPUCHAR_BARRIER_COMBINATIONS_FEW, 5, true, 8);
    expect_edits(GPUCHAR_BARRIER_COMBINATIONS_FEW, 8, false, 3);
    expect_edits(GPUCHAR_BARRIER_COMBINATIONS_EVERY, 8, true, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_code), cmocka_unit_test(test_unreadable),
                                       cmocka_unit_test(test_edits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
