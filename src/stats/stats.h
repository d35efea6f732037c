/* Robust summaries, line fits, steadiness: pure functions of samples. */
#ifndef GC_STATS_H
#define GC_STATS_H

#include <gpuchar/stat.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Summary of `count` finite samples (any order, not changed); all zero, samples too, when there is none or one is not
 * finite. `scratch` has room for 2 * count doubles.
 * GPUCHAR_FLAG_UNSTABLE: a spread (mad / |median|) above `unstable_above`, or more than a quarter of the samples being
 * outliers that far from the median (a second population, which the mad does not see). 0 or less: never.
 */
gpuchar_stat gc_summarize(const double *samples, size_t count, double *scratch, double unstable_above);

/*
 * y = slope x + intercept by least squares, in double-double arithmetic. Constant y: slope 0 and r2 1, because the
 * line meets every point. Two points leave nothing to judge a spread by: the intervals are then the values themselves.
 */
typedef struct gc_line {
    gpuchar_fit slope;
    gpuchar_fit intercept;
    double residual_sd;
} gc_line;
/* False (and everything zero) with fewer than 2 points, equal x, or values that are not finite or overflow. */
bool gc_fit_line(const double *x, const double *y, size_t count, gc_line *line);

/* Median of the slopes of all pairs with different x. `scratch`: count * (count - 1) / 2 doubles. False as above. */
bool gc_theil_sen(const double *x, const double *y, size_t count, double *scratch, double *slope);

/*
 * Polynomial least squares of degree 1..5 (QR in double-double), degree + 1 coefficients, low order first. False (and
 * zeros) with fewer different x than coefficients, or values that are not finite or overflow.
 */
bool gc_fit_polynomial(const double *x, const double *y, size_t count, unsigned degree, double *coefficients);

/* Quantile of Student's t: two-sided 95 %. degrees >= 1; right to 10 digits. */
double gc_student_t95(size_t degrees);

/*
 * Indices of the first sample after each step (level change) of a piecewise constant curve; returns how many (at most
 * `capacity`). A step is relative to the level before it; a lone spike is none, a sample at the end may be one.
 */
size_t gc_find_steps(const double *y, size_t count, double min_relative_step, size_t *steps, size_t capacity);

/*
 * Stopping rule for repeated sampling: enough when at least `min_samples` are there and the 95 % interval of the median
 * is not wider than `relative_width` of it, or when `max_samples` are there. `scratch` has room for count doubles.
 */
typedef struct gc_stopping {
    size_t min_samples;
    size_t max_samples;
    double relative_width;
} gc_stopping;
bool gc_enough(const gc_stopping *rule, const double *samples, size_t count, double *scratch);

/* Whether a warm-up has settled: the last `window` values lie within `relative` of their mean. */
bool gc_steady(const double *values, size_t count, size_t window, double relative);

#endif
