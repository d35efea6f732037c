/* When to stop: warming up, and sampling. */
#include "stats/order.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

bool gc_enough(const gc_stopping *rule, const double *samples, size_t count, double *scratch) {
    if (count >= rule->max_samples) {
        return true;
    }
    if (count == 0 || count < rule->min_samples) {
        return false;
    }
    memcpy(scratch, samples, count * sizeof *samples);
    gc_sort_doubles(scratch, count);
    double low, high;
    gc_sorted_interval95(scratch, count, &low, &high);
    return high - low <= rule->relative_width * fabs(gc_sorted_median(scratch, count));
}

bool gc_steady(const double *values, size_t count, size_t window, double relative) {
    if (window == 0 || count < window) {
        return false;
    }
    const double *last = values + (count - window);
    double mean = 0;
    for (size_t i = 0; i < window; i++) {
        mean += last[i] / (double)window;
    }
    for (size_t i = 0; i < window; i++) {
        if (!(fabs(last[i] - mean) <= relative * fabs(mean))) {
            return false;
        }
    }
    return true;
}
