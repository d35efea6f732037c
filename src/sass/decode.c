#include <sass/decode.h>
#include <sass/decode64.h>
#include <sass/mnemonics.h>
#include <sass/operands.h>
#include <string.h>

static bool guarded(const gc_instruction *in) {
    return in->guard != GC_PREDICATE_TRUE || in->guard_not;
}

static bool has_second(const gc_instruction *in) {
    return in->second != GC_PREDICATE_TRUE || in->second_not;
}

/* Immediate of branches: 48 bits, from sm_90 on 56 bits of which the low 8 stand apart. In units of 4 bytes. */
static uint64_t distance(const gc_code *code, gc_word word) {
    const uint64_t high = gc_bits(word, 81, 34);
    if (code->arch < 90) return gc_sign_extend(high, 48) * 4;
    return gc_sign_extend(high << 8 | gc_bits(word, 23, 16), 56) * 4;
}

static uint64_t branch_target(const gc_code *code, gc_word word, uint64_t pc) {
    return pc + 16 + distance(code, word);
}

static bool inside(const gc_code *code, uint64_t pc) {
    return pc >= code->offset && pc - code->offset < code->size;
}

/* BRA and JMP: .INC, .DEC, and from sm_90 on with .U or a uniform predicate .ANY, taken when any thread asks for it. */
static uint8_t counts_and_any(const gc_code *code, gc_word word, const gc_instruction *in) {
    const uint16_t low = in->opcode & 0x1ff;
    const bool asks = gc_bits(word, 33, 32) == 1 || (in->opcode >> 9) == 10;
    const bool any = code->arch >= 90 && (low == 0x147 || low == 0x14a) && asks && gc_bits(word, 84, 84);
    return (uint8_t)(gc_bits(word, 86, 85) | (any ? 4 : 0));
}

static void decode_bra(const gc_code *code, gc_word word, uint16_t opcode, gc_instruction *in) {
    in->kind = GC_OP_BRANCH;
    in->target = branch_target(code, word, in->pc);
    in->condition = (uint8_t)gc_bits(word, 33, 32);
    in->mode = counts_and_any(code, word, in);
    in->conditional = guarded(in) || has_second(in);
    in->uniform = in->condition != 0;
    if (opcode == 0x1547) {
        const bool by_predicate = gc_bits(word, 26, 24) != GC_PREDICATE_TRUE || gc_bits(word, 27, 27);
        in->conditional = in->conditional || by_predicate;
        in->uniform = !guarded(in) && !has_second(in);
    } else if (opcode == 0x1947) {
        in->conditional = true;
        in->uniform = !guarded(in) && !has_second(in);
    }
    /*
     * .DIV and .CONV ask whether the warp is whole, which is one answer for all of it. They begin what is done for a warp that is
     * not, and are no divergence of the program's own, whatever guard stands beside them.
     */
    if (in->condition >= 2) in->conditional = in->uniform = true;
}

static void decode_call(const gc_code *code, gc_word word, gc_instruction *in) {
    in->kind = GC_OP_CALL;
    in->mode = (uint8_t)gc_bits(word, 86, 86);
    if (in->opcode == 0x943) in->target = distance(code, word);
    if (in->opcode != GC_OPCODE_CALL_REL) return;
    in->target = branch_target(code, word, in->pc);
    /*
     * sm_80 to sm_89 branch this way: without a return address, to a label of the same function. To its first instruction
     * it is a function that calls itself.
     */
    if (in->mode && inside(code, in->target) && in->target != code->offset) {
        in->kind = GC_OP_BRANCH;
        in->conditional = guarded(in) || has_second(in);
    }
}

static void decode_barrier(gc_word word, gc_op_kind kind, gc_instruction *in) {
    in->kind = (uint8_t)kind;
    in->barrier = (uint8_t)gc_bits(word, 19, 16);
    in->barrier_class = (uint8_t)gc_bits(word, 73, 72);
    if (kind == GC_OP_BSSY) in->target = in->pc + 16 + gc_sign_extend(gc_bits(word, 63, 34), 30) * 4;
}

/* JMP with a uniform register or predicate asks for more than its guard, like BRA. */
static void decode_jump(const gc_code *code, gc_word word, gc_instruction *in) {
    const uint16_t low = in->opcode & 0x1ff;
    in->kind = GC_OP_JUMP;
    in->mode = counts_and_any(code, word, in);
    if (in->opcode != 0x94c && in->opcode != 0x194c) in->condition = (uint8_t)gc_bits(word, 33, 32);
    if (low == 0x14a && in->opcode != 0xb4a && in->opcode != 0x1b4a && in->opcode != 0x174a)
        in->target = distance(code, word);
    in->uniform = in->opcode == 0x1959 && !guarded(in);
}

/* Up to sm_75 bit 91 says nothing in an instruction that takes no register there. */
static uint16_t opcode_of(const gc_code *code, const gc_instruction *in) {
    const uint16_t opcode = in->opcode & 0xfff;
    if (code->arch > 75) return in->opcode;
    switch (opcode) {
    case 0x918:
    case 0x941:
    case 0x942:
    case 0x945:
    case 0x946:
    case 0x947:
    case 0x94d:
    case 0x95b:
        return opcode;
    default:
        return in->opcode;
    }
}

static void decode_control(const gc_code *code, gc_word word, gc_instruction *in) {
    const uint16_t opcode = opcode_of(code, in);
    switch (opcode) {
    case 0x947:
    case 0x1947:
    case 0x1547:
        decode_bra(code, word, opcode, in);
        return;
    case 0x944:
    case 0x344:
    case 0x1944:
    case 0x943:
    case 0x343:
    case 0xb43:
    case 0x1943:
        decode_call(code, word, in);
        return;
    case 0x945:
        decode_barrier(word, GC_OP_BSSY, in);
        return;
    case 0x941:
        decode_barrier(word, GC_OP_BSYNC, in);
        return;
    case 0x942:
        decode_barrier(word, GC_OP_BREAK, in);
        return;
    case 0x949:
    case 0x1949: /* the same, up to sm_75 */
    case 0x1958:
        in->kind = GC_OP_INDIRECT;
        in->condition = in->opcode == 0x1958 ? (uint8_t)gc_bits(word, 33, 32) : 0;
        in->mode = (uint8_t)gc_bits(word, 86, 85);
        in->uniform = in->opcode == 0x1958 && !guarded(in);
        break;
    case 0x94a:
    case 0x194a:
    case 0x154a:
    case 0xb4a:
    case 0x1b4a:
    case 0x174a:
    case 0x94c:
    case 0x194c:
    case 0x1959:
        decode_jump(code, word, in);
        break;
    case 0x950:
    case 0x1950:
        in->kind = GC_OP_RETURN;
        in->mode = (uint8_t)gc_bits(word, 86, 85);
        break;
    case 0x94d:
        in->mode = (uint8_t)gc_bits(word, 86, 84); /* fall through */
    case 0x95b:
        in->kind = GC_OP_EXIT;
        break;
    case 0x946:
        in->kind = GC_OP_YIELD;
        return;
    case 0x918:
        in->kind = GC_OP_NOP;
        return;
    default:
        return;
    }
    in->conditional = guarded(in) || has_second(in);
}

/* Opcodes of which every operand form does the same. */
static void decode_families(const gc_code *code, gc_word word, gc_instruction *in) {
    switch (in->opcode & 0x1ff) {
    case 0x148:
        in->kind = GC_OP_WARPSYNC;
        in->mode = (uint8_t)gc_bits(word, 86, 85);
        /* sm_90 has a form without mask, .ALL; before, the mask is an immediate or a register. */
        in->whole_warp =
            in->opcode == 0x948 && (code->arch >= 90 ? in->mode == 0 : gc_bits(word, 63, 32) == 0xffffffff);
        in->mask = in->opcode == 0x948 ? code->arch >= 90 ? UINT32_MAX : (uint32_t)gc_bits(word, 63, 32) : 0;
        if (code->arch >= 90 && in->mode == 2) in->target = branch_target(code, word, in->pc);
        break;
    case 0x108:
        in->function = (uint8_t)gc_bits(word, 77, 74);
        break;
    case 0x11d: /* the other modes arrive without waiting, or reduce */
        in->whole_block = in->opcode == 0xb1d && gc_bits(word, 79, 77) == 0;
        break;
    case 0x155:
    case 0x156:
    case 0x157:
        in->kind = GC_OP_BMOV;
        in->clear = gc_bits(word, 84, 84) != 0;
        /* Numbers from 16 on are other registers, of the trap handler and of the thread's state. */
        in->barrier = (uint8_t)gc_bits(word, 29, 24);
        if (in->opcode == 0x355) in->destination = (uint16_t)gc_bits(word, 23, 16);
        break;
    case 0x15c:
        in->mode = (uint8_t)gc_bits(word, 86, 84); /* BPT: what kind of stop */
        break;
    case 0x15d:
        in->kind = GC_OP_NANOSLEEP;
        break;
    case 0x005:
    case 0x0cb:
    case 0x119:
    case 0x1c3:
        in->special = (uint16_t)gc_bits(word, 79, 72);
        /* CS2R and CS2UR say by bit 80 whether they read 64 bits; S2R and S2UR never do. */
        in->wide = ((in->opcode & 0x1ff) == 0x005 || (in->opcode & 0x1ff) == 0x0cb) && gc_bits(word, 80, 80);
        if (in->special == GC_SPECIAL_CLOCK || in->special == GC_SPECIAL_CLOCK_HIGH) in->kind = GC_OP_CLOCK;
        break;
    default:
        break;
    }
}

/* Other instructions have other things in those bits. By opcode bits [8:0]. */
static bool has_second_field(uint32_t low) {
    /* BSYNC to JMP, JMX, EXIT, RET, BRXU, JMXU, KILL, NANOSLEEP, from 0x140 on. */
    const uint32_t control = 0x000037fe | 1u << 0x10 | 1u << 0x18 | 1u << 0x19 | 1u << 0x1b | 1u << 0x1d;
    return (low >= 0x140 && low < 0x160 && (control >> (low - 0x140) & 1)) || low == 0x11b; /* ENDCOLLECTIVE */
}

static void decode_common(gc_word word, gc_instruction *in) {
    in->opcode = (uint16_t)(gc_bits(word, 11, 0) | gc_bits(word, 91, 91) << 12);
    in->target = GC_NO_TARGET;
    in->special = GC_SPECIAL_NONE;
    in->guard = (uint8_t)gc_bits(word, 14, 12);
    in->guard_not = (uint8_t)gc_bits(word, 15, 15);
    in->second = GC_PREDICATE_TRUE;
    if (has_second_field(in->opcode & 0x1ff)) {
        in->second = (uint8_t)gc_bits(word, 89, 87);
        in->second_not = (uint8_t)gc_bits(word, 90, 90);
    }
    in->stall = (uint8_t)gc_bits(word, 108, 105);
    in->yield = (uint8_t)gc_bits(word, 109, 109);
    in->write_barrier = (uint8_t)gc_bits(word, 112, 110);
    in->read_barrier = (uint8_t)gc_bits(word, 115, 113);
    in->wait_mask = (uint8_t)gc_bits(word, 121, 116);
    in->reuse = (uint8_t)gc_bits(word, 124, 122);
    in->never = in->guard == GC_PREDICATE_TRUE && in->guard_not;
}

/*
 * From sm_100 on, some opcodes are another instruction by bits elsewhere: with half-precision inputs (an FFMA that is not
 * one), without carries, or for another kind of matrix. NULL: what the opcode says.
 */
static const char *by_other_bits(const gc_code *code, gc_word word, uint16_t opcode) {
    const bool half = gc_bits(word, 81, 81) != 0;
    const bool no_carry = (code->arch == 100 || code->arch == 103) && gc_bits(word, 76, 76);
    const uint64_t matrix = gc_bits(word, 73, 72);
    switch (opcode & 0x1ff) {
    case 0x023:
        return half && (opcode == 0x223 || opcode == 0x1c23 || opcode == 0x1e23) ? "FHFMA" : NULL;
    case 0x021:
        return half && (opcode == 0x221 || opcode == 0x1e21) ? "FHADD" : NULL;
    case 0x055:
        return half && opcode == 0x1255 ? "UFHFMA" : NULL;
    case 0x054:
        return half && opcode == 0x1254 ? "UFHADD" : NULL;
    case 0x010:
        return no_carry ? "IADD" : NULL;
    case 0x024:
    case 0x025:
        return no_carry ? "IMUL" : NULL;
    case 0x1ea:
        if (opcode != 0x15ea && opcode != 0x19ea) return NULL;
        if (gc_bits(word, 63, 63)) return "UTCOMMA";
        return matrix == 3 ? "UTCQMMA" : matrix == 1 ? "UTCIMMA" : NULL;
    default:
        return NULL;
    }
}

void gc_decode(const gc_code *code, size_t offset, gc_instruction *instruction) {
    if (code->arch < 70) {
        gc_decode64(code, offset, instruction);
        return;
    }
    memset(instruction, 0, sizeof *instruction);
    gc_word word;
    memcpy(&word.low, code->bytes + offset, sizeof word.low);
    memcpy(&word.high, code->bytes + offset + 8, sizeof word.high);
    instruction->pc = code->offset + offset;
    decode_common(word, instruction);
    instruction->mnemonic = gc_mnemonic(code->arch, instruction->opcode);
    const char *other =
        code->arch >= 100 && instruction->mnemonic ? by_other_bits(code, word, instruction->opcode) : NULL;
    if (other) instruction->mnemonic = other;
    gc_decode_operands(code->arch, word, instruction);
    decode_families(code, word, instruction);
    /* All control flow, NOP among it. */
    if ((instruction->opcode & 0x100) && (instruction->opcode & 0x1ff) < 0x160) decode_control(code, word, instruction);
}
