/* From samples to the numbers of the divergence sweep: pure functions, no GPU. */
#ifndef GC_EXPERIMENTS_DIVERGENCE_REDUCE_H
#define GC_EXPERIMENTS_DIVERGENCE_REDUCE_H

#include <gpuchar/divergence.h>
#include <stdbool.h>

/* The path of each lane for k paths; `options` are resolved. */
void gc_divergence_lanes(const gpuchar_divergence_sweep_options *options, uint32_t ways, uint8_t lanes[32]);

/* Number of distinct paths in a given map. */
uint32_t gc_divergence_given_ways(const uint32_t lanes[32]);

/*
 * Summaries of every path (32 blocks of `launches` samples, path 0 first) and of every point (one block each, in the order of
 * result->points). `scratch` has room for 2 * launches doubles.
 */
void gc_divergence_summarize(const double *path_cycles, const double *point_cycles, uint32_t launches, uint32_t kind,
                             double *scratch, gpuchar_divergence_sweep_result *result);

/* Fits, ratios, flatness and the flags UNSTABLE and OFF_LAW, from the summaries in `result`. */
void gc_divergence_derive(gpuchar_divergence_sweep_result *result);

/* The evidence's executed_count, COUNTED and, when a point's counters are missing, counters_status, from the points in `result`. */
void gc_divergence_recount(gpuchar_divergence_sweep_result *result);

/* Bounds of the flags: a spread (mad / median) above it is UNSTABLE; a point further than it from k times the mean path, paths
 * further than it apart, or r2 below it, are OFF_LAW. */
#define GC_DIVERGENCE_SPREAD 1e-3
#define GC_DIVERGENCE_SPREAD_MEMORY 1e-2
#define GC_DIVERGENCE_LAW 0.02
#define GC_DIVERGENCE_LAW_R2 0.9995
/* COUNTED wants every efficiency, the validation kernels' too, this close to what it must be. */
#define GC_DIVERGENCE_EFFICIENCY 0.01

#endif
