#include <core/error.h>
#include <sass/memory_access.h>
#include <sass/evaluate_parts.h>
#include <string.h>

#define GC_SR_LANE 0x00
#define GC_SR_TID_X 0x21
#define GC_SR_ZERO 0xff
/* Attribute of .nv.info: symbol, offset of the parameters in constant bank 0, their size. */
#define GC_INFO_PARAMETERS 0x0a

/* ---- state ---- */

static void forget(gc_value *values, size_t first, size_t count, size_t zero) {
    for (size_t i = first; i < first + count && i < zero; i++) values[i] = gc_unknown();
}

void gc_thread_forget(gc_thread *thread) {
    forget(thread->registers, 0, 256, GC_REGISTER_ZERO);
    forget(thread->uniforms, 0, 256, thread->uniform_zero);
    forget(thread->predicates, 0, 8, GC_PREDICATE_TRUE);
    forget(thread->uniform_predicates, 0, 8, GC_PREDICATE_TRUE);
    for (uint32_t i = 0; i < thread->uniform_zero; i++) thread->uniform_fresh[i] = true;
    thread->any_fresh = true;
    for (uint32_t i = 0; i < GC_THREAD_SHARED_WORDS && thread->shared; i++) thread->shared[i] = gc_unknown();
}

static bool find_parameters(const gc_code *code, uint32_t *base) {
    gc_attribute attribute;
    for (size_t at = 0; gc_code_attribute(code, &at, &attribute);) {
        if (attribute.number != GC_INFO_PARAMETERS || attribute.size != 8) continue;
        *base = (uint32_t)attribute.payload[4] | (uint32_t)attribute.payload[5] << 8;
        return true;
    }
    return false;
}

gpuchar_status gc_thread_start(const gc_code *code, const void *parameters, const uint8_t *told, size_t bytes,
                               uint32_t index, gc_thread *thread) {
    memset(thread, 0, sizeof *thread);
    if (!find_parameters(code, &thread->parameter_base))
        return gc_fail(GPUCHAR_E_SASS_FORMAT, "%s does not tell where its parameters lie", code->name);
    thread->index = index;
    thread->arch = code->arch;
    thread->parameters = parameters;
    thread->told = told;
    thread->parameter_bytes = (uint32_t)bytes;
    thread->uniform_zero = code->arch >= 100 ? 255 : 63;
    thread->registers[GC_REGISTER_ZERO] = gc_known(0);
    thread->uniforms[thread->uniform_zero] = gc_known(0);
    thread->predicates[GC_PREDICATE_TRUE] = thread->uniform_predicates[GC_PREDICATE_TRUE] = gc_known(1);
    return GPUCHAR_OK;
}

static void touch_uniforms(gc_thread *thread, uint32_t first, uint32_t count) {
    thread->any_fresh = true;
    forget(thread->uniforms, first, count, thread->uniform_zero);
    for (uint32_t i = first; i < first + count && i < thread->uniform_zero; i++) thread->uniform_fresh[i] = true;
}

void gc_thread_settle_uniforms(gc_thread *thread, bool apart) {
    if (apart) forget(thread->uniform_predicates, 0, 8, GC_PREDICATE_TRUE);
    if (!thread->any_fresh) return; /* as in most turns of loops */
    for (uint32_t i = 0; i < thread->uniform_zero && apart; i++)
        if (thread->uniform_fresh[i]) thread->uniforms[i] = gc_unknown();
    memset(thread->uniform_fresh, 0, sizeof thread->uniform_fresh);
    thread->any_fresh = false;
}

void gc_thread_forget_uniforms(gc_thread *thread, const bool marks[256]) {
    for (uint32_t i = 0; i < thread->uniform_zero; i++)
        if (marks[i]) thread->uniforms[i] = gc_unknown();
}

void gc_thread_tell(gc_thread *thread, uint16_t special, uint64_t value) {
    uint32_t i = 0;
    while (i < thread->special_count && thread->specials[i].number != special) i++;
    if (i == GC_THREAD_SPECIALS_MAX) return; /* stays unknown */
    if (i == thread->special_count) thread->special_count++;
    thread->specials[i] = (gc_special){.value = value, .number = special};
}

/* ---- operands ---- */

gc_word gc_word_of(const gc_code *code, const gc_instruction *in) {
    gc_word word;
    const uint8_t *at = code->bytes + (in->pc - code->offset);
    memcpy(&word.low, at, sizeof word.low);
    memcpy(&word.high, at + 8, sizeof word.high);
    return word;
}

gc_value gc_predicate(const gc_value *file, uint32_t number, uint32_t negated) {
    const gc_value value = file[number & 7];
    return value.known ? gc_known(value.bits ^ negated) : gc_unknown();
}

static gc_value both(gc_value a, gc_value b) {
    if ((a.known && !a.bits) || (b.known && !b.bits)) return gc_known(0);
    return a.known && b.known ? gc_known(1) : gc_unknown();
}

/* Bytes of constant bank 0; known are the kernel's parameters only, and of them what every launch has. */
gc_value gc_constant(const gc_thread *thread, uint32_t bank, uint32_t offset, uint32_t bytes) {
    const uint32_t at = offset - thread->parameter_base;
    if (bank != 0 || offset < thread->parameter_base || at > thread->parameter_bytes ||
        bytes > thread->parameter_bytes - at)
        return gc_unknown();
    uint32_t value = 0;
    for (uint32_t i = 0; i < bytes; i++)
        if (!thread->told[at + i]) return gc_unknown();
    memcpy(&value, thread->parameters + at, bytes);
    return gc_known(value);
}

gc_value gc_special_value(const gc_thread *thread, uint32_t number, bool high) {
    if (number == GC_SR_ZERO) return gc_known(0);
    if (number == GC_SR_TID_X) return high ? gc_unknown() : gc_known(thread->index);
    if (number == GC_SR_LANE) return high ? gc_unknown() : gc_known(thread->index % 32);
    for (uint32_t i = 0; i < thread->special_count; i++)
        if (thread->specials[i].number == number)
            return gc_known((uint32_t)(thread->specials[i].value >> (high ? 32 : 0)));
    return gc_unknown();
}

gc_value gc_register(const gc_thread *thread, bool uniform, uint32_t number) {
    return uniform ? thread->uniforms[number & thread->uniform_zero] : thread->registers[number & 255];
}

gc_wide gc_pair(const gc_thread *thread, bool uniform, uint32_t number) {
    const uint32_t zero = gc_zero_of(thread, uniform), first = number & zero;
    if (first == zero) return (gc_wide){0, true};
    if (first + 1 == zero) return (gc_wide){0, false};
    return gc_join(gc_register(thread, uniform, first), gc_register(thread, uniform, first + 1));
}

gc_value gc_flexible(const gc_thread *thread, gc_word word, uint16_t form, bool uniform) {
    switch (form) {
    case 1:
    case 9: /* the uniform datapath's */
        return uniform == (form == 9) ? gc_register(thread, uniform, gc_field(word, 39, 32)) : gc_unknown();
    case 2:
    case 4:
        return uniform ? gc_unknown() : gc_known(gc_field(word, 63, 32));
    case 12:
        return uniform ? gc_known(gc_field(word, 63, 32)) : gc_unknown();
    case 3:
    case 5:
        return uniform ? gc_unknown() : gc_constant(thread, gc_field(word, 58, 54), gc_field(word, 53, 38), 4);
    case 14:
    case 15:
        return uniform ? gc_unknown() : gc_register(thread, true, gc_field(word, 39, 32));
    default:
        return gc_unknown();
    }
}

gc_wide gc_flexible_wide(const gc_thread *thread, gc_word word, uint16_t form, bool uniform) {
    const gc_value low = gc_flexible(thread, word, form, uniform);
    switch (form) {
    case 1:
    case 9:
        return low.known ? gc_pair(thread, uniform, gc_field(word, 39, 32)) : (gc_wide){0, false};
    case 14:
    case 15:
        return low.known ? gc_pair(thread, true, gc_field(word, 39, 32)) : (gc_wide){0, false};
    case 3:
    case 5:
        return gc_join(low, gc_constant(thread, gc_field(word, 58, 54), gc_field(word, 53, 38) + 4, 4));
    default: /* how an immediate with its highest bit set grows was never seen */
        return (gc_wide){low.bits, low.known && low.bits >> 31 == 0};
    }
}

/* ---- results ---- */

void gc_forget_registers(gc_thread *thread, bool uniform, uint32_t first, uint32_t count) {
    if (uniform)
        touch_uniforms(thread, first & thread->uniform_zero, count);
    else
        forget(thread->registers, first, count, GC_REGISTER_ZERO);
}

void gc_write(gc_thread *thread, bool uniform, uint32_t number, gc_value value) {
    const uint32_t zero = gc_zero_of(thread, uniform), to = number & zero;
    gc_forget_registers(thread, uniform, to, 1);
    if (to != zero) *(uniform ? &thread->uniforms[to] : &thread->registers[to]) = value;
}

void gc_write_pair(gc_thread *thread, bool uniform, uint32_t number, gc_wide value) {
    const uint32_t zero = gc_zero_of(thread, uniform), to = number & zero;
    gc_write(thread, uniform, to, (gc_value){(uint32_t)value.bits, value.known});
    if (to != zero) gc_write(thread, uniform, to + 1, (gc_value){(uint32_t)(value.bits >> 32), value.known});
}

void gc_write_predicate(gc_thread *thread, bool uniform, uint32_t number, gc_value value) {
    if (number != GC_PREDICATE_TRUE)
        *(uniform ? &thread->uniform_predicates[number] : &thread->predicates[number]) = value;
}

/* ---- instructions ---- */

static void write_register(gc_thread *thread, gc_word word, gc_value value) {
    gc_write(thread, false, gc_field(word, 23, 16), value);
}

#define GC_MOV_WIDE_IMMEDIATE 2 /* the form */

/* On sm_120 also of 64 bits. */
static void step_mov(gc_thread *thread, gc_word word, uint16_t form) {
    if (thread->arch >= 120 && form == GC_MOV_WIDE_IMMEDIATE) {
        gc_write_pair(thread, false, gc_field(word, 23, 16), (gc_wide){gc_bits(word, 87, 24), true});
        return;
    }
    /* Lane mask complete. */
    const bool plain = gc_field(word, 75, 72) == 15;
    if (!gc_field(word, 80, 80)) {
        write_register(thread, word, plain ? gc_flexible(thread, word, form, false) : gc_unknown());
        return;
    }
    gc_wide value = gc_flexible_wide(thread, word, form, false);
    value.known = value.known && plain && thread->arch >= 120;
    gc_write_pair(thread, false, gc_field(word, 23, 16), value);
}

/* Minus 0 times 0 plus an immediate: how compilers let the half-precision units move. Bits [80:64] say so, with no change of form. */
static void step_hfma2(gc_thread *thread, gc_word word, const gc_instruction *in) {
    const uint32_t moved = gc_field(word, 63, 32);
    const bool number = (moved & 0x7c00) != 0x7c00 && (moved >> 16 & 0x7c00) != 0x7c00; /* not infinite, not NaN */
    const bool moves = GC_FORM(in->opcode) == 2 && gc_field(word, 31, 24) == GC_REGISTER_ZERO &&
                       gc_field(word, 90, 64) == (0x100 | GC_REGISTER_ZERO);
    write_register(thread, word, moves && number ? gc_known(moved) : gc_unknown());
}

/* Bytes by the size field of constant loads; 0: more than two registers, or signed. */
static uint32_t constant_bytes(uint32_t size) {
    static const uint8_t BYTES[8] = {1, 0, 2, 0, 4, 8, 0, 0};
    return BYTES[size];
}

/* The byte offset stands at [53:`low`]. */
static void load_constant(const gc_thread *thread, gc_word word, uint32_t low, gc_value index, gc_value out[2]) {
    const uint32_t bytes = constant_bytes(gc_field(word, 75, 73)), bank = gc_field(word, 58, 54);
    const uint32_t offset = (uint32_t)gc_sign_extend(gc_bits(word, 53, low), 54 - low) + index.bits;
    out[0] = out[1] = gc_unknown();
    if (!index.known || !bytes || gc_field(word, 79, 78)) return;
    out[0] = gc_constant(thread, bank, offset, bytes < 4 ? bytes : 4);
    if (bytes == 8) out[1] = gc_constant(thread, bank, offset + 4, 4);
}

static void step_ldc(gc_thread *thread, gc_word word, const gc_instruction *in) {
    gc_value out[2];
    load_constant(thread, word, 38, thread->registers[gc_field(word, 31, 24)], out);
    forget(thread->registers, in->destination, in->destination_count, GC_REGISTER_ZERO);
    write_register(thread, word, out[0]);
    if (in->destination_count == 2 && in->destination + 1 < GC_REGISTER_ZERO)
        thread->registers[in->destination + 1] = out[1];
}

/* ULDC has no index; LDCU (sm_100) may have one in a uniform register. */
static void step_uniform_constant(gc_thread *thread, gc_word word, bool indexed) {
    gc_value out[2];
    const uint32_t to = gc_field(word, 23, 16) & thread->uniform_zero, size = gc_field(word, 75, 73);
    const uint32_t count = size <= 4 ? 1 : size == 5 ? 2 : 4;
    load_constant(thread, word, indexed ? 37 : 38,
                  indexed ? gc_register(thread, true, gc_field(word, 31, 24)) : gc_known(0), out);
    touch_uniforms(thread, to, count);
    if (to != thread->uniform_zero) thread->uniforms[to] = out[0];
    if (size == 5 && to + 1 < thread->uniform_zero) thread->uniforms[to + 1] = out[1];
}

/* Other forms of these read another bank, by a handle, or more than two registers. */
static void step_constant(gc_thread *thread, gc_word word, const gc_instruction *in) {
    if (in->opcode == 0xb82)
        step_ldc(thread, word, in);
    else if (in->opcode == 0xab9 || (in->opcode == 0x17ac && !gc_field(word, 80, 80)))
        step_uniform_constant(thread, word, in->opcode == 0x17ac);
    else
        gc_thread_forget(thread);
}

static void step_umov(gc_thread *thread, gc_word word, uint16_t form) {
    const uint32_t to = gc_field(word, 23, 16);
    if ((form == 4 || form == 14) && !gc_field(word, 80, 80))
        gc_write(thread, true, to, gc_flexible(thread, word, form, false));
    else
        gc_forget_registers(thread, true, to, 2);
}

/* S2R and S2UR; CS2R and CS2UR, which may read both halves. */
static void step_special(gc_thread *thread, gc_word word, const gc_instruction *in, bool uniform) {
    const uint32_t to = gc_field(word, 23, 16) & gc_zero_of(thread, uniform);
    gc_write(thread, uniform, to, gc_special_value(thread, in->special, false));
    if (in->wide && to != gc_zero_of(thread, uniform))
        gc_write(thread, uniform, to + 1, gc_special_value(thread, in->special, true));
}

/* What neither writes predicates nor uniform registers: its own registers are told by the decoder. */
static bool writes_registers_only(uint16_t low) {
    /* SEL FMUL FADD FFMA MUFU POPC NOP ST STG RED, BSYNC BSSY WARPSYNC */
    static const uint16_t PLAIN[] = {0x007, 0x020, 0x021, 0x023, 0x108, 0x109, 0x118,
                                     0x185, 0x186, 0x18e, 0x141, 0x145, 0x148};
    for (size_t i = 0; i < sizeof PLAIN / sizeof PLAIN[0]; i++)
        if (low == PLAIN[i]) return true;
    return false;
}

static void forget_uniforms(gc_thread *thread) {
    touch_uniforms(thread, 0, thread->uniform_zero);
    forget(thread->uniform_predicates, 0, 8, GC_PREDICATE_TRUE);
}

static void step_other(gc_thread *thread, const gc_instruction *in) {
    /* The uniform datapath writes uniform registers and predicates, nothing else; so does VOTEU. */
    if (in->mnemonic[0] == 'U' || (in->opcode & 0x1ff) == 0x086)
        forget_uniforms(thread);
    else if (!writes_registers_only(in->opcode & 0x1ff) || !in->writes_known)
        gc_thread_forget(thread);
    else
        forget(thread->registers, in->destination, in->destination_count, GC_REGISTER_ZERO);
}

/* Loads tell in a predicate whether they worked, VOTE and FLO what they found; their results are unknown. */
static void step_with_predicate(gc_thread *thread, gc_word word, const gc_instruction *in) {
    if (!in->writes_known) {
        gc_thread_forget(thread);
        return;
    }
    forget(thread->registers, in->destination, in->destination_count, GC_REGISTER_ZERO);
    gc_write_predicate(thread, false, gc_field(word, 83, 81), gc_unknown());
}

/* From a barrier register to a vector register, or, the other opcodes, the other way round. */
static void step_bmov(gc_thread *thread, gc_word word, uint16_t low) {
    if (low == 0x155) forget(thread->registers, gc_field(word, 23, 16), 2, GC_REGISTER_ZERO);
}

static void step_known(gc_thread *thread, gc_word word, const gc_instruction *in) {
    if (gc_step_arithmetic(thread, word, in)) return;
    switch (in->opcode & 0x1ff) {
    case 0x002:
        step_mov(thread, word, GC_FORM(in->opcode));
        break;
    case 0x031:
    case 0x035: /* .MMA; from sm_120 on another instruction, of integer arithmetic */
        step_hfma2(thread, word, in);
        break;
    case 0x182:
    case 0x0b9:
    case 0x1ac:
        step_constant(thread, word, in);
        break;
    case 0x184:
    case 0x188:
    case 0x18d:
        gc_step_shared(thread, word, in);
        break;
    case 0x082:
        step_umov(thread, word, GC_FORM(in->opcode));
        break;
    case 0x005:
    case 0x119:
        step_special(thread, word, in, false);
        break;
    case 0x0cb:
    case 0x1c3:
        step_special(thread, word, in, true);
        break;
    case 0x006:
    case 0x100:
    case 0x181:
    case 0x1a8: /* VOTE, FLO, LDG, ATOMG */
        step_with_predicate(thread, word, in);
        break;
    case 0x155:
    case 0x156:
    case 0x157:
        step_bmov(thread, word, in->opcode & 0x1ff);
        break;
    case 0x11d: /* BAR: writes no register, and no predicate: what its reductions find is read by others */
        break;
    default:
        step_other(thread, in);
    }
}

/* Instructions with uniform results have guards of their own, which are not told apart here. */
static bool has_uniform_guard(const gc_instruction *in) {
    static const uint16_t OTHERS[] = {0x086, 0x0ca, 0x0cb, 0x1ac, 0x1c3}; /* VOTEU R2UR CS2UR LDCU S2UR */
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        if ((in->opcode & 0x1ff) == OTHERS[i]) return true;
    return in->mnemonic && in->mnemonic[0] == 'U';
}

gc_value gc_thread_guard(const gc_thread *thread, const gc_instruction *in) {
    if (in->guard == GC_PREDICATE_TRUE) return gc_known(!in->guard_not);
    if (has_uniform_guard(in)) return gc_unknown();
    return gc_predicate(thread->predicates, in->guard, in->guard_not);
}

gc_value gc_thread_branches(const gc_thread *thread, const gc_code *code, const gc_instruction *in) {
    gc_value taken = gc_thread_guard(thread, in);
    if ((in->opcode & 0x1ff) == 0x147) {
        const gc_word word = gc_word_of(code, in);
        taken = both(taken, gc_predicate(thread->predicates, in->second, in->second_not));
        if (in->opcode == 0x1547)
            taken =
                both(taken, gc_predicate(thread->uniform_predicates, gc_field(word, 26, 24), gc_field(word, 27, 27)));
        /* .DIV and .CONV ask for the rest of the warp; a register decides in form 12. */
        if (in->condition >= 2 || in->opcode == 0x1947) taken = both(taken, gc_unknown());
    }
    return taken;
}

void gc_thread_step(gc_thread *thread, const gc_code *code, const gc_instruction *in) {
    const gc_value works = gc_thread_guard(thread, in);
    if (works.known && !works.bits) return;
    if (works.known && in->mnemonic) {
        step_known(thread, gc_word_of(code, in), in);
        return;
    }
    gc_thread_forget(thread);
}
