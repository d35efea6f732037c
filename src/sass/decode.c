#include <sass/decode.h>
#include <sass/mnemonics.h>
#include <sass/operands.h>
#include <string.h>

#define GC_SR_CLOCK_HIGH 0x51

static bool guarded(const gc_instruction *in) {
    return in->guard != GC_PREDICATE_TRUE || in->guard_not;
}

static bool has_second(const gc_instruction *in) {
    return in->second != GC_PREDICATE_TRUE || in->second_not;
}

/* Immediate of branches: 48 bits, from sm_90 on 56 bits of which the low 8 stand apart. In units of 4 bytes. */
static uint64_t branch_target(const gc_code *code, gc_word word, uint64_t pc) {
    uint64_t offset = gc_bits(word, 81, 34);
    uint32_t width = 48;
    if (code->arch >= 90) {
        offset = offset << 8 | gc_bits(word, 23, 16);
        width = 56;
    }
    return pc + 16 + gc_sign_extend(offset, width) * 4;
}

static bool inside(const gc_code *code, uint64_t pc) {
    return pc >= code->offset && pc - code->offset < code->size;
}

static void decode_bra(const gc_code *code, gc_word word, gc_instruction *in) {
    in->kind = GC_OP_BRANCH;
    in->target = branch_target(code, word, in->pc);
    in->condition = (uint8_t)gc_bits(word, 33, 32);
    in->mode = (uint8_t)gc_bits(word, 86, 85);
    in->conditional = guarded(in) || has_second(in);
    in->uniform = in->condition != 0;
    if (in->opcode == 0x1547) {
        const bool by_predicate = gc_bits(word, 26, 24) != GC_PREDICATE_TRUE || gc_bits(word, 27, 27);
        in->conditional = in->conditional || by_predicate;
        in->uniform = !guarded(in);
    } else if (in->opcode == 0x1947) {
        in->conditional = true;
        in->uniform = !guarded(in);
    }
    /* .DIV and .CONV ask whether the warp is whole, which is one answer for all of it. */
    if (in->condition >= 2) in->conditional = in->uniform = true;
}

static void decode_call(const gc_code *code, gc_word word, gc_instruction *in) {
    in->kind = GC_OP_CALL;
    in->mode = (uint8_t)gc_bits(word, 86, 86);
    if (in->opcode != GC_OPCODE_CALL_REL) return;
    in->target = branch_target(code, word, in->pc);
    /*
     * sm_80 to sm_89 branch this way: without a return address, to a label of the same function. To its first instruction
     * it is a function that calls itself.
     */
    if (gc_bits(word, 86, 86) && inside(code, in->target) && in->target != code->offset) {
        in->kind = GC_OP_BRANCH;
        in->conditional = guarded(in);
    }
}

static void decode_barrier(gc_word word, gc_op_kind kind, gc_instruction *in) {
    in->kind = (uint8_t)kind;
    in->barrier = (uint8_t)gc_bits(word, 19, 16);
    in->barrier_class = (uint8_t)gc_bits(word, 73, 72);
    if (kind == GC_OP_BSSY) in->target = in->pc + 16 + gc_sign_extend(gc_bits(word, 63, 34), 30) * 4;
}

static void decode_control(const gc_code *code, gc_word word, gc_instruction *in) {
    switch (in->opcode) {
    case 0x947:
    case 0x1947:
    case 0x1547:
        decode_bra(code, word, in);
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
    case 0x1958:
        in->kind = GC_OP_INDIRECT;
        break;
    case 0x94a:
    case 0x194a:
    case 0x154a:
    case 0xb4a:
    case 0x1b4a:
    case 0x174a:
    case 0x94c:
    case 0x1959:
        in->kind = GC_OP_JUMP;
        break;
    case 0x950:
    case 0x1950:
        in->kind = GC_OP_RETURN;
        break;
    case 0x94d:
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
        in->whole_warp = in->opcode == 0x948 &&
                         (code->arch >= 90 ? gc_bits(word, 86, 85) == 0 : gc_bits(word, 63, 32) == 0xffffffff);
        if (code->arch >= 90 && gc_bits(word, 86, 85) == 2) in->target = branch_target(code, word, in->pc);
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
        /* Out of a barrier its number stands where b does, into one where the destination does. */
        in->barrier = (uint8_t)((in->opcode & 0x1ff) == 0x155 ? gc_bits(word, 27, 24) : gc_bits(word, 19, 16));
        if (in->opcode == 0x355) in->destination = (uint16_t)gc_bits(word, 23, 16);
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
        if (in->special == GC_SPECIAL_CLOCK || in->special == GC_SR_CLOCK_HIGH) in->kind = GC_OP_CLOCK;
        break;
    default:
        break;
    }
}

static void decode_common(gc_word word, gc_instruction *in) {
    in->opcode = (uint16_t)(gc_bits(word, 11, 0) | gc_bits(word, 91, 91) << 12);
    in->target = GC_NO_TARGET;
    in->special = GC_SPECIAL_NONE;
    in->guard = (uint8_t)gc_bits(word, 14, 12);
    in->guard_not = (uint8_t)gc_bits(word, 15, 15);
    in->second = (uint8_t)gc_bits(word, 89, 87);
    in->second_not = (uint8_t)gc_bits(word, 90, 90);
    in->stall = (uint8_t)gc_bits(word, 108, 105);
    in->yield = (uint8_t)gc_bits(word, 109, 109);
    in->write_barrier = (uint8_t)gc_bits(word, 112, 110);
    in->read_barrier = (uint8_t)gc_bits(word, 115, 113);
    in->wait_mask = (uint8_t)gc_bits(word, 121, 116);
    in->reuse = (uint8_t)gc_bits(word, 124, 122);
    in->never = in->guard == GC_PREDICATE_TRUE && in->guard_not;
}

/*
 * From sm_100 on, register forms of these become another instruction (half-precision inputs) by bit 81 alone: an FFMA
 * that is not one.
 */
static const char *mixed_precision(const gc_code *code, gc_word word, const gc_instruction *in) {
    if (code->arch < 100 || !gc_bits(word, 81, 81)) return NULL;
    switch (in->opcode) {
    case 0x223:
    case 0x1c23:
    case 0x1e23:
        return "FHFMA";
    case 0x221:
    case 0x1e21:
        return "FHADD";
    case 0x1255:
        return "UFHFMA";
    case 0x1254:
        return "UFHADD";
    default:
        return NULL;
    }
}

void gc_decode(const gc_code *code, size_t offset, gc_instruction *instruction) {
    memset(instruction, 0, sizeof *instruction);
    gc_word word;
    memcpy(&word.low, code->bytes + offset, sizeof word.low);
    memcpy(&word.high, code->bytes + offset + 8, sizeof word.high);
    instruction->pc = code->offset + offset;
    decode_common(word, instruction);
    const char *mixed = mixed_precision(code, word, instruction);
    instruction->mnemonic = mixed ? mixed : gc_mnemonic(code->arch, instruction->opcode);
    gc_decode_operands(code->arch, word, instruction);
    decode_families(code, word, instruction);
    decode_control(code, word, instruction);
}
