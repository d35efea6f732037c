/* The divergence sweep's arithmetic on samples of which the answer is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/finite_walk.h"

#include <core/util.h>
#include <experiments/divergence_reduce.h>
#include <stdlib.h>

#define LAUNCHES 201
#define SLOPE 32768.0
#define INTERCEPT 48.0

static const uint32_t POWERS[] = {1, 2, 4, 8, 16, 32};

/* ---- lane maps ---- */

static gpuchar_divergence_sweep_options options_of(uint32_t lane_map, uint32_t seed) {
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    options.lane_map = lane_map;
    options.seed = seed;
    return options;
}

/* Every path 0..ways-1 is taken, and their sizes differ by at most one lane. */
static void check_even(const uint8_t lanes[32], uint32_t ways) {
    uint32_t size[32] = {0}, low = 32, high = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        assert_in_range(lanes[lane], 0, ways - 1);
        ++size[lanes[lane]];
    }
    for (uint32_t path = 0; path < ways; ++path) {
        low = size[path] < low ? size[path] : low;
        high = size[path] > high ? size[path] : high;
    }
    assert_in_range(low, 1, 32);
    assert_in_range(high - low, 0, 1);
}

static void test_even_maps(void **state) {
    (void)state;
    for (uint32_t map = GPUCHAR_LANES_STRIDED; map <= GPUCHAR_LANES_RANDOM; ++map) {
        gpuchar_divergence_sweep_options options = options_of(map, 1);
        for (uint32_t ways = 1; ways <= 32; ++ways) {
            uint8_t lanes[32];
            memset(lanes, 0xff, sizeof lanes);
            gc_divergence_lanes(&options, ways, lanes);
            check_even(lanes, ways);
        }
    }
}

static void test_plain_maps(void **state) {
    (void)state;
    gpuchar_divergence_sweep_options strided = options_of(GPUCHAR_LANES_STRIDED, 1);
    gpuchar_divergence_sweep_options contiguous = options_of(GPUCHAR_LANES_CONTIGUOUS, 1);
    uint8_t apart[32], together[32];
    gc_divergence_lanes(&strided, 4, apart);
    gc_divergence_lanes(&contiguous, 4, together);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        assert_int_equal(apart[lane], lane % 4);
        assert_int_equal(together[lane], lane / 8);
    }
    gc_divergence_lanes(&contiguous, 5, together); /* neighbours stay together when k does not divide 32 */
    for (uint32_t lane = 1; lane < 32; ++lane) assert_in_range(together[lane] - together[lane - 1], 0, 1);
}

static void test_random_map(void **state) {
    (void)state;
    for (uint32_t ways = 2; ways <= 32; ++ways) {
        uint8_t first[32], again[32], strided[32];
        uint32_t different = 0;
        gpuchar_divergence_sweep_options options = options_of(GPUCHAR_LANES_RANDOM, 7);
        gpuchar_divergence_sweep_options plain = options_of(GPUCHAR_LANES_STRIDED, 7);
        gc_divergence_lanes(&options, ways, first);
        gc_divergence_lanes(&options, ways, again);
        gc_divergence_lanes(&plain, ways, strided);
        assert_memory_equal(first, again, 32);
        assert_memory_not_equal(first, strided, 32);
        for (uint32_t seed = 8; seed < 28; ++seed) {
            options.seed = seed;
            gc_divergence_lanes(&options, ways, again);
            different += memcmp(first, again, 32) != 0;
        }
        assert_int_equal(different, 20);
    }
}

static void test_given_map(void **state) {
    (void)state;
    gpuchar_divergence_sweep_options options = options_of(GPUCHAR_LANES_GIVEN, 1);
    uint8_t lanes[32];
    assert_int_equal(gc_divergence_given_ways(options.lanes), 1);
    for (uint32_t lane = 0; lane < 32; ++lane) options.lanes[lane] = 31 - lane;
    assert_int_equal(gc_divergence_given_ways(options.lanes), 32);
    for (uint32_t lane = 0; lane < 32; ++lane) options.lanes[lane] = lane < 30 ? 5 : lane;
    assert_int_equal(gc_divergence_given_ways(options.lanes), 3);
    gc_divergence_lanes(&options, 3, lanes);
    for (uint32_t lane = 0; lane < 32; ++lane) assert_int_equal(lanes[lane], options.lanes[lane]);
}

/* ---- planted samples ---- */

/* Cycles of each path alone and of each k, and how they scatter. */
typedef struct plan {
    double path[32];
    double (*law)(double k);
    double noise; /* relative half width of a uniform distribution */
    uint32_t kind;
    uint32_t ways[32];
    uint32_t count;
} plan;

/* What gc_divergence_summarize reads. */
typedef struct planted {
    double paths[32 * LAUNCHES];
    double points[32 * LAUNCHES];
    double scratch[2 * LAUNCHES];
    gpuchar_divergence_point point[32];
    gpuchar_divergence_sweep_result result;
} planted;

static double law_line(double k) {
    return SLOPE * k + INTERCEPT;
}

static plan plan_of(double (*law)(double k), const uint32_t *ways, uint32_t count) {
    plan made = {.law = law, .kind = GPUCHAR_PATH_FP32, .count = count};
    for (uint32_t i = 0; i < 32; ++i) made.path[i] = law_line(1);
    memcpy(made.ways, ways, count * sizeof ways[0]);
    return made;
}

static double scatter(double value, double noise, gc_random *random) {
    return value * (1 + noise * (2 * gc_random_unit(random) - 1));
}

static planted *plant(const plan *from) {
    planted *p = calloc(1, sizeof *p);
    gc_random random = gc_random_seed(20240229);
    assert_non_null(p);
    p->result = gpuchar_divergence_sweep_result_make();
    p->result.points = p->point;
    p->result.point_count = from->count;
    for (size_t i = 0; i < 32; ++i) {
        for (size_t j = 0; j < LAUNCHES; ++j) {
            p->paths[i * LAUNCHES + j] = scatter(from->path[i], from->noise, &random);
        }
    }
    for (size_t i = 0; i < from->count; ++i) {
        p->point[i].ways = from->ways[i];
        for (size_t j = 0; j < LAUNCHES; ++j) {
            p->points[i * LAUNCHES + j] = scatter(from->law(from->ways[i]), from->noise, &random);
        }
    }
    return p;
}

static void derive(planted *p, uint32_t kind) {
    size_t seen = 0;
    gc_divergence_summarize(p->paths, p->points, LAUNCHES, kind, p->scratch, &p->result);
    gc_divergence_derive(&p->result);
    const gpuchar_schema *schema = gpuchar_schema_get("gpuchar_divergence_sweep_result");
    assert_non_null(schema);
    const char *field = find_infinite(schema, &p->result, &seen);
    if (field) fail_msg("%s is not finite", field);
    assert_true(seen > 32 * 8 + p->result.point_count * 10);
}

static planted *reduce(const plan *from) {
    planted *p = plant(from);
    derive(p, from->kind);
    return p;
}

static uint32_t flags_of(const plan *from) {
    planted *p = reduce(from);
    uint32_t flags = p->result.evidence.flags;
    free(p);
    return flags;
}

static void check_near(double value, double wanted, double relative) {
    if (!(fabs(value - wanted) <= relative * fabs(wanted))) fail_msg("%.17g instead of %.17g", value, wanted);
}

/* ---- the law that holds ---- */

static void check_exact(const planted *p) {
    const gpuchar_divergence_sweep_result *result = &p->result;
    const uint32_t known = GPUCHAR_DIVERGENCE_TIMED | GPUCHAR_DIVERGENCE_RATIO32 | GPUCHAR_DIVERGENCE_INTERCEPT;
    assert_int_equal(result->evidence.flags, 0);
    assert_int_equal(result->known, known);
    check_near(result->slope.value, SLOPE, 1e-12);
    check_near(result->intercept.value, INTERCEPT, 1e-8);
    check_near(result->slope_robust, SLOPE, 1e-12);
    check_near(result->intercept_ratio, INTERCEPT / SLOPE, 1e-8);
    check_near(result->slope.r2, 1, 1e-15);
    check_near(result->path_mean_cycles, SLOPE + INTERCEPT, 1e-15);
    check_near(result->ratio_32, law_line(32) / law_line(1), 1e-14);
    assert_true(result->flatness == 0);
    assert_int_equal(result->slope.points, result->point_count);
    assert_int_equal(result->intercept.points, result->point_count);
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_divergence_point *point = &p->point[i];
        assert_int_equal(point->known, GPUCHAR_DIVERGENCE_POINT_RATIO | GPUCHAR_DIVERGENCE_POINT_PREDICTED);
        assert_int_equal(point->cycles.samples, LAUNCHES);
        check_near(point->cycles.median, law_line(point->ways), 0);
        check_near(point->ratio, law_line(point->ways) / law_line(1), 1e-14);
        check_near(point->predicted_cycles, law_line(point->ways), 1e-12);
    }
}

static void test_exact_law(void **state) {
    (void)state;
    uint32_t all[32];
    for (uint32_t i = 0; i < 32; ++i) all[i] = 32 - i; /* in the caller's order, not by size */
    plan powers = plan_of(law_line, POWERS, 6), every = plan_of(law_line, all, 32);
    planted *p = reduce(&powers);
    check_exact(p);
    free(p);
    p = reduce(&every);
    check_exact(p);
    free(p);
}

static void test_flatness(void **state) {
    (void)state;
    plan from = plan_of(law_line, POWERS, 6);
    from.path[3] *= 1.001;
    from.path[30] *= 0.998;
    planted *p = reduce(&from);
    double mean = law_line(1) * (30 + 1.001 + 0.998) / 32;
    check_near(p->result.path_mean_cycles, mean, 1e-14);
    check_near(p->result.flatness, law_line(1) * 0.003 / mean, 1e-10);
    assert_int_equal(p->result.evidence.flags, 0);
    free(p);
}

static void test_tiny_noise(void **state) {
    (void)state;
    plan from = plan_of(law_line, POWERS, 6);
    from.noise = 1e-4;
    planted *p = reduce(&from);
    assert_int_equal(p->result.evidence.flags, 0);
    check_near(p->result.slope.value, SLOPE, 1e-4);
    check_near(p->result.slope_robust, SLOPE, 1e-4);
    check_near(p->result.ratio_32, 32, 2e-3);
    assert_true(p->result.slope.r2 > 0.9999999 && p->result.slope.r2 < 1);
    assert_true(p->result.slope.ci95_low < p->result.slope.value && p->result.slope.ci95_high > p->result.slope.value);
    assert_true(p->result.flatness > 0 && p->result.flatness < 1e-4);
    free(p);
}

static void test_outliers(void **state) {
    (void)state;
    for (int noisy = 0; noisy <= 1; ++noisy) {
        plan from = plan_of(law_line, POWERS, 6);
        from.noise = noisy ? 1e-4 : 0;
        planted *clean = reduce(&from), *p = plant(&from);
        for (size_t i = 0; i < 3; ++i) p->points[3 * LAUNCHES + 50 * i] *= 10;
        p->paths[9 * LAUNCHES + 200] *= 10;
        derive(p, from.kind);
        assert_int_equal(p->result.evidence.flags, 0);
        for (size_t i = 0; i < 6; ++i) {
            assert_int_equal(p->point[i].cycles.outliers, i == 3 ? 3 : 0);
            check_near(p->point[i].cycles.median, clean->point[i].cycles.median, from.noise / 10);
        }
        assert_int_equal(p->result.paths[9].outliers, 1);
        assert_true(p->point[3].cycles.max > 9 * p->point[3].cycles.median);
        check_near(p->result.slope.value, clean->result.slope.value, from.noise / 10);
        check_near(p->result.path_mean_cycles, clean->result.path_mean_cycles, from.noise / 10);
        free(clean);
        free(p);
    }
}

/* ---- laws that do not hold ---- */

static double law_quadratic(double k) {
    return SLOPE * k * k;
}
static double law_predicated(double k) {
    return law_line(1) + 0 * k; /* all lanes run one shared instruction stream */
}
static double law_saturating(double k) {
    return law_line(k < 16 ? k : 16);
}
static double law_third_faster(double k) {
    return k == 1 ? law_line(1) : law_line(k) * 2 / 3;
}
static double law_one_point_faster(double k) {
    return k == 8 ? law_line(8) * 2 / 3 : law_line(k);
}
static double law_slower(double k) {
    return law_line(k) * (1 + 0.001 * (k - 1));
}
static double law_long_path(double k) {
    return law_line(k > 7 ? k + 1 : k); /* path 7 counts twice */
}

static void test_wrong_laws(void **state) {
    (void)state;
    static double (*const laws[])(double) = {law_quadratic,    law_predicated,       law_saturating,
                                             law_third_faster, law_one_point_faster, law_slower};
    for (size_t i = 0; i < GC_COUNT(laws); ++i) {
        for (int noisy = 0; noisy <= 1; ++noisy) {
            plan from = plan_of(laws[i], POWERS, 6);
            from.noise = noisy ? 1e-4 : 0;
            if (flags_of(&from) != GPUCHAR_FLAG_OFF_LAW) fail_msg("law %zu passes", i);
        }
    }
}

/* The line through these points alone is perfect: only the paths that ran by themselves tell. */
static void test_wrong_by_ratio(void **state) {
    (void)state;
    static const uint32_t ways[] = {2, 4, 8, 16, 32};
    plan faster = plan_of(law_third_faster, ways, 5), constant = plan_of(law_predicated, ways, 5);
    planted *p = reduce(&faster);
    check_near(p->result.slope.r2, 1, 1e-12);
    assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_OFF_LAW);
    free(p);
    p = reduce(&constant);
    check_near(p->result.slope.r2, 1, 0);
    assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_OFF_LAW);
    assert_int_equal(p->result.known & GPUCHAR_DIVERGENCE_INTERCEPT, 0); /* |c| / s of a slope of nothing */
    free(p);
}

static void test_long_path(void **state) {
    (void)state;
    plan from = plan_of(law_long_path, POWERS, 6);
    from.path[7] = 2 * law_line(1);
    planted *p = reduce(&from);
    assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_OFF_LAW);
    check_near(p->result.flatness, 32.0 / 33, 1e-12);
    free(p);
}

/* ---- unsteady samples ---- */

static void test_noise(void **state) {
    (void)state;
    static const struct {
        uint32_t kind;
        double noise;
        bool unstable;
    } cases[] = {{GPUCHAR_PATH_FP32, 1e-3, false},   {GPUCHAR_PATH_FP32, 4e-3, true},
                 {GPUCHAR_PATH_INT32, 4e-3, true},   {GPUCHAR_PATH_SPECIAL, 4e-3, true},
                 {GPUCHAR_PATH_MEMORY, 4e-3, false}, {GPUCHAR_PATH_MEMORY, 4e-2, true}};
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        plan from = plan_of(law_line, POWERS, 6);
        from.noise = cases[i].noise;
        from.kind = cases[i].kind;
        bool unstable = (flags_of(&from) & GPUCHAR_FLAG_UNSTABLE) != 0;
        if (unstable != cases[i].unstable) fail_msg("case %zu", i);
    }
}

/* A second population of 30, 40 or 50 % in one point, then in one path. */
static void test_bimodal(void **state) {
    (void)state;
    for (size_t percent = 30; percent <= 50; percent += 10) {
        for (int in_path = 0; in_path <= 1; ++in_path) {
            plan from = plan_of(law_line, POWERS, 6);
            planted *p = plant(&from);
            double *samples = in_path ? p->paths + 11 * LAUNCHES : p->points + 2 * LAUNCHES;
            for (size_t i = 0; i < LAUNCHES; ++i) samples[i] *= i % 10 < percent / 10 ? 1.3 : 1;
            derive(p, from.kind);
            gpuchar_stat stat = in_path ? p->result.paths[11] : p->point[2].cycles;
            assert_int_equal(stat.flags, GPUCHAR_FLAG_UNSTABLE);
            assert_true(p->result.evidence.flags & GPUCHAR_FLAG_UNSTABLE);
            assert_int_equal(p->point[1].cycles.flags, 0);
            free(p);
        }
    }
}

/* ---- what cannot be known ---- */

static void check_no_fit(const planted *p) {
    const gpuchar_divergence_sweep_result *result = &p->result;
    assert_int_equal(result->slope.points, 0);
    assert_int_equal(result->intercept.points, 0);
    assert_true(result->slope.value == 0 && result->slope_robust == 0 && result->intercept_ratio == 0);
    assert_int_equal(result->known & GPUCHAR_DIVERGENCE_INTERCEPT, 0);
    for (size_t i = 0; i < result->point_count; ++i) {
        assert_int_equal(p->point[i].known, GPUCHAR_DIVERGENCE_POINT_RATIO);
        assert_true(p->point[i].predicted_cycles == 0);
    }
}

static void test_single_ways(void **state) {
    (void)state;
    static const uint32_t ways[] = {4, 4, 4};
    for (uint32_t count = 1; count <= 3; ++count) {
        plan from = plan_of(law_line, ways, count);
        planted *p = reduce(&from);
        check_no_fit(p);
        assert_int_equal(p->result.evidence.flags, 0);
        check_near(p->point[0].ratio, 4, 2e-3);
        free(p);
    }
    plan wrong = plan_of(law_third_faster, ways, 1); /* without a fit, the ratio still tells */
    assert_int_equal(flags_of(&wrong), GPUCHAR_FLAG_OFF_LAW);
}

static void test_without_32(void **state) {
    (void)state;
    plan from = plan_of(law_line, POWERS, 5);
    planted *p = reduce(&from);
    assert_int_equal(p->result.known, GPUCHAR_DIVERGENCE_TIMED | GPUCHAR_DIVERGENCE_INTERCEPT);
    assert_true(p->result.ratio_32 == 0);
    check_near(p->result.slope.value, SLOPE, 1e-12);
    free(p);
}

/* A clock that stands still: nothing is divided by it. */
static void test_no_cycles(void **state) {
    (void)state;
    plan from = plan_of(law_predicated, POWERS, 6);
    planted *p = plant(&from);
    memset(p->paths, 0, sizeof p->paths);
    memset(p->points, 0, sizeof p->points);
    derive(p, from.kind);
    assert_int_equal(p->result.known, GPUCHAR_DIVERGENCE_TIMED);
    assert_true(p->result.flatness == 0 && p->result.path_mean_cycles == 0);
    assert_int_equal(p->result.slope.points, 0);
    free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_even_maps),      cmocka_unit_test(test_plain_maps),  cmocka_unit_test(test_random_map),
        cmocka_unit_test(test_given_map),      cmocka_unit_test(test_exact_law),   cmocka_unit_test(test_flatness),
        cmocka_unit_test(test_tiny_noise),     cmocka_unit_test(test_outliers),    cmocka_unit_test(test_wrong_laws),
        cmocka_unit_test(test_wrong_by_ratio), cmocka_unit_test(test_long_path),   cmocka_unit_test(test_noise),
        cmocka_unit_test(test_bimodal),        cmocka_unit_test(test_single_ways), cmocka_unit_test(test_without_32),
        cmocka_unit_test(test_no_cycles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
