/*
 * What 128-bit instructions do with vector registers and predicates, as far as it matters for who depends on what: rather too
 * many registers are said to be written than too few.
 */
#ifndef GC_SASS_EFFECTS_H
#define GC_SASS_EFFECTS_H

#include <sass/decode.h>
#include <sass/operands.h>

/* Registers and predicates under one number: R0 to R254, then P0 to P6. */
#define GC_VALUE_PREDICATE 256u
#define GC_VALUES 263u

#define GC_EFFECT_SOURCES_MAX 12

/* By opcode bits [8:0], for one architecture. */
typedef struct gc_effects {
    uint32_t arch;
    uint16_t of[512];
    uint8_t spans[512]; /* registers that may be written; GC_SPAN_LOADED: the size of the access tells */
} gc_effects;

#define GC_SPAN_ALL 255u
#define GC_SPAN_LOADED 254u
#define GC_SPAN_PREDICATES 253u /* no register, but any predicate */
/* Predicates that may be written. */
#define GC_EFFECT_FIRST 0x0008u  /* at [83:81] */
#define GC_EFFECT_SECOND 0x0010u /* at [86:84] */

/* What an instruction reads, when its result depends on nothing else. */
typedef struct gc_sources {
    bool pure; /* equal sources give equal results in all threads; false: nothing is said */
    uint32_t count;
    uint16_t values[GC_EFFECT_SOURCES_MAX];
} gc_sources;

/* What an instruction may write, in short. */
typedef struct gc_writes {
    uint8_t first, span;   /* registers; GC_SPAN_ALL: any at all, and any predicate */
    uint8_t predicates[2]; /* GC_PREDICATE_TRUE: none */
} gc_writes;

#define GC_PREDICATES_ALL 0xff /* in the place of the first one: any of them */

void gc_effects_make(uint32_t arch, gc_effects *effects);
static inline gc_writes gc_effects_writes(const gc_effects *effects, gc_word word) {
    static const uint8_t LOADED[8] = {1, 1, 1, 1, 1, 2, 4, 4}; /* by size: 1, 1, 2, 2, 4, 8, 16 bytes */
    const uint32_t low = word.low & 0x1ff;
    const uint16_t effect = effects->of[low];
    gc_writes writes = {(uint8_t)gc_bits(word, 23, 16), effects->spans[low], {GC_PREDICATE_TRUE, GC_PREDICATE_TRUE}};
    if (writes.span == GC_SPAN_ALL) writes.first = 0;
    if (effect & GC_EFFECT_FIRST) writes.predicates[0] = (uint8_t)gc_bits(word, 83, 81);
    if (effect & GC_EFFECT_SECOND) writes.predicates[1] = (uint8_t)gc_bits(word, 86, 84);
    if (writes.span == GC_SPAN_LOADED) {
        writes.span = LOADED[gc_bits(word, 75, 73)];
        if (low == 0x184 && gc_bits(word, 87, 87)) writes.predicates[0] = GC_PREDICATES_ALL; /* LDS.ZD */
    } else if (writes.span == GC_SPAN_PREDICATES) {
        writes.span = 0;
        writes.predicates[0] = GC_PREDICATES_ALL;
    }
    return writes;
}
static inline bool gc_may_write(gc_writes writes, uint32_t value) {
    if (value >= GC_VALUE_PREDICATE)
        return writes.predicates[0] + GC_VALUE_PREDICATE == value ||
               writes.predicates[1] + GC_VALUE_PREDICATE == value || writes.span == GC_SPAN_ALL ||
               writes.predicates[0] == GC_PREDICATES_ALL;
    return value - writes.first < writes.span; /* below `first` the difference is huge */
}
/* Whether an instruction that may write `value` surely does, as far as its guard lets it. */
bool gc_effects_replaces(const gc_effects *effects, gc_word word, uint32_t value);
gc_sources gc_effects_sources(const gc_effects *effects, gc_word word);

#endif
