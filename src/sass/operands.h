/* Operands of the instructions that proofs follow from register to register. */
#ifndef GC_SASS_OPERANDS_H
#define GC_SASS_OPERANDS_H

#include <sass/decode.h>

/* One 128-bit instruction word. */
typedef struct gc_word {
    uint64_t low, high;
} gc_word;

/* Bits [high:low], at most 64 of them. */
uint64_t gc_bits(gc_word word, uint32_t high, uint32_t low);
/* Two's complement of `width` bits to 64. */
uint64_t gc_sign_extend(uint64_t value, uint32_t width);

/* Fills the register fields; the opcode must be decoded. */
void gc_decode_operands(uint32_t arch, gc_word word, gc_instruction *instruction);

#endif
