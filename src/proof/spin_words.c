#include <proof/spin_words.h>
#include <stddef.h>

/* Fields: registers d, a, b and c, an immediate, a place in a constant bank, an address' offset, the sign of b. */
#define D (UINT64_C(0xff) << 16)
#define A (UINT64_C(0xff) << 24)
#define B (UINT64_C(0xff) << 32)
#define IMMEDIATE (UINT64_C(0xffffffff) << 32)
#define PLACE (UINT64_C(0x1fffff) << 38)
#define PLACE_37 (UINT64_C(0x3fffff) << 37)
#define OFFSET (UINT64_C(0xffffff) << 40)
#define MINUS_B (UINT64_C(1) << 63)
#define C UINT64_C(0xff)
#define MINUS_A (UINT64_C(1) << 8)
#define SIGNED (UINT64_C(1) << 9)
#define CARRY (UINT64_C(1) << 10)
#define MINUS_C (UINT64_C(1) << 11)
#define TO (UINT64_C(7) << 17)
#define FROM (UINT64_C(15) << 23)
#define LUT (UINT64_C(0xff) << 8)
#define COMPARISON (UINT64_C(7) << 12 | UINT64_C(3) << 10 | SIGNED)
#define BARRIER (UINT64_C(15) << 16)
#define BARRIER_A (UINT64_C(15) << 24)
#define TARGET (UINT64_C(0x3fffffff) << 34)
#define TARGET_HIGH UINT64_C(0x3ffff)
#define UNIFORM_GUARD (UINT64_C(15) << 24)
#define NO_A (UINT64_C(0xff) << 24)
#define NO_D (UINT64_C(0xff) << 16)

#define ADD3_HIGH (C | MINUS_A | CARRY | MINUS_C | TO | FROM)
#define MAD_HIGH (C | SIGNED | CARRY | MINUS_C | FROM)
#define COMPARE_HIGH (COMPARISON | TO | FROM)

#define WORD(opcode_, action_, low, low_rest_, high, high_rest_, ...)                                                  \
    {                                                                                                                  \
        .opcode = opcode_, .action = GC_SPIN_##action_, .low_fields = low, .low_rest = low_rest_, .high_fields = high, \
        .high_rest = high_rest_, __VA_ARGS__                                                                           \
    }
#define UNIFORM .uniform = true
#define ANY .first_arch = 0

static const gc_spin_form FORMS[] = {
    WORD(0x0202, MOVE, D | B, 0, 0, 0xf00, ANY),
    WORD(0x0802, MOVE, D | IMMEDIATE, 0, 0, 0xf00, ANY),
    WORD(0x0a02, MOVE, D | PLACE, 0, 0, 0xf00, ANY),
    WORD(0x1c02, MOVE, D | B, 0, 0, 0x8000f00, ANY),
    WORD(0x1c02, MOVE_PAIR, D | B, 0, 0, 0x8010f00, ANY),
    WORD(0x0402, MOVE_PAIR, D | A, 0, 0, 0, .first_arch = 120), /* the immediate begins in the place of a */
    WORD(0x0882, MOVE, D | IMMEDIATE, 0, 0, 0, UNIFORM),
    WORD(0x1482, MOVE_PAIR, D | A, 0, 0, 0x8000000, UNIFORM, .first_arch = 120),
    WORD(0x0431, HALVES, D | IMMEDIATE, NO_A, 0, 0x1ff, ANY),
    WORD(0x0435, HALVES, D | IMMEDIATE, NO_A, 0, 0x1ff, .last_arch = 119), /* HFMA2.MMA; later IADD */
    WORD(0x0235, ADD2, D | A | B, 0, 0, 0x78e0000, .first_arch = 120),
    WORD(0x0835, ADD2, D | A | IMMEDIATE, 0, 0, 0x78e0000, .first_arch = 120),
    WORD(0x0835, ADD2_PAIR, D | A | IMMEDIATE, 0, 0, 0x78e0200, .first_arch = 120),
    WORD(0x1c35, ADD2_PAIR, D | A | B | MINUS_B, 0, 0, 0xf8e0200, .first_arch = 120),
    WORD(0x0836, ADD2, D | A | IMMEDIATE, 0, 0, 0, .first_arch = 90),
    WORD(0x0210, ADD3, D | A | B | MINUS_B, 0, ADD3_HIGH, 0x71e000, ANY),
    WORD(0x0810, ADD3, D | A | IMMEDIATE, 0, ADD3_HIGH, 0x71e000, ANY),
    WORD(0x0a10, ADD3, D | A | PLACE | MINUS_B, 0, ADD3_HIGH, 0x71e000, ANY),
    WORD(0x1290, ADD3, D | A | B | MINUS_B, 0, ADD3_HIGH, 0x871e000, UNIFORM),
    WORD(0x1890, ADD3, D | A | IMMEDIATE, 0, ADD3_HIGH, 0x871e000, UNIFORM),
    WORD(0x0224, MAD, D | A | B, 0, MAD_HIGH, 0xe0000, ANY),
    WORD(0x0424, MAD, D | A | IMMEDIATE, 0, MAD_HIGH, 0xe0000, ANY),
    WORD(0x0624, MAD, D | A | PLACE, 0, MAD_HIGH, 0xe0000, ANY),
    WORD(0x0824, MAD, D | A | IMMEDIATE, 0, MAD_HIGH, 0xe0000, ANY),
    WORD(0x1e24, MAD, D | A | B, 0, MAD_HIGH, 0x80e0000, ANY),
    WORD(0x0625, MAD_PAIR, D | A | PLACE, 0, C, 0x78e0000, ANY),
    WORD(0x0825, MAD_PAIR, D | A | IMMEDIATE, 0, C, 0x78e0000, ANY),
    WORD(0x12a5, MAD_PAIR, D | A | B, 0, C, 0xf8e0000, UNIFORM),
    WORD(0x18a5, MAD_PAIR, D | A | IMMEDIATE, 0, C, 0xf8e0000, UNIFORM),
    WORD(0x020c, COMPARE, A | B, 0, COMPARE_HIGH, 0x700070, ANY),
    WORD(0x080c, COMPARE, A | IMMEDIATE, 0, COMPARE_HIGH, 0x700070, ANY),
    WORD(0x0a0c, COMPARE, A | PLACE, 0, COMPARE_HIGH, 0x700070, ANY),
    WORD(0x1c0c, COMPARE, A | B, 0, COMPARE_HIGH, 0x8700070, ANY),
    WORD(0x128c, COMPARE, A | B, 0, COMPARE_HIGH, 0x8700070, UNIFORM),
    WORD(0x0212, LOGIC, A | B, NO_D, TO | LUT, 0x78000ff, ANY),
    WORD(0x1c12, LOGIC, A | B, NO_D, TO | LUT, 0xf8000ff, ANY),
    WORD(0x081c, TRUE, 0, 0, TO, 0x3f0f070, ANY),
    WORD(0x081c, FALSE, UINT64_C(0x80) << 16, 0, TO, 0x3f0e170, ANY), /* what varies is the table of no predicate */
    WORD(0x0805, CLOCK, D, 0, 0, 0x15000, ANY),
    WORD(0x0805, TIMER, D, 0, 0, 0x15200, ANY),
    WORD(0x08cb, CLOCK, D, 0, 0, 0x15000, UNIFORM),
    WORD(0x08cb, TIMER, D, 0, 0, 0x15200, UNIFORM),
    WORD(0x0919, LANE, D, 0, 0, 0x2100, ANY),
    WORD(0x0806, VOTE, D, 0, 0, 0x38e0100, ANY),
    WORD(0x0886, VOTE, D, 0, 0, 0x38e0100, UNIFORM),
    WORD(0x0b82, CONSTANT, D | PLACE, NO_A, 0, 0x800, ANY),
    WORD(0x0b82, CONSTANT_PAIR, D | PLACE, NO_A, 0, 0xa00, ANY),
    WORD(0x0ab9, CONSTANT, D | PLACE, 0, 0, 0x800, UNIFORM),
    WORD(0x0ab9, CONSTANT_PAIR, D | PLACE, 0, 0, 0xa00, UNIFORM),
    WORD(0x17ac, CONSTANT, D | PLACE_37, NO_A, 0, 0x8000800, UNIFORM),
    WORD(0x17ac, CONSTANT_PAIR, D | PLACE_37, NO_A, 0, 0x8000a00, UNIFORM),
#define MEMORY(address_, bytes_, strong_) .address = GC_SPIN_BY_##address_, .bytes = bytes_, .strong = strong_
    WORD(0x0381, LOAD, D | A | OFFSET, 0, 0, 0x1f6900, MEMORY(REGISTER, 4, true)),
    WORD(0x1981, LOAD, D | A | B | OFFSET, 0, 0, 0xc1f5900, MEMORY(DESCRIPTOR, 4, true)),
    WORD(0x1981, LOAD, D | B | OFFSET, NO_A, 0, 0xc1f6900, MEMORY(UNIFORM, 4, true)),
    WORD(0x1981, LOAD, D | A | B | OFFSET, 0, 0, 0x81f6900, MEMORY(BOTH, 4, true)),
    WORD(0x0386, STORE, A | B | OFFSET, 0, 0, 0x10e900, MEMORY(REGISTER, 4, false)),
    WORD(0x0386, STORE, A | B | OFFSET, 0, 0, 0x10eb00, MEMORY(REGISTER, 8, false)),
    WORD(0x0386, STORE, A | B | OFFSET, 0, 0, 0x116900, MEMORY(REGISTER, 4, true)),
    WORD(0x1986, STORE, A | B | OFFSET, 0, C, 0xc101900, MEMORY(DESCRIPTOR, 4, false)),
    WORD(0x1986, STORE, A | B | OFFSET, 0, C, 0xc101b00, MEMORY(DESCRIPTOR, 8, false)),
    WORD(0x1985, STORE, A | B | OFFSET, 0, C, 0xc101b00, MEMORY(DESCRIPTOR, 8, false)),
    WORD(0x1986, STORE, B | OFFSET, NO_A, C, 0xc10e900, MEMORY(UNIFORM, 4, false)),
    WORD(0x1986, STORE, B | OFFSET, NO_A, C, 0xc10eb00, MEMORY(UNIFORM, 8, false)),
    WORD(0x1986, STORE, A | B | OFFSET, 0, C, 0x8116900, MEMORY(BOTH, 4, true)),
    WORD(0x1986, STORE, A | B | OFFSET, 0, C, 0xc115900, MEMORY(DESCRIPTOR, 4, true)),
    WORD(0x1986, STORE, B | OFFSET, NO_A, C, 0xc116900, MEMORY(UNIFORM, 4, true)),
    WORD(0x03a9, SWAP, D | A | B | OFFSET, 0, C, 0x1ee100, MEMORY(REGISTER, 4, true)),
    WORD(0x03a9, SWAP, D | A | B | OFFSET, 0, C, 0x1f4100, MEMORY(REGISTER, 4, true)),
#undef MEMORY
    WORD(0x0992, FENCE, 0, 0, 0, 0x2000, ANY),
    WORD(0x0992, NOTHING, 0, 0, 0, 0x8000, ANY), /* within the block: a part of WARPSYNC.ALL */
    WORD(0x098f, INVALIDATE, 0, NO_A, 0, 0x2000000, ANY),
    WORD(0x09ab, NOTHING, 0, 0, 0, 0, ANY), /* ERRBAR, and below CGAERRBAR: errors are told in order */
    WORD(0x05ab, NOTHING, 0, 0, 0, 0, ANY),
    WORD(0x0918, NOTHING, 0, 0, 0, 0, ANY),
    WORD(0x0946, NOTHING, 0, 0, 0, 0x3800000, ANY), /* YIELD */
    WORD(0x0956, RESET, BARRIER_A, 0, 0, 0, ANY),
    WORD(0x0956, RESET, BARRIER_A, IMMEDIATE, 0, 0, ANY),
    WORD(0x0f55, RESET, BARRIER | BARRIER_A, 0, 0, 0x100000, ANY),
    WORD(0x0355, CLEAR, BARRIER_A, NO_D, 0, 0x100000, ANY),
    WORD(0x0945, ARM, BARRIER | TARGET, 0, 0, 0x3800000, ANY),
    WORD(0x0945, ARM, BARRIER | TARGET, 0, 0, 0x3800200, .first_arch = 100),
    WORD(0x0941, JOIN, BARRIER, 0, 0, 0x3800000, ANY),
    WORD(0x0941, JOIN, BARRIER, 0, 0, 0x3800200, .first_arch = 100),
    WORD(0x0948, WARP, 0, IMMEDIATE, 0, 0x3800000, ANY),
    WORD(0x0948, WARP, 0, 0, 0, 0x3800000, .first_arch = 90),
    WORD(0x0947, BRANCH, D | IMMEDIATE, 0, TARGET_HIGH | FROM, 0, .first_arch = 90),
    WORD(0x0947, BRANCH, IMMEDIATE, 0, TARGET_HIGH | FROM, 0, .last_arch = 89),
    WORD(0x1547, BRANCH, D | UNIFORM_GUARD | IMMEDIATE, 0, TARGET_HIGH, 0xb800000, ANY),
    WORD(0x1947, BRANCH, IMMEDIATE, UINT64_C(0x7f) << 24, TARGET_HIGH, 0xb800000, ANY),
    WORD(0x0944, CALL, TARGET, 0, TARGET_HIGH, 0x3c00000, ANY),
    WORD(0x0950, RETURN, A | IMMEDIATE, 0, TARGET_HIGH, 0x3c00000, ANY),
    WORD(0x094d, EXIT, 0, 0, 0, 0x3800000, ANY),
};

/* Above it lie the assembler's stall counts, barriers and reuse. */
#define HIGH_BITS ((UINT64_C(1) << 41) - 1)

const gc_spin_form *gc_spin_form_of(uint32_t arch, uint16_t opcode, gc_word word) {
    for (size_t i = 0; i < sizeof FORMS / sizeof FORMS[0]; i++) {
        const gc_spin_form *form = &FORMS[i];
        if (form->opcode != opcode) continue;
        if (arch < form->first_arch || (form->last_arch && arch > form->last_arch)) continue;
        if ((word.low & ~form->low_fields & ~UINT64_C(0xffff)) != form->low_rest) continue;
        if ((word.high & HIGH_BITS & ~form->high_fields) == form->high_rest) return form;
    }
    return NULL;
}
