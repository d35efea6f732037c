/*
 * Polynomial least squares by QR. The rows are rotated one by one into a small triangle (Givens), so that no matrix of
 * all points is needed; in double-double, because powers of x are nearly dependent.
 */
#include "stats/dd.h"
#include "stats/stats.h"

#include <string.h>

enum { MAX_DEGREE = 5, MAX_TERMS = MAX_DEGREE + 1 };

/* Row j holds the coefficients of the unknowns j and up; column `terms` the right-hand side. */
typedef struct triangle {
    gc_dd row[MAX_TERMS][MAX_TERMS + 1];
    size_t terms;
} triangle;

/* Fewer different x than coefficients leave the fit undetermined. */
static bool has_distinct(const double *x, size_t count, size_t wanted) {
    double seen[MAX_TERMS];
    size_t distinct = 0;
    for (size_t i = 0; i < count && distinct < wanted; i++) {
        size_t j = 0;
        while (j < distinct && seen[j] != x[i]) {
            j++;
        }
        if (j == distinct) {
            seen[distinct++] = x[i];
        }
    }
    return distinct >= wanted;
}

static void rotate_in(triangle *t, gc_dd *row) {
    for (size_t j = 0; j < t->terms; j++) {
        if (row[j].high == 0) {
            continue;
        }
        gc_dd *pivot = t->row[j];
        gc_dd length = gc_dd_sqrt(gc_dd_add(gc_dd_multiply(pivot[j], pivot[j]), gc_dd_multiply(row[j], row[j])));
        gc_dd cosine = gc_dd_divide(pivot[j], length), sine = gc_dd_divide(row[j], length);
        for (size_t k = j; k <= t->terms; k++) {
            gc_dd up = gc_dd_add(gc_dd_multiply(cosine, pivot[k]), gc_dd_multiply(sine, row[k]));
            row[k] = gc_dd_subtract(gc_dd_multiply(cosine, row[k]), gc_dd_multiply(sine, pivot[k]));
            pivot[k] = up;
        }
    }
}

static void solve(const triangle *t, gc_dd *solution) {
    for (size_t j = t->terms; j-- > 0;) {
        gc_dd rest = t->row[j][t->terms];
        for (size_t k = j + 1; k < t->terms; k++) {
            rest = gc_dd_subtract(rest, gc_dd_multiply(t->row[j][k], solution[k]));
        }
        solution[j] = gc_dd_divide(rest, t->row[j][j]);
    }
}

/* Exponent of the power of two by which values become at most 1; false when one is not finite. */
static bool common_exponent(const double *values, size_t count, int *exponent) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return false;
        }
        largest = fmax(largest, fabs(values[i]));
    }
    (void)frexp(largest, exponent);
    return true;
}

bool gc_fit_polynomial(const double *x, const double *y, size_t count, unsigned degree, double *coefficients) {
    if (degree < 1 || degree > MAX_DEGREE) {
        return false;
    }
    triangle t = {.terms = degree + 1u};
    memset(coefficients, 0, t.terms * sizeof *coefficients);
    int scale_x, scale_y;
    if (!common_exponent(x, count, &scale_x) || !common_exponent(y, count, &scale_y) ||
        !has_distinct(x, count, t.terms)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        gc_dd row[MAX_TERMS + 1];
        gc_dd at = gc_dd_from(ldexp(x[i], -scale_x));
        row[0] = gc_dd_from(1);
        for (size_t k = 1; k < t.terms; k++) {
            row[k] = gc_dd_multiply(row[k - 1], at);
        }
        row[t.terms] = gc_dd_from(ldexp(y[i], -scale_y));
        rotate_in(&t, row);
    }
    gc_dd solution[MAX_TERMS];
    solve(&t, solution);
    bool finite = true;
    for (size_t k = 0; k < t.terms; k++) {
        coefficients[k] = ldexp(gc_dd_round(solution[k]), scale_y - (int)k * scale_x);
        finite = finite && isfinite(coefficients[k]);
    }
    if (!finite) {
        memset(coefficients, 0, t.terms * sizeof *coefficients);
    }
    return finite;
}
