/* Operands of the instructions that proofs follow from register to register. */
#ifndef GC_SASS_OPERANDS_H
#define GC_SASS_OPERANDS_H

#include <sass/decode.h>

/* One 128-bit instruction word. */
typedef struct gc_word {
    uint64_t low, high;
} gc_word;

/* Bits [high:low], at most 64 of them. */
static inline uint64_t gc_bits(gc_word word, uint32_t high, uint32_t low) {
    uint64_t value;
    if (low >= 64)
        value = word.high >> (low - 64);
    else if (low == 0)
        value = word.low;
    else
        value = word.low >> low | word.high << (64 - low);
    const uint32_t width = high - low + 1;
    return width >= 64 ? value : value & (((uint64_t)1 << width) - 1);
}
/* Two's complement of `width` bits to 64. */
static inline uint64_t gc_sign_extend(uint64_t value, uint32_t width) {
    const uint64_t sign = (uint64_t)1 << (width - 1);
    return (value ^ sign) - sign;
}

/* Fills the register fields; the opcode must be decoded. */
void gc_decode_operands(uint32_t arch, gc_word word, gc_instruction *instruction);

#endif
