/*
 * Prints what the table of effects says of instructions, for scripts/check_effects.py: sass_effects_dump ARCH. Its input is
 * words of 16 bytes. One line each: first register and how many may be written, the predicates that may be written as a
 * mask, 1 when its result depends on its sources alone, and which of these values it surely replaces.
 */
#include <sass/effects.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned predicates_of(gc_writes writes) {
    unsigned mask = 0;
    for (uint32_t p = 0; p < 7; p++)
        if (gc_may_write(writes, GC_VALUE_PREDICATE + p)) mask |= 1u << p;
    return mask;
}

static void print_values(const gc_effects *effects, gc_word word, gc_writes writes) {
    for (uint32_t v = 0; v < GC_VALUES; v++) {
        if (v == GC_REGISTER_ZERO || !gc_may_write(writes, v) || !gc_effects_replaces(effects, word, v)) continue;
        printf(" %s%u", v < GC_VALUE_PREDICATE ? "R" : "P", v < GC_VALUE_PREDICATE ? v : v - GC_VALUE_PREDICATE);
    }
}

static void print_sources(gc_sources sources) {
    printf(" |");
    for (uint32_t i = 0; i < sources.count; i++)
        printf(" %s%u", sources.values[i] < GC_VALUE_PREDICATE ? "R" : "P",
               sources.values[i] < GC_VALUE_PREDICATE ? sources.values[i] : sources.values[i] - GC_VALUE_PREDICATE);
}

int main(int argc, char **argv) {
    gc_effects effects;
    uint64_t halves[2];
    if (argc != 2) {
        fprintf(stderr, "usage: sass_effects_dump ARCH < WORDS\n");
        return 1;
    }
    gc_effects_make((uint32_t)strtoul(argv[1], NULL, 10), &effects);
    while (fread(halves, sizeof halves, 1, stdin) == 1) {
        const gc_word word = {halves[0], halves[1]};
        const gc_writes writes = gc_effects_writes(&effects, word);
        const gc_sources sources = gc_effects_sources(&effects, word);
        printf("%u %u %u %d |", writes.first, writes.span, predicates_of(writes), sources.pure);
        if (sources.pure) print_values(&effects, word, writes);
        print_sources(sources);
        printf("\n");
    }
    return 0;
}
