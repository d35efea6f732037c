/* The occupancy experiment's result as fields, as text and as a recorded answer, and what follows from its samples. */
#ifndef GC_EXPERIMENTS_OCCUPANCY_TABLES_H
#define GC_EXPERIMENTS_OCCUPANCY_TABLES_H

#include <core/util.h>
#include <gpuchar/divergence_occupancy.h>
#include <gpuchar/schema.h>

/* What one SM tells of one launch (Span in divergence_occupancy.cu). */
typedef struct gc_span {
    uint64_t start_inverted;
    uint64_t end;
    uint64_t blocks;
} gc_span;

/*
 * Cycles of each launch: the median over the SMs that ran `blocks` blocks of the time from the first block's start to the
 * last one's end. `spans` holds launches x sm_count; `cycles` one for each launch, `scratch` sm_count. Adds to *uneven the
 * SMs that ran another number of blocks, which say nothing of this one. Returns how many launches had an SM to measure by.
 */
uint32_t gc_occupancy_cycles(const gc_span *spans, uint32_t launches, uint32_t sm_count, uint32_t blocks,
                             double *cycles, double *scratch, uint32_t *uneven);

/* Penalties and issue rates of the points, and the bodies' summaries, from the medians in `result`. */
void gc_occupancy_derive(gpuchar_divergence_occupancy_result *result);
/* COUNTED and executed_count, from the points. */
void gc_occupancy_recount(gpuchar_divergence_occupancy_result *result);

#define GC_OCCUPANCY_WARPS_MAX 256 /* per SM */

/* A spread (mad / median) above it is UNSTABLE: many SMs and caches take part. */
#define GC_OCCUPANCY_SPREAD 1e-2
/* COUNTED wants the efficiency this close to 32/k. */
#define GC_OCCUPANCY_EFFICIENCY 0.01

void gc_occupancy_free(void *result);
void gc_occupancy_text(const void *result, gc_text *text);
const char *gc_occupancy_answer(const void *options, const void *recorded, void *result);

#endif
