/* The forward-progress experiment's result: what follows from a probe's memory, fields, text, recorded answer. */
#ifndef GC_EXPERIMENTS_PROGRESS_TABLES_H
#define GC_EXPERIMENTS_PROGRESS_TABLES_H

#include <core/util.h>
#include <gpuchar/forward_progress.h>
#include <gpuchar/schema.h>
#include <stdbool.h>

/* What a probe leaves behind (State in forward_progress.cu). */
typedef struct gc_progress_state {
    uint32_t lock;
    uint32_t counter;
    uint32_t flag;
    uint32_t answer;
    uint32_t turn[32];
    uint32_t spins[32];
} gc_progress_state;

/*
 * Adds one launch that came to its end: the worst of all stays. `first_asking`: lanes below it do not ask (0 or 1).
 * An earlier launch that did not end, or ended worse, keeps its word.
 */
void gc_progress_add(const gc_progress_state *state, uint32_t first_asking, gpuchar_progress_run *run);
/* Adds one that did not (TIMED_OUT, FAILED). */
void gc_progress_add_end(uint32_t end, gpuchar_progress_run *run);
/* Lanes that had the lock: their turns are 1 to the counter's value, each once; else 0. */
uint32_t gc_progress_served(const gc_progress_state *state);

void gc_progress_free(void *result);
void gc_progress_text(const void *result, gc_text *text);
const char *gc_progress_answer(const void *options, const void *recorded, void *result);

#endif
