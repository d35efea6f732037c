/* Order statistics. */
#include "stats/order.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void gc_sort_doubles(double *values, size_t count) {
    if (count > 1) {
        qsort(values, count, sizeof *values, compare_doubles);
    }
}

double gc_sorted_median(const double *sorted, size_t count) {
    size_t middle = count / 2;
    if (count % 2 == 1) {
        return sorted[middle];
    }
    double low = sorted[middle - 1], high = sorted[middle];
    /* The sum of two large values may overflow, the sum of their halves may not; small ones lose nothing by this. */
    return fabs(low) > 1 && fabs(high) > 1 ? low / 2 + high / 2 : (low + high) / 2;
}

/*
 * The number of samples below the median is binomial (count, 1/2): k is the largest rank for which the probability of
 * k - 1 or fewer stays within 2.5 % on each side.
 */
static size_t exact_rank(size_t count) {
    double term = ldexp(1, -(int)count); /* probability of exactly `below` samples below the median */
    double sum = 0;
    size_t below = 0;
    while (sum + term <= 0.025) {
        sum += term;
        term *= (double)(count - below) / (double)(below + 1);
        below++;
    }
    return below;
}

size_t gc_median_rank95(size_t count) {
    const size_t exact_up_to = 1000; /* 2^-1000 is still a normal double */
    if (count <= exact_up_to) {
        return count == 0 ? 0 : exact_rank(count);
    }
    const double z = 1.959963984540054;
    double n = (double)count;
    return (size_t)floor(n / 2 + 0.5 - z / 2 * sqrt(n)); /* 0.5: continuity correction */
}

void gc_sorted_interval95(const double *sorted, size_t count, double *low, double *high) {
    size_t rank = gc_median_rank95(count);
    size_t index = rank > 0 ? rank - 1 : 0;
    *low = sorted[index];
    *high = sorted[count - 1 - index];
}
