/* Straight lines: least squares and Theil-Sen. */
#include "stats/dd.h"
#include "stats/order.h"
#include "stats/stats.h"

#include <string.h>

static bool all_finite(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return false;
        }
    }
    return true;
}

static bool all_equal(const double *values, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (values[i] != values[0]) {
            return false;
        }
    }
    return true;
}

static bool can_be_fitted(const double *x, const double *y, size_t count) {
    return count >= 2 && all_finite(x, count) && all_finite(y, count) && !all_equal(x, count);
}

/* Means, and sums of squares and products around them. */
typedef struct moments {
    gc_dd mean_x, mean_y, xx, xy, yy;
} moments;

static moments moments_of(const double *x, const double *y, size_t count) {
    moments sums = {.mean_x = gc_dd_mean(x, count), .mean_y = gc_dd_mean(y, count)};
    for (size_t i = 0; i < count; i++) {
        gc_dd dx = gc_dd_subtract(gc_dd_from(x[i]), sums.mean_x);
        gc_dd dy = gc_dd_subtract(gc_dd_from(y[i]), sums.mean_y);
        sums.xx = gc_dd_add(sums.xx, gc_dd_multiply(dx, dx));
        sums.xy = gc_dd_add(sums.xy, gc_dd_multiply(dx, dy));
        sums.yy = gc_dd_add(sums.yy, gc_dd_multiply(dy, dy));
    }
    return sums;
}

static double residual_squares(const double *x, const double *y, size_t count, gc_dd slope, gc_dd intercept) {
    gc_dd squares = {0, 0};
    for (size_t i = 0; i < count; i++) {
        gc_dd fitted = gc_dd_add(gc_dd_multiply(slope, gc_dd_from(x[i])), intercept);
        gc_dd residual = gc_dd_subtract(gc_dd_from(y[i]), fitted);
        squares = gc_dd_add(squares, gc_dd_multiply(residual, residual));
    }
    return gc_dd_round(squares);
}

/* A line meets its two points whatever they are worth: there is nothing to judge an interval by. */
static gpuchar_fit make_fit(double value, double half_width, double r2, size_t count) {
    const bool judged = count >= GPUCHAR_FIT_INTERVAL_POINTS;
    return (gpuchar_fit){
        .value = value,
        .ci95_low = judged ? value - half_width : 0,
        .ci95_high = judged ? value + half_width : 0,
        .r2 = r2,
        .points = count,
    };
}

static bool fit_is_finite(const gpuchar_fit *fit) {
    return isfinite(fit->value) && isfinite(fit->ci95_low) && isfinite(fit->ci95_high) && isfinite(fit->r2);
}

bool gc_fit_line(const double *x, const double *y, size_t count, gc_line *line) {
    memset(line, 0, sizeof *line);
    if (!can_be_fitted(x, y, count)) {
        return false;
    }
    moments sums = moments_of(x, y, count);
    double xx = gc_dd_round(sums.xx), yy = gc_dd_round(sums.yy), mean_x = gc_dd_round(sums.mean_x);
    if (!(xx > 0)) {
        return false; /* the distances of x underflow */
    }
    bool flat = all_equal(y, count);
    gc_dd slope = flat ? gc_dd_from(0) : gc_dd_divide(sums.xy, sums.xx);
    gc_dd intercept = flat ? gc_dd_from(y[0]) : gc_dd_subtract(sums.mean_y, gc_dd_multiply(slope, sums.mean_x));
    double squares = residual_squares(x, y, count, slope, intercept);
    double r2 = yy > 0 && !flat ? fmax(0, 1 - squares / yy) : 1;

    double sd = 0, t = 0;
    if (count > 2) {
        sd = sqrt(squares / (double)(count - 2));
        t = gc_student_t95(count - 2);
    }
    gc_line fitted = {
        .slope = make_fit(gc_dd_round(slope), t * sd / sqrt(xx), r2, count),
        .intercept =
            make_fit(gc_dd_round(intercept), t * sd * sqrt(1 / (double)count + mean_x / xx * mean_x), r2, count),
        .residual_sd = sd,
    };
    if (!fit_is_finite(&fitted.slope) || !fit_is_finite(&fitted.intercept) || !isfinite(sd)) {
        return false;
    }
    *line = fitted;
    return true;
}

bool gc_theil_sen(const double *x, const double *y, size_t count, double *scratch, double *slope) {
    *slope = 0;
    if (!can_be_fitted(x, y, count)) {
        return false;
    }
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            if (x[i] == x[j]) {
                continue;
            }
            double pair = (y[j] - y[i]) / (x[j] - x[i]);
            if (isfinite(pair)) {
                scratch[pairs++] = pair;
            }
        }
    }
    if (pairs == 0) {
        return false;
    }
    gc_sort_doubles(scratch, pairs);
    *slope = gc_sorted_median(scratch, pairs);
    return true;
}
