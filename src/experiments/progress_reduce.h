/* What follows from the memory that a probe of forward progress leaves behind. */
#ifndef GC_EXPERIMENTS_PROGRESS_REDUCE_H
#define GC_EXPERIMENTS_PROGRESS_REDUCE_H

#include <core/util.h>
#include <gpuchar/forward_progress.h>

#define GC_PROGRESS_LANES 32

/* State in forward_progress.cu. */
typedef struct gc_progress_state {
    uint32_t lock;
    uint32_t counter;
    uint32_t flag;
    uint32_t answer;
    uint32_t turn[GC_PROGRESS_LANES];
    uint32_t spins[GC_PROGRESS_LANES];
} gc_progress_state;

typedef enum gc_progress_kind { GC_PROGRESS_LOCK, GC_PROGRESS_PRODUCER, GC_PROGRESS_PEER } gc_progress_kind;

/* One launch that came to its end. */
typedef struct gc_progress_launch {
    gc_progress_state state;
    uint64_t cycles, elapsed_ns;
    gc_progress_kind kind;
    uint32_t spin_limit; /* of this launch */
    uint32_t turns;      /* of the producer */
} gc_progress_launch;

/* NULL, or what no launch of this kernel can leave, whatever the order in which its lanes run. */
const char *gc_progress_impossible(const gc_progress_launch *launch);

/* Turns of one launch of the lock. */
typedef struct gc_progress_turns {
    uint32_t had;    /* lanes that had the lock */
    uint32_t served; /* those whose turn nobody else had */
    uint32_t last;   /* the highest turn */
    bool ordered;    /* each turn up to the last one was somebody's: what any reads and writes of one counter leave */
} gc_progress_turns;
gc_progress_turns gc_progress_read_turns(const uint32_t turn[GC_PROGRESS_LANES]);

/*
 * Adds one possible launch to its probe's run, in which the worst of all stays. False: it ended otherwise than one
 * before.
 */
bool gc_progress_add(const gc_progress_launch *launch, gpuchar_progress_run *run);
/* Adds one that did not come to its end (TIMED_OUT, FAILED): then nothing is known of the lanes. */
bool gc_progress_add_end(uint32_t end, gpuchar_progress_run *run);
/* Adds one launch of the lock to what the result tells of it. */
void gc_progress_add_lock(const gc_progress_launch *launch, gpuchar_forward_progress_result *result);

#endif
