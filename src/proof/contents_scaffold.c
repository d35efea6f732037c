#include <proof/contents_scaffold.h>
#include <string.h>

#define GC_SPECIAL_ZERO 255
#define GC_LOW_IMAD 0x024

enum { GC_PARAMETER_LOADED = 1, GC_PARAMETER_WRITTEN = 2 };

gc_word gc_body_word(const gc_body *body, const gc_instruction *in) {
    gc_word word;
    const uint8_t *bytes = body->code->bytes + (in->pc - body->code->offset);
    memcpy(&word.low, bytes, sizeof word.low);
    memcpy(&word.high, bytes + 8, sizeof word.high);
    return word;
}

static bool is_constant_load(const gc_instruction *in) {
    return strcmp(in->mnemonic, "LDC") == 0 || strcmp(in->mnemonic, "ULDC") == 0 || strcmp(in->mnemonic, "LDCU") == 0;
}

/* Instructions that can write uniform registers, at bits [23:16]: all that are named after them, and a few more. */
static bool writes_uniform(const gc_instruction *in) {
    static const char *const OTHERS[] = {"R2UR", "S2UR", "CS2UR", "LDCU", "REDUX", "CREDUX", "MOV64IUR"};
    if (in->mnemonic[0] == 'U') return true;
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        if (strcmp(in->mnemonic, OTHERS[i]) == 0) return true;
    return strcmp(in->mnemonic, "VOTEU") == 0;
}

/* How many registers from its destination on: at most, where only constants' widths are known. */
static uint32_t uniform_width(const gc_body *body, const gc_instruction *in) {
    static const uint8_t REGISTERS[8] = {1, 1, 1, 1, 1, 2, 4, 8};
    return is_constant_load(in) ? REGISTERS[gc_bits(gc_body_word(body, in), 75, 73)] : 4;
}

void gc_body_find_parameters(gc_body *body) {
    memset(body->parameters, 0, sizeof body->parameters);
    for (uint32_t i = 0; i < body->flow->instruction_count; i++) {
        const gc_instruction *in = &body->flow->instructions[i];
        if (in->never || !in->mnemonic || !writes_uniform(in)) continue;
        const uint32_t first = (uint32_t)gc_bits(gc_body_word(body, in), 23, 16), width = uniform_width(body, in);
        for (uint32_t number = first; number < first + width && number < 256; number++)
            body->parameters[number] |= is_constant_load(in) ? GC_PARAMETER_LOADED : GC_PARAMETER_WRITTEN;
    }
}

static gc_role role_of_uniform(const gc_body *body, gc_word word) {
    const bool wide = body->code->arch >= 100; /* eight bits, of which the last one is URZ */
    const uint32_t number = (uint32_t)gc_bits(word, wide ? 39 : 37, 32);
    if (number == (wide ? 255u : 63u)) return GC_ROLE_ZEROING;
    return body->parameters[number] == GC_PARAMETER_LOADED ? GC_ROLE_PARAMETER : GC_ROLE_FOREIGN;
}

static gc_role role_of_constant(uint32_t immediate) {
    return immediate == 0 ? GC_ROLE_ZEROING : GC_ROLE_PARAMETER;
}

/* MOV, UMOV */
static gc_role role_of_move(const gc_body *body, const gc_instruction *in) {
    const gc_word word = gc_body_word(body, in);
    switch (GC_FORM(in->opcode)) {
    case 1: /* a register */
        return gc_bits(word, 39, 32) == GC_REGISTER_ZERO ? GC_ROLE_ZEROING : GC_ROLE_FOREIGN;
    case 2:
    case 4: /* an immediate */
        return role_of_constant((uint32_t)gc_bits(word, 63, 32));
    case 5: /* a constant of the bank */
        return GC_ROLE_PARAMETER;
    case 14:
        return role_of_uniform(body, word);
    default:
        return GC_ROLE_FOREIGN;
    }
}

/* IMAD of RZ: what stands in b does not matter, c is the result. */
static gc_role role_of_sum(const gc_body *body, const gc_instruction *in) {
    const gc_word word = gc_body_word(body, in);
    switch (GC_FORM(in->opcode)) {
    case 2:
        return role_of_constant((uint32_t)gc_bits(word, 63, 32));
    case 3:
        return GC_ROLE_PARAMETER;
    case 15:
        return role_of_uniform(body, word);
    default:
        return in->zero_c ? GC_ROLE_ZEROING : GC_ROLE_FOREIGN;
    }
}

gc_role gc_scaffold_role(const gc_body *body, const gc_instruction *in) {
    const gc_word word = gc_body_word(body, in);
    if (is_constant_load(in)) return GC_ROLE_PARAMETER;
    if (strcmp(in->mnemonic, "CS2R") == 0) return in->special == GC_SPECIAL_ZERO ? GC_ROLE_ZEROING : GC_ROLE_FOREIGN;
    if (strcmp(in->mnemonic, "MOV") == 0 || strcmp(in->mnemonic, "UMOV") == 0) return role_of_move(body, in);
    if ((in->opcode & 0x1ff) == GC_LOW_IMAD && in->source_a == GC_REGISTER_ZERO) return role_of_sum(body, in);
    /* HFMA2 as a move: -RZ * RZ + an immediate, of both halves */
    const bool zeros = gc_bits(word, 31, 24) == GC_REGISTER_ZERO && gc_bits(word, 71, 64) == GC_REGISTER_ZERO;
    if (strcmp(in->mnemonic, "HFMA2") == 0 && GC_FORM(in->opcode) == 2 && zeros)
        return role_of_constant((uint32_t)gc_bits(word, 63, 32));
    return GC_ROLE_FOREIGN;
}
