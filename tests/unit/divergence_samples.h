/* Machine code for the proof's tests: the library's own kernel, and ways to spoil it. */
#ifndef GPUCHAR_TESTS_DIVERGENCE_SAMPLES_H
#define GPUCHAR_TESTS_DIVERGENCE_SAMPLES_H

#include "nvrtc_helper.h"
#include <proof/proof.h>
#include <sass/flow.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SWEEP "gpuchar_divergence_sweep"
#define KINDS 4
#define BODY 64

static const char *const CHAINED[KINDS] = {"FFMA", "IMAD", "LDG", "MUFU"};

/* One of the library's kernels of paths, with its parameters; the caller frees it. */
static inline char *paths_source(const char *kernel, int kind, int body) {
    const char *const files[] = {"prelude.cu", "paths.cu", kernel};
    char *text = malloc(1 << 16);
    size_t used = text ? (size_t)sprintf(text, "#define GPUCHAR_KIND %d\n#define GPUCHAR_BODY %d\n", kind, body) : 0;
    for (size_t i = 0; text && i < sizeof files / sizeof files[0]; i++) {
        char *part = read_kernel_text(files[i]);
        if (part) used += (size_t)snprintf(text + used, (1 << 16) - used, "%s", part);
        free(part);
    }
    return text;
}

static inline char *sweep_source(int kind, int body) {
    return paths_source("divergence_sweep.cu", kind, body);
}

/* The arguments of the library's kernel, as src/kernels has them. */
typedef struct sweep_arguments {
    uint64_t samples, sink;
    uint32_t slot, iterations;
    uint64_t table;
    uint32_t operand, start;
    uint8_t lanes[32];
} sweep_arguments;
#define TURNS 5

/* Of arguments that begin with a kernel's header, as src/kernels/prelude.cu has it. */
static inline gc_sample_claim sample_claim(uint32_t form, uint32_t threads) {
    return (gc_sample_claim){.form = form,
                             .samples_offset = offsetof(sweep_arguments, samples),
                             .slot_offset = offsetof(sweep_arguments, slot),
                             .sink_offset = offsetof(sweep_arguments, sink),
                             .bytes = 16,
                             .nanoseconds_offset = 8,
                             .threads = threads};
}

static const sweep_arguments ARGUMENTS = {.iterations = TURNS};

static inline gc_divergence_claim sweep_claim(int kind, uint32_t body) {
    return (gc_divergence_claim){.kernel = SWEEP,
                                 .mnemonics = &CHAINED[kind],
                                 .mnemonic_count = 1,
                                 .function = 5,
                                 .paths = 32,
                                 .body = body,
                                 .arguments = &ARGUMENTS,
                                 .argument_bytes = sizeof ARGUMENTS,
                                 .turns_offset = offsetof(sweep_arguments, iterations),
                                 .lanes_offset = offsetof(sweep_arguments, lanes),
                                 .sample = sample_claim(GC_SAMPLE_THREAD, 32),
                                 .mark_shift = kind == 2 ? 8 : 16,
                                 .mark_bits = 8};
}

/* A kernel whose words can be overwritten: instruction i of the flow is 16 bytes at code + 16 * i. */
typedef struct patient {
    test_cubin cubin; /* a copy */
    uint8_t *code;
    gc_flow flow;                       /* of the unspoiled code */
    uint32_t first_clock, second_clock; /* instruction indices */
} patient;

static inline void patient_close(patient *open) {
    gc_flow_free(&open->flow);
    free(open->cubin.bytes);
}

static inline int patient_open(const test_cubin *original, const char *kernel, patient *open) {
    memset(open, 0, sizeof *open);
    open->cubin = (test_cubin){malloc(original->size), original->size};
    gc_cubin cubin;
    gc_code code;
    if (!open->cubin.bytes || !original->bytes) abort();
    memcpy(open->cubin.bytes, original->bytes, original->size);
    if (gc_cubin_open(open->cubin.bytes, original->size, &cubin) || gc_cubin_function(&cubin, kernel, &code) ||
        gc_flow_build(&code, &open->flow))
        abort();
    open->code = open->cubin.bytes + (code.bytes - open->cubin.bytes);
    for (uint32_t i = 0; i < open->flow.instruction_count; i++)
        if (open->flow.instructions[i].kind == GC_OP_CLOCK) {
            if (!open->first_clock)
                open->first_clock = i;
            else
                open->second_clock = i;
        }
    return open->first_clock >= open->second_clock;
}

/* Overwrites bits [high:low] of one instruction, at most 32 of them, within one half. */
static inline void set_bits(patient *open, uint32_t instruction, uint32_t high, uint32_t low, uint64_t value) {
    uint64_t half;
    uint8_t *at = open->code + (size_t)instruction * 16 + (low >= 64 ? 8 : 0);
    memcpy(&half, at, sizeof half);
    const uint64_t mask = (((uint64_t)1 << (high - low + 1)) - 1) << (low % 64);
    half = (half & ~mask) | (value << (low % 64) & mask);
    memcpy(at, &half, sizeof half);
}

/* Another opcode with all operand bits left; [11:0] and bit 91. */
static inline void set_opcode(patient *open, uint32_t instruction, uint32_t opcode) {
    set_bits(open, instruction, 11, 0, opcode & 0xfff);
    set_bits(open, instruction, 91, 91, opcode >> 12);
}

static inline void set_nop(patient *open, uint32_t instruction) {
    set_bits(open, instruction, 31, 0, 0x7918);
    set_bits(open, instruction, 63, 32, 0);
    set_bits(open, instruction, 95, 64, 0);
    set_bits(open, instruction, 104, 96, 0);
}

static inline void copy_word(patient *open, uint32_t to, uint32_t from) {
    memmove(open->code + (size_t)to * 16, open->code + (size_t)from * 16, 16);
}

/* The block of the n-th loop after the first clock read; GC_FLOW_NO_BLOCK when there are fewer. */
static inline uint32_t loop_block(const patient *open, uint32_t n) {
    for (uint32_t b = open->flow.block_of[open->first_clock]; b < open->flow.block_count; b++) {
        const gc_block *block = &open->flow.blocks[b];
        for (uint32_t i = 0; i < block->successor_count; i++)
            if (open->flow.successors[block->successor + i] == b && n-- == 0) return b;
    }
    return GC_FLOW_NO_BLOCK;
}

/* The n-th instruction with this mnemonic from `first` on, UINT32_MAX when there is none before the second clock. */
static inline uint32_t find_mnemonic(const patient *open, uint32_t first, const char *mnemonic, uint32_t n) {
    for (uint32_t i = first; i < open->second_clock; i++)
        if (strcmp(open->flow.instructions[i].mnemonic, mnemonic) == 0 && n-- == 0) return i;
    return UINT32_MAX;
}

/* ---- what the tests of proofs share: NVRTC, the library's kernel for each architecture, verdicts ---- */

static nvrtc_helper NVRTC;
static int HAVE_NVRTC;
/* The library's kernel by kind and NVRTC's list of architectures, compiled on first use. */
static test_cubin SWEEPS[KINDS][64];

static inline int setup(void **state) {
    (void)state;
    HAVE_NVRTC = nvrtc_helper_open(&NVRTC) == 0;
    return 0;
}

static inline int teardown(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < 64; i++) free(SWEEPS[kind][i].bytes);
    return 0;
}

static inline const test_cubin *sweep(int kind, int arch_index) {
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

static inline gc_divergence_proof prove(const test_cubin *cubin, const gc_divergence_claim *claim) {
    gc_divergence_proof proof;
    assert_int_equal(gc_prove_divergence(cubin->bytes, cubin->size, claim, &proof), GPUCHAR_OK);
    return proof;
}

static inline void expect_proved(const gc_divergence_proof *proof, int arch) {
    if (proof->status) fail_msg("sm_%d: %s", arch, proof->reason);
}

static inline void expect_reason(const gc_divergence_proof *proof, int arch, const char *words) {
    if (proof->status != GPUCHAR_E_NOT_PROVED || !strstr(proof->reason, words))
        fail_msg("sm_%d: expected \"%s\", got %d \"%s\"", arch, words, proof->status, proof->reason);
}

static inline int is_decoded(int arch) {
    return arch >= 70;
}

#endif
