#include <proof/spin_values.h>

void gc_spin_add2(const doing *d) {
    const gc_spin_value a = first(d), b = flexible(d, 0);
    write_result(d, made(a.bits + b.bits, a, b, b));
}

/* The second operand's other half: of an immediate, zeros. */
void gc_spin_add2_pair(const doing *d) {
    const bool number = GC_FORM(d->in->opcode) == 4;
    const gc_spin_value a = first(d), a_high = read_register(d, field(d, 31, 24) + 1), b = flexible(d, 0);
    const gc_spin_value b_high = number ? same(0) : flexible(d, 4);
    uint64_t other = (uint64_t)b_high.bits << 32 | b.bits;
    if (minus_b(d)) other = 0 - other;
    const uint64_t sum = ((uint64_t)a_high.bits << 32 | a.bits) + other;
    const bool positive = !number || b.bits >> 31 == 0;
    const gc_spin_value low = made((uint32_t)sum, a, b, b), high = made((uint32_t)(sum >> 32), a_high, b_high, low);
    write_pair(d, low, positive ? high : UNKNOWN);
}

/* Without .X there is no carry to take, and the field says so. */
static bool is_odd(const doing *d, bool extended) {
    return !extended && field(d, 90, 87) != 15;
}

/* With .X a sign means all bits inverted, and the carry comes from before. */
void gc_spin_add3(const doing *d) {
    const gc_spin_value a = first(d), b = flexible(d, 0), c = third(d, 0);
    const bool extended = field(d, 74, 74), minus[3] = {field(d, 72, 72), minus_b(d), field(d, 75, 75)};
    const gc_spin_value carry =
        extended ? read_predicate(predicates_of(d), field(d, 89, 87), field(d, 90, 90)) : same(0);
    const gc_spin_value parts[3] = {a, b, c};
    uint64_t sum = carry.bits;
    for (int i = 0; i < 3; i++) {
        sum += minus[i] ? ~parts[i].bits : parts[i].bits;
        sum += minus[i] && !extended;
    }
    gc_spin_value result = made((uint32_t)sum, a, b, c), over = made((uint32_t)(sum >> 32), a, b, c);
    if (!carry.known || over.bits > 1 || is_odd(d, extended)) result = over = UNKNOWN;
    result.varies |= carry.varies;
    over.varies |= carry.varies;
    write_result(d, result);
    write_predicate(d, field(d, 83, 81), over);
}

void gc_spin_mad(const doing *d) {
    const gc_spin_value a = first(d), b = second(d);
    gc_spin_value c = third(d, 0);
    const bool extended = field(d, 74, 74);
    const gc_spin_value carry =
        extended ? read_predicate(d->thread->predicates, field(d, 89, 87), field(d, 90, 90)) : same(0);
    /* Without .X a sign is no inversion; compilers write none. */
    if (field(d, 75, 75)) c = extended ? (gc_spin_value){~c.bits, c.known, c.varies} : UNKNOWN;
    gc_spin_value result = made(a.bits * b.bits + c.bits + carry.bits, a, b, c);
    if (!carry.known || is_odd(d, extended)) result = UNKNOWN;
    result.varies |= carry.varies;
    write_result(d, result);
}

void gc_spin_mad_pair(const doing *d) {
    const gc_spin_value a = first(d), b = second(d), c = third(d, 0), c_high = third(d, 1);
    const uint64_t sum = (uint64_t)a.bits * b.bits + ((uint64_t)c_high.bits << 32 | c.bits);
    const gc_spin_value low = made((uint32_t)sum, a, b, c);
    write_pair(d, low, made((uint32_t)(sum >> 32), low, c_high, c_high));
}

void gc_spin_compare(const doing *d) {
    const gc_spin_value a = first(d), b = flexible(d, 0);
    const gc_spin_value other = read_predicate(predicates_of(d), field(d, 89, 87), field(d, 90, 90));
    const uint32_t how = field(d, 78, 76), join = field(d, 75, 74);
    const bool is_signed = field(d, 73, 73);
    const int64_t x = is_signed ? (int64_t)(int32_t)a.bits : (int64_t)a.bits;
    const int64_t y = is_signed ? (int64_t)(int32_t)b.bits : (int64_t)b.bits;
    /* Bit 0: less, bit 1: equal, bit 2: greater. */
    const bool is = (how & 1 && x < y) || (how & 2 && x == y) || (how & 4 && x > y);
    const uint32_t result = join == 0 ? is & other.bits : join == 1 ? is | other.bits : is ^ other.bits;
    write_predicate(d, field(d, 83, 81), join < 3 ? made(result, a, b, other) : UNKNOWN);
}

/* c is RZ. */
void gc_spin_logic(const doing *d) {
    const gc_spin_value a = first(d), b = flexible(d, 0);
    uint32_t bits = 0;
    for (uint32_t row = 0; row < 8; row += 2) {
        const uint32_t x = row & 4 ? a.bits : ~a.bits, y = row & 2 ? b.bits : ~b.bits;
        if (field(d, 79, 72) >> row & 1) bits |= x & y;
    }
    write_predicate(d, field(d, 83, 81), made(bits != 0, a, b, b));
}

void gc_spin_constant(const doing *d, bool pair) {
    const bool far = d->in->opcode == 0x17ac;
    const uint32_t place = field(d, 53, far ? 37 : 38), bank = field(d, 58, 54);
    if (pair)
        write_pair(d, constant(d, bank, place), constant(d, bank, place + 4));
    else
        write_result(d, constant(d, bank, place));
}

void gc_spin_move_pair(const doing *d) {
    const bool number = GC_FORM(d->in->opcode) == 2 || GC_FORM(d->in->opcode) == 10;
    if (number)
        write_pair(d, same(field(d, 31, 24)), same(0));
    else
        write_pair(d, flexible(d, 0), flexible(d, 4));
}

/* -0 * 0 plus the halves of the immediate; only those that are no matter of rounding or signs. */
void gc_spin_halves(const doing *d) {
    const uint32_t bits = field(d, 63, 32);
    write_result(d, bits <= 1 ? same(bits) : UNKNOWN);
}
