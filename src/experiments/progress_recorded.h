/* Recorded answers of the forward-progress experiment, and the ranges of its options. */
#ifndef GC_EXPERIMENTS_PROGRESS_RECORDED_H
#define GC_EXPERIMENTS_PROGRESS_RECORDED_H

#include <experiments/experiment.h>
#include <gpuchar/forward_progress.h>

enum {
    GC_PROGRESS_PRODUCERS_MAX = 8,
    GC_PROGRESS_SPINS_MAX = 1 << 30,
    GC_PROGRESS_LAUNCHES_MAX = 100,
    GC_PROGRESS_LIMIT_MS_MIN = 10,
    GC_PROGRESS_LIMIT_MS_MAX = 60000
};

const char *gc_progress_answer(const void *options, const void *recorded, void *result);

#endif
