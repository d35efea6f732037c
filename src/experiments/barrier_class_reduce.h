/* What follows from the memory that launches of barrier_class.cu leave behind, patched or not. */
#ifndef GC_EXPERIMENTS_BARRIER_CLASS_REDUCE_H
#define GC_EXPERIMENTS_BARRIER_CLASS_REDUCE_H

#include <core/util.h>
#include <gpuchar/barrier_class.h>

/* Record in barrier_class.cu. */
typedef struct gc_barrier_record {
    uint32_t value, met, seen, spins;
} gc_barrier_record;

/* The launches of one run that came to their end, one after the other; the first is the warm-up. */
typedef struct gc_barrier_output {
    const gc_barrier_record *records; /* of each launch, each thread */
    const uint64_t *cycles;           /* of each launch, each warp */
    uint32_t warps;                   /* of all blocks together */
    uint32_t launches;
} gc_barrier_output;

/* What all launches of a kernel know. */
typedef struct gc_barrier_bounds {
    uint32_t probe, turns, spin_limit;
} gc_barrier_bounds;

/* NULL, or what no launch of the unpatched kernel can leave. */
const char *gc_barrier_impossible(const gc_barrier_output *output, const gc_barrier_bounds *bounds);

/* Adds a run that ended: its launches against `reference`, one launch's records. Cycles are left out. */
void gc_barrier_add(const gc_barrier_output *output, const gc_barrier_record *reference, gpuchar_barrier_run *run);
/* Adds one that did not (TIMED_OUT, FAILED). */
void gc_barrier_add_lost(uint32_t end, int64_t native_code, gpuchar_barrier_run *run);

/* Cycles of the longest warp of each launch but the warm-up: launches - 1 numbers. */
void gc_barrier_cycles(const gc_barrier_output *output, double *cycles);

/* Whether all launches did the same: all like the reference, or all different from it, in each word. */
bool gc_barrier_is_steady(const gpuchar_barrier_run *run);

/* The noise of a shape from the medians of its runs; `scratch` has room for 2 * count doubles. */
void gc_barrier_take_noise(const double *medians, size_t count, double *scratch, gpuchar_barrier_shape *shape);
/* Where a case's cycles lie among the unpatched runs'. Nothing where one of the two has none. */
void gc_barrier_compare(const gpuchar_barrier_shape *shape, gpuchar_barrier_case *one);

/* The shape of a case; NULL: none. */
const gpuchar_barrier_shape *gc_barrier_shape_of(const gpuchar_barrier_class_experiment_result *result,
                                                 const gpuchar_barrier_case *one);
/* The sums over all cases. */
void gc_barrier_sum(gpuchar_barrier_class_experiment_result *result);

/* Findings that the evidence's flags tell. */
typedef struct gc_barrier_doubts {
    bool unsteady; /* launches that should be alike were not, or runs were left out */
    bool off_law;  /* an unpatched kernel did not end, or the control did not change every launch */
} gc_barrier_doubts;
gc_barrier_doubts gc_barrier_find_doubts(const gpuchar_barrier_class_experiment_result *result);

#endif
