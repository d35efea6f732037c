/* From samples to the numbers of the predication comparison: pure functions, no GPU. */
#ifndef GC_EXPERIMENTS_PREDICATION_REDUCE_H
#define GC_EXPERIMENTS_PREDICATION_REDUCE_H

#include <gpuchar/predication.h>

/*
 * The two bodies that each form is measured with, as indices. The longer one has so many links more: whole lines of
 * instruction cache in both forms, so that both loops end where a line of theirs does, and with the usual 64 no loop reaches
 * 4 KiB. From there on compilers close it with two branches on sm_80 to sm_89. On an H200 a loop of 8 KiB is slower.
 */
#define GC_PREDICATION_MORE 48
enum { GC_BODY_SHORT, GC_BODY_LONG };
#define GC_BODIES 2
/* Blocks of samples of one number of warps: form after form, of each the shorter body first. */
#define GC_PREDICATION_BLOCKS (GPUCHAR_FORMS * GC_BODIES)

/* What the machine code of a form with a body says, at its place in `result`. */
gpuchar_predication_form *gc_predication_form_of(gpuchar_predication_compare_result *result, size_t form, size_t body);

/* Warp instructions that one warp executes in the loops of a form, by the decoded loop. */
uint64_t gc_predication_expected(const gpuchar_predication_form *form, uint32_t iterations);

/*
 * Summaries of every form of every point with both bodies: blocks of `launches` samples, GC_PREDICATION_BLOCKS a point.
 * `scratch` has room for 2 * launches doubles.
 */
void gc_predication_summarize(const double *cycles, uint32_t launches, double *scratch,
                              gpuchar_predication_compare_result *result);

/*
 * Slopes, their bounds, ratios, issue rates, saturation_warps, the flags OFF_LAW and UNSTABLE, from the summaries, the
 * forms and the architecture in `result`. What was derived before is forgotten first, but not an UNSTABLE: that can come
 * from the clock.
 */
void gc_predication_forget(gpuchar_predication_compare_result *result);
void gc_predication_derive(gpuchar_predication_compare_result *result);

/* compiler_branch_length, from the lengths in `result`. */
void gc_predication_derive_lengths(gpuchar_predication_compare_result *result);

/* The evidence's intended, decoded and scaffold counts, from the long branch in `result`. */
void gc_predication_expect(gpuchar_predication_compare_result *result);

/* The evidence's executed_count, COUNTED and, when a form's counters are missing, counters_status, from the forms. */
void gc_predication_recount(gpuchar_predication_compare_result *result);

/* A spread (mad / median) above it is UNSTABLE: ratios are told to half a percent. */
#define GC_PREDICATION_SPREAD 2e-3
/* A slope further than this below its floor or above its ceiling is none: the half percent to which ratios are told. */
#define GC_PREDICATION_BOUND 5e-3
/* A gain below it is none. */
#define GC_PREDICATION_NO_GAIN 1.05
/* COUNTED wants every efficiency this close to what it must be. */
#define GC_PREDICATION_EFFICIENCY 0.01

#endif
