#include "divergence_samples.h"

#define SMALL "small"

/* A kernel made for these tests: dispatch by switch, by if or none, and bodies that the text chooses. */
static const char SMALL_HEAD[] =
    "typedef unsigned long long u64; typedef unsigned u32;\n"
    "#define ONE v = __fmaf_rn(v, a, b);\n"
    "#define EIGHT ONE ONE ONE ONE ONE ONE ONE ONE\n"
    "#define SEVEN ONE ONE ONE ONE ONE ONE ONE\n"
    "#define LOOP(body, mark) _Pragma(\"unroll 1\") for (u32 i = 0; i < n; ++i) { body "
    "asm volatile(\"// \" #mark : \"+r\"(i)); } AWAIT(mark)\n"
    /* A constant of its own, or the compiler makes one of all of them, where the paths have met again. */
    "#define AWAIT(mark) asm volatile(\"{.reg .b32 t; xor.b32 t, %1, 0x1\" #mark \"; xor.b32 %0, %0, t;}\" "
    ": \"+r\"(seen) : \"r\"(__float_as_int(v)));\n"
    "#define PATH(k, body) case k: LOOP(body, k) break;\n"
    "extern \"C\" __global__ void small(const u32 *map, u64 *out, u32 n, float a, float b, float w, float *sink) {\n"
    "  u32 lane = threadIdx.x, path = map[lane]; u32 seen = 0; float v = w + lane, z = w - lane;\n"
    "  __syncwarp(); u64 t0 = clock64();\n";
static const char SMALL_TAIL[] = "  __syncwarp(); u64 t1 = clock64();\n"
                                 "  if (lane == 0) out[0] = t1 - t0;\n  sink[lane] = v + z + seen; }\n";

static char *small_source(const char *middle) {
    const size_t size = sizeof SMALL_HEAD + strlen(middle) + sizeof SMALL_TAIL;
    char *text = malloc(size);
    if (text) snprintf(text, size, "%s%s%s", SMALL_HEAD, middle, SMALL_TAIL);
    return text;
}

static gc_divergence_claim claim_of(const char *kernel, const char *const *mnemonic, uint32_t paths, uint32_t body) {
    return (gc_divergence_claim){.kernel = kernel,
                                 .mnemonics = mnemonic,
                                 .mnemonic_count = 1,
                                 .paths = paths,
                                 .body = body,
                                 .uniform = paths == 1};
}

static void test_own_kernel_on_every_architecture(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++) {
        for (int kind = 0; kind < KINDS && is_decoded(NVRTC.archs[i]); kind++) {
            const gc_divergence_claim claim = sweep_claim(kind, BODY);
            const gc_divergence_proof proof = prove(sweep(kind, i), &claim);
            expect_proved(&proof, NVRTC.archs[i]);
            assert_string_equal(proof.mnemonic, CHAINED[kind]);
            assert_int_equal(proof.loops, 32);
            assert_int_equal(proof.dispatch_decisions, 31);
            assert_int_equal(proof.intended_total, 32 * BODY);
            assert_true(proof.followed);
            assert_true(proof.barriers >= 1);
            assert_int_equal(proof.region_bytes, (proof.intended_total + proof.scaffold_total) * 16);
            for (int path = 0; path < 32; path++) {
                assert_int_equal(proof.loop_intended[path], BODY);
                assert_in_range(proof.loop_instructions[path], BODY + 3, BODY + 5);
                assert_true(proof.loop_stall[path] >= BODY);
            }
            assert_non_null(strstr(proof.scaffold, "BSYNC"));
        }
    }
}

/* Loops longer than 4 KiB end in two branches on sm_80 to sm_89: both belong to the loop, and neither may be missing. */
static void test_two_branches_at_a_loops_end(void **state) {
    (void)state;
    const gc_divergence_claim claim = sweep_claim(0, 256);
    char *source = HAVE_NVRTC ? sweep_source(1, 256) : NULL;
    bool seen = false;
    for (int i = 0; source && i < NVRTC.arch_count; i++) {
        if (NVRTC.archs[i] != 80 && NVRTC.archs[i] != 89) continue;
        test_cubin made = nvrtc_compile(&NVRTC, source, NVRTC.archs[i]);
        for (uint32_t spoiled = 0; spoiled < 2; spoiled++) {
            patient open;
            assert_int_equal(patient_open(&made, SWEEP, &open), 0);
            const gc_block *loop = &open.flow.blocks[loop_block(&open, 5)];
            const uint32_t last = loop->first + loop->count - 1;
            seen = strcmp(open.flow.instructions[last - 1].mnemonic, "CALL") == 0;
            if (seen) {
                set_nop(&open, last - 1 + spoiled);
                const gc_divergence_proof proof = prove(&open.cubin, &claim);
                expect_reason(&proof, NVRTC.archs[i], spoiled ? "outside the paths' loops" : "no way out");
            }
            patient_close(&open);
        }
        free(made.bytes);
    }
    free(source);
    if (!seen) skip();
}

/* A wrong claim about good code. */
static void test_wrong_claims(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    const int last = NVRTC.arch_count - 1, arch = NVRTC.archs[last];
    const test_cubin *cubin = sweep(0, last);
    static const char *const DFMA = "DFMA";
    gc_divergence_claim claim = claim_of(SWEEP, &CHAINED[0], 32, BODY + 1);
    gc_divergence_proof proof = prove(cubin, &claim);
    expect_reason(&proof, arch, "path 0 holds 64 FFMA, not 65");
    claim = claim_of(SWEEP, &CHAINED[0], 31, BODY);
    proof = prove(cubin, &claim);
    expect_reason(&proof, arch, "32 loops between the clock reads, not 31");
    claim = claim_of(SWEEP, &DFMA, 32, BODY);
    proof = prove(cubin, &claim);
    expect_reason(&proof, arch, "unexpected FFMA");
    claim = sweep_claim(0, BODY);
    claim.uniform = 1;
    proof = prove(cubin, &claim);
    expect_reason(&proof, arch, "31 dispatch decisions, not 0");
    claim.kernel = "nothing";
    assert_int_equal(gc_prove_divergence(cubin->bytes, cubin->size, &claim, &proof), GPUCHAR_E_SASS_FORMAT);
    assert_int_equal(proof.status, GPUCHAR_E_SASS_FORMAT);
    claim = claim_of(SWEEP, &CHAINED[0], 33, BODY);
    assert_int_equal(gc_prove_divergence(cubin->bytes, cubin->size, &claim, &proof), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gc_prove_divergence(cubin->bytes, 100, &claim, &proof), GPUCHAR_E_INVALID_ARGUMENT);
    claim.paths = 32;
    assert_int_equal(gc_prove_divergence(cubin->bytes, 100, &claim, &proof), GPUCHAR_E_SASS_FORMAT);
}

/* Texts between the clock reads of the small kernel, and what the proof must say (NULL: proved). */
typedef struct text_case {
    const char *middle;
    const char *reason;
    uint32_t paths, body;
} text_case;

static const text_case TEXTS[] = {
    /* Enough cases for jump tables. */
    {"switch (path) { PATH(0, EIGHT) PATH(1, EIGHT) PATH(2, EIGHT) PATH(3, EIGHT) PATH(4, EIGHT) PATH(5, EIGHT) "
     "PATH(6, EIGHT) PATH(7, EIGHT) PATH(8, EIGHT) PATH(9, EIGHT) PATH(10, EIGHT) PATH(11, EIGHT) }",
     NULL, 12, 8},
    {"switch (path) { PATH(0, EIGHT) PATH(1, EIGHT) PATH(2, SEVEN) PATH(3, EIGHT) PATH(4, EIGHT) PATH(5, EIGHT) }",
     "holds 7 FFMA, not 8", 6, 8},
    {"switch (path) { PATH(0, EIGHT) PATH(1, EIGHT) PATH(2, EIGHT) PATH(3, EIGHT) PATH(4, EIGHT) }",
     "5 loops between the clock reads, not 6", 6, 8},
    {"if (path) { LOOP(EIGHT, 0) } else { LOOP(EIGHT, 1) }", NULL, 2, 8},
    {"LOOP(EIGHT, 0)", NULL, 1, 8},
    /* Two chains in turn: half the latency. */
    {"if (path) { LOOP(ONE z = __fmaf_rn(z, a, b); ONE z = __fmaf_rn(z, a, b);, 0) } else { LOOP(ONE z = __fmaf_rn(z, "
     "a, b); "
     "ONE z = __fmaf_rn(z, a, b);, 1) }",
     "is broken", 2, 4},
    /* One after the other is no divergence. */
    {"if (path == 0) { LOOP(EIGHT, 0) } __syncwarp(); if (path == 1) { LOOP(EIGHT, 1) }", "leads into another path", 2,
     8},
    /* Both arms in one loop. */
    {"LOOP(if (path) { ONE } else { v = __fmaf_rn(v, b, a); } EIGHT, 0)", "", 2, 8},
    {"for (u32 j = 0; j < n; ++j) { if (path) { LOOP(EIGHT, 0) } else { LOOP(EIGHT, 1) } __syncwarp(); }",
     "a loop of several blocks", 2, 8},
    {"if (path) { LOOP(EIGHT sink[lane] = v;, 0) } else { LOOP(EIGHT sink[lane] = v;, 1) }", "unexpected STG", 2, 8},
};

static void test_small_kernels(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (size_t t = 0; t < sizeof TEXTS / sizeof TEXTS[0] && is_decoded(NVRTC.archs[i]); t++) {
            char *source = small_source(TEXTS[t].middle);
            test_cubin made = nvrtc_compile(&NVRTC, source, NVRTC.archs[i]);
            assert_non_null(made.bytes);
            const gc_divergence_claim claim = claim_of(SMALL, &CHAINED[0], TEXTS[t].paths, TEXTS[t].body);
            const gc_divergence_proof proof = prove(&made, &claim);
            if (TEXTS[t].reason)
                expect_reason(&proof, NVRTC.archs[i], TEXTS[t].reason);
            else
                expect_proved(&proof, NVRTC.archs[i]);
            free(source);
            free(made.bytes);
        }
}

/* Whatever a byte of headers or code becomes: a verdict or an error, never a crash, and no proof of changed chains. */
static void test_corrupted_kernels_never_crash(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    const test_cubin *original = sweep(0, NVRTC.arch_count - 1);
    test_cubin copy = {malloc(original->size), original->size};
    if (!copy.bytes || !original->bytes) {
        free(copy.bytes);
        fail();
        return;
    }
    memcpy(copy.bytes, original->bytes, original->size);
    const gc_divergence_claim claim = sweep_claim(0, BODY);
    uint32_t random = 12345;
    for (int turn = 0; turn < 3000; turn++) {
        random = random * 1664525u + 1013904223u;
        const size_t at = turn < 64 ? (size_t)turn : random % copy.size;
        const uint8_t mask = (uint8_t)(1u << (random >> 29));
        gc_divergence_proof proof;
        copy.bytes[at] ^= mask;
        const gpuchar_status status = gc_prove_divergence(copy.bytes, copy.size, &claim, &proof);
        assert_true(status == GPUCHAR_OK || status == GPUCHAR_E_SASS_FORMAT || status == GPUCHAR_E_SASS_UNKNOWN);
        if (status || proof.status) assert_true(proof.status == status || proof.reason[0] != 0);
        copy.bytes[at] ^= mask;
    }
    free(copy.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_kernel_on_every_architecture),
        cmocka_unit_test(test_two_branches_at_a_loops_end),
        cmocka_unit_test(test_wrong_claims),
        cmocka_unit_test(test_small_kernels),
        cmocka_unit_test(test_corrupted_kernels_never_crash),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
