/* What the parts of the evaluation share: values, operands, and where results go. */
#ifndef GC_SASS_EVALUATE_PARTS_H
#define GC_SASS_EVALUATE_PARTS_H

#include <sass/evaluate.h>
#include <sass/operands.h>

static inline gc_value gc_known(uint32_t bits) {
    return (gc_value){bits, true};
}

static inline gc_value gc_unknown(void) {
    return (gc_value){0, false};
}

static inline uint32_t gc_field(gc_word word, uint32_t high, uint32_t low) {
    return (uint32_t)gc_bits(word, high, low);
}

/* A pair of registers, the lower number being the lower half. */
typedef struct gc_wide {
    uint64_t bits;
    bool known;
} gc_wide;

static inline gc_wide gc_join(gc_value low, gc_value high) {
    return (gc_wide){(uint64_t)high.bits << 32 | low.bits, low.known && high.known};
}

/*
 * The uniform datapath has instructions of the same layout as the vector one: `uniform` says of which registers and
 * predicates an instruction's numbers are.
 */
static inline uint32_t gc_zero_of(const gc_thread *thread, bool uniform) {
    return uniform ? thread->uniform_zero : GC_REGISTER_ZERO;
}

gc_word gc_word_of(const gc_code *code, const gc_instruction *in);

gc_value gc_register(const gc_thread *thread, bool uniform, uint32_t number);
gc_wide gc_pair(const gc_thread *thread, bool uniform, uint32_t number);
gc_value gc_predicate(const gc_value *file, uint32_t number, uint32_t negated);
/* Bytes of a constant bank, 1 to 4. */
gc_value gc_constant(const gc_thread *thread, uint32_t bank, uint32_t offset, uint32_t bytes);
/* The special register, and its upper half when `high`. */
gc_value gc_special_value(const gc_thread *thread, uint32_t number, bool high);

/* The operand that is not always a register: b, or c in the forms that swap them; and as a pair. */
gc_value gc_flexible(const gc_thread *thread, gc_word word, uint16_t form, bool uniform);
gc_wide gc_flexible_wide(const gc_thread *thread, gc_word word, uint16_t form, bool uniform);

void gc_write(gc_thread *thread, bool uniform, uint32_t number, gc_value value);
void gc_write_pair(gc_thread *thread, bool uniform, uint32_t number, gc_wide value);
void gc_write_predicate(gc_thread *thread, bool uniform, uint32_t number, gc_value value);
/* `count` registers from `first` on are unknown. */
void gc_forget_registers(gc_thread *thread, bool uniform, uint32_t first, uint32_t count);

/* Integer arithmetic, in arithmetic.c; false: not one of those, and nothing was done. */
bool gc_step_arithmetic(gc_thread *thread, gc_word word, const gc_instruction *in);

#endif
