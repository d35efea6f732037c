/* How many of what: "ISETP 32, IADD3 32, BRA 33, NOP 5". */
#ifndef GC_PROOF_TALLY_H
#define GC_PROOF_TALLY_H

#include <stddef.h>
#include <stdint.h>

#define GC_TALLY_KINDS_MAX 64

typedef struct gc_tally_kind {
    const char *name;
    uint64_t count;
} gc_tally_kind;

typedef struct gc_tally {
    gc_tally_kind kinds[GC_TALLY_KINDS_MAX];
    uint32_t count;
    uint32_t more; /* names that found no room */
} gc_tally;

/* `name` must live as long as the tally. */
void gc_tally_add(gc_tally *tally, const char *name, uint64_t count);
/* The most frequent first; what does not fit is left out behind "...". Sorts the tally. */
void gc_tally_write(gc_tally *tally, char *text, size_t size);

#endif
