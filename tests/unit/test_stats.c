/* Robust summaries, fits, steps and stopping rules on planted samples. */
#include "core/util.h"
#include "stats/order.h"
#include "stats/stats.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 1000 };
static double samples[MANY];
static double scratch[MANY * (MANY - 1) / 2];

static void near(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance)) {
        fail_msg("%.17g, expected %.17g within %g", found, expected, tolerance);
    }
}

/* Standard normal (Box and Muller). */
static double normal(gc_random *random) {
    double radius = sqrt(-2 * log(1 - gc_random_unit(random)));
    return radius * cos(6.283185307179586 * gc_random_unit(random));
}

static void make_normal(uint64_t seed, size_t count, double mean, double sd) {
    gc_random random = gc_random_seed(seed);
    for (size_t i = 0; i < count; i++) {
        samples[i] = mean + sd * normal(&random);
    }
}

/* Summaries. */

static void test_summary_by_hand(void **state) {
    (void)state;
    /* Median 5; deviations 4 2 1 0 1 2 95, their median 2; scores above 3.5 from a deviation of 10.4 on. */
    const double data[] = {100, 3, 5, 1, 6, 4, 7};
    double before[7];
    memcpy(before, data, sizeof data);
    gpuchar_stat stat = gc_summarize(data, 7, scratch, 0);
    assert_memory_equal(data, before, sizeof data);
    near(stat.median, 5, 0);
    near(stat.mean, 18, 0);
    near(stat.min, 1, 0);
    near(stat.max, 100, 0);
    near(stat.mad, 2, 0);
    near(stat.cv, sqrt((289. + 225 + 196 + 169 + 144 + 121 + 6724) / 6) / 18, 1e-14);
    near(stat.ci95_low, 1, 0); /* rank 1 of 7: 98.4 % */
    near(stat.ci95_high, 100, 0);
    assert_int_equal(stat.samples, 7);
    assert_int_equal(stat.outliers, 1);
    assert_int_equal(stat.flags, 0);

    const double inside[] = {15, 3, 5, 1, 6, 4, 7}, outside[] = {16, 3, 5, 1, 6, 4, 7};
    assert_int_equal(gc_summarize(inside, 7, scratch, 0).outliers, 0);
    assert_int_equal(gc_summarize(outside, 7, scratch, 0).outliers, 1);

    const double even[] = {4, 1, 3, 2};
    stat = gc_summarize(even, 4, scratch, 0);
    near(stat.median, 2.5, 0);
    near(stat.mad, 1, 0);
}

static void test_summary_of_few(void **state) {
    (void)state;
    gpuchar_stat zero;
    memset(&zero, 0, sizeof zero);
    gpuchar_stat stat = gc_summarize(samples, 0, scratch, 1e-4);
    assert_memory_equal(&stat, &zero, sizeof stat);

    const double one = 42;
    stat = gc_summarize(&one, 1, scratch, 1e-4);
    near(stat.median, 42, 0);
    near(stat.mean, 42, 0);
    near(stat.ci95_low, 42, 0);
    near(stat.ci95_high, 42, 0);
    near(stat.mad, 0, 0);
    near(stat.cv, 0, 0);
    assert_int_equal(stat.samples, 1);
    assert_int_equal(stat.outliers, 0);
    assert_int_equal(stat.flags, 0);

    const double five[] = {5, 1, 4, 2, 3}; /* too few for 95 %: smallest and largest */
    stat = gc_summarize(five, 5, scratch, 0);
    near(stat.ci95_low, 1, 0);
    near(stat.ci95_high, 5, 0);

    const double bad[][3] = {{1, NAN, 2}, {1, INFINITY, 2}, {-INFINITY, 1, 2}};
    for (size_t i = 0; i < 3; i++) {
        stat = gc_summarize(bad[i], 3, scratch, 1e-4);
        assert_memory_equal(&stat, &zero, sizeof stat);
    }
}

static void assert_all_finite(const gpuchar_stat *s) {
    const double values[] = {s->median, s->mean, s->min, s->max, s->mad, s->cv, s->ci95_low, s->ci95_high};
    for (size_t i = 0; i < GC_COUNT(values); i++) {
        assert_true(isfinite(values[i]));
    }
}

static void test_summary_of_extremes(void **state) {
    (void)state;
    const double huge[] = {DBL_MAX, DBL_MAX, DBL_MAX / 2, DBL_MAX / 2};
    gpuchar_stat stat = gc_summarize(huge, 4, scratch, 0);
    assert_all_finite(&stat);
    near(stat.mean / DBL_MAX, 0.75, 1e-15);
    near(stat.median / DBL_MAX, 0.75, 1e-15);
    near(stat.cv, sqrt(4. / 3 / 16) / 0.75, 1e-14);

    const double opposite[] = {-DBL_MAX, DBL_MAX, -DBL_MAX};
    stat = gc_summarize(opposite, 3, scratch, 0);
    assert_all_finite(&stat);
    near(stat.max, DBL_MAX, 0);

    const double tiny[] = {1e-300, 2e-300, 3e-300};
    stat = gc_summarize(tiny, 3, scratch, 0);
    near(stat.mean / 1e-300, 2, 1e-14);
    near(stat.cv, 0.5, 1e-14);

    const double around_zero[] = {-1, 0, 1};
    stat = gc_summarize(around_zero, 3, scratch, 1e-4);
    near(stat.cv, 0, 0);
    assert_int_equal(stat.flags, GPUCHAR_FLAG_UNSTABLE); /* any spread is large beside a median of 0 */
}

static void test_noise(void **state) {
    (void)state;
    make_normal(1, MANY, 50000, 10);
    gpuchar_stat stat = gc_summarize(samples, MANY, scratch, 1e-3);
    near(stat.median, 50000, 2); /* 5 standard errors: 1.25 * 10 / sqrt(1000) = 0.4 each */
    near(stat.mean, 50000, 1.6);
    near(stat.mad, 6.745, 1.2);
    near(stat.cv * stat.mean, 10, 1.2);
    assert_true(stat.ci95_low < stat.median && stat.median < stat.ci95_high);
    near(stat.ci95_high - stat.ci95_low, 1.55, 0.6);
    assert_true(stat.outliers <= 5);
    assert_int_equal(stat.flags, 0);
    stat = gc_summarize(samples, MANY, scratch, 1e-4); /* mad / median is 1.3e-4 */
    assert_int_equal(stat.flags, GPUCHAR_FLAG_UNSTABLE);
    stat = gc_summarize(samples, MANY, scratch, -1);
    assert_int_equal(stat.flags, 0);
}

static void test_outliers(void **state) {
    (void)state;
    enum { COUNT = 201, PLANTED = 20 };
    make_normal(2, COUNT, 1000, 1);
    gpuchar_stat clean = gc_summarize(samples, COUNT, scratch, 0);
    assert_int_equal(clean.outliers, 0);
    for (size_t i = 0; i < PLANTED; i++) {
        samples[i * 10] = i % 4 ? 5000 + (double)i : 10;
    }
    gpuchar_stat stat = gc_summarize(samples, COUNT, scratch, 1e-2);
    assert_int_equal(stat.outliers, PLANTED);
    assert_int_equal(stat.samples, COUNT); /* kept */
    near(stat.median, clean.median, 0.3);
    near(stat.mad, clean.mad, 0.2);
    assert_true(stat.mean > 1100); /* the mean shows what the median withstands */
    assert_int_equal(stat.flags, 0);

    /* Whole cycles: mad 0, each deviation is an outlier. */
    for (size_t i = 0; i < COUNT; i++) {
        samples[i] = 4000;
    }
    samples[7] = 4001;
    samples[9] = 3999;
    samples[11] = 8000;
    stat = gc_summarize(samples, COUNT, scratch, 1e-4);
    near(stat.mad, 0, 0);
    assert_int_equal(stat.outliers, 3);
    assert_int_equal(stat.flags, 0);
}

static void test_bimodal(void **state) {
    (void)state;
    enum { COUNT = 200 };
    /* From half and half to a minority of 30 %, which the mad alone does not see. */
    for (size_t second = 60; second <= 100; second += 10) {
        make_normal(3, COUNT, 1000, 0.01);
        for (size_t i = 0; i < second; i++) {
            samples[i] += 100;
        }
        gpuchar_stat stat = gc_summarize(samples, COUNT, scratch, 1e-3);
        assert_int_equal(stat.flags, GPUCHAR_FLAG_UNSTABLE);
        if (second <= 90) {
            assert_in_range(stat.outliers, second, second + 5);
        }
    }
    /* Two levels one cycle apart in 50000 are within the bound: no false alarm. */
    for (size_t i = 0; i < COUNT; i++) {
        samples[i] = i % 10 < 4 ? 50001 : 50000;
    }
    gpuchar_stat stat = gc_summarize(samples, COUNT, scratch, 1e-4);
    assert_int_equal(stat.outliers, 80);
    assert_int_equal(stat.flags, 0);
}

/* The interval of the median. */

static void test_ranks(void **state) {
    (void)state;
    /* Published tables of the sign test's interval (95 %, two-sided). */
    const size_t table[][2] = {{0, 0},  {1, 0},  {5, 0},  {6, 1},   {8, 1},   {9, 2},   {10, 2},   {15, 4},
                               {20, 6}, {21, 6}, {25, 8}, {30, 10}, {50, 18}, {71, 27}, {100, 40}, {201, 87}};
    for (size_t i = 0; i < GC_COUNT(table); i++) {
        assert_int_equal(gc_median_rank95(table[i][0]), table[i][1]);
    }
    /* Exact and approximate join without a jump. */
    for (size_t count = 990; count < 1010; count++) {
        assert_in_range(gc_median_rank95(count + 1), gc_median_rank95(count), gc_median_rank95(count) + 1);
    }
    assert_in_range(gc_median_rank95(1000000), 499019, 499021); /* 500000.5 - 0.98 * 1000 */
}

/* Share of 4000 draws of a skewed distribution (exponential, median log 2) whose interval holds the true median. */
static double coverage(size_t count, uint64_t seed) {
    enum { DRAWS = 4000 };
    gc_random random = gc_random_seed(seed);
    int held = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        for (size_t i = 0; i < count; i++) {
            samples[i] = -log(1 - gc_random_unit(&random));
        }
        gpuchar_stat stat = gc_summarize(samples, count, scratch, 0);
        held += stat.ci95_low <= 0.69314718055994531 && 0.69314718055994531 <= stat.ci95_high;
    }
    return held / (double)DRAWS;
}

static void test_coverage(void **state) {
    (void)state;
    near(coverage(21, 10), 0.9734, 0.012); /* the binomial's own number for ranks 6 and 16 */
    near(coverage(201, 11), 0.952, 0.016);
    double few = coverage(6, 12);
    near(few, 1 - 2 / 64., 0.012);
}

/* Lines. */

static void test_line_exact(void **state) {
    (void)state;
    double x[] = {1, 2, 4, 8, 16, 32}, y[6];
    for (size_t i = 0; i < 6; i++) {
        y[i] = 58100 * x[i] + 12;
    }
    gc_line line;
    assert_true(gc_fit_line(x, y, 6, &line));
    near(line.slope.value, 58100, 1e-10);
    near(line.intercept.value, 12, 1e-9);
    near(line.slope.r2, 1, 0);
    near(line.residual_sd, 0, 1e-9);
    near(line.slope.ci95_low, 58100, 1e-9);

    /* By hand: (0,1) (1,3) (2,2): slope 1/2, intercept 3/2, residual sum 3/2, t(1) = 12.706. */
    const double hx[] = {0, 1, 2}, hy[] = {1, 3, 2};
    assert_true(gc_fit_line(hx, hy, 3, &line));
    near(line.slope.value, 0.5, 1e-15);
    near(line.intercept.value, 1.5, 1e-15);
    near(line.slope.r2, 0.25, 1e-15);
    near(line.residual_sd, sqrt(1.5), 1e-15);
    near(line.slope.ci95_high, 0.5 + 12.7062047361747 * sqrt(1.5 / 2), 1e-9);
    near(line.slope.ci95_low, 0.5 - 12.7062047361747 * sqrt(1.5 / 2), 1e-9);
    near(line.intercept.ci95_high, 1.5 + 12.7062047361747 * sqrt(1.5 * (1 / 3. + 1 / 2.)), 1e-9);
    assert_int_equal(line.slope.points, 3);
}

static void test_line_degenerate(void **state) {
    (void)state;
    gc_line line, zero;
    memset(&zero, 0, sizeof zero);
    const double x[] = {1, 2, 3}, same[] = {5, 5, 5}, y[] = {0.1, 0.1, 0.1};
    const double with_nan[] = {1, NAN, 3}, with_infinity[] = {1, INFINITY, 3}, vast[] = {1e300, -1e300, 1e300};
    memset(&line, 0xee, sizeof line);
    assert_false(gc_fit_line(x, y, 0, &line));
    assert_memory_equal(&line, &zero, sizeof line);
    assert_false(gc_fit_line(x, y, 1, &line));
    assert_false(gc_fit_line(same, x, 3, &line));
    assert_false(gc_fit_line(with_nan, x, 3, &line));
    assert_false(gc_fit_line(x, with_infinity, 3, &line));
    memset(&line, 0xee, sizeof line);
    assert_false(gc_fit_line(x, vast, 3, &line)); /* squares overflow: unknown rather than infinite */
    assert_memory_equal(&line, &zero, sizeof line);

    assert_true(gc_fit_line(x, y, 3, &line));
    near(line.slope.value, 0, 0);
    near(line.intercept.value, 0.1, 0);
    near(line.slope.r2, 1, 0);
    near(line.residual_sd, 0, 0);

    const double two[] = {3, 7};
    assert_true(gc_fit_line(x, two, 2, &line));
    near(line.slope.value, 4, 1e-15);
    near(line.intercept.value, -1, 1e-15);
    assert_int_equal(line.slope.points, 2);
    /* Two points tell nothing about the error: no interval, rather than one of no width. */
    assert_true(line.slope.ci95_low == 0 && line.slope.ci95_high == 0);
    assert_true(line.intercept.ci95_low == 0 && line.intercept.ci95_high == 0);
}

static void test_line_intervals_cover(void **state) {
    (void)state;
    enum { DRAWS = 2000, POINTS = 6 };
    const double x[POINTS] = {1, 2, 4, 8, 16, 32};
    double y[POINTS];
    gc_random random = gc_random_seed(20);
    int slope_held = 0, intercept_held = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        for (size_t i = 0; i < POINTS; i++) {
            y[i] = 7 * x[i] - 3 + normal(&random);
        }
        gc_line line;
        assert_true(gc_fit_line(x, y, POINTS, &line));
        slope_held += line.slope.ci95_low <= 7 && 7 <= line.slope.ci95_high;
        intercept_held += line.intercept.ci95_low <= -3 && -3 <= line.intercept.ci95_high;
    }
    near(slope_held / (double)DRAWS, 0.95, 0.02);
    near(intercept_held / (double)DRAWS, 0.95, 0.02);
}

static void test_wrong_law_shows_in_r2(void **state) {
    (void)state;
    double x[32], y[32];
    for (size_t i = 0; i < 32; i++) {
        x[i] = (double)i + 1;
        y[i] = x[i] * x[i];
    }
    gc_line line;
    assert_true(gc_fit_line(x, y, 32, &line));
    assert_true(line.slope.r2 > 0.9 && line.slope.r2 < 0.97);
    for (size_t i = 0; i < 32; i++) {
        y[i] = i % 2 ? 1 : -1;
    }
    assert_true(gc_fit_line(x, y, 32, &line));
    assert_true(line.slope.r2 >= 0 && line.slope.r2 < 0.01);
}

static void test_theil_sen(void **state) {
    (void)state;
    enum { POINTS = 32 };
    double x[POINTS], y[POINTS], slope;
    gc_random random = gc_random_seed(30);
    for (size_t i = 0; i < POINTS; i++) {
        x[i] = (double)i + 1;
        y[i] = 58100 * x[i] + 100 + normal(&random);
    }
    for (size_t i = 24; i < POINTS; i++) {
        y[i] += 1e7; /* a quarter of the points, all at one end */
    }
    assert_true(gc_theil_sen(x, y, POINTS, scratch, &slope));
    gc_line line;
    assert_true(gc_fit_line(x, y, POINTS, &line));
    assert_true(line.slope.value > 2 * 58100); /* least squares follows them */
    near(slope, 58100, 5);

    const double same[] = {2, 2, 2}, tied[] = {1, 1, 2}, ty[] = {0, 10, 8};
    assert_false(gc_theil_sen(same, ty, 3, scratch, &slope));
    near(slope, 0, 0);
    assert_false(gc_theil_sen(tied, ty, 1, scratch, &slope));
    assert_true(gc_theil_sen(tied, ty, 3, scratch, &slope)); /* the pair of equal x is left out: slopes 8 and -2 */
    near(slope, 3, 0);
}

static void test_polynomial(void **state) {
    (void)state;
    double found[6];
    /* Far from zero and narrow: powers that differ by little. */
    double x[40], y[40];
    for (size_t i = 0; i < 40; i++) {
        x[i] = 1000 + (double)i;
        y[i] = (x[i] - 1000) * (x[i] - 1000) * 2 + 5;
    }
    assert_true(gc_fit_polynomial(x, y, 40, 2, found));
    near(found[2], 2, 1e-12);
    near(found[1], -4000, 1e-9);
    near(found[0], 2000005, 1e-6);

    assert_false(gc_fit_polynomial(x, y, 40, 0, found));
    assert_false(gc_fit_polynomial(x, y, 40, 6, found));
    found[2] = 9;
    assert_false(gc_fit_polynomial(x, y, 2, 2, found)); /* fewer points than coefficients */
    near(found[2], 0, 0);
    const double two_places[] = {1, 2, 1, 2, 1};
    assert_false(gc_fit_polynomial(two_places, y, 5, 2, found));
    assert_true(gc_fit_polynomial(two_places, y, 5, 1, found));
    x[3] = NAN;
    assert_false(gc_fit_polynomial(x, y, 40, 2, found));
    assert_false(gc_fit_polynomial(y, x, 40, 2, found));
}

static void test_student(void **state) {
    (void)state;
    const double table[][2] = {{1, 12.706204736174698},  {2, 4.3026527297494637},  {3, 3.1824463052837078},
                               {4, 2.7764451051977943},  {5, 2.5705818356363141},  {10, 2.2281388519862744},
                               {30, 2.0422724563012373}, {34, 2.0322445093177186}, {100, 1.9839715185235518}};
    for (size_t i = 0; i < GC_COUNT(table); i++) {
        near(gc_student_t95((size_t)table[i][0]), table[i][1], 1e-9);
    }
    /* The finite series of 301 and 302 degrees, summed elsewhere: here the expansion takes over. */
    near(gc_student_t95(301), 1.9678765312857, 5e-11);
    near(gc_student_t95(302), 1.9678502273660, 5e-11);
    near(gc_student_t95((size_t)1 << 40), 1.9599639845400542, 1e-10);
}

/* Steps. */

static void test_steps(void **state) {
    (void)state;
    const double curve[] = {30, 30, 31, 30, 200, 201, 199, 200, 200, 600, 605, 600};
    size_t steps[8];
    assert_int_equal(gc_find_steps(curve, 12, 0.1, steps, 8), 2);
    assert_int_equal(steps[0], 4);
    assert_int_equal(steps[1], 9);
    steps[1] = 77;
    assert_int_equal(gc_find_steps(curve, 12, 0.1, steps, 1), 1);
    assert_int_equal(steps[1], 77);
    assert_int_equal(gc_find_steps(curve, 12, 0.1, steps, 0), 0);
    assert_int_equal(gc_find_steps(curve, 4, 0.1, steps, 8), 0);
    assert_int_equal(gc_find_steps(curve, 4, 0.01, steps, 8), 0); /* the 31 stands alone */
    assert_int_equal(gc_find_steps(curve, 0, 0.1, steps, 8), 0);

    const double spike[] = {10, 10, 90, 10, 10, 4, 4, 4, 10};
    assert_int_equal(gc_find_steps(spike, 9, 0.2, steps, 8), 2);
    assert_int_equal(steps[0], 5);
    assert_int_equal(steps[1], 8); /* the last sample: nothing contradicts it */

    for (size_t i = 0; i < 100; i++) {
        samples[i] = 100 + (double)i; /* no sample is far from its neighbour, but from the level */
    }
    assert_in_range(gc_find_steps(samples, 100, 0.1, steps, 8), 1, 6);

    make_normal(40, 300, 100, 1);
    for (size_t i = 100; i < 300; i++) {
        samples[i] += i < 200 ? 20 : 60;
    }
    assert_int_equal(gc_find_steps(samples, 300, 0.1, steps, 8), 2);
    assert_int_equal(steps[0], 100);
    assert_int_equal(steps[1], 200);
}

/* Stopping and warming up. */

static void test_enough(void **state) {
    (void)state;
    gc_stopping rule = {.min_samples = 5, .max_samples = 100, .relative_width = 0.01};
    for (size_t i = 0; i < 10; i++) {
        samples[i] = 1000 + (double)i;
    }
    assert_false(gc_enough(&rule, samples, 4, scratch));
    assert_true(gc_enough(&rule, samples, 10, scratch)); /* ranks 2 and 9: 7 in 1004.5 */
    rule.relative_width = 0.0069;
    assert_false(gc_enough(&rule, samples, 10, scratch));
    rule.relative_width = 0.0070;
    assert_true(gc_enough(&rule, samples, 10, scratch));
    near(samples[0], 1000, 0);

    for (size_t i = 0; i < 100; i++) {
        samples[i] = i % 2 ? 100 : 200;
    }
    assert_false(gc_enough(&rule, samples, 99, scratch));
    assert_true(gc_enough(&rule, samples, 100, scratch)); /* the limit, though still wide */
    rule.relative_width = 0;
    const double equal[] = {3, 3, 3, 3, 3};
    assert_true(gc_enough(&rule, equal, 5, scratch));

    /* It ends: noise of 1 % needs about (2 * 1.25 * 1.96 * 0.01 / 0.005)^2 = 96 samples for a width of 0.5 %. */
    make_normal(50, MANY, 1000, 10);
    gc_stopping noisy = {.min_samples = 5, .max_samples = MANY, .relative_width = 0.005};
    size_t count = 1;
    while (!gc_enough(&noisy, samples, count, scratch)) {
        count++;
    }
    assert_in_range(count, 20, 300);
}

static void test_steady(void **state) {
    (void)state;
    const double warming[] = {200, 150, 120, 101, 100, 100.5, 99.8, 100};
    assert_true(gc_steady(warming, 8, 4, 0.01));
    assert_true(gc_steady(warming, 8, 5, 0.01));
    assert_false(gc_steady(warming, 8, 6, 0.01));
    assert_false(gc_steady(warming, 8, 4, 0.001));
    assert_false(gc_steady(warming, 3, 4, 0.5)); /* too few */
    assert_false(gc_steady(warming, 8, 0, 1));
    const double broken[] = {1, NAN, 1};
    assert_false(gc_steady(broken, 3, 3, 1));
    const double equal[] = {0, 0, 0};
    assert_true(gc_steady(equal, 3, 3, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary_by_hand),
        cmocka_unit_test(test_summary_of_few),
        cmocka_unit_test(test_summary_of_extremes),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_bimodal),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_line_exact),
        cmocka_unit_test(test_line_degenerate),
        cmocka_unit_test(test_line_intervals_cover),
        cmocka_unit_test(test_wrong_law_shows_in_r2),
        cmocka_unit_test(test_theil_sen),
        cmocka_unit_test(test_polynomial),
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_enough),
        cmocka_unit_test(test_steady),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
