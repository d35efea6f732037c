#include <core/error.h>
#include <sass/evaluate.h>
#include <sass/operands.h>
#include <string.h>

#define GC_SR_TID_X 0x21
/* Attribute of .nv.info: symbol, offset of the parameters in constant bank 0, their size. */
#define GC_INFO_PARAMETERS 0x0a

static const gc_value UNKNOWN = {0, false};

static gc_value known(uint32_t bits) {
    return (gc_value){bits, true};
}

/* ---- state ---- */

static void forget(gc_value *values, size_t first, size_t count, size_t zero) {
    for (size_t i = first; i < first + count && i < zero; i++) values[i] = UNKNOWN;
}

void gc_thread_forget(gc_thread *thread) {
    forget(thread->registers, 0, 256, GC_REGISTER_ZERO);
    forget(thread->uniforms, 0, 256, thread->uniform_zero);
    forget(thread->predicates, 0, 8, GC_PREDICATE_TRUE);
    forget(thread->uniform_predicates, 0, 8, GC_PREDICATE_TRUE);
}

/* Attributes: format, number, then two bytes of value, or of size when the value follows (format 4). */
static bool find_parameters(const gc_code *code, uint32_t *base) {
    for (size_t at = 0; at + 4 <= code->info_size;) {
        const uint8_t *info = code->info + at;
        const size_t size = info[0] == 4 ? (size_t)info[2] | (size_t)info[3] << 8 : 0;
        if (size > code->info_size - at - 4) return false;
        if (info[1] == GC_INFO_PARAMETERS && size == 8) {
            *base = (uint32_t)info[8] | (uint32_t)info[9] << 8;
            return true;
        }
        at += 4 + size;
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
    thread->registers[GC_REGISTER_ZERO] = known(0);
    thread->uniforms[thread->uniform_zero] = known(0);
    thread->predicates[GC_PREDICATE_TRUE] = thread->uniform_predicates[GC_PREDICATE_TRUE] = known(1);
    return GPUCHAR_OK;
}

static void touch_uniforms(gc_thread *thread, uint32_t first, uint32_t count) {
    forget(thread->uniforms, first, count, thread->uniform_zero);
    for (uint32_t i = first; i < first + count && i < thread->uniform_zero; i++) thread->uniform_fresh[i] = true;
}

void gc_thread_settle_uniforms(gc_thread *thread, bool apart) {
    for (uint32_t i = 0; i < thread->uniform_zero && apart; i++)
        if (thread->uniform_fresh[i]) thread->uniforms[i] = UNKNOWN;
    memset(thread->uniform_fresh, 0, sizeof thread->uniform_fresh);
    if (apart) forget(thread->uniform_predicates, 0, 8, GC_PREDICATE_TRUE);
}

/* ---- operands ---- */

static uint32_t field(gc_word word, uint32_t high, uint32_t low) {
    return (uint32_t)gc_bits(word, high, low);
}

static gc_value predicate(const gc_value *file, uint32_t number, uint32_t negated) {
    const gc_value value = file[number & 7];
    return value.known ? known(value.bits ^ negated) : UNKNOWN;
}

static gc_value both(gc_value a, gc_value b) {
    if ((a.known && !a.bits) || (b.known && !b.bits)) return known(0);
    return a.known && b.known ? known(1) : UNKNOWN;
}

/* Bytes of constant bank 0; known are the kernel's parameters only, and of them what every launch has. */
static gc_value constant(const gc_thread *thread, uint32_t bank, uint32_t offset, uint32_t bytes) {
    const uint32_t at = offset - thread->parameter_base;
    if (bank != 0 || offset < thread->parameter_base || at > thread->parameter_bytes ||
        bytes > thread->parameter_bytes - at)
        return UNKNOWN;
    uint32_t value = 0;
    for (uint32_t i = 0; i < bytes; i++)
        if (!thread->told[at + i]) return UNKNOWN;
    memcpy(&value, thread->parameters + at, bytes);
    return known(value);
}

static gc_value uniform_at(const gc_thread *thread, gc_word word, uint32_t low) {
    return thread->uniforms[field(word, low + 7, low) & thread->uniform_zero];
}

/* The operand that is not always a register: b, or c in the forms that swap them. */
static gc_value flexible(const gc_thread *thread, gc_word word, uint16_t form) {
    switch (form) {
    case 1:
        return thread->registers[field(word, 39, 32)];
    case 2:
    case 4:
        return known(field(word, 63, 32));
    case 3:
    case 5:
        return constant(thread, field(word, 58, 54), field(word, 53, 38), 4);
    case 14:
    case 15:
        return uniform_at(thread, word, 32);
    default:
        return UNKNOWN;
    }
}

typedef struct operands {
    gc_value a, b, c;
} operands;

/* Forms 2, 3 and 15 have the flexible operand in the place of c and the register of b at [71:64]. */
static operands read_three(const gc_thread *thread, gc_word word, uint16_t form) {
    const gc_value other = thread->registers[field(word, 71, 64)], moved = flexible(thread, word, form);
    const bool swapped = form == 2 || form == 3 || form == 15;
    return (operands){thread->registers[field(word, 31, 24)], swapped ? other : moved, swapped ? moved : other};
}

/* b carries its sign at 63, unless it is an immediate, which includes it. */
static bool has_sign_at_63(uint16_t form) {
    return form == 1 || form == 5 || form == 14;
}

static gc_value negated(gc_value value, bool negate) {
    return value.known && negate ? known(0u - value.bits) : value;
}

static gc_value sum(gc_value a, gc_value b) {
    return a.known && b.known ? known(a.bits + b.bits) : UNKNOWN;
}

/* ---- instructions ---- */

static void write_register(gc_thread *thread, gc_word word, gc_value value) {
    const uint32_t number = field(word, 23, 16);
    if (number != GC_REGISTER_ZERO) thread->registers[number] = value;
}

static void write_predicate(gc_thread *thread, uint32_t number, gc_value value) {
    if (number != GC_PREDICATE_TRUE) thread->predicates[number] = value;
}

static void step_mov(gc_thread *thread, gc_word word, uint16_t form) {
    /* Lane mask complete, and not the 64-bit form. */
    const bool plain = field(word, 75, 72) == 15 && !field(word, 80, 80);
    write_register(thread, word, plain ? flexible(thread, word, form) : UNKNOWN);
    if (field(word, 80, 80)) forget(thread->registers, field(word, 23, 16), 2, GC_REGISTER_ZERO);
}

static void step_iadd3(gc_thread *thread, gc_word word, uint16_t form) {
    const operands in = read_three(thread, word, form);
    const bool negate_b = has_sign_at_63(form) && field(word, 63, 63);
    gc_value result =
        sum(sum(negated(in.a, field(word, 72, 72)), negated(in.b, negate_b)), negated(in.c, field(word, 75, 75)));
    /* .X takes carries in; where the sign of a c that is no register stands was never seen. */
    const bool swapped = form == 2 || form == 3 || form == 15;
    if (field(word, 74, 74) || (swapped && (field(word, 63, 63) || field(word, 75, 75)))) result = UNKNOWN;
    write_register(thread, word, result);
    write_predicate(thread, field(word, 83, 81), UNKNOWN);
    write_predicate(thread, field(word, 86, 84), UNKNOWN);
}

/* VIADD and, on sm_120, IADD: two operands. Their halves, 64-bit and carry forms are not evaluated. */
static void step_add2(gc_thread *thread, gc_word word, uint16_t form, const gc_instruction *in) {
    const bool is_iadd = (in->opcode & 0x1ff) == 0x035;
    const bool negate_a = is_iadd && field(word, 72, 72), negate_b = has_sign_at_63(form) && field(word, 63, 63);
    const gc_value a = thread->registers[field(word, 31, 24)], b = flexible(thread, word, form);
    const bool plain = !field(word, 80, 73) && (is_iadd || !field(word, 72, 72));
    write_register(thread, word, plain ? sum(negated(a, negate_a), negated(b, negate_b)) : UNKNOWN);
    if (!is_iadd) return;
    write_predicate(thread, field(word, 83, 81), UNKNOWN);
    if (field(word, 73, 73)) forget(thread->registers, field(word, 23, 16), 2, GC_REGISTER_ZERO);
}

/* Only what moves: 0 times anything, plus c. */
static void step_imad(gc_thread *thread, gc_word word, uint16_t form) {
    const operands in = read_three(thread, word, form);
    const bool moves = field(word, 31, 24) == GC_REGISTER_ZERO && !field(word, 72, 72) && !field(word, 80, 74);
    const bool signless = !(form == 3 || form == 15) || !field(word, 63, 63);
    write_register(thread, word, moves && signless ? in.c : UNKNOWN);
}

static void step_lop3(gc_thread *thread, gc_word word, uint16_t form) {
    const operands in = read_three(thread, word, form);
    const uint32_t table = field(word, 79, 72);
    gc_value result = UNKNOWN;
    if (in.a.known && in.b.known && in.c.known) {
        result = known(0);
        for (uint32_t row = 0; row < 8; row++) {
            const uint32_t a = row & 4 ? in.a.bits : ~in.a.bits, b = row & 2 ? in.b.bits : ~in.b.bits;
            if (table >> row & 1) result.bits |= a & b & (row & 1 ? in.c.bits : ~in.c.bits);
        }
    }
    write_register(thread, word, result);
    const gc_value other = predicate(thread->predicates, field(word, 89, 87), field(word, 90, 90));
    const gc_value set = result.known ? known(result.bits != 0) : UNKNOWN;
    gc_value out = UNKNOWN;
    if (set.known && other.known) out = known(field(word, 80, 80) ? set.bits & other.bits : set.bits | other.bits);
    write_predicate(thread, field(word, 83, 81), out);
}

static bool compares(uint32_t how, bool is_signed, uint32_t a, uint32_t b) {
    const int64_t x = is_signed ? (int64_t)(int32_t)a : (int64_t)a, y = is_signed ? (int64_t)(int32_t)b : (int64_t)b;
    /* Bit 0: less, bit 1: equal, bit 2: greater. */
    return (how & 1 && x < y) || (how & 2 && x == y) || (how & 4 && x > y);
}

static void step_isetp(gc_thread *thread, gc_word word, uint16_t form) {
    const gc_value a = thread->registers[field(word, 31, 24)], b = flexible(thread, word, form);
    const gc_value other = predicate(thread->predicates, field(word, 89, 87), field(word, 90, 90));
    const uint32_t join = field(word, 75, 74);
    gc_value out = UNKNOWN;
    /* .EX goes on with another compare; on sm_120 bit 80 makes it one of 64 bits. */
    const bool plain = !field(word, 72, 72) && !field(word, 80, 79) && join < 3;
    if (a.known && b.known && other.known && plain) {
        const uint32_t is = compares(field(word, 78, 76), field(word, 73, 73), a.bits, b.bits);
        out = known(join == 0 ? is & other.bits : join == 1 ? is | other.bits : is ^ other.bits);
    }
    write_predicate(thread, field(word, 83, 81), out);
    write_predicate(thread, field(word, 86, 84), UNKNOWN);
}

/* Bytes by the size field of constant loads; 0: more than two registers, or signed. */
static uint32_t constant_bytes(uint32_t size) {
    static const uint8_t BYTES[8] = {1, 0, 2, 0, 4, 8, 0, 0};
    return BYTES[size];
}

/* The byte offset stands at [53:`low`]. */
static void load_constant(const gc_thread *thread, gc_word word, uint32_t low, gc_value index, gc_value out[2]) {
    const uint32_t bytes = constant_bytes(field(word, 75, 73)), bank = field(word, 58, 54);
    const uint32_t offset = (uint32_t)gc_sign_extend(gc_bits(word, 53, low), 54 - low) + index.bits;
    out[0] = out[1] = UNKNOWN;
    if (!index.known || !bytes || field(word, 79, 78)) return;
    out[0] = constant(thread, bank, offset, bytes < 4 ? bytes : 4);
    if (bytes == 8) out[1] = constant(thread, bank, offset + 4, 4);
}

static void step_ldc(gc_thread *thread, gc_word word, const gc_instruction *in) {
    gc_value out[2];
    load_constant(thread, word, 38, thread->registers[field(word, 31, 24)], out);
    forget(thread->registers, in->destination, in->destination_count, GC_REGISTER_ZERO);
    write_register(thread, word, out[0]);
    if (in->destination_count == 2 && in->destination + 1 < GC_REGISTER_ZERO)
        thread->registers[in->destination + 1] = out[1];
}

/* ULDC has no index; LDCU (sm_100) may have one in a uniform register. */
static void step_uniform_constant(gc_thread *thread, gc_word word, bool indexed) {
    gc_value out[2];
    const uint32_t to = field(word, 23, 16) & thread->uniform_zero, size = field(word, 75, 73);
    const uint32_t count = size <= 4 ? 1 : size == 5 ? 2 : 4;
    load_constant(thread, word, indexed ? 37 : 38, indexed ? uniform_at(thread, word, 24) : known(0), out);
    touch_uniforms(thread, to, count);
    if (to != thread->uniform_zero) thread->uniforms[to] = out[0];
    if (size == 5 && to + 1 < thread->uniform_zero) thread->uniforms[to + 1] = out[1];
}

/* Other forms of these read another bank, by a handle, or more than two registers. */
static void step_constant(gc_thread *thread, gc_word word, const gc_instruction *in) {
    if (in->opcode == 0xb82)
        step_ldc(thread, word, in);
    else if (in->opcode == 0xab9 || (in->opcode == 0x17ac && !field(word, 80, 80)))
        step_uniform_constant(thread, word, in->opcode == 0x17ac);
    else
        gc_thread_forget(thread);
}

static void step_umov(gc_thread *thread, gc_word word, uint16_t form) {
    const uint32_t to = field(word, 23, 16) & thread->uniform_zero;
    touch_uniforms(thread, to, 2);
    if (to != thread->uniform_zero && (form == 4 || form == 14) && !field(word, 80, 80))
        thread->uniforms[to] = flexible(thread, word, form);
}

static void step_special(gc_thread *thread, gc_word word, const gc_instruction *in) {
    write_register(thread, word, in->special == GC_SR_TID_X ? known(thread->index) : UNKNOWN);
}

/* What neither writes predicates nor uniform registers: its own registers are told by the decoder. */
static bool writes_registers_only(uint16_t low) {
    /* FMUL FADD FFMA HFMA2 MUFU CS2R NOP STG STS PRMT SHF, BSYNC BSSY WARPSYNC */
    static const uint16_t PLAIN[] = {0x020, 0x021, 0x023, 0x031, 0x108, 0x005, 0x118,
                                     0x186, 0x188, 0x016, 0x019, 0x141, 0x145, 0x148};
    for (size_t i = 0; i < sizeof PLAIN / sizeof PLAIN[0]; i++)
        if (low == PLAIN[i]) return true;
    return false;
}

static void step_other(gc_thread *thread, const gc_instruction *in) {
    if (in->whole_block) return;
    /* The uniform datapath writes uniform registers and predicates, nothing else. */
    if (in->mnemonic[0] == 'U') {
        touch_uniforms(thread, 0, thread->uniform_zero);
        forget(thread->uniform_predicates, 0, 8, GC_PREDICATE_TRUE);
        return;
    }
    if (!writes_registers_only(in->opcode & 0x1ff) || !in->writes_known)
        gc_thread_forget(thread);
    else
        forget(thread->registers, in->destination, in->destination_count, GC_REGISTER_ZERO);
}

/* Loads tell in a predicate whether they worked, LEA its carry; their results are unknown. */
static void step_with_predicate(gc_thread *thread, gc_word word, const gc_instruction *in) {
    forget(thread->registers, in->destination, in->destination_count, GC_REGISTER_ZERO);
    write_predicate(thread, field(word, 83, 81), UNKNOWN);
}

/* From a barrier register to a vector register, or, the other opcodes, the other way round. */
static void step_bmov(gc_thread *thread, gc_word word, uint16_t low) {
    if (low == 0x155) forget(thread->registers, field(word, 23, 16), 2, GC_REGISTER_ZERO);
}

static void step_uniform_special(gc_thread *thread, gc_word word) {
    touch_uniforms(thread, field(word, 23, 16) & thread->uniform_zero, 2);
}

static void step_known(gc_thread *thread, gc_word word, const gc_instruction *in) {
    const uint16_t form = GC_FORM(in->opcode);
    switch (in->opcode & 0x1ff) {
    case 0x002:
        step_mov(thread, word, form);
        break;
    case 0x010:
        step_iadd3(thread, word, form);
        break;
    case 0x036:
        step_add2(thread, word, form, in);
        break;
    case 0x035:
        if (thread->arch >= 120)
            step_add2(thread, word, form, in);
        else
            write_register(thread, word, UNKNOWN); /* HFMA2.MMA */
        break;
    case 0x024:
        step_imad(thread, word, form);
        break;
    case 0x012:
        step_lop3(thread, word, form);
        break;
    case 0x00c:
        step_isetp(thread, word, form);
        break;
    case 0x182:
    case 0x0b9:
    case 0x1ac:
        step_constant(thread, word, in);
        break;
    case 0x082:
        step_umov(thread, word, form);
        break;
    case 0x119:
        step_special(thread, word, in);
        break;
    case 0x0cb:
    case 0x1c3:
        step_uniform_special(thread, word);
        break;
    case 0x011:
    case 0x181:
        if (in->writes_known)
            step_with_predicate(thread, word, in);
        else
            gc_thread_forget(thread);
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

static gc_word word_of(const gc_code *code, const gc_instruction *in) {
    gc_word word;
    const uint8_t *at = code->bytes + (in->pc - code->offset);
    memcpy(&word.low, at, sizeof word.low);
    memcpy(&word.high, at + 8, sizeof word.high);
    return word;
}

/* The uniform datapath has guards of its own, which are not told apart here. */
static bool is_uniform_datapath(const gc_instruction *in) {
    return in->mnemonic && (in->mnemonic[0] == 'U' || (in->opcode & 0x1ff) == 0x1ac);
}

gc_value gc_thread_guard(const gc_thread *thread, const gc_instruction *in) {
    if (is_uniform_datapath(in) && in->guard != GC_PREDICATE_TRUE) return UNKNOWN;
    return predicate(thread->predicates, in->guard, in->guard_not);
}

gc_value gc_thread_branches(const gc_thread *thread, const gc_code *code, const gc_instruction *in) {
    gc_value taken = gc_thread_guard(thread, in);
    if ((in->opcode & 0x1ff) == 0x147) {
        const gc_word word = word_of(code, in);
        taken = both(taken, predicate(thread->predicates, in->second, in->second_not));
        if (in->opcode == 0x1547)
            taken = both(taken, predicate(thread->uniform_predicates, field(word, 26, 24), field(word, 27, 27)));
        /* .DIV and .CONV ask for the rest of the warp; a register decides in form 12. */
        if (in->condition >= 2 || in->opcode == 0x1947) taken = both(taken, UNKNOWN);
    }
    return taken;
}

void gc_thread_step(gc_thread *thread, const gc_code *code, const gc_instruction *in) {
    const gc_value works = gc_thread_guard(thread, in);
    if (works.known && !works.bits) return;
    if (works.known && in->mnemonic) {
        step_known(thread, word_of(code, in), in);
        return;
    }
    gc_thread_forget(thread);
}
