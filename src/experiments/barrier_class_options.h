/* The options of the barrier-class experiment. */
#ifndef GC_EXPERIMENTS_BARRIER_CLASS_OPTIONS_H
#define GC_EXPERIMENTS_BARRIER_CLASS_OPTIONS_H

#include <gpuchar/barrier_class.h>

enum {
    GC_BARRIER_SHAPES_MAX = 8,
    GC_BARRIER_WARPS_MAX = 32,
    GC_BARRIER_BLOCKS_MAX = 64,
    GC_BARRIER_TURNS_MAX = 1024,
    GC_BARRIER_LAUNCHES_MIN = 3,
    GC_BARRIER_LAUNCHES_MAX = 64,
    GC_BARRIER_SPINS_MAX = 65536,
    GC_BARRIER_LIMIT_MS_MIN = 10,
    GC_BARRIER_LIMIT_MS_MAX = 60000,
    GC_BARRIER_LOST_MAX = 10000
};

gpuchar_status gc_barrier_resolve(void *options);
void gc_barrier_preset(uint32_t preset, void *options);

#endif
