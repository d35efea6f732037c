#include <sass/memory_access.h>

/*
 * Bits [91:76] of the forms that compilers give plain accesses and reductions: scope, cache operator, how the address is made.
 * Whatever differs in one bit is another form, and is not followed.
 */
typedef struct form {
    uint16_t low; /* opcode bits [8:0] */
    uint8_t first, last;
    uint16_t bits;
    uint8_t kind;
    bool
        uniform_base; /* the address is in uniform registers (sm_75); else those describe the memory, or there are none */
} form;

static const form FORMS[] = {
    {0x186, 70, 79, 0x010e, GC_ACCESS_STORE, false},  {0x186, 75, 79, 0xc10e, GC_ACCESS_STORE, true},
    {0x186, 80, 255, 0xc101, GC_ACCESS_STORE, false}, {0x185, 80, 255, 0xc101, GC_ACCESS_STORE, false},
    {0x18e, 70, 79, 0x1114, GC_ACCESS_MAX, false},    {0x18e, 80, 99, 0xd10e, GC_ACCESS_MAX, false},
    {0x18e, 100, 255, 0xd12e, GC_ACCESS_MAX, false},  {0x18e, 70, 79, 0x0114, GC_ACCESS_ADD, false},
    {0x18e, 80, 99, 0xc10e, GC_ACCESS_ADD, false},    {0x18e, 100, 255, 0xc12e, GC_ACCESS_ADD, false},
    {0x1a8, 70, 79, 0x11f4, GC_ACCESS_MAX, false},    {0x1a8, 80, 99, 0x91ee, GC_ACCESS_MAX, false},
};

#define GC_SIZE_64 5      /* of stores, bits [75:73] */
#define GC_SIZE_U64 2     /* of reductions */
#define GC_DESCRIBED 0x80 /* bit 71: before sm_100, a reduction's uniform register describes the memory */

static const form *form_of(const gc_thread *thread, gc_word word, uint16_t low) {
    for (size_t i = 0; i < sizeof FORMS / sizeof FORMS[0]; i++) {
        const form *found = &FORMS[i];
        if (found->low == low && found->first <= thread->arch && thread->arch <= found->last &&
            found->bits == gc_field(word, 91, 76))
            return found;
    }
    return NULL;
}

static uint32_t bytes_of(const form *found, gc_word word) {
    const uint32_t size = gc_field(word, 75, 73);
    if (found->kind != GC_ACCESS_STORE) return size == GC_SIZE_U64 ? 8 : 0;
    return size >= 4 && size <= 6 ? 4u << (size - 4) : 0;
}

static bool is_followed(const gc_thread *thread, const form *found, gc_word word) {
    if (!found || !gc_field(word, 72, 72) || !bytes_of(found, word)) return false;
    const bool reduces = found->kind != GC_ACCESS_STORE;
    if (reduces && thread->arch >= 80 && thread->arch < 100 && !(gc_field(word, 71, 64) & GC_DESCRIBED)) return false;
    return !found->uniform_base || gc_field(word, 31, 24) == GC_REGISTER_ZERO;
}

/* The i-th of the registers that are stored from `first` on; RZ stands for as many zeros as needed. */
static gc_value stored_word(const gc_thread *thread, uint32_t first, uint32_t i) {
    if (first == GC_REGISTER_ZERO) return gc_known(0);
    return first + i < GC_REGISTER_ZERO ? thread->registers[first + i] : gc_unknown();
}

gc_access gc_thread_access(const gc_thread *thread, const gc_code *code, const gc_instruction *in) {
    gc_access access = {.kind = GC_ACCESS_NONE};
    const uint16_t low = in->opcode & 0x1ff;
    if (low != 0x185 && low != 0x186 && low != 0x18e && low != 0x1a8) return access;
    const gc_word word = gc_word_of(code, in);
    const form *found = form_of(thread, word, low);
    access.kind = GC_ACCESS_UNKNOWN;
    if (!is_followed(thread, found, word)) return access;
    access.kind = found->kind;
    access.bytes = bytes_of(found, word);
    access.address = found->uniform_base ? gc_pair(thread, true, gc_field(word, 71, 64))
                                         : gc_pair(thread, false, gc_field(word, 31, 24));
    access.address.bits += gc_sign_extend(gc_bits(word, 63, 40), 24);
    const uint32_t data = gc_field(word, 39, 32);
    for (uint32_t i = 0; i < access.bytes / 4; i++) access.values[i] = stored_word(thread, data, i);
    return access;
}

/* ---- shared memory ---- */

/* The first of `words` words at the address; NULL: not known which. */
static gc_value *words_at(gc_thread *thread, gc_value base, gc_value offset, gc_word word, uint32_t words) {
    const uint32_t address = base.bits + offset.bits + (uint32_t)gc_sign_extend(gc_bits(word, 63, 40), 24);
    if (!thread->shared || !base.known || !offset.known || address % (4 * words) != 0 ||
        address / 4 + words > GC_THREAD_SHARED_WORDS)
        return NULL;
    return &thread->shared[address / 4];
}

static uint32_t words_of(gc_word word) {
    const uint32_t size = gc_field(word, 75, 73);
    return size >= 4 && size <= 6 ? 1u << (size - 4) : 0;
}

static void forget_shared(gc_thread *thread) {
    for (uint32_t i = 0; i < GC_THREAD_SHARED_WORDS && thread->shared; i++) thread->shared[i] = gc_unknown();
}

static void step_lds(gc_thread *thread, gc_word word, const gc_instruction *in) {
    const uint32_t words = words_of(word), modifiers = gc_field(word, 91, 76), to = gc_field(word, 23, 16);
    const bool unsigned_before_80 = thread->arch < 80 && modifiers == 1; /* .U */
    const bool plain = in->opcode == 0x984 && (modifiers == 0 || unsigned_before_80);
    const bool uniform = in->opcode == 0x1984 && modifiers == 0x8000;
    const gc_value base = gc_register(thread, false, gc_field(word, 31, 24));
    const gc_value offset = uniform ? gc_register(thread, true, gc_field(word, 39, 32)) : gc_known(0);
    const bool followed = words && (plain || uniform);
    const gc_value *from = followed ? words_at(thread, base, offset, word, words) : NULL;
    gc_forget_registers(thread, false, to, followed ? words : 4);
    for (uint32_t i = 0; i < words && from && to + i < GC_REGISTER_ZERO; i++) thread->registers[to + i] = from[i];
}

static void step_sts(gc_thread *thread, gc_word word, const gc_instruction *in) {
    const uint32_t words = words_of(word), modifiers = gc_field(word, 91, 76), data = gc_field(word, 39, 32);
    const bool plain = in->opcode == 0x388 && modifiers == 0, uniform = in->opcode == 0x1988 && modifiers == 0x8000;
    const gc_value base = gc_register(thread, false, gc_field(word, 31, 24));
    const gc_value offset = uniform ? gc_register(thread, true, gc_field(word, 71, 64)) : gc_known(0);
    gc_value *to = words && (plain || uniform) ? words_at(thread, base, offset, word, words) : NULL;
    if (!to) {
        forget_shared(thread);
        return;
    }
    for (uint32_t i = 0; i < words; i++) to[i] = gc_register(thread, false, data == GC_REGISTER_ZERO ? data : data + i);
}

/* Bits [91:84] and [80:72] of a compare-and-swap of 64 bits that may fail for no reason (ATOMS.CAST.SPIN.64). */
#define GC_SWAP_HIGH 0x18
#define GC_SWAP_LOW 0x004

/* Whether it worked is told by a 1 in a pair of registers, or, from sm_100 on, by a predicate. */
static void tell_swapped(gc_thread *thread, gc_word word, bool by_predicate, gc_value swapped) {
    if (by_predicate)
        gc_write_predicate(thread, false, gc_field(word, 83, 81), swapped);
    else
        gc_write_pair(thread, false, gc_field(word, 23, 16), (gc_wide){swapped.bits, swapped.known});
}

static void step_atoms(gc_thread *thread, gc_word word, const gc_instruction *in) {
    const bool by_predicate = in->opcode == 0x58d && thread->arch >= 100, by_register = in->opcode == 0x38d;
    const bool plain = gc_field(word, 91, 84) == GC_SWAP_HIGH && gc_field(word, 80, 72) == GC_SWAP_LOW &&
                       (by_predicate || (by_register && gc_field(word, 83, 81) == 0));
    const gc_wide expected = gc_pair(thread, false, gc_field(word, 39, 32)),
                  wanted = gc_pair(thread, false, gc_field(word, 71, 64));
    gc_value *at = words_at(thread, gc_register(thread, false, gc_field(word, 31, 24)), gc_known(0), word, 2);
    if (!plain || !at) {
        gc_thread_forget(thread);
        return;
    }
    const gc_wide found = gc_join(at[0], at[1]);
    if (!found.known || !expected.known) {
        at[0] = at[1] = gc_unknown();
        tell_swapped(thread, word, by_predicate, gc_unknown());
        return;
    }
    const bool swaps = !thread->contended && found.bits == expected.bits;
    if (swaps) {
        at[0] = (gc_value){(uint32_t)wanted.bits, wanted.known};
        at[1] = (gc_value){(uint32_t)(wanted.bits >> 32), wanted.known};
    } else if (thread->contended) {
        at[0].bits ^= 2; /* somebody else's number */
    }
    thread->contended = false;
    tell_swapped(thread, word, by_predicate, gc_known(swaps));
}

void gc_step_shared(gc_thread *thread, gc_word word, const gc_instruction *in) {
    switch (in->opcode & 0x1ff) {
    case 0x184:
        step_lds(thread, word, in);
        break;
    case 0x188:
        step_sts(thread, word, in);
        break;
    case 0x18d:
        step_atoms(thread, word, in);
        break;
    default:
        gc_thread_forget(thread);
    }
}
