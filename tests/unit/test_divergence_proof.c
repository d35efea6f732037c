#include "divergence_samples.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static nvrtc_helper NVRTC;
static int HAVE_NVRTC;
/* The library's kernel by kind and NVRTC's list of architectures, compiled on first use. */
static test_cubin SWEEPS[KINDS][64];

static int setup(void **state) {
    (void)state;
    HAVE_NVRTC = nvrtc_helper_open(&NVRTC) == 0;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < 64; i++) free(SWEEPS[kind][i].bytes);
    return 0;
}

static const test_cubin *sweep(int kind, int arch_index) {
    test_cubin *made = &SWEEPS[kind][arch_index];
    if (!made->bytes) {
        char *source = sweep_source(kind + 1, BODY);
        assert_non_null(source);
        *made = nvrtc_compile(&NVRTC, source, NVRTC.archs[arch_index]);
        free(source);
    }
    assert_non_null(made->bytes);
    return made;
}

static gc_divergence_proof prove(const test_cubin *cubin, const gc_divergence_claim *claim) {
    gc_divergence_proof proof;
    assert_int_equal(gc_prove_divergence(cubin->bytes, cubin->size, claim, &proof), GPUCHAR_OK);
    return proof;
}

static void expect_proved(const gc_divergence_proof *proof, int arch) {
    if (proof->status) fail_msg("sm_%d: %s", arch, proof->reason);
}

static void expect_reason(const gc_divergence_proof *proof, int arch, const char *words) {
    if (proof->status != GPUCHAR_E_NOT_PROVED || !strstr(proof->reason, words))
        fail_msg("sm_%d: expected \"%s\", got %d \"%s\"", arch, words, proof->status, proof->reason);
}

static int is_decoded(int arch) {
    return arch >= 70;
}

static void test_own_kernel_on_every_architecture(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++) {
        for (int kind = 0; kind < KINDS && is_decoded(NVRTC.archs[i]); kind++) {
            const gc_divergence_claim claim = claim_of(SWEEP, &CHAINED[kind], 32, BODY);
            const gc_divergence_proof proof = prove(sweep(kind, i), &claim);
            expect_proved(&proof, NVRTC.archs[i]);
            assert_string_equal(proof.mnemonic, CHAINED[kind]);
            assert_int_equal(proof.paths, 32);
            assert_int_equal(proof.dispatch_decisions, 31);
            assert_int_equal(proof.intended_total, 32 * BODY);
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

static void test_longer_bodies(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    static const int BODIES[] = {128, 256, 512};
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (size_t b = 0; b < 3; b++) {
            const int arch = NVRTC.archs[i], kind = (int)b % KINDS;
            if (arch != 75 && arch != 80 && arch != 87 && arch != 89 && arch != 90 && arch != 120) continue;
            char *source = sweep_source(kind + 1, BODIES[b]);
            test_cubin made = nvrtc_compile(&NVRTC, source, arch);
            const gc_divergence_claim claim = claim_of(SWEEP, &CHAINED[kind], 32, (uint32_t)BODIES[b]);
            const gc_divergence_proof proof = prove(&made, &claim);
            expect_proved(&proof, arch);
            free(source);
            free(made.bytes);
        }
}

/* Loops longer than 4 KiB end in two branches on sm_80 to sm_89: both belong to the loop, and neither may be missing. */
static void test_two_branches_at_a_loops_end(void **state) {
    (void)state;
    const gc_divergence_claim claim = claim_of(SWEEP, &CHAINED[0], 32, 256);
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
    expect_reason(&proof, arch, "32 paths between the clock reads, not 31");
    claim = claim_of(SWEEP, &DFMA, 32, BODY);
    proof = prove(cubin, &claim);
    expect_reason(&proof, arch, "unexpected FFMA");
    claim = claim_of(SWEEP, &CHAINED[0], 32, BODY);
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

/* A chained instruction in the middle of path `path`, and what it reads. */
static uint32_t middle_link(const patient *open, int kind, uint32_t path) {
    const uint32_t block = loop_block(open, path);
    assert_int_not_equal(block, GC_FLOW_NO_BLOCK);
    const uint32_t link = find_mnemonic(open, open->flow.blocks[block].first, CHAINED[kind], BODY / 2);
    assert_int_not_equal(link, UINT32_MAX);
    return link;
}

static void spoil_nop(patient *open, int kind) {
    set_nop(open, middle_link(open, kind, 7));
}

static void spoil_guard(patient *open, int kind) {
    set_bits(open, middle_link(open, kind, 31), 15, 12, 0);
}

static void spoil_guard_negated_true(patient *open, int kind) {
    set_bits(open, middle_link(open, kind, 3), 15, 12, 15); /* @!PT: padding, does nothing */
}

static void spoil_source(patient *open, int kind) {
    const uint32_t link = middle_link(open, kind, 12);
    const gc_instruction *in = &open->flow.instructions[link], *before = in - 1;
    assert_string_equal(before->mnemonic, CHAINED[kind]);
    if (in->source_a == before->destination)
        set_bits(open, link, 31, 24, 200);
    else
        set_bits(open, link, kind == 3 ? 39 : 71, kind == 3 ? 32 : 64, 200);
}

/* The first link reads its own result of the turn before no more: the loop-carried part is gone. */
static void spoil_carried(patient *open, int kind) {
    const uint32_t block = loop_block(open, 20);
    uint32_t link = open->flow.blocks[block].first;
    const char *first = kind == 3 ? "FADD" : CHAINED[kind];
    while (strcmp(open->flow.instructions[link].mnemonic, first) != 0) link++;
    set_bits(open, link, 31, 24, 200);
    if (kind < 2) set_bits(open, link, 71, 64, 200);
}

static void spoil_stall(patient *open, int kind) {
    const uint32_t link = middle_link(open, kind, 31);
    set_bits(open, link, 108, 105, open->flow.instructions[link].stall ^ 1u);
}

static uint32_t counter_of(const patient *open, uint32_t path) {
    const gc_block *block = &open->flow.blocks[loop_block(open, path)];
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const char *name = open->flow.instructions[i].mnemonic;
        if (strcmp(name, "IADD3") == 0 || strcmp(name, "VIADD") == 0) return i;
    }
    fail_msg("path %u counts by something else", path);
    return 0;
}

static void spoil_unexpected(patient *open, int kind) {
    (void)kind;
    set_opcode(open, counter_of(open, 9), 0x309); /* POPC */
}

static void spoil_unknown(patient *open, int kind) {
    (void)kind;
    set_opcode(open, counter_of(open, 9), 0xfff);
}

static void spoil_overwrite(patient *open, int kind) {
    const uint32_t counter = counter_of(open, 15), block = loop_block(open, 15);
    uint32_t live = 255;
    for (uint32_t i = open->flow.blocks[block].first;
         i < open->flow.blocks[block].first + open->flow.blocks[block].count; i++)
        if (strcmp(open->flow.instructions[i].mnemonic, CHAINED[kind]) == 0 && (i < counter || live == 255))
            live = open->flow.instructions[i].destination;
    const gc_instruction *first = &open->flow.instructions[open->flow.blocks[block].first];
    if (&open->flow.instructions[counter] == first)
        live = gc_flow_last(&open->flow, &open->flow.blocks[block])[-1].destination;
    set_bits(open, counter, 23, 16, live);
}

static void spoil_first_clock(patient *open, int kind) {
    (void)kind;
    set_nop(open, open->first_clock);
}

static void spoil_second_clock(patient *open, int kind) {
    (void)kind;
    set_nop(open, open->second_clock);
}

static void spoil_clock_guard(patient *open, int kind) {
    (void)kind;
    set_bits(open, open->second_clock, 15, 12, 2);
}

/* The second read right behind the first: all the work lies outside. */
static void spoil_order(patient *open, int kind) {
    (void)kind;
    copy_word(open, open->first_clock + 1, open->second_clock);
    set_nop(open, open->second_clock);
}

static void spoil_third_clock(patient *open, int kind) {
    copy_word(open, middle_link(open, kind, 2), open->second_clock);
}

/* The branch before the n-th path: a divergent one that two paths hang on. */
static uint32_t dispatch_branch(const patient *open) {
    for (uint32_t i = open->first_clock; i < open->second_clock; i++) {
        const gc_instruction *in = &open->flow.instructions[i];
        if (in->kind == GC_OP_BRANCH && in->conditional && !in->uniform) return i;
    }
    fail_msg("no dispatch");
    return 0;
}

static void spoil_dispatch(patient *open, int kind) {
    (void)kind;
    set_nop(open, dispatch_branch(open));
}

static void spoil_uniform(patient *open, int kind) {
    (void)kind;
    set_bits(open, dispatch_branch(open), 33, 32, 1);
}

static void spoil_bsync(patient *open, int kind) {
    (void)kind;
    uint32_t last = UINT32_MAX, n = 0;
    for (uint32_t at; (at = find_mnemonic(open, open->first_clock, "BSYNC", n)) != UINT32_MAX; n++) last = at;
    set_nop(open, last);
}

static void spoil_all_barriers(patient *open, int kind) {
    (void)kind;
    for (uint32_t i = open->first_clock; i < open->second_clock; i++)
        if (open->flow.instructions[i].kind == GC_OP_BSSY || open->flow.instructions[i].kind == GC_OP_BSYNC)
            set_nop(open, i);
}

static void spoil_exit(patient *open, int kind) {
    (void)kind;
    const uint32_t at = dispatch_branch(open) - 1;
    set_nop(open, at);
    set_bits(open, at, 15, 0, 0x094d); /* @P0 EXIT */
    set_bits(open, at, 90, 87, 7);
}

static void spoil_outside(patient *open, int kind) {
    /* The NOP of the closing __syncwarp. */
    const uint32_t at = find_mnemonic(open, open->first_clock, "NOP", 0);
    assert_int_not_equal(at, UINT32_MAX);
    copy_word(open, at, middle_link(open, kind, 0));
}

static void spoil_spill(patient *open, int kind) {
    (void)kind;
    const uint32_t at = find_mnemonic(open, open->first_clock, "NOP", 0);
    set_opcode(open, at, 0x983); /* LDL */
}

/* The end of one path leads into the loop of another. */
static void spoil_two_in_a_row(patient *open, int kind) {
    (void)kind;
    const gc_block *from = &open->flow.blocks[loop_block(open, 1)];
    const uint32_t next = from->first + from->count;
    const gc_block *to = &open->flow.blocks[loop_block(open, 2)];
    const uint32_t branch = dispatch_branch(open);
    copy_word(open, next, branch);
    set_bits(open, next, 15, 12, 7);
    set_bits(open, next, 90, 87, 7);
    const uint64_t distance = (to->first - next - 1) * (uint64_t)4;
    set_bits(open, next, 63, 34, 0);
    set_bits(open, next, 81, 64, 0);
    set_bits(open, next, 23, 16, 0);
    /* Up to sm_89 the whole offset stands at 34; from sm_90 on its low byte stands at 16. */
    gc_cubin cubin;
    assert_int_equal(gc_cubin_open(open->cubin.bytes, open->cubin.size, &cubin), GPUCHAR_OK);
    if (cubin.arch >= 90) {
        set_bits(open, next, 63, 34, distance >> 8);
        set_bits(open, next, 23, 16, distance & 0xff);
    } else {
        set_bits(open, next, 63, 34, distance);
    }
}

typedef struct mutation {
    const char *name;
    void (*spoil)(patient *, int kind);
    const char *reason; /* %s: the chained mnemonic */
} mutation;

static const mutation MUTATIONS[] = {
    {"chain shortened", spoil_nop, "path 7 holds 63 %s, not 64"},
    {"link switched off", spoil_guard_negated_true, "path 3 holds 63 %s, not 64"},
    {"link predicated", spoil_guard, "%s of path 31 at 0x"},
    {"chain broken", spoil_source, "the chain of path 12 is broken: %s"},
    {"chain not carried", spoil_carried, "the chain of path 20 is broken"},
    {"chain overwritten", spoil_overwrite, "the chain of path 15 is broken"},
    {"stall changed", spoil_stall, "path 31 stalls"},
    {"unexpected instruction", spoil_unexpected, "path 9 holds an unexpected POPC"},
    {"unknown instruction", spoil_unknown, "path 9 holds an unknown instruction (opcode 0xfff)"},
    {"first clock gone", spoil_first_clock, "1 clock reads, not 2"},
    {"second clock gone", spoil_second_clock, "1 clock reads, not 2"},
    {"clock predicated", spoil_clock_guard, "clock read at 0x"},
    {"clock too early", spoil_order, "0 paths between the clock reads, not 32"},
    {"clock in a loop", spoil_third_clock, "3 clock reads, not 2"},
    {"paths dropped", spoil_dispatch, "paths between the clock reads, not 32"},
    {"uniform dispatch", spoil_uniform, "is a uniform branch"},
    {"no BSYNC", spoil_bsync, "has no BSYNC in the timed region"},
    {"no barriers", spoil_all_barriers, "is in no BSSY interval"},
    {"early exit", spoil_exit, "the timed region can be left"},
    {"work outside", spoil_outside, "outside the paths' loops"},
    {"spill", spoil_spill, "registers are spilled"},
    {"paths in a row", spoil_two_in_a_row, "leads into another path"},
};

static void check_mutation(const mutation *spoiled, int kind, int arch_index) {
    patient open;
    char reason[128];
    assert_int_equal(patient_open(sweep(kind, arch_index), SWEEP, &open), 0);
    spoiled->spoil(&open, kind);
    const gc_divergence_claim claim = claim_of(SWEEP, &CHAINED[kind], 32, BODY);
    const gc_divergence_proof proof = prove(&open.cubin, &claim);
    const char *at = strstr(spoiled->reason, "%s");
    if (at)
        snprintf(reason, sizeof reason, "%.*s%s%s", (int)(at - spoiled->reason), spoiled->reason, CHAINED[kind],
                 at + 2);
    else
        snprintf(reason, sizeof reason, "%s", spoiled->reason);
    patient_close(&open);
    if (proof.status != GPUCHAR_E_NOT_PROVED || !strstr(proof.reason, reason))
        fail_msg("%s, %s on sm_%d: expected \"%s\", got %d \"%s\"", spoiled->name, CHAINED[kind],
                 NVRTC.archs[arch_index], reason, proof.status, proof.reason);
}

static void test_mutations_are_caught(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (int kind = 0; kind < KINDS && is_decoded(NVRTC.archs[i]); kind++)
            for (size_t m = 0; m < sizeof MUTATIONS / sizeof MUTATIONS[0]; m++) check_mutation(&MUTATIONS[m], kind, i);
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
     "5 paths between the clock reads, not 6", 6, 8},
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
    const gc_divergence_claim claim = claim_of(SWEEP, &CHAINED[0], 32, BODY);
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
        cmocka_unit_test(test_longer_bodies),
        cmocka_unit_test(test_two_branches_at_a_loops_end),
        cmocka_unit_test(test_wrong_claims),
        cmocka_unit_test(test_mutations_are_caught),
        cmocka_unit_test(test_small_kernels),
        cmocka_unit_test(test_corrupted_kernels_never_crash),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
