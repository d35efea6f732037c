/*
 * Double-double arithmetic: a value as the unevaluated sum of two doubles, about 31 digits. Sums of squares around a
 * mean and polynomial fits lose half of their digits to cancellation; with 31 of them 15 are left.
 * The error-free steps are Knuth's and Dekker's.
 */
#ifndef GC_STATS_DD_H
#define GC_STATS_DD_H

#include <math.h>

#ifdef __FAST_MATH__
#error "the compensation terms are zero in exact algebra: -ffast-math removes them"
#endif

typedef struct gc_dd {
    double high, low;
} gc_dd;

static inline gc_dd gc_dd_from(double value) {
    return (gc_dd){value, 0};
}

static inline double gc_dd_round(gc_dd a) {
    return a.high + a.low;
}

static inline gc_dd gc_dd_two_sum(double a, double b) {
    double sum = a + b;
    double b_part = sum - a;
    return (gc_dd){sum, (a - (sum - b_part)) + (b - b_part)};
}

/* |a| >= |b| */
static inline gc_dd gc_dd_quick_sum(double a, double b) {
    double sum = a + b;
    return (gc_dd){sum, b - (sum - a)};
}

static inline gc_dd gc_dd_two_product(double a, double b) {
    double product = a * b;
    return (gc_dd){product, fma(a, b, -product)};
}

static inline gc_dd gc_dd_add(gc_dd a, gc_dd b) {
    gc_dd high = gc_dd_two_sum(a.high, b.high);
    gc_dd low = gc_dd_two_sum(a.low, b.low);
    high = gc_dd_quick_sum(high.high, high.low + low.high);
    return gc_dd_quick_sum(high.high, high.low + low.low);
}

static inline gc_dd gc_dd_subtract(gc_dd a, gc_dd b) {
    return gc_dd_add(a, (gc_dd){-b.high, -b.low});
}

static inline gc_dd gc_dd_multiply(gc_dd a, gc_dd b) {
    gc_dd product = gc_dd_two_product(a.high, b.high);
    return gc_dd_quick_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

static inline gc_dd gc_dd_divide(gc_dd a, gc_dd b) {
    double first = a.high / b.high;
    gc_dd rest = gc_dd_subtract(a, gc_dd_multiply(b, gc_dd_from(first)));
    double second = rest.high / b.high;
    rest = gc_dd_subtract(rest, gc_dd_multiply(b, gc_dd_from(second)));
    gc_dd sum = gc_dd_quick_sum(first, second);
    return gc_dd_add(sum, gc_dd_from(rest.high / b.high));
}

/* a >= 0: one Newton step from the double's root. */
static inline gc_dd gc_dd_sqrt(gc_dd a) {
    if (a.high <= 0) {
        return gc_dd_from(0);
    }
    double root = sqrt(a.high);
    gc_dd rest = gc_dd_subtract(a, gc_dd_two_product(root, root));
    return gc_dd_quick_sum(root, rest.high / (2 * root));
}

#endif
