/*
 * Statistics against the certified values of NIST's Statistical Reference Datasets
 * (https://www.itl.nist.gov/div898/strd/).
 * LRE, log relative error: the number of right digits, at most 15, which is what the certificates have. The data are
 * decimal, a double holds them to 16 digits: where deviations are much smaller than values (NumAcc3 and 4), even exact
 * arithmetic cannot give all digits of the standard deviation.
 */
#include "stats/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static double lre(double found, double certified) {
    double error = fabs(found - certified);
    if (certified != 0) {
        error /= fabs(certified);
    }
    return error < 1e-15 ? 15 : -log10(error);
}

static void check(const char *what, double found, double certified, double digits) {
    double reached = lre(found, certified);
    print_message("    %-28s %22.15g  LRE %.1f\n", what, found, reached);
    if (!(reached >= digits)) {
        fail_msg("%s: %.17g, certified %.15g: %.2f digits, wanted %.1f", what, found, certified, reached, digits);
    }
}

/* Univariate. */

static void check_univariate(const char *name, const double *data, size_t count, double mean, double sd,
                             double mean_digits, double sd_digits) {
    double *scratch = malloc(2 * count * sizeof *scratch);
    assert_non_null(scratch);
    gpuchar_stat stat = gc_summarize(data, count, scratch, 0);
    free(scratch);
    print_message("  %s\n", name);
    assert_int_equal(stat.samples, count);
    check("mean", stat.mean, mean, mean_digits);
    check("standard deviation", stat.cv * stat.mean, sd, sd_digits);
}

static const double michelso[] = {
    299.85, 299.74, 299.90, 300.07, 299.93, 299.85, 299.95, 299.98, 299.98, 299.88, 300.00, 299.98, 299.93,
    299.65, 299.76, 299.81, 300.00, 300.00, 299.96, 299.96, 299.96, 299.94, 299.96, 299.94, 299.88, 299.80,
    299.85, 299.88, 299.90, 299.84, 299.83, 299.79, 299.81, 299.88, 299.88, 299.83, 299.80, 299.79, 299.76,
    299.80, 299.88, 299.88, 299.88, 299.86, 299.72, 299.72, 299.62, 299.86, 299.97, 299.95, 299.88, 299.91,
    299.85, 299.87, 299.84, 299.84, 299.85, 299.84, 299.84, 299.84, 299.89, 299.81, 299.81, 299.82, 299.80,
    299.77, 299.76, 299.74, 299.75, 299.76, 299.91, 299.92, 299.89, 299.86, 299.88, 299.72, 299.84, 299.85,
    299.85, 299.78, 299.89, 299.84, 299.78, 299.81, 299.76, 299.81, 299.79, 299.81, 299.82, 299.85, 299.87,
    299.87, 299.81, 299.74, 299.81, 299.94, 299.95, 299.80, 299.81, 299.87,
};

static void test_michelso(void **state) {
    (void)state;
    assert_int_equal(sizeof michelso / sizeof michelso[0], 100);
    check_univariate("Michelso", michelso, 100, 299.852400000000, 0.0790105478190518, 15, 13);
}

enum { NUMACC_COUNT = 1001 };

/* One `base + 0.2`, then 500 pairs of `base + 0.1` and `base + 0.3`. */
static void make_numacc(double *data, double first, double low, double high) {
    data[0] = first;
    for (size_t i = 1; i < NUMACC_COUNT; i += 2) {
        data[i] = low;
        data[i + 1] = high;
    }
}

static void test_numacc(void **state) {
    (void)state;
    static const double numacc1[] = {10000001, 10000003, 10000002};
    check_univariate("NumAcc1", numacc1, 3, 10000002, 1, 15, 15);
    double data[NUMACC_COUNT];
    make_numacc(data, 1.2, 1.1, 1.3);
    check_univariate("NumAcc2", data, NUMACC_COUNT, 1.2, 0.1, 15, 15);
    make_numacc(data, 1000000.2, 1000000.1, 1000000.3);
    check_univariate("NumAcc3", data, NUMACC_COUNT, 1000000.2, 0.1, 15, 9);
    make_numacc(data, 10000000.2, 10000000.1, 10000000.3);
    check_univariate("NumAcc4", data, NUMACC_COUNT, 10000000.2, 0.1, 15, 8);
}

/* Linear. */

static void test_norris(void **state) {
    (void)state;
    static const double y[] = {0.1, 338.8, 118.1, 888.0, 9.2,   228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3,
                               0.1, 778.1, 668.8, 339.3, 448.9, 10.8,  557.7, 228.3, 998.0, 888.8, 119.6, 0.3,
                               0.6, 557.6, 339.3, 888.0, 998.5, 778.9, 10.2,  117.6, 228.9, 668.4, 449.2, 0.2};
    static const double x[] = {0.2, 337.4, 118.2, 884.6, 10.1,  226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4,
                               0.6, 775.5, 666.9, 338.0, 447.5, 11.6,  556.0, 228.1, 995.8, 887.6, 120.2, 0.3,
                               0.3, 556.8, 339.1, 887.2, 999.0, 779.0, 11.1,  118.3, 229.2, 669.1, 448.9, 0.5};
    enum { COUNT = sizeof x / sizeof x[0] };
    assert_int_equal(COUNT, 36);
    assert_int_equal(sizeof y / sizeof y[0], COUNT);
    gc_line line;
    assert_true(gc_fit_line(x, y, COUNT, &line));
    assert_int_equal(line.slope.points, COUNT);
    assert_int_equal(line.intercept.points, COUNT);
    print_message("  Norris\n");
    check("slope", line.slope.value, 1.00211681802045, 14);
    check("intercept", line.intercept.value, -0.262323073774029, 13);
    check("residual standard deviation", line.residual_sd, 0.884796396144373, 13);
    check("R2", line.slope.r2, 0.999993745883712, 14);
    check("R2 of the intercept", line.intercept.r2, 0.999993745883712, 14);
    /* The certificate gives standard errors: the intervals are t(34) of them to each side. */
    const double t34 = 2.0322445093177191;
    check("standard error of slope", (line.slope.ci95_high - line.slope.ci95_low) / 2 / t34, 0.429796848199937e-3, 10);
    check("standard error of intercept", (line.intercept.ci95_high - line.intercept.ci95_low) / 2 / t34,
          0.232818234301152, 12);
    check("middle of the slope's interval", (line.slope.ci95_high + line.slope.ci95_low) / 2, 1.00211681802045, 14);

    double coefficients[2];
    assert_true(gc_fit_polynomial(x, y, COUNT, 1, coefficients));
    check("slope by QR", coefficients[1], 1.00211681802045, 14);
    check("intercept by QR", coefficients[0], -0.262323073774029, 13);
}

/* Polynomials. x = 0..20; 3 to 5 add to the polynomial of 1 a residual orthogonal to it, times 1, 100, 10000. */

enum { WAMPLER_COUNT = 21, WAMPLER_TERMS = 6 };

static const double wampler_residual[WAMPLER_COUNT] = {
    759,   -2048, 2048,  -2048, 2523,  -2048, 2048,  -2048, 1838,  -2048, 2048,
    -2048, 1838,  -2048, 2048,  -2048, 2523,  -2048, 2048,  -2048, 759,
};

static void check_wampler(const char *name, bool tenths, double noise, double digits) {
    double x[WAMPLER_COUNT], y[WAMPLER_COUNT], found[WAMPLER_TERMS];
    for (int i = 0; i < WAMPLER_COUNT; i++) {
        x[i] = i;
        y[i] = 0;
        /* From the highest power down, in whole numbers; Wampler2 has coefficients 10^-k, and 5 decimals in y. */
        for (int k = WAMPLER_TERMS - 1; k >= 0; k--) {
            y[i] = y[i] * i + (tenths ? pow(10, WAMPLER_TERMS - 1 - k) : 1);
        }
        y[i] = (tenths ? y[i] / 1e5 : y[i]) + noise * wampler_residual[i];
    }
    assert_true(gc_fit_polynomial(x, y, WAMPLER_COUNT, WAMPLER_TERMS - 1, found));
    print_message("  %s\n", name);
    double certified = 1;
    for (int k = 0; k < WAMPLER_TERMS; k++) {
        char what[8] = {'b', (char)('0' + k), 0};
        check(what, found[k], certified, digits);
        certified = tenths ? pow(10, -(k + 1)) : 1;
    }
}

static void test_wampler(void **state) {
    (void)state;
    check_wampler("Wampler1", false, 0, 15);
    check_wampler("Wampler2", true, 0, 13);
    check_wampler("Wampler3", false, 1, 15);
    check_wampler("Wampler4", false, 100, 15);
    check_wampler("Wampler5", false, 10000, 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_michelso),
        cmocka_unit_test(test_numacc),
        cmocka_unit_test(test_norris),
        cmocka_unit_test(test_wampler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
