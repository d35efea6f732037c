/* Shapes and their numbers: pure functions, no GPU. */
#ifndef GC_EXPERIMENTS_DIVERGENCE_SHAPES_REDUCE_H
#define GC_EXPERIMENTS_DIVERGENCE_SHAPES_REDUCE_H

#include <experiments/divergence_reduce.h>
#include <gpuchar/divergence_shapes.h>

#define GC_SHAPES_PATHS 32
#define GC_SHAPES_LEVELS 6
#define GC_SHAPES_BODY 64
#define GC_SHAPES_NAMED 18 /* GPUCHAR_SHAPE_EARLY_1 to GPUCHAR_SHAPE_ONE_LONG */
#define GC_SHAPES_LONG 4   /* long paths over short paths */
#define GC_SHAPES_UNIT_MAX 4096
#define GC_SHAPES_TURNS_MAX 65536 /* of a node */
#define GC_SHAPES_POINTS_MAX (32 + GPUCHAR_SHAPES_GIVEN_MAX)

/*
 * A shape, or the paths, further than this from the linear model are OFF_LAW. The model has no term for coming to a node
 * (decision, barrier, fetch of the code): every shape takes longer than it says, on an H200 by 20 to 86 cycles for each node
 * beyond those of a single path, up to 1.2 % of the whole by default. What it must tell apart is larger: a warp as slow as
 * its longest path would be 40 % and more below the sum.
 */
#define GC_SHAPES_LAW 0.02

/* A named shape for `unit` turns. */
void gc_shapes_plan(uint32_t shape, uint32_t unit, gpuchar_divergence_shape *what);
/* All lanes on one path, each node with `turns`. */
void gc_shapes_plan_path(uint32_t path, uint32_t turns, gpuchar_divergence_shape *what);

/* What follows from point->what alone: paths, nodes, turns, longest_turns, expected_efficiency. */
void gc_shapes_describe(gpuchar_divergence_shapes_point *point);

/* What the machine code says, once it is proved: expected_count of the points, the evidence's counts. */
void gc_shapes_expect(gpuchar_divergence_shapes_result *result);

/* Summaries: blocks of `launches` cycles; the 32 short paths, the 32 long ones, then the points. `scratch`: 2 * launches. */
void gc_shapes_summarize(const double *cycles, uint32_t launches, double *scratch,
                         gpuchar_divergence_shapes_result *result);

/* s, c, deviations and the flags UNSTABLE and OFF_LAW, from the summaries in `result`. */
void gc_shapes_derive(gpuchar_divergence_shapes_result *result);

/* The evidence's executed_count, COUNTED and, when a point's counters are missing, counters_status, from the points. */
void gc_shapes_recount(gpuchar_divergence_shapes_result *result);

#endif
