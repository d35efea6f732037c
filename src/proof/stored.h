/* What a kernel makes of its clock reads: which numbers a thread stores, where, and which threads do. */
#ifndef GC_PROOF_STORED_H
#define GC_PROOF_STORED_H

#include <proof/region.h>
#include <sass/memory_access.h>

/* One visit of one thread: what it is, and what the clocks and the other threads of its block tell it. */
typedef struct gc_visit {
    uint32_t path, thread, block;
    uint32_t moment;   /* which clock values, below GC_MOMENTS */
    uint32_t scenario; /* GC_SCENARIO_..., of the others that raise the words in shared memory */
    bool far;          /* the others' times differ in the upper half; and sums carry as gc_thread.second_carry says */
} gc_visit;

#define GC_MOMENTS 4

enum {
    GC_SCENARIO_ALONE,     /* this thread's numbers are the largest */
    GC_SCENARIO_OVERTAKEN, /* larger ones stand there */
    GC_SCENARIO_CONTENDED, /* the largest, but each first try to write them fails */
    GC_SCENARIOS
};

/* Of the block's words in shared memory. */
enum { GC_WORD_START, GC_WORD_END, GC_WORD_TIMER_START, GC_WORD_TIMER_END, GC_WORDS };

typedef struct gc_stored {
    const gc_sample_claim *claim;
    gc_divergence_proof *proof;
    gc_thread *thread;
    gc_visit visit;
    uint64_t samples, sink, spans; /* what the arguments say */
    uint32_t slot, sms;
    uint32_t clocks, timers; /* read so far */
    uint64_t written;        /* by byte of the sample */
    uint32_t spanned;        /* by word of the span */
    uint32_t barriers;       /* since the second clock read */
    uint32_t swaps;          /* tried */
    bool zeroed[GC_THREAD_SHARED_WORDS / 2];
    gc_value shared[GC_THREAD_SHARED_WORDS];
    /* Over all visits. */
    uint32_t words[GC_WORDS]; /* where the block's words stand, in units of 8 bytes */
    bool words_found;
} gc_stored;

/* Whether the claim's offsets stand inside its arguments. */
bool gc_stored_is_claimable(const gc_divergence_claim *claim);
/* Writes addresses and numbers of the claim into the arguments that a thread sees: others in each of two rounds. */
void gc_stored_tell(gc_stored *stored, uint32_t round, uint8_t *arguments, uint8_t *told);

/* The thread has been started. */
void gc_stored_begin(gc_stored *stored, gc_thread *thread, gc_visit visit);
/* The thread is about to execute `in`, which stands in no loop; false after gc_refuse. */
bool gc_stored_see(gc_stored *stored, const gc_code *code, const gc_instruction *in, bool inside);
/* The thread is done. */
bool gc_stored_end(const gc_stored *stored);

#endif
