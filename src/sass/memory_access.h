/* Memory as one thread uses it: shared memory is followed, stores to global memory are told. */
#ifndef GC_SASS_MEMORY_ACCESS_H
#define GC_SASS_MEMORY_ACCESS_H

#include <sass/evaluate_parts.h>

typedef enum gc_access_kind {
    GC_ACCESS_NONE,   /* writes no memory that is followed here */
    GC_ACCESS_STORE,  /* STG */
    GC_ACCESS_MAX,    /* RED or ATOMG: the larger of two unsigned 64-bit numbers */
    GC_ACCESS_ADD,    /* the same: their sum */
    GC_ACCESS_UNKNOWN /* one of those mnemonics in a form that is not followed */
} gc_access_kind;

/* A write to global memory. */
typedef struct gc_access {
    gc_access_kind kind;
    uint32_t bytes; /* 4, 8 or 16 */
    gc_wide address;
    gc_value values[4]; /* the words written, or combined with what is there */
} gc_access;

/* What `in` writes to global memory, with the registers as they are before it; its guard is not looked at. */
gc_access gc_thread_access(const gc_thread *thread, const gc_code *code, const gc_instruction *in);

/* Loads, stores and compare-and-swap of shared memory: opcode bits [8:0] of 0x184, 0x188 and 0x18d. */
void gc_step_shared(gc_thread *thread, gc_word word, const gc_instruction *in);

#endif
