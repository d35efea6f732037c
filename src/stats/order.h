/* Order statistics, shared by summaries and the stopping rule. */
#ifndef GC_STATS_ORDER_H
#define GC_STATS_ORDER_H

#include <stddef.h>

void gc_sort_doubles(double *values, size_t count);
/* count >= 1, ascending. */
double gc_sorted_median(const double *sorted, size_t count);
/*
 * The 1-based rank k such that the k-th smallest and the k-th largest of `count` samples enclose the median with at
 * least 95 % probability; 0 when there are too few samples (fewer than 6).
 */
size_t gc_median_rank95(size_t count);
/* That interval; smallest and largest sample when there are too few. */
void gc_sorted_interval95(const double *sorted, size_t count, double *low, double *high);

#endif
