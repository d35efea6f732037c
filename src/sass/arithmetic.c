/* Integer arithmetic of both datapaths, as compilers use it to count, to compare, and to make times and addresses. */
#include <sass/evaluate_parts.h>

/* Forms 2, 3 and 15 have the flexible operand in the place of c and the register of b at [71:64]. */
static bool is_swapped(uint16_t form) {
    return form == 2 || form == 3 || form == 15;
}

typedef struct operands {
    gc_value a, b, c;
} operands;

static operands read_three(const gc_thread *thread, gc_word word, uint16_t form, bool uniform) {
    const gc_value other = gc_register(thread, uniform, gc_field(word, 71, 64)),
                   moved = gc_flexible(thread, word, form, uniform);
    const bool swapped = is_swapped(form);
    return (operands){gc_register(thread, uniform, gc_field(word, 31, 24)), swapped ? other : moved,
                      swapped ? moved : other};
}

/* b carries its sign at 63, unless it is an immediate, which includes it. */
static bool has_sign_at_63(uint16_t form) {
    return form == 1 || form == 5 || form == 9 || form == 14;
}

static void write_result(gc_thread *thread, gc_word word, bool uniform, gc_value value) {
    gc_write(thread, uniform, gc_field(word, 23, 16), value);
}

static gc_value predicate_at(const gc_thread *thread, bool uniform, gc_word word, uint32_t low, uint32_t negation) {
    return gc_predicate(uniform ? thread->uniform_predicates : thread->predicates, gc_field(word, low + 2, low),
                        gc_field(word, negation, negation));
}

/* ---- sums ---- */

/* A sum in the making: 64 bits hold the carries of three 32-bit numbers. */
typedef struct sum {
    uint64_t total;
    bool known;
} sum;

/* Plain sums take -x as ~x + 1, which carries out of 32 bits when x is 0; sums with carries in take it as ~x. */
static void add(sum *to, gc_value value, bool negate, bool extended) {
    to->known = to->known && value.known;
    to->total += negate ? (uint64_t)(uint32_t)~value.bits + !extended : value.bits;
}

static void add_carry(sum *to, gc_value carry) {
    to->known = to->known && carry.known;
    to->total += carry.bits;
}

static gc_value low_half(sum of) {
    return of.known ? gc_known((uint32_t)of.total) : gc_unknown();
}

/*
 * Three numbers have two carries, one predicate each. With c zero the first predicate has the only one. Else nobody tells
 * which of the two is set when one is: walks are made both ways when the two go together, and a single one is unknown.
 */
static void write_carries(gc_thread *thread, gc_word word, bool uniform, sum of, bool two_numbers) {
    const uint32_t first = gc_field(word, 83, 81), second = gc_field(word, 86, 84);
    const uint32_t carries = (uint32_t)(of.total >> 32);
    const bool both_wanted = first != GC_PREDICATE_TRUE && second != GC_PREDICATE_TRUE;
    gc_value one = gc_unknown(), other = gc_unknown();
    if (of.known && two_numbers && carries < 2) {
        one = gc_known(carries);
        other = gc_known(0);
    } else if (of.known && carries != 1 && carries <= 2) {
        one = other = gc_known(carries / 2);
    } else if (of.known && carries == 1 && both_wanted) {
        one = gc_known(!thread->second_carry);
        other = gc_known(thread->second_carry);
    }
    gc_write_predicate(thread, uniform, first, one);
    gc_write_predicate(thread, uniform, second, other);
}

static void step_iadd3(gc_thread *thread, gc_word word, uint16_t form, bool uniform) {
    const operands in = read_three(thread, word, form, uniform);
    const bool extended = gc_field(word, 74, 74), negate_c = gc_field(word, 75, 75);
    sum of = {0, true};
    add(&of, in.a, gc_field(word, 72, 72), extended);
    add(&of, in.b, has_sign_at_63(form) && gc_field(word, 63, 63), extended);
    add(&of, in.c, negate_c, extended);
    if (extended) {
        add_carry(&of, predicate_at(thread, uniform, word, 87, 90));
        add_carry(&of, predicate_at(thread, uniform, word, 77, 80));
    }
    /* Where the sign of a c that is no register stands was never seen. */
    if (is_swapped(form) && (gc_field(word, 63, 63) || negate_c)) of.known = false;
    const uint32_t zero = gc_zero_of(thread, uniform);
    const bool two_numbers = !is_swapped(form) && (gc_field(word, 71, 64) & zero) == zero && !negate_c && !extended;
    write_result(thread, word, uniform, low_half(of));
    write_carries(thread, word, uniform, of, two_numbers);
}

/* VIADD and, on sm_120, IADD: two operands, IADD's also of 64 bits. Halves and carries in are not evaluated. */
static void step_add2(gc_thread *thread, gc_word word, uint16_t form, bool is_iadd) {
    const bool negate_a = is_iadd && gc_field(word, 72, 72);
    const bool negate_b = has_sign_at_63(form) && gc_field(word, 63, 63);
    const bool wide = is_iadd && gc_field(word, 73, 73);
    const bool plain = !gc_field(word, 80, 74) && (is_iadd || !gc_field(word, 73, 72));
    if (is_iadd) gc_write_predicate(thread, false, gc_field(word, 83, 81), gc_unknown());
    if (wide) {
        const gc_wide a = gc_pair(thread, false, gc_field(word, 31, 24)),
                      b = gc_flexible_wide(thread, word, form, false);
        const uint64_t bits = (negate_a ? 0 - a.bits : a.bits) + (negate_b ? 0 - b.bits : b.bits);
        gc_write_pair(thread, false, gc_field(word, 23, 16), (gc_wide){bits, a.known && b.known && plain});
        return;
    }
    sum of = {0, plain};
    add(&of, gc_register(thread, false, gc_field(word, 31, 24)), negate_a, false);
    add(&of, gc_flexible(thread, word, form, false), negate_b, false);
    write_result(thread, word, false, low_half(of));
}

/* a shifted left plus b; .HI: what is shifted out of c:a. */
static void step_lea(gc_thread *thread, gc_word word, uint16_t form, bool uniform) {
    const gc_value a = gc_register(thread, uniform, gc_field(word, 31, 24));
    const gc_value b = gc_flexible(thread, word, form, uniform);
    const gc_value c = gc_register(thread, uniform, gc_field(word, 71, 64));
    const uint32_t shift = gc_field(word, 79, 75);
    const bool high = gc_field(word, 80, 80), extended = gc_field(word, 74, 74);
    gc_value shifted = a.known ? gc_known(a.bits << shift) : gc_unknown();
    if (high) shifted = gc_join(a, c).known ? gc_known((uint32_t)(gc_join(a, c).bits << shift >> 32)) : gc_unknown();
    const bool signless = !has_sign_at_63(form) || !gc_field(word, 63, 63);
    sum of = {0, !gc_field(word, 73, 72) && !is_swapped(form) && signless};
    add(&of, shifted, false, extended);
    add(&of, b, false, extended);
    if (extended) add_carry(&of, predicate_at(thread, uniform, word, 87, 90));
    write_result(thread, word, uniform, low_half(of));
    const gc_value carry = gc_known((uint32_t)(of.total >> 32));
    gc_write_predicate(thread, uniform, gc_field(word, 83, 81), of.known && !high ? carry : gc_unknown());
}

/* ---- products ---- */

/* No carry out and no predicate in: bits [90:80] of a plain product. */
#define GC_PLAIN_PRODUCT 0x78e

/* The low half. .X adds a carry to a c that may be inverted. */
static void step_imad(gc_thread *thread, gc_word word, uint16_t form, bool uniform) {
    const operands in = read_three(thread, word, form, uniform);
    const bool extended = gc_field(word, 74, 74), invert_c = gc_field(word, 75, 75);
    const bool signless = !(is_swapped(form) || has_sign_at_63(form)) || !gc_field(word, 63, 63);
    const bool plain = !gc_field(word, 72, 72) && !gc_field(word, 80, 76) && signless && gc_field(word, 83, 81) == 7;
    sum of = {0, plain && (!invert_c || (extended && !is_swapped(form)))};
    /* 0 times anything is 0. */
    const bool nothing = (in.a.known && !in.a.bits) || (in.b.known && !in.b.bits);
    add(&of, nothing ? gc_known(0) : (gc_value){in.a.bits * in.b.bits, in.a.known && in.b.known}, false, true);
    add(&of, in.c, invert_c, true);
    if (extended) add_carry(&of, predicate_at(thread, uniform, word, 87, 90));
    write_result(thread, word, uniform, low_half(of));
    gc_write_predicate(thread, uniform, gc_field(word, 83, 81), gc_unknown());
}

static void step_imad_wide(gc_thread *thread, gc_word word, uint16_t form, bool uniform) {
    const bool swapped = is_swapped(form);
    const gc_value a = gc_register(thread, uniform, gc_field(word, 31, 24));
    const gc_value b =
        swapped ? gc_register(thread, uniform, gc_field(word, 71, 64)) : gc_flexible(thread, word, form, uniform);
    const gc_wide c =
        swapped ? gc_flexible_wide(thread, word, form, uniform) : gc_pair(thread, uniform, gc_field(word, 71, 64));
    const bool is_signed = gc_field(word, 73, 73);
    const bool signless = !(swapped || has_sign_at_63(form)) || !gc_field(word, 63, 63);
    const bool plain = (gc_field(word, 79, 72) & 0xfd) == 0 && gc_field(word, 90, 80) == GC_PLAIN_PRODUCT && signless;
    const uint64_t product =
        is_signed ? (uint64_t)((int64_t)(int32_t)a.bits * (int32_t)b.bits) : (uint64_t)a.bits * b.bits;
    gc_write_pair(thread, uniform, gc_field(word, 23, 16),
                  (gc_wide){product + c.bits, a.known && b.known && c.known && plain});
    gc_write_predicate(thread, uniform, gc_field(word, 83, 81), gc_unknown());
}

/* ---- bits ---- */

static void step_lop3(gc_thread *thread, gc_word word, uint16_t form, bool uniform) {
    const operands in = read_three(thread, word, form, uniform);
    const uint32_t table = gc_field(word, 79, 72);
    gc_value result = gc_unknown();
    if (in.a.known && in.b.known && in.c.known) {
        result = gc_known(0);
        for (uint32_t row = 0; row < 8; row++) {
            const uint32_t a = row & 4 ? in.a.bits : ~in.a.bits, b = row & 2 ? in.b.bits : ~in.b.bits;
            if (table >> row & 1) result.bits |= a & b & (row & 1 ? in.c.bits : ~in.c.bits);
        }
    }
    write_result(thread, word, uniform, result);
    const gc_value other = predicate_at(thread, uniform, word, 87, 90);
    gc_value out = gc_unknown();
    if (result.known && other.known)
        out = gc_known(gc_field(word, 80, 80) ? (result.bits != 0) & other.bits : (result.bits != 0) | other.bits);
    gc_write_predicate(thread, uniform, gc_field(word, 83, 81), uniform ? gc_unknown() : out);
}

/* Bits [80:72] of the two shifts by a plain number that are evaluated: left, and right out of c. */
#define GC_SHIFT_LEFT 0x006
#define GC_SHIFT_RIGHT_HIGH 0x116

static void step_shf(gc_thread *thread, gc_word word, uint16_t form, bool uniform) {
    const operands in = read_three(thread, word, form, uniform);
    const uint32_t how = gc_field(word, 80, 72);
    gc_value result = gc_unknown();
    if (in.b.known && in.b.bits < 32 && !is_swapped(form)) {
        if (how == GC_SHIFT_LEFT && in.a.known) result = gc_known(in.a.bits << in.b.bits);
        if (how == GC_SHIFT_RIGHT_HIGH && in.c.known) result = gc_known(in.c.bits >> in.b.bits);
    }
    write_result(thread, word, uniform, result);
}

/* Bytes of c:a by the nibbles of b; those that spread a sign, and other modes, are not evaluated. */
static void step_prmt(gc_thread *thread, gc_word word, uint16_t form, bool uniform) {
    const operands in = read_three(thread, word, form, uniform);
    const gc_wide from = gc_join(in.a, in.c);
    gc_value result = gc_unknown();
    if (from.known && in.b.known && !(in.b.bits & 0x8888) && !gc_field(word, 80, 72) && !is_swapped(form)) {
        result = gc_known(0);
        for (uint32_t i = 0; i < 4; i++)
            result.bits |= (uint32_t)(from.bits >> 8 * (in.b.bits >> 4 * i & 7) & 0xff) << 8 * i;
    }
    write_result(thread, word, uniform, result);
}

/* ---- compares ---- */

static bool compares(uint32_t how, bool is_signed, uint32_t a, uint32_t b, bool equal) {
    const int64_t x = is_signed ? (int64_t)(int32_t)a : (int64_t)a, y = is_signed ? (int64_t)(int32_t)b : (int64_t)b;
    /* Bit 0: less, bit 1: equal, bit 2: greater. */
    return (how & 1 && x < y) || (equal && x == y) || (how & 4 && x > y);
}

static bool compares_wide(uint32_t how, bool is_signed, uint64_t a, uint64_t b) {
    const uint64_t flip = is_signed ? UINT64_C(1) << 63 : 0;
    return (how & 1 && (a ^ flip) < (b ^ flip)) || (how & 2 && a == b) || (how & 4 && (a ^ flip) > (b ^ flip));
}

/* .EX compares the upper halves; where they are equal, the compare of the lower halves decides. */
static gc_value compared(const gc_thread *thread, gc_word word, uint16_t form) {
    const uint32_t how = gc_field(word, 78, 76);
    const bool is_signed = gc_field(word, 73, 73), extended = gc_field(word, 72, 72);
    if (gc_field(word, 80, 80)) { /* sm_120: of 64 bits */
        const gc_wide a = gc_pair(thread, false, gc_field(word, 31, 24)),
                      b = gc_flexible_wide(thread, word, form, false);
        const bool plain = thread->arch >= 120 && !extended && a.known && b.known;
        return plain ? gc_known(compares_wide(how, is_signed, a.bits, b.bits)) : gc_unknown();
    }
    const gc_value a = gc_register(thread, false, gc_field(word, 31, 24)), b = gc_flexible(thread, word, form, false);
    const gc_value lower = extended ? predicate_at(thread, false, word, 68, 71) : gc_known(how >> 1 & 1);
    if (!a.known || !b.known || !lower.known) return gc_unknown();
    return gc_known(compares(how, is_signed, a.bits, b.bits, lower.bits));
}

static void step_isetp(gc_thread *thread, gc_word word, uint16_t form) {
    const gc_value is = compared(thread, word, form), other = predicate_at(thread, false, word, 87, 90);
    const uint32_t join = gc_field(word, 75, 74);
    gc_value out = gc_unknown();
    if (is.known && other.known && !gc_field(word, 79, 79) && join < 3)
        out = gc_known(join == 0 ? is.bits & other.bits : join == 1 ? is.bits | other.bits : is.bits ^ other.bits);
    gc_write_predicate(thread, false, gc_field(word, 83, 81), out);
    gc_write_predicate(thread, false, gc_field(word, 86, 84), gc_unknown());
}

bool gc_step_arithmetic(gc_thread *thread, gc_word word, const gc_instruction *in) {
    const uint16_t form = GC_FORM(in->opcode), low = in->opcode & 0x1ff;
    const bool uniform = in->mnemonic[0] == 'U';
    switch (low) {
    case 0x010:
    case 0x090:
        step_iadd3(thread, word, form, uniform);
        return true;
    case 0x036:
        step_add2(thread, word, form, false);
        return true;
    case 0x035: /* before sm_100: HFMA2.MMA */
        if (thread->arch >= 120) step_add2(thread, word, form, true);
        return thread->arch >= 120;
    case 0x011:
    case 0x091:
        step_lea(thread, word, form, uniform);
        return true;
    case 0x024:
    case 0x0a4:
        step_imad(thread, word, form, uniform);
        return true;
    case 0x025:
    case 0x0a5:
        step_imad_wide(thread, word, form, uniform);
        return true;
    case 0x012:
    case 0x092:
        step_lop3(thread, word, form, uniform);
        return true;
    case 0x019:
    case 0x099:
        step_shf(thread, word, form, uniform);
        return true;
    case 0x016:
    case 0x096:
        step_prmt(thread, word, form, uniform);
        return true;
    case 0x00c:
        step_isetp(thread, word, form);
        return true;
    default:
        return false;
    }
}
