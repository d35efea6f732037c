/* From samples to the numbers of the predication comparison: pure functions, no GPU. */
#ifndef GC_EXPERIMENTS_PREDICATION_REDUCE_H
#define GC_EXPERIMENTS_PREDICATION_REDUCE_H

#include <gpuchar/predication.h>

/*
 * Summaries of every form of every point: blocks of `launches` samples, point after point, form after form. `scratch` has
 * room for 2 * launches doubles.
 */
void gc_predication_summarize(const double *cycles, uint32_t launches, double *scratch,
                              gpuchar_predication_compare_result *result);

/* Ratios, issue rates, saturation_warps and the flag UNSTABLE, from the summaries and the forms in `result`. */
void gc_predication_derive(gpuchar_predication_compare_result *result);

/* compiler_branch_length, from the lengths in `result`. */
void gc_predication_derive_lengths(gpuchar_predication_compare_result *result);

/* The evidence's executed_count and COUNTED, from the forms in `result`. */
void gc_predication_recount(gpuchar_predication_compare_result *result);

/* A spread (mad / median) above it is UNSTABLE: ratios are told to half a percent. */
#define GC_PREDICATION_SPREAD 2e-3
/* A gain below it is none. */
#define GC_PREDICATION_NO_GAIN 1.05
/* COUNTED wants every efficiency this close to what it must be. */
#define GC_PREDICATION_EFFICIENCY 0.01

#endif
