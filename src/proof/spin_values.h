/* Inside spin_thread.c and spin_arithmetic.c: a word's fields, and the registers that they name. */
#ifndef GC_PROOF_SPIN_VALUES_H
#define GC_PROOF_SPIN_VALUES_H

#include <proof/spin_thread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN ((gc_spin_value){0, false, true})

static inline gc_spin_value same(uint32_t bits) {
    return (gc_spin_value){bits, true, false};
}

static inline gc_spin_value made(uint32_t bits, gc_spin_value a, gc_spin_value b, gc_spin_value c) {
    if (!a.known || !b.known || !c.known) return UNKNOWN;
    return (gc_spin_value){bits, true, a.varies || b.varies || c.varies};
}

static inline uint32_t zero_of(const gc_spin_thread *thread, bool uniform) {
    return uniform && thread->program->code->arch < 100 ? 63 : 255;
}

static inline bool fail(const gc_spin_thread *thread, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool fail(const gc_spin_thread *thread, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(thread->reason, thread->reason_size, format, arguments);
    va_end(arguments);
    return false;
}

/* The word being done, with what its operands are. */
typedef struct doing {
    gc_spin_thread *thread;
    const gc_instruction *in;
    const gc_spin_form *form;
    gc_word word;
    uint32_t index;
} doing;

static inline uint32_t field(const doing *d, uint32_t high, uint32_t low) {
    return (uint32_t)gc_bits(d->word, high, low);
}

static inline unsigned long long pc_of(const doing *d) {
    return (unsigned long long)d->in->pc;
}

static inline gc_spin_value read_uniform(const doing *d, uint32_t number) {
    gc_spin_thread *thread = d->thread;
    if (number == zero_of(thread, true)) return same(0);
    if (number > zero_of(thread, true)) return UNKNOWN;
    if (thread->apart && !thread->fresh[number]) thread->uniform_use->read[number] = true;
    return thread->uniforms[number];
}

static inline gc_spin_value read_register(const doing *d, uint32_t number) {
    if (d->form->uniform) return read_uniform(d, number);
    return number >= GC_REGISTER_ZERO ? same(0) : d->thread->registers[number];
}

static inline void write_to(const doing *d, uint32_t number, gc_spin_value value) {
    gc_spin_thread *thread = d->thread;
    if (!d->form->uniform) {
        if (number < GC_REGISTER_ZERO) thread->registers[number] = value;
        return;
    }
    if (number >= zero_of(thread, true)) return;
    thread->uniforms[number] = value;
    thread->fresh[number] = thread->apart;
    if (thread->apart) thread->uniform_use->written[number] = true;
}

static inline void write_result(const doing *d, gc_spin_value value) {
    write_to(d, field(d, 23, 16), value);
}

static inline void write_pair(const doing *d, gc_spin_value low, gc_spin_value high) {
    const uint32_t to = field(d, 23, 16);
    if (to >= zero_of(d->thread, d->form->uniform)) return;
    write_to(d, to, low);
    write_to(d, to + 1, high);
}

static inline gc_spin_value *predicates_of(const doing *d) {
    return d->form->uniform ? d->thread->uniform_predicates : d->thread->predicates;
}

static inline gc_spin_value read_predicate(const gc_spin_value *file, uint32_t number, bool negated) {
    gc_spin_value value = file[number & 7];
    value.bits ^= negated;
    return value;
}

static inline void write_predicate(const doing *d, uint32_t number, gc_spin_value value) {
    if (number != GC_PREDICATE_TRUE) predicates_of(d)[number] = value;
}

/* Descriptor of global memory and stack, by architecture: the same for all lanes, its value nobody's business. */
#define GC_SPIN_DESCRIPTOR UINT32_C(0xde5c0000)

static inline uint32_t descriptor_place(uint32_t arch) {
    return arch < 90 ? 0x118 : arch < 100 ? 0x208 : 0x358;
}

static inline gc_spin_value constant(const doing *d, uint32_t bank, uint32_t place) {
    const gc_spin_thread *thread = d->thread;
    const uint32_t at = place - thread->program->parameter_base, beyond = descriptor_place(thread->program->code->arch);
    uint32_t value;
    if (bank != 0) return UNKNOWN;
    if (place == beyond || place == beyond + 4) return same(GC_SPIN_DESCRIPTOR | place);
    if (place < thread->program->parameter_base || at % 4 || at + 4 > thread->parameter_bytes) return UNKNOWN;
    memcpy(&value, thread->parameters + at, sizeof value);
    return same(value);
}

/* Places of the operands by the form of the opcode: what is no register stands for b, or for c. */
static inline bool swaps(uint16_t form) {
    return form == 2 || form == 3 || form == 15;
}

static inline gc_spin_value flexible(const doing *d, uint32_t add_place) {
    switch (GC_FORM(d->in->opcode)) {
    case 2:
    case 4:
    case 12:
        return same(field(d, 63, 32));
    case 3:
    case 5:
        return constant(d, field(d, 58, 54), field(d, 53, 38) + add_place);
    case 14:
    case 15:
        return read_uniform(d, field(d, 39, 32) + add_place / 4);
    default:
        return read_register(d, field(d, 39, 32) + add_place / 4);
    }
}

/* c of a pair: its register, or the constant that stands in its place. */
static inline gc_spin_value third(const doing *d, uint32_t half) {
    const uint32_t number = field(d, 71, 64);
    if (swaps(GC_FORM(d->in->opcode))) return flexible(d, 4 * half);
    return number == zero_of(d->thread, d->form->uniform) ? same(0) : read_register(d, number + half);
}

static inline gc_spin_value second(const doing *d) {
    return swaps(GC_FORM(d->in->opcode)) ? read_register(d, field(d, 71, 64)) : flexible(d, 0);
}

static inline gc_spin_value first(const doing *d) {
    return read_register(d, field(d, 31, 24));
}

/* An immediate carries its sign. */
static inline bool minus_b(const doing *d) {
    const uint16_t form = GC_FORM(d->in->opcode);
    return form != 2 && form != 4 && form != 12 && field(d, 63, 63);
}

/* Each does one word of its action; see spin_words.h. */
void gc_spin_add2(const doing *d);
void gc_spin_add2_pair(const doing *d);
void gc_spin_add3(const doing *d);
void gc_spin_mad(const doing *d);
void gc_spin_mad_pair(const doing *d);
void gc_spin_compare(const doing *d);
void gc_spin_logic(const doing *d);
void gc_spin_constant(const doing *d, bool pair);
void gc_spin_move_pair(const doing *d);
void gc_spin_halves(const doing *d);

#endif
