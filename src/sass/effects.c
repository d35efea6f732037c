#include <sass/effects.h>
#include <string.h>

/* How many registers from [23:16] on may be written; 0 in these bits: one. */
#define R1 0x0000
#define R2 0x0001
#define R4 0x0002
#define RALL 0x0003 /* any register at all */
#define R0 0x0004   /* none */
#define R0P 0x0005  /* none, but any predicate */
#define R8 0x0006
#define R_MASK 0x0007
#define PF GC_EFFECT_FIRST
#define PS GC_EFFECT_SECOND
/* The result depends on these alone. */
#define PURE 0x0020
#define A 0x0040       /* the register at [31:24] */
#define B 0x0080       /* the operand b */
#define C 0x0100       /* the operand c */
#define C2 0x0200      /* as a pair */
#define Q1 0x0400      /* the predicate at [89:87] */
#define Q2 0x0800      /* at [79:77] */
#define Q3 0x1000      /* at [70:68] */
#define SPECIAL 0x2000 /* a special register */

typedef struct row {
    uint16_t low;
    uint16_t effect;
} row;

static const row ROWS[] = {
    {0x002, R2 | PURE | B},                             /* MOV */
    {0x004, R0P},                                       /* R2P */
    {0x005, R2 | PURE | SPECIAL},                       /* CS2R */
    {0x006, R1 | PF},                                   /* VOTE */
    {0x007, R2 | PURE | A | B | Q1},                    /* SEL */
    {0x008, R1 | PURE | A | B | Q1},                    /* FSEL */
    {0x009, R1 | PURE | A | B | Q1},                    /* FMNMX */
    {0x00a, R1 | PURE | A | B | Q1},                    /* FSET */
    {0x00b, R0 | PF | PS | PURE | A | B | Q1},          /* FSETP */
    {0x00c, R0 | PF | PS | PURE | A | B | Q1 | Q3},     /* ISETP */
    {0x010, R1 | PF | PS | PURE | A | B | C | Q1 | Q2}, /* IADD3 */
    {0x011, R1 | PF | PURE | A | B | C | Q1},           /* LEA */
    {0x012, R1 | PF | PURE | A | B | C | Q1},           /* LOP3 */
    {0x013, R1 | PURE | B},                             /* IABS */
    {0x016, R1 | PURE | A | B | C},                     /* PRMT */
    {0x017, R1 | PURE | A | B | Q1},                    /* IMNMX */
    {0x019, R1 | PURE | A | B | C},                     /* SHF */
    {0x01a, R1 | PURE | A | B},                         /* SGXT */
    {0x01b, R1 | PURE | A | B},                         /* BMSK */
    {0x01c, R0 | PF | PS | PURE | Q1 | Q2 | Q3},        /* PLOP3 */
    {0x020, R1 | PURE | A | B},                         /* FMUL */
    {0x021, R1 | PURE | A | B},                         /* FADD */
    {0x023, R1 | PURE | A | B | C},                     /* FFMA */
    {0x024, R1 | PF | PURE | A | B | C | Q1},           /* IMAD */
    {0x025, R2 | PF | PURE | A | B | C2 | Q1},          /* IMAD.WIDE */
    {0x027, R1 | PF | PURE | A | B | C2 | Q1},          /* IMAD.HI: what is added has 64 bits */
    {0x028, R2},
    {0x029, R2},
    {0x02b, R2},           /* DMUL, DADD, DFMA */
    {0x02a, R0 | PF | PS}, /* DSETP */
    {0x030, R1},
    {0x031, R1},
    {0x032, R1},                /* HADD2, HFMA2, HMUL2 */
    {0x036, R1 | PURE | A | B}, /* VIADD */
    {0x037, R4},
    {0x03c, R4},
    {0x03d, R4},
    {0x03f, R8},
    {0x07a, R4},
    {0x07f, R4}, /* the MMAs of a warp */
    {0x03a, R1},
    {0x03e, R1},
    {0x043, R1},
    {0x038, R2},
    {0x039, R1},                                        /* MOVM and conversions */
    {0x045, R1 | PURE | B},                             /* I2FP */
    {0x046, R1 | PF | PS | PURE | A | B | C | Q1 | Q2}, /* VIADDMNMX */
    {0x048, R1 | PF | PS | PURE | A | B | Q1 | Q2},     /* VIMNMX */
    {0x100, R1 | PF | PURE | B},                        /* FLO */
    {0x101, R1 | PURE | B},                             /* BREV */
    {0x102, R0 | PF | PURE | A | B},                    /* FCHK */
    {0x104, R2},
    {0x105, R2},
    {0x110, R2},
    {0x111, R2},
    {0x112, R2},
    {0x113, R2},            /* conversions */
    {0x106, R2 | PURE | B}, /* I2F */
    {0x108, R1 | PURE | B}, /* MUFU */
    {0x109, R1 | PURE | B}, /* POPC */
    {0x118, R0},
    {0x11a, R0},
    {0x11d, R0},
    {0x1af, R0},
    {0x191, R0},
    {0x18f, R0},
    {0x190, R0},
    {0x192, R0},
    {0x1ab, R0},                  /* NOP, fences, barriers, caches */
    {0x119, R1 | PURE | SPECIAL}, /* S2R */
    {0x141, R0},
    {0x142, R0},
    {0x145, R0},
    {0x146, R0},
    {0x147, R0},
    {0x148, R0},
    {0x149, R0}, /* control flow */
    {0x14a, R0},
    {0x14c, R0},
    {0x14d, R0},
    {0x158, R0},
    {0x159, R0},
    {0x15b, R0},
    {0x15d, R0},
    {0x156, R0},
    {0x157, R0},
    {0x11b, R0},
    {0x155, R1}, /* BMOV out of a barrier register */
    {0x143, RALL | PF | PS},
    {0x144, RALL | PF | PS},
    {0x150, R0},   /* CALL, RET */
    {0x17e, RALL}, /* LDG of 256 bits: a second destination stands elsewhere */
    {0x180, R4 | PF},
    {0x181, R4 | PF},
    {0x183, R4},
    {0x184, R4},            /* loads */
    {0x182, R4 | PURE | A}, /* LDC */
    {0x185, R0},
    {0x186, R0},
    {0x187, R0},
    {0x188, R0},
    {0x18e, R0},
    {0x1a6, R0},      /* stores, RED */
    {0x189, R1 | PF}, /* SHFL */
    {0x1a1, R1 | PF}, /* MATCH */
    {0x1ac, R0},      /* LDCU */
    {0x1c2, R0},
    {0x0ca, R0 | PF}, /* R2UR */
    {0x1c3, R0},
    {0x1c4, R0}, /* S2UR, REDUX */
    {0x1ee, RALL},
    {0x1f0, RALL},
    {0x1f1, RALL},
    {0x1f2, RALL},
    {0x1f3, RALL}, /* LDTM, the MMAs of a warp group */
};

static uint32_t field(gc_word word, uint32_t high, uint32_t low) {
    return (uint32_t)gc_bits(word, high, low);
}

static bool is_load(uint32_t low) {
    return low >= 0x180 && low <= 0x184; /* LD, LDG, LDC, LDL, LDS */
}

void gc_effects_make(uint32_t arch, gc_effects *effects) {
    effects->arch = arch;
    for (uint32_t i = 0; i < 512; i++) effects->of[i] = R4 | PF | PS;
    /* The uniform datapath has registers of its own. */
    for (uint32_t i = 0x082; i < 0x0c0; i++) effects->of[i] = R0;
    for (uint32_t i = 0x160; i < 0x175; i++) effects->of[i] = RALL | PF | PS; /* textures write two sets */
    for (uint32_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) effects->of[ROWS[i].low] = ROWS[i].effect;
    if (arch >= 120) effects->of[0x017] = R2 | PF | PS;                /* IMNMX, of 64 bits */
    if (arch >= 120) effects->of[0x035] = R2 | PF | PURE | A | B | Q1; /* IADD */
    if (arch >= 80 && arch <= 90) effects->of[0x035] = R1;             /* HFMA2 */
    if (arch < 90) effects->of[0x036] = R4;                            /* HMMA, before VIADD came */
    static const uint8_t SPANS[8] = {1, 2, 4, GC_SPAN_ALL, 0, GC_SPAN_PREDICATES, 8, 0};
    for (uint32_t i = 0; i < 512; i++) effects->spans[i] = is_load(i) ? GC_SPAN_LOADED : SPANS[effects->of[i] & R_MASK];
}

bool gc_effects_replaces(const gc_effects *effects, gc_word word, uint32_t value) {
    const uint32_t low = word.low & 0x1ff;
    /* Where the predicate of IMAD, VIADDMNMX and VIMNMX would be stands something else. */
    if (value >= GC_VALUE_PREDICATE) return low != 0x024 && low != 0x046 && low != 0x048;
    return value == field(word, 23, 16) || is_load(low) || low == 0x025 || (effects->of[low] & R_MASK) == R1;
}

static void add(gc_sources *sources, uint32_t value) {
    if (sources->count < GC_EFFECT_SOURCES_MAX)
        sources->values[sources->count++] = (uint16_t)value;
    else
        sources->pure = false;
}

static void add_register(gc_sources *sources, uint32_t number, bool pair) {
    if (number == GC_REGISTER_ZERO) return;
    add(sources, number);
    if (pair && number + 1 != GC_REGISTER_ZERO) add(sources, number + 1);
}

static void add_predicate(gc_sources *sources, uint32_t number) {
    if (number != GC_PREDICATE_TRUE) add(sources, GC_VALUE_PREDICATE + number);
}

/* blockIdx, and what reads as zero. */
static bool is_common(uint32_t special) {
    return (special >= 0x25 && special <= 0x27) || special == 0xff;
}

/* Which registers stand in the places of b and c, by the operand form. */
static void add_b_and_c(gc_word word, uint16_t effect, bool pairs, gc_sources *sources) {
    const bool has_c = (effect & (C | C2)) != 0, wide = (effect & C2) != 0;
    switch (GC_FORM(word.low & 0xfff) | (gc_bits(word, 91, 91) ? 8u : 0u)) {
    case 1:
        if (effect & B) add_register(sources, field(word, 39, 32), pairs);
        if (has_c) add_register(sources, field(word, 71, 64), wide);
        return;
    case 2: /* c is no register; where there is none these are others */
    case 3:
    case 15:
        if ((word.low & 0x1ff) == 0x007) sources->pure = false; /* SEL.64 */
        if (has_c) add_register(sources, field(word, 71, 64), false);
        return;
    case 4: /* b is none */
    case 5:
    case 14:
        if (has_c) add_register(sources, field(word, 71, 64), wide);
        return;
    default:
        sources->pure = false;
    }
}

/* The 64-bit forms that came with sm_120: of ISETP, MOV and SEL, and of IADD. MOV's with an immediate has no such bit. */
static bool is_wide(uint32_t low, gc_word word) {
    if (low == 0x035) return field(word, 73, 73) != 0;
    if (low == 0x002 && GC_FORM(word.low & 0xfff) == 2) return true;
    return (low == 0x00c || low == 0x002 || low == 0x007) && field(word, 80, 80);
}

gc_sources gc_effects_sources(const gc_effects *effects, gc_word word) {
    gc_sources sources = {0};
    const uint32_t low = word.low & 0x1ff;
    const uint16_t effect = effects->of[low];
    if (!(effect & PURE)) return sources;
    sources.pure = true;
    if (effect & SPECIAL) {
        sources.pure = is_common(field(word, 79, 72));
        return sources;
    }
    const bool pairs = effects->arch >= 120 && is_wide(low, word);
    if (effect & A) add_register(&sources, field(word, 31, 24), pairs);
    if (effect & (B | C | C2)) add_b_and_c(word, effect, pairs, &sources);
    if (effect & Q1) add_predicate(&sources, field(word, 89, 87));
    if (effect & Q2) add_predicate(&sources, field(word, 79, 77));
    if (effect & Q3 && (low == 0x01c || field(word, 72, 72))) add_predicate(&sources, field(word, 70, 68));
    return sources;
}
