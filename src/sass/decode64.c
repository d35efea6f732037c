#include <sass/decode64.h>
#include <sass/mnemonics.h>
#include <sass/operands.h>
#include <string.h>

/* How a control instruction's fields are read. */
typedef enum form {
    FORM_BARE,     /* guard and condition code */
    FORM_RELATIVE, /* the same, a target 24 bits away */
    FORM_ABSOLUTE, /* the same, a target of 32 bits */
    FORM_PUSH,     /* no guard, a target 24 bits away */
    FORM_PUSH_ABSOLUTE
} form;

typedef struct control {
    uint8_t kind; /* gc_op_kind */
    uint8_t form;
} control;

/* By bits [63:52] from 0xe20 on. */
static const control CONTROLS[] = {
    {GC_OP_JUMP, FORM_BARE},          /* JMX */
    {GC_OP_JUMP, FORM_ABSOLUTE},      /* JMP */
    {GC_OP_CALL, FORM_PUSH_ABSOLUTE}, /* JCAL */
    {GC_OP_PUSH, FORM_PUSH},          /* PEXIT */
    {GC_OP_BRANCH, FORM_RELATIVE},    /* BRA */
    {GC_OP_INDIRECT, FORM_BARE},      /* BRX */
    {GC_OP_CALL, FORM_PUSH},          /* CAL */
    {GC_OP_PUSH, FORM_PUSH},          /* PRET */
    {GC_OP_PUSH, FORM_PUSH},          /* PLONGJMP */
    {GC_OP_PUSH, FORM_PUSH},          /* SSY */
    {GC_OP_PUSH, FORM_PUSH},          /* PBK */
    {GC_OP_PUSH, FORM_PUSH},          /* PCNT */
    {GC_OP_OTHER, 0},                 /* GETCRSPTR */
    {GC_OP_OTHER, 0},                 /* GETLMEMBASE */
    {GC_OP_OTHER, 0},                 /* SETCRSPTR */
    {GC_OP_OTHER, 0},                 /* SETLMEMBASE */
    {GC_OP_EXIT, FORM_BARE},          /* EXIT */
    {GC_OP_LONGJMP, FORM_BARE},       /* LONGJMP */
    {GC_OP_RETURN, FORM_BARE},        /* RET */
    {GC_OP_EXIT, FORM_BARE},          /* KIL */
    {GC_OP_BRK, FORM_BARE},           /* BRK */
    {GC_OP_CONT, FORM_BARE},          /* CONT */
};
#define CONTROLS_FIRST 0xe20
#define CONTROLS_COUNT (sizeof CONTROLS / sizeof CONTROLS[0])

static uint64_t field(uint64_t word, uint32_t high, uint32_t low) {
    return word >> low & (((uint64_t)1 << (high - low + 1)) - 1);
}

/* The first word of each group of four holds 21 bits for each of the others. */
static void decode_schedule(const gc_code *code, size_t offset, gc_instruction *in) {
    /* A function may begin inside a group: the word that schedules then lies in front of it, in the same section. */
    const size_t place = (size_t)((code->offset + offset) % 32);
    uint64_t group;
    memcpy(&group, code->bytes + offset - place, sizeof group);
    const uint64_t own = group >> 21 * (place / 8 - 1);
    in->stall = (uint8_t)field(own, 3, 0);
    in->yield = (uint8_t)field(own, 4, 4);
    in->write_barrier = (uint8_t)field(own, 7, 5);
    in->read_barrier = (uint8_t)field(own, 10, 8);
    in->wait_mask = (uint8_t)field(own, 16, 11);
    in->reuse = (uint8_t)field(own, 20, 17);
}

static uint64_t target_of(uint64_t word, form how, uint64_t pc) {
    if (how == FORM_ABSOLUTE || how == FORM_PUSH_ABSOLUTE) return gc_behind_control(field(word, 51, 20));
    return gc_behind_control(pc + 8 + gc_sign_extend(field(word, 43, 20), 24));
}

static bool is_push(form how) {
    return how == FORM_PUSH || how == FORM_PUSH_ABSOLUTE;
}

static void decode_guard(uint64_t word, gc_instruction *in) {
    in->guard = (uint8_t)field(word, 18, 16);
    in->guard_not = (uint8_t)field(word, 19, 19);
}

static void decode_flow(uint64_t word, control what, gc_instruction *in) {
    in->kind = what.kind;
    const bool constant = field(word, 5, 5) != 0; /* EXIT has another flag there */
    const form how = (form)what.form;
    if (how != FORM_BARE && !constant) in->target = target_of(word, how, in->pc);
    if (is_push(how)) {
        /* CAL, JCAL and PRET: whether it is counted. */
        in->mode = (what.kind == GC_OP_CALL || in->opcode >> 4 == 0xe27) && !field(word, 6, 6);
        return;
    }
    if (what.kind == GC_OP_BRANCH && constant) in->kind = GC_OP_INDIRECT;
    decode_guard(word, in);
    if (in->opcode >> 4 == 0xe30) in->mode = constant; /* EXIT */
    in->condition = (uint8_t)field(word, 4, 0);
    in->never = in->condition == 0 || (in->guard == GC_PREDICATE_TRUE && in->guard_not);
    in->conditional = in->guard != GC_PREDICATE_TRUE || in->guard_not || in->condition != GC_CONDITION_TRUE;
    in->uniform = how != FORM_BARE && field(word, 7, 7);
}

/* GETCRSPTR to SETLMEMBASE, RTT, SAM, RAM, IDE, BPT, and STP. */
static bool has_no_guard(uint16_t opcode) {
    return (opcode >= 0xe2c0 && opcode < 0xe300) || (opcode >= 0xe360 && opcode < 0xe3b0) ||
           (opcode & 0xfff8) == 0xeea0;
}

static void decode_other(uint64_t word, gc_instruction *in) {
    if (has_no_guard(in->opcode)) return;
    decode_guard(word, in);
    in->never = in->guard == GC_PREDICATE_TRUE && in->guard_not;
    const uint16_t low = in->opcode & 0xfff8;
    if (low == 0x50b0) in->kind = GC_OP_NOP;
    if (low != 0xf0c8 && low != 0x50c8) return; /* S2R, CS2R */
    in->special = (uint16_t)field(word, 27, 20);
    if (in->special == GC_SPECIAL_CLOCK || in->special == GC_SPECIAL_CLOCK_HIGH) in->kind = GC_OP_CLOCK;
}

void gc_decode64(const gc_code *code, size_t offset, gc_instruction *in) {
    memset(in, 0, sizeof *in);
    uint64_t word;
    memcpy(&word, code->bytes + offset, sizeof word);
    in->pc = code->offset + offset;
    in->opcode = (uint16_t)(word >> 48);
    in->target = GC_NO_TARGET;
    in->special = GC_SPECIAL_NONE;
    in->guard = in->second = GC_PREDICATE_TRUE;
    in->condition = GC_CONDITION_TRUE;
    in->destination = in->source_a = in->source_b = in->source_c = GC_REGISTER_NONE;
    in->mnemonic = gc_mnemonic64(code->arch, in->opcode);
    decode_schedule(code, offset, in);
    const uint32_t number = (uint32_t)(in->opcode >> 4) - CONTROLS_FIRST; /* wraps below it */
    if (number < CONTROLS_COUNT && CONTROLS[number].kind != GC_OP_OTHER)
        decode_flow(word, CONTROLS[number], in);
    else if ((in->opcode & 0xfff8) == 0xf0f8)
        decode_flow(word, (control){GC_OP_SYNC, FORM_BARE}, in);
    else
        decode_other(word, in);
}
