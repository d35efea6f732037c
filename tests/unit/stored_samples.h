/* The code behind the timed region of a patient: its stores, what makes their values, and ways to spoil it. */
#ifndef GPUCHAR_TESTS_STORED_SAMPLES_H
#define GPUCHAR_TESTS_STORED_SAMPLES_H

#include "divergence_samples.h"

static inline uint32_t get_bits(const patient *open, uint32_t instruction, uint32_t high, uint32_t low) {
    uint64_t half;
    memcpy(&half, open->code + (size_t)instruction * 16 + (low >= 64 ? 8 : 0), sizeof half);
    return (uint32_t)(half >> (low % 64) & ((UINT64_C(1) << (high - low + 1)) - 1));
}

static inline const char *name_of(const patient *open, uint32_t instruction) {
    const char *name = open->flow.instructions[instruction].mnemonic;
    return name ? name : "";
}

/* The n-th instruction with this mnemonic behind the second clock read. */
static inline uint32_t find_behind(const patient *open, const char *mnemonic, uint32_t n) {
    for (uint32_t i = open->second_clock; i < open->flow.instruction_count; i++)
        if (strcmp(name_of(open, i), mnemonic) == 0 && n-- == 0) return i;
    fail_msg("no %s behind the region", mnemonic);
    return 0;
}

static inline bool is_store(const patient *open, uint32_t i) {
    return strcmp(name_of(open, i), "STG") == 0 || strcmp(name_of(open, i), "ST") == 0;
}

#define SIZE_64 5 /* of loads and stores, bits [75:73] */

/* The stores of the sample: 0 cycles, 1 nanoseconds; as compilers order them. */
static inline uint32_t sample_store(const patient *open, uint32_t n) {
    for (uint32_t i = open->second_clock; i < open->flow.instruction_count; i++)
        if (is_store(open, i) && get_bits(open, i, 75, 73) == SIZE_64 && get_bits(open, i, 47, 40) == 8 * n) return i;
    fail_msg("no store of the sample");
    return 0;
}

/* The store of the thread's result: its place is free for something else. */
static inline uint32_t free_place(const patient *open) {
    uint32_t i = open->second_clock;
    while (!is_store(open, i) || get_bits(open, i, 75, 73) == SIZE_64) i++;
    return i;
}

static inline uint32_t data_of(const patient *open, uint32_t store) {
    return get_bits(open, store, 39, 32);
}

/* The last instruction before `before` that writes the register. */
static inline uint32_t maker_of(const patient *open, uint32_t reg, uint32_t before) {
    while (--before > 0) {
        const gc_instruction *in = &open->flow.instructions[before];
        if (in->destination_count && in->destination <= reg && reg < in->destination + (uint32_t)in->destination_count)
            return before;
    }
    fail_msg("nobody writes R%u", reg);
    return 0;
}

/* What makes the lower and the upper half of a difference: one instruction on sm_120, else two. */
static inline uint32_t maker_of_half(const patient *open, uint32_t n, uint32_t half) {
    const uint32_t store = sample_store(open, n);
    return maker_of(open, data_of(open, store) + half, store);
}

static inline bool is_one_sum(const patient *open) {
    return maker_of_half(open, 0, 0) == maker_of_half(open, 0, 1);
}

/* Whole instructions in place of another one, scheduling kept. */
static inline void put(patient *open, uint32_t at, uint64_t low, uint64_t high) {
    set_bits(open, at, 31, 0, low & 0xffffffff);
    set_bits(open, at, 63, 32, low >> 32);
    set_bits(open, at, 95, 64, high & 0xffffffff);
    set_bits(open, at, 104, 96, high >> 32 & 0x1ff);
}

static inline void put_add(patient *open, uint32_t at, uint32_t to, uint32_t from, uint32_t number) {
    put(open, at, UINT64_C(0x7810) | to << 16 | (uint64_t)from << 24 | (uint64_t)number << 32, 0x07ffe0ff);
}

static inline void put_shift(patient *open, uint32_t at, uint32_t to, uint32_t from) {
    put(open, at, UINT64_C(0x100007819) | to << 16 | (uint64_t)from << 24, 0x000006ff);
}

static inline void put_zero(patient *open, uint32_t at, uint32_t to) {
    put(open, at, UINT64_C(0xff00007202) | to << 16, 0x00000f00);
}

static inline void put_copy(patient *open, uint32_t at, uint32_t to, uint32_t from) {
    put(open, at, UINT64_C(0x7202) | to << 16 | (uint64_t)from << 32, 0x00000f00);
}

#endif
