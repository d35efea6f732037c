/*
 * Random programs of a few instructions, and a warp that runs them: its threads part at branches and meet again at the
 * branch's immediate post-dominator.
 */
#ifndef UNIT_SASS_RANDOM_H
#define UNIT_SASS_RANDOM_H

#include "cubin_writer.h"

#include <stdbool.h>

#define RANDOM_THREADS 8
#define RANDOM_REGISTERS 8 /* R0 to R7 */
#define RANDOM_PREDICATES 5
#define RANDOM_STEPS 1500

static uint64_t random_seed;

static inline uint32_t random_below(uint32_t limit) {
    random_seed ^= random_seed << 13;
    random_seed ^= random_seed >> 7;
    random_seed ^= random_seed << 17;
    return (uint32_t)((random_seed >> 11) % limit);
}

static inline uint32_t mixed(uint32_t a, uint32_t b) {
    uint64_t x = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 29;
    return (uint32_t)((x * UINT64_C(0xbf58476d1ce4e5b9)) >> 32);
}

/* ---- programs ---- */

static inline uint32_t random_register(void) {
    return random_below(12) == 0 ? CODE_RZ : random_below(RANDOM_REGISTERS);
}
static inline uint32_t random_predicate(void) {
    return random_below(RANDOM_PREDICATES) | (random_below(2) ? CODE_NOT : 0);
}

/* One instruction that computes. Most read few registers, so that some stay the same in all threads. */
static inline void random_compute(cubin_parts *parts, uint32_t guard) {
    static const uint16_t OPCODES[] = {0x802, 0x202, 0x1c02, 0x210, 0x224, 0x225, 0x212, 0x20c, 0x20c,
                                       0x80c, 0x207, 0x919,  0xb82, 0x981, 0x227, 0x80c, 0x810};
    const uint32_t opcode = OPCODES[random_below(sizeof OPCODES / sizeof OPCODES[0])];
    const uint32_t at = code_add(parts, opcode, guard);
    code_field(parts, at, 23, 16, random_below(RANDOM_REGISTERS));
    code_field(parts, at, 31, 24, random_register());
    code_field(parts, at, 71, 64, random_register());
    code_field(parts, at, 80, 72, 0xe0); /* [79:77]: PT */
    if (opcode >> 9 == 4 || opcode >> 9 == 6)
        code_field(parts, at, 63, 32, random_below(4));
    else
        code_field(parts, at, 63, 32, random_register());
    switch (opcode) {
    case 0x212:
        code_field(parts, at, 79, 72, random_below(256));
        if (random_below(2)) code_field(parts, at, 83, 81, random_below(RANDOM_PREDICATES));
        break;
    case 0x20c:
    case 0x80c:
        code_field(parts, at, 23, 16, 0);
        code_field(parts, at, 79, 72, 0);
        code_field(parts, at, 78, 76, 1 + random_below(6));
        code_field(parts, at, 83, 81, random_below(RANDOM_PREDICATES));
        if (random_below(3) == 0) code_field(parts, at, 86, 84, random_below(RANDOM_PREDICATES));
        if (random_below(3) == 0) code_field(parts, at, 90, 87, random_predicate());
        break;
    case 0x207:
        code_field(parts, at, 90, 87, random_predicate());
        break;
    case 0x919: /* a thread's index, or its block's */
        code_field(parts, at, 79, 72, random_below(3) ? 0x25 : 0x21);
        break;
    case 0xb82:
        code_field(parts, at, 63, 32, random_below(4) << 8);
        if (random_below(2)) code_field(parts, at, 31, 24, CODE_RZ);
        code_field(parts, at, 75, 72, 8);
        break;
    case 0x981:
        code_field(parts, at, 75, 72, random_below(3) ? 8 : 10);
        break;
    default:
        break;
    }
}

static inline uint32_t random_guard(void) {
    return random_below(4) == 0 ? random_predicate() : CODE_PT;
}

static inline void random_straight(cubin_parts *parts, uint32_t most) {
    for (uint32_t i = random_below(most + 1); i-- > 0;) random_compute(parts, random_guard());
}

/* Branches from anywhere to anywhere. */
static inline void random_unstructured(cubin_parts *parts) {
    const uint32_t count = 8 + random_below(30);
    while (parts->count < count) {
        if (random_below(4))
            random_compute(parts, random_guard());
        else if (random_below(12) == 0)
            code_exit(parts, random_predicate());
        else
            code_bra(parts, random_below(5) ? random_predicate() : CODE_PT, random_below(count));
    }
    code_exit(parts, CODE_PT);
}

/* Conditions and loops inside each other. */
static inline void random_nest(cubin_parts *parts, uint32_t depth) {
    random_straight(parts, 3);
    if (depth == 0) return;
    for (uint32_t i = 1 + random_below(2); i-- > 0;) {
        const uint32_t kind = random_below(3), guard = random_predicate();
        if (kind == 0) { /* a loop */
            const uint32_t head = parts->count;
            random_nest(parts, depth - 1);
            code_bra(parts, random_predicate(), head);
        } else {
            const uint32_t skip = code_bra(parts, guard, parts->count);
            random_nest(parts, depth - 1);
            const uint32_t over = kind == 1 ? code_bra(parts, CODE_PT, parts->count) : 0;
            code_aim(parts, skip, parts->count);
            if (kind == 1) {
                random_nest(parts, depth - 1);
                code_aim(parts, over, parts->count);
            }
        }
        random_straight(parts, 2);
    }
}

/* ---- a warp ---- */

typedef struct random_thread {
    uint32_t registers[256];
    bool predicates[8];
    uint32_t index;
    uint32_t loads;
} random_thread;

static inline uint32_t word_field(cubin_word word, uint32_t high, uint32_t low) {
    const uint64_t bits = low >= 64 ? word.high >> (low - 64)
                          : low     ? word.low >> low | word.high << (64 - low)
                                    : word.low;
    return (uint32_t)(bits & ((UINT64_C(1) << (high - low + 1)) - 1));
}

static inline bool thread_holds(const random_thread *thread, uint32_t predicate) {
    return thread->predicates[predicate & 7] != ((predicate & CODE_NOT) != 0);
}

static inline void thread_write(random_thread *thread, uint32_t number, uint32_t value) {
    if (number < CODE_RZ) thread->registers[number] = value;
}
static inline void thread_tell(random_thread *thread, uint32_t number, bool value) {
    if (number < CODE_PT) thread->predicates[number] = value;
}

static inline bool compares(uint32_t how, uint32_t a, uint32_t b) {
    return (how & 1 && a < b) || (how & 2 && a == b) || (how & 4 && a > b);
}

static inline uint32_t looked_up(uint32_t table, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t result = 0;
    for (uint32_t row = 0; row < 8; row++)
        if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
}

/* What one instruction does to one thread. */
static inline void thread_step(random_thread *thread, cubin_word word) {
    if (!thread_holds(thread, word_field(word, 15, 12))) return;
    const uint32_t opcode = word_field(word, 11, 0), to = word_field(word, 23, 16);
    const uint32_t a = thread->registers[word_field(word, 31, 24)], c_at = word_field(word, 71, 64);
    const uint32_t c = thread->registers[c_at];
    const bool immediate = opcode >> 9 == 4 || opcode >> 9 == 6;
    const bool uniform = opcode == 0xc02; /* its registers hold what all threads share */
    const uint32_t b = immediate && !uniform ? word_field(word, 63, 32) : thread->registers[word_field(word, 39, 32)];
    const bool p = thread_holds(thread, word_field(word, 90, 87));
    const uint64_t wide_c = c_at < CODE_RZ ? (uint64_t)thread->registers[c_at + 1] << 32 | c : 0;
    const uint64_t product = (uint64_t)a * b + wide_c;
    switch (opcode) {
    case 0x802:
    case 0x202:
    case 0xc02:
        thread_write(thread, to, uniform ? mixed(7, word_field(word, 37, 32)) : b);
        break;
    case 0x210:
    case 0x810:
        thread_write(thread, to, a + b + c);
        break;
    case 0x224:
        thread_write(thread, to, a * b + c);
        break;
    case 0x225:
        thread_write(thread, to, (uint32_t)product);
        thread_write(thread, to + 1, (uint32_t)(product >> 32));
        break;
    case 0x227:
        thread_write(thread, to, (uint32_t)(product >> 32));
        break;
    case 0x212:
        thread_write(thread, to, looked_up(word_field(word, 79, 72), a, b, c));
        thread_tell(thread, word_field(word, 83, 81), looked_up(word_field(word, 79, 72), a, b, c) & 1);
        break;
    case 0x20c:
    case 0x80c: {
        const bool is = compares(word_field(word, 78, 76), a & 3, b & 3);
        thread_tell(thread, word_field(word, 83, 81), is && p);
        thread_tell(thread, word_field(word, 86, 84), !is && p);
        break;
    }
    case 0x207:
        thread_write(thread, to, p ? a : b);
        break;
    case 0x919:
        thread_write(thread, to, word_field(word, 79, 72) == 0x21 ? thread->index : 3);
        break;
    case 0xb82:
        thread_write(thread, to, mixed(1, a + word_field(word, 53, 38)));
        break;
    case 0x981:
        thread_write(thread, to, mixed(thread->index + 100, thread->loads++));
        if (word_field(word, 75, 73) == 5) thread_write(thread, to + 1, mixed(thread->index + 100, thread->loads++));
        break;
    default:
        break;
    }
}

#endif
