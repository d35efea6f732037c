/* Robust summary of one sampled quantity. */
#include "stats/dd.h"
#include "stats/order.h"
#include "stats/stats.h"

#include <float.h>

/* 0.6745 is the MAD of a standard normal: the score is in standard deviations (Iglewicz and Hoaglin 1993). */
static const double score_of_mad = 0.6745;
static const double outlier_score = 3.5;

/*
 * Copies the samples, scaled by a power of two where squares would over- or underflow. Returns the exponent taken out;
 * false when a sample is not finite.
 */
static bool copy_scaled(const double *samples, size_t count, double *copy, int *exponent) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(samples[i])) {
            return false;
        }
        largest = fmax(largest, fabs(samples[i]));
    }
    (void)frexp(largest, exponent);
    if (*exponent > -400 && *exponent < 400) {
        *exponent = 0;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] = *exponent ? ldexp(samples[i], -*exponent) : samples[i];
    }
    return true;
}

/* Back to the caller's scale; a spread of the whole range of double may not fit, and no field is ever infinite. */
static double unscale(double value, int exponent) {
    double result = exponent ? ldexp(value, exponent) : value;
    return fmin(fmax(result, -DBL_MAX), DBL_MAX);
}

static gc_dd mean_of(const double *values, size_t count) {
    gc_dd sum = {0, 0};
    for (size_t i = 0; i < count; i++) {
        sum = gc_dd_add(sum, gc_dd_from(values[i]));
    }
    return gc_dd_divide(sum, gc_dd_from((double)count));
}

static double deviation_of(const double *values, size_t count, gc_dd mean) {
    if (count < 2) {
        return 0;
    }
    gc_dd squares = {0, 0};
    for (size_t i = 0; i < count; i++) {
        gc_dd distance = gc_dd_subtract(gc_dd_from(values[i]), mean);
        squares = gc_dd_add(squares, gc_dd_multiply(distance, distance));
    }
    return gc_dd_round(gc_dd_sqrt(gc_dd_divide(squares, gc_dd_from((double)(count - 1)))));
}

static bool is_outlier(double deviation, double mad) {
    return mad > 0 ? score_of_mad * deviation > outlier_score * mad : deviation > 0;
}

/*
 * The MAD does not see a second population of less than half of the samples; those are outliers, so many outliers
 * that are also far away mean the same as a large spread.
 */
static bool is_unstable(const double *deviations, size_t count, double mad, double bound) {
    if (mad > bound) {
        return true;
    }
    size_t far = 0;
    for (size_t i = 0; i < count; i++) {
        far += is_outlier(deviations[i], mad) && deviations[i] > bound;
    }
    return far > count / 4;
}

gpuchar_stat gc_summarize(const double *samples, size_t count, double *scratch, double unstable_above) {
    gpuchar_stat stat = {0};
    int exponent = 0;
    double *sorted = scratch, *deviations = scratch + count;
    if (count == 0 || !copy_scaled(samples, count, sorted, &exponent)) {
        return stat;
    }
    gc_sort_doubles(sorted, count);
    double median = gc_sorted_median(sorted, count);
    for (size_t i = 0; i < count; i++) {
        deviations[i] = fabs(sorted[i] - median);
    }
    gc_sort_doubles(deviations, count);
    double mad = gc_sorted_median(deviations, count);
    size_t outliers = 0;
    for (size_t i = 0; i < count; i++) {
        outliers += is_outlier(deviations[i], mad);
    }
    gc_dd exact_mean = mean_of(sorted, count);
    double mean = gc_dd_round(exact_mean);
    double low, high;
    gc_sorted_interval95(sorted, count, &low, &high);

    stat.median = unscale(median, exponent);
    stat.mean = unscale(mean, exponent);
    stat.min = unscale(sorted[0], exponent);
    stat.max = unscale(sorted[count - 1], exponent);
    stat.mad = unscale(mad, exponent);
    stat.cv = mean != 0 ? unscale(deviation_of(sorted, count, exact_mean) / mean, 0) : 0;
    stat.ci95_low = unscale(low, exponent);
    stat.ci95_high = unscale(high, exponent);
    stat.samples = count;
    stat.outliers = outliers > UINT32_MAX ? UINT32_MAX : (uint32_t)outliers;
    if (unstable_above > 0 && is_unstable(deviations, count, mad, unstable_above * fabs(median))) {
        stat.flags |= GPUCHAR_FLAG_UNSTABLE;
    }
    return stat;
}
