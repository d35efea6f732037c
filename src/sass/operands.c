#include <sass/operands.h>

/* What an instruction does with vector registers, by opcode bits [8:0]. */
typedef enum shape {
    SHAPE_UNKNOWN,
    SHAPE_NONE,     /* writes no vector register */
    SHAPE_WRITE,    /* writes Rd; sources not decoded */
    SHAPE_WRITE_64, /* the same, two registers */
    SHAPE_UNARY,    /* Rd = f(b) */
    SHAPE_TWO,      /* Rd = f(a, b): an operand that is no register stands in the place of b or, alone, of c */
    SHAPE_ADD,      /* the same, two registers each with .64 */
    SHAPE_THREE,    /* Rd = f(a, b, c) */
    SHAPE_WIDE,     /* the same, Rd of two registers */
    SHAPE_LOAD,     /* Rd = [a] */
    SHAPE_CLOCK     /* Rd = special register, two registers unless .32 */
} shape;

static shape shape_of(uint32_t arch, uint16_t low) {
    switch (low) {
    case 0x00b:
    case 0x00c:
    case 0x01c: /* FSETP, ISETP, PLOP3 */
    case 0x082:
    case 0x08c:
    case 0x090:
    case 0x092:
    case 0x099: /* UMOV, UISETP, UIADD3, ULOP3, USHF */
    case 0x0b9:
    case 0x1ac:
    case 0x0ca:
    case 0x0cb:
    case 0x1c3: /* ULDC, LDCU, R2UR, CS2UR, S2UR */
    case 0x118:
    case 0x141:
    case 0x142:
    case 0x145:
    case 0x147:
    case 0x149:
    case 0x158: /* NOP, barriers, branches */
    case 0x148:
    case 0x14d:
    case 0x146:
    case 0x185:
    case 0x186:
    case 0x188:
    case 0x18e:
        return SHAPE_NONE; /* WARPSYNC, EXIT, YIELD, ST, STG, STS, RED */
    case 0x002:
    case 0x108:
        return SHAPE_UNARY; /* MOV, MUFU */
    case 0x020:
    case 0x021:
    case 0x036:
    case 0x007:
        return SHAPE_TWO; /* FMUL, FADD, VIADD, SEL */
    case 0x010:
    case 0x023:
    case 0x024:
    case 0x027:
    case 0x012:
        return SHAPE_THREE; /* IADD3, FFMA, IMAD, IMAD.HI, LOP3 */
    case 0x025:
        return SHAPE_WIDE; /* IMAD.WIDE */
    case 0x181:
    case 0x182:
    case 0x183:
    case 0x184:
        return SHAPE_LOAD; /* LDG, LDC, LDL, LDS */
    case 0x005:
        return SHAPE_CLOCK; /* CS2R */
    case 0x011:
    case 0x016:
    case 0x017:
    case 0x019: /* LEA, PRMT, IMNMX, SHF */
    case 0x045:
    case 0x046:
    case 0x048:
    case 0x106:
    case 0x119:
    case 0x006:
    case 0x100:
    case 0x109:
        return SHAPE_WRITE; /* I2FP, VI(ADD)MNMX, I2F, S2R, VOTE, FLO, POPC */
    case 0x1a8:
        return SHAPE_WRITE_64; /* ATOMG: of one register or two */
    case 0x031:
        return SHAPE_WRITE; /* HFMA2 */
    case 0x035:
        return arch < 100 ? SHAPE_WRITE : arch >= 120 ? SHAPE_ADD : SHAPE_UNKNOWN; /* HFMA2.MMA, later IADD */
    default:
        return SHAPE_UNKNOWN;
    }
}

static uint16_t byte_at(gc_word word, uint32_t low) {
    return (uint16_t)gc_bits(word, low + 7, low);
}

/* Uniform registers have six bits up to sm_90 and eight from sm_100 on; the last one is URZ. */
static bool is_uniform_zero(uint32_t arch, gc_word word) {
    return arch >= 100 ? byte_at(word, 32) == 255 : gc_bits(word, 37, 32) == 63;
}

static void take_immediate(gc_word word, bool is_b, gc_instruction *in) {
    in->has_immediate = true;
    in->immediate_is_b = is_b;
    in->immediate = (uint32_t)gc_bits(word, 63, 32);
}

/* The operand form says where b and c stand: registers at [39:32] and [71:64], or one of them elsewhere. */
static void decode_b_and_c(uint32_t arch, gc_word word, gc_instruction *in) {
    switch (GC_FORM(in->opcode)) {
    case 1: /* register, register */
        in->source_b = byte_at(word, 32);
        in->source_c = byte_at(word, 64);
        break;
    case 2: /* c immediate */
        in->source_b = byte_at(word, 64);
        take_immediate(word, false, in);
        break;
    case 3: /* c constant */
        in->source_b = byte_at(word, 64);
        break;
    case 4: /* b immediate */
        in->source_c = byte_at(word, 64);
        take_immediate(word, true, in);
        break;
    case 5: /* b constant */
        in->source_c = byte_at(word, 64);
        break;
    case 14: /* b uniform register */
        in->source_c = byte_at(word, 64);
        in->zero_b = is_uniform_zero(arch, word);
        break;
    case 15: /* c uniform register */
        in->source_b = byte_at(word, 64);
        in->zero_c = is_uniform_zero(arch, word);
        break;
    default:
        break;
    }
    in->zero_b = in->zero_b || in->source_b == GC_REGISTER_ZERO;
    in->zero_c = in->zero_c || in->source_c == GC_REGISTER_ZERO;
}

/* Additions and multiplications of two operands put what is no register in the place of c, and leave b empty. */
static void decode_two(uint32_t arch, gc_word word, gc_instruction *in) {
    in->source_a = byte_at(word, 24);
    const uint16_t form = GC_FORM(in->opcode);
    if (form == 1)
        in->source_b = byte_at(word, 32);
    else if (form == 2 || form == 4)
        take_immediate(word, true, in);
    else if (form == 14 || form == 15)
        in->zero_b = is_uniform_zero(arch, word);
    in->zero_b = in->zero_b || in->source_b == GC_REGISTER_ZERO;
}

/*
 * Bits [91:76] of `ld.global` as compilers give it, and bit 72, a 64-bit address. ld.global.ca and stronger loads, other scopes,
 * eviction priorities, and addresses with a uniform part differ in some of them.
 */
#define GC_PLAIN_LDG_BEFORE_80 0x01ee
#define GC_PLAIN_LDG 0xc1e1

static bool is_plain(uint32_t arch, gc_word word) {
    return gc_bits(word, 72, 72) && gc_bits(word, 91, 76) == (arch < 80 ? GC_PLAIN_LDG_BEFORE_80 : GC_PLAIN_LDG);
}

static void decode_load(uint32_t arch, gc_word word, gc_instruction *in) {
    static const uint8_t BYTES[8] = {1, 1, 2, 2, 4, 8, 16, 0};
    in->source_a = byte_at(word, 24);
    in->access_bytes = BYTES[gc_bits(word, 75, 73)];
    if (in->destination_count && in->access_bytes > 4) in->destination_count = (uint8_t)(in->access_bytes / 4);
    in->writes_known = in->access_bytes != 0;
    if ((in->opcode & 0x1ff) != 0x181) return; /* LDG */
    in->offset = (int32_t)gc_sign_extend(gc_bits(word, 63, 40), 24);
    in->plain = is_plain(arch, word);
}

static void write_registers(gc_word word, uint8_t count, gc_instruction *in) {
    in->destination = byte_at(word, 16);
    in->destination_count = in->destination == GC_REGISTER_ZERO ? 0 : count;
    in->writes_known = true;
}

void gc_decode_operands(uint32_t arch, gc_word word, gc_instruction *in) {
    in->destination = in->source_a = in->source_b = in->source_c = GC_REGISTER_NONE;
    const shape found = in->mnemonic ? shape_of(arch, in->opcode & 0x1ff) : SHAPE_UNKNOWN;
    if (found == SHAPE_NONE) in->writes_known = true;
    if (found == SHAPE_UNKNOWN || found == SHAPE_NONE) return;
    write_registers(word, 1, in);
    switch (found) {
    case SHAPE_UNARY:
        if (GC_FORM(in->opcode) == 1) in->source_b = byte_at(word, 32);
        /* MOV.64: the immediate form has no other sign of it. */
        if (arch >= 120 && (in->opcode & 0x1ff) == 0x002 && (GC_FORM(in->opcode) == 2 || gc_bits(word, 80, 80)))
            write_registers(word, 2, in);
        break;
    case SHAPE_WRITE_64:
        write_registers(word, 2, in);
        break;
    case SHAPE_ADD:
        write_registers(word, gc_bits(word, 73, 73) ? 2 : 1, in); /* fall through */
    case SHAPE_TWO:
        decode_two(arch, word, in);
        break;
    case SHAPE_WIDE:
        write_registers(word, 2, in); /* fall through */
    case SHAPE_THREE:
        in->source_a = byte_at(word, 24);
        decode_b_and_c(arch, word, in);
        break;
    case SHAPE_LOAD:
        decode_load(arch, word, in);
        break;
    case SHAPE_CLOCK:
        write_registers(word, gc_bits(word, 80, 80) ? 2 : 1, in);
        break;
    default:
        break;
    }
}
