/* Machine code for the proof's tests: the library's own kernel and small ones, and ways to spoil them. */
#ifndef GPUCHAR_TESTS_DIVERGENCE_SAMPLES_H
#define GPUCHAR_TESTS_DIVERGENCE_SAMPLES_H

#include "nvrtc_helper.h"
#include <proof/proof.h>
#include <sass/flow.h>

#define SWEEP "gpuchar_divergence_sweep"
#define SMALL "small"
#define KINDS 4
#define BODY 64

static const char *const CHAINED[KINDS] = {"FFMA", "IMAD", "LDG", "MUFU"};

/* A kernel made for these tests: dispatch by switch, by if or none, and bodies that the text chooses. */
static const char SMALL_HEAD[] =
    "typedef unsigned long long u64; typedef unsigned u32;\n"
    "#define ONE v = __fmaf_rn(v, a, b);\n"
    "#define EIGHT ONE ONE ONE ONE ONE ONE ONE ONE\n"
    "#define SEVEN ONE ONE ONE ONE ONE ONE ONE\n"
    "#define LOOP(body, mark) _Pragma(\"unroll 1\") for (u32 i = 0; i < n; ++i) { body "
    "asm volatile(\"// \" #mark : \"+r\"(i)); }\n"
    "#define PATH(k, body) case k: LOOP(body, k) break;\n"
    "extern \"C\" __global__ void small(const u32 *map, u64 *out, u32 n, float a, float b, float w, float *sink) {\n"
    "  u32 lane = threadIdx.x, path = map[lane]; float v = w + lane, z = w - lane;\n"
    "  __syncwarp(); u64 t0 = clock64();\n";
static const char SMALL_TAIL[] = "  __syncwarp(); u64 t1 = clock64();\n"
                                 "  if (lane == 0) out[0] = t1 - t0;\n  sink[lane] = v + z; }\n";

static char *small_source(const char *middle) {
    const size_t size = sizeof SMALL_HEAD + strlen(middle) + sizeof SMALL_TAIL;
    char *text = malloc(size);
    if (text) snprintf(text, size, "%s%s%s", SMALL_HEAD, middle, SMALL_TAIL);
    return text;
}

/* The library's own kernel with its parameters; the caller frees it. */
static char *sweep_source(int kind, int body) {
    char *prelude = read_kernel_text("prelude.cu"), *sweep = read_kernel_text("divergence_sweep.cu");
    char *text = prelude && sweep ? malloc(strlen(prelude) + strlen(sweep) + 128) : NULL;
    if (text) sprintf(text, "#define GPUCHAR_KIND %d\n#define GPUCHAR_BODY %d\n%s%s", kind, body, prelude, sweep);
    free(prelude);
    free(sweep);
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

/* A kernel whose words can be overwritten: instruction i of the flow is 16 bytes at code + 16 * i. */
typedef struct patient {
    test_cubin cubin; /* a copy */
    uint8_t *code;
    gc_flow flow;                       /* of the unspoiled code */
    uint32_t first_clock, second_clock; /* instruction indices */
} patient;

static void patient_close(patient *open) {
    gc_flow_free(&open->flow);
    free(open->cubin.bytes);
}

static int patient_open(const test_cubin *original, const char *kernel, patient *open) {
    memset(open, 0, sizeof *open);
    open->cubin = (test_cubin){malloc(original->size), original->size};
    gc_cubin cubin;
    gc_code code;
    if (!open->cubin.bytes || !original->bytes) return 1;
    memcpy(open->cubin.bytes, original->bytes, original->size);
    if (gc_cubin_open(open->cubin.bytes, original->size, &cubin) || gc_cubin_function(&cubin, kernel, &code) ||
        gc_flow_build(&code, &open->flow))
        return 1;
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
static void set_bits(patient *open, uint32_t instruction, uint32_t high, uint32_t low, uint64_t value) {
    uint64_t half;
    uint8_t *at = open->code + (size_t)instruction * 16 + (low >= 64 ? 8 : 0);
    memcpy(&half, at, sizeof half);
    const uint64_t mask = (((uint64_t)1 << (high - low + 1)) - 1) << (low % 64);
    half = (half & ~mask) | (value << (low % 64) & mask);
    memcpy(at, &half, sizeof half);
}

/* Another opcode with all operand bits left; [11:0] and bit 91. */
static void set_opcode(patient *open, uint32_t instruction, uint32_t opcode) {
    set_bits(open, instruction, 11, 0, opcode & 0xfff);
    set_bits(open, instruction, 91, 91, opcode >> 12);
}

static void set_nop(patient *open, uint32_t instruction) {
    set_bits(open, instruction, 31, 0, 0x7918);
    set_bits(open, instruction, 63, 32, 0);
    set_bits(open, instruction, 95, 64, 0);
    set_bits(open, instruction, 104, 96, 0);
}

static void copy_word(patient *open, uint32_t to, uint32_t from) {
    memmove(open->code + (size_t)to * 16, open->code + (size_t)from * 16, 16);
}

/* The block of the n-th loop after the first clock read; GC_FLOW_NO_BLOCK when there are fewer. */
static uint32_t loop_block(const patient *open, uint32_t n) {
    for (uint32_t b = open->flow.block_of[open->first_clock]; b < open->flow.block_count; b++) {
        const gc_block *block = &open->flow.blocks[b];
        for (uint32_t i = 0; i < block->successor_count; i++)
            if (open->flow.successors[block->successor + i] == b && n-- == 0) return b;
    }
    return GC_FLOW_NO_BLOCK;
}

/* The n-th instruction with this mnemonic from `first` on, UINT32_MAX when there is none before the second clock. */
static uint32_t find_mnemonic(const patient *open, uint32_t first, const char *mnemonic, uint32_t n) {
    for (uint32_t i = first; i < open->second_clock; i++)
        if (strcmp(open->flow.instructions[i].mnemonic, mnemonic) == 0 && n-- == 0) return i;
    return UINT32_MAX;
}

#endif
