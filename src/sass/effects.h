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
} gc_effects;

/* What an instruction reads, when its result depends on nothing else. */
typedef struct gc_sources {
    bool pure; /* equal sources give equal results in all threads; false: nothing is said */
    uint32_t count;
    uint16_t values[GC_EFFECT_SOURCES_MAX];
} gc_sources;

/* What an instruction may write, in short. */
typedef struct gc_writes {
    uint8_t first, span;   /* registers; 255: any at all, and any predicate */
    uint8_t predicates[2]; /* GC_PREDICATE_TRUE: none */
} gc_writes;

#define GC_PREDICATES_ALL 0xff /* in the place of the first one: any of them */

void gc_effects_make(uint32_t arch, gc_effects *effects);
gc_writes gc_effects_writes(const gc_effects *effects, gc_word word);
static inline bool gc_may_write(gc_writes writes, uint32_t value) {
    if (value >= GC_VALUE_PREDICATE)
        return writes.predicates[0] + GC_VALUE_PREDICATE == value ||
               writes.predicates[1] + GC_VALUE_PREDICATE == value || writes.span == 255 ||
               writes.predicates[0] == GC_PREDICATES_ALL;
    return value - writes.first < writes.span; /* below `first` the difference is huge */
}
/* Whether an instruction that may write `value` surely does, as far as its guard lets it. */
bool gc_effects_replaces(const gc_effects *effects, gc_word word, uint32_t value);
gc_sources gc_effects_sources(const gc_effects *effects, gc_word word);

#endif
