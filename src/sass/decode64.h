/* Decoder of 64-bit SASS (sm_50 to sm_62): control flow with all fields, scheduling, base mnemonics. */
#ifndef GC_SASS_DECODE64_H
#define GC_SASS_DECODE64_H

#include <sass/decode.h>

/* Condition code of an instruction that asks for none. */
#define GC_CONDITION_TRUE 15

/*
 * Decodes the instruction word at byte `offset` of the code: a multiple of 8 with 8 bytes left, not a multiple of 32. The code
 * begins with a control word.
 */
void gc_decode64(const gc_code *code, size_t offset, gc_instruction *instruction);

/* Where an address leads: one of a control word means the instruction behind it. */
static inline uint64_t gc_behind_control(uint64_t pc) {
    return pc % 32 ? pc : pc + 8;
}

#endif
