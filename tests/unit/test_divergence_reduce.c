/* From planted samples to the sweep's numbers: true laws are recovered, wrong ones are flagged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <experiments/divergence_reduce.h>
#include <math.h>
#include <stats/stats.h>
#include <stdlib.h>
#include <unit/divergence_planted.h>

/* ---- lane maps ---- */

static void count_lanes(const uint8_t lanes[32], uint32_t ways, uint32_t counts[32]) {
    memset(counts, 0, 32 * sizeof counts[0]);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        assert_in_range(lanes[lane], 0, ways - 1);
        counts[lanes[lane]]++;
    }
}

static void test_lanes(void **state) {
    (void)state;
    for (uint32_t map = GPUCHAR_LANES_STRIDED; map <= GPUCHAR_LANES_RANDOM; ++map) {
        for (uint32_t ways = 1; ways <= 32; ++ways) {
            gpuchar_divergence_sweep_options options = {.lane_map = map, .seed = 7};
            uint8_t lanes[32];
            uint32_t counts[32];
            memset(lanes, 0xee, sizeof lanes);
            gc_divergence_lanes(&options, ways, lanes);
            count_lanes(lanes, ways, counts);
            for (uint32_t path = 0; path < ways; ++path) assert_in_range(counts[path], 32 / ways, (31 + ways) / ways);
        }
    }
}

static void test_lanes_by_rule(void **state) {
    (void)state;
    gpuchar_divergence_sweep_options options = {.lane_map = GPUCHAR_LANES_STRIDED};
    uint8_t lanes[32];
    gc_divergence_lanes(&options, 5, lanes);
    for (uint32_t lane = 0; lane < 32; ++lane) assert_int_equal(lanes[lane], lane % 5);
    options.lane_map = GPUCHAR_LANES_CONTIGUOUS;
    for (uint32_t ways = 1; ways <= 32; ++ways) {
        gc_divergence_lanes(&options, ways, lanes);
        assert_int_equal(lanes[0], 0);
        assert_int_equal(lanes[31], ways - 1);
        for (uint32_t lane = 1; lane < 32; ++lane) assert_in_range(lanes[lane] - lanes[lane - 1], 0, 1);
    }
    options.lane_map = GPUCHAR_LANES_GIVEN;
    for (uint32_t lane = 0; lane < 32; ++lane) options.lanes[lane] = 31 - lane;
    gc_divergence_lanes(&options, 32, lanes);
    for (uint32_t lane = 0; lane < 32; ++lane) assert_int_equal(lanes[lane], 31 - lane);
}

static void test_random_lanes(void **state) {
    (void)state;
    gpuchar_divergence_sweep_options options = {.lane_map = GPUCHAR_LANES_RANDOM};
    for (uint32_t ways = 2; ways <= 32; ++ways) {
        uint8_t first[32], again[32], strided[32];
        uint32_t differing = 0, unordered = 0;
        for (uint32_t lane = 0; lane < 32; ++lane) strided[lane] = (uint8_t)(lane % ways);
        for (uint32_t seed = 1; seed <= 20; ++seed) {
            options.seed = seed;
            gc_divergence_lanes(&options, ways, first);
            gc_divergence_lanes(&options, ways, again);
            assert_memory_equal(first, again, sizeof first);
            unordered += memcmp(first, strided, sizeof first) != 0;
            options.seed = seed + 1;
            gc_divergence_lanes(&options, ways, again);
            differing += memcmp(first, again, sizeof first) != 0;
        }
        assert_int_equal(unordered, 20);
        assert_int_equal(differing, 20);
    }
}

static void test_given_ways(void **state) {
    (void)state;
    uint32_t lanes[32] = {0};
    assert_int_equal(gc_divergence_given_ways(lanes), 1);
    for (uint32_t lane = 0; lane < 32; ++lane) lanes[lane] = 31;
    assert_int_equal(gc_divergence_given_ways(lanes), 1);
    lanes[4] = 0;
    assert_int_equal(gc_divergence_given_ways(lanes), 2);
    for (uint32_t lane = 0; lane < 32; ++lane) lanes[lane] = lane / 2 * 2;
    assert_int_equal(gc_divergence_given_ways(lanes), 16);
    for (uint32_t lane = 0; lane < 32; ++lane) lanes[lane] = lane;
    assert_int_equal(gc_divergence_given_ways(lanes), 32);
}

/* ---- right laws ---- */

static void check_clean(const gpuchar_divergence_sweep_result *result) {
    assert_int_equal(result->evidence.flags, 0);
    assert_true(result->known & GPUCHAR_DIVERGENCE_TIMED);
    for (size_t i = 0; i < result->point_count; ++i) {
        assert_int_equal(result->points[i].known, GPUCHAR_DIVERGENCE_POINT_RATIO | GPUCHAR_DIVERGENCE_POINT_PREDICTED);
        assert_int_equal(result->points[i].cycles.flags, 0);
        assert_int_equal(result->points[i].cycles.samples, LAUNCHES);
    }
}

static void test_exact_law(void **state) {
    (void)state;
    planted plan = plant_law(32, 0);
    gpuchar_divergence_sweep_result result = reduce_planted(&plan);
    check_clean(&result);
    assert_int_equal(result.known,
                     GPUCHAR_DIVERGENCE_TIMED | GPUCHAR_DIVERGENCE_RATIO32 | GPUCHAR_DIVERGENCE_INTERCEPT);
    assert_near(result.slope.value, PATH_CYCLES, 1e-9 * PATH_CYCLES);
    assert_near(result.slope_robust, PATH_CYCLES, 0);
    assert_near(result.intercept.value, 0, 1e-6);
    assert_near(result.intercept_ratio, 0, 1e-9);
    assert_near(result.slope.r2, 1, 1e-12);
    assert_int_equal(result.slope.points, 32);
    assert_near(result.path_mean_cycles, PATH_CYCLES, 0);
    assert_near(result.flatness, 0, 0);
    assert_near(result.ratio_32, 32, 0);
    for (uint32_t i = 0; i < 32; ++i) {
        assert_near(result.points[i].ratio, i + 1, 0);
        assert_near(result.points[i].predicted_cycles, PATH_CYCLES * (i + 1), 1e-6);
        assert_int_equal(result.points[i].cycles.outliers, 0);
    }
    planted_free(&plan, &result);
}

/* A constant of a hundredth of a path belongs to a real dispatch; paths a hundredth apart to a real chip. */
static void test_small_offset_and_unevenness(void **state) {
    (void)state;
    planted plan = plant_law(32, 0);
    for (uint32_t i = 0; i < 32; ++i) {
        plan_point(&plan, i, PATH_CYCLES * plan.ways[i] + 0.01 * PATH_CYCLES);
        plan_path(&plan, i, PATH_CYCLES * (i % 2 ? 1.005 : 0.995));
    }
    gpuchar_divergence_sweep_result result = reduce_planted(&plan);
    check_clean(&result);
    assert_near(result.intercept.value, 0.01 * PATH_CYCLES, 1e-6);
    assert_near(result.intercept_ratio, 0.01, 1e-9);
    assert_near(result.flatness, 0.01, 1e-9);
    assert_near(result.path_mean_cycles, PATH_CYCLES, 1e-9 * PATH_CYCLES);
    planted_free(&plan, &result);
}

static void test_noise(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        planted plan = plant_law(32, 0);
        plan_noise(&plan, 1e-5, seed);
        gpuchar_divergence_sweep_result result = reduce_planted(&plan);
        check_clean(&result);
        assert_near(result.slope.value, PATH_CYCLES, 1e-5 * PATH_CYCLES);
        assert_near(result.slope_robust, PATH_CYCLES, 1e-5 * PATH_CYCLES);
        assert_true(result.slope.r2 > 0.99999 && result.slope.r2 < 1);
        assert_true(result.slope.ci95_low < result.slope.value && result.slope.value < result.slope.ci95_high);
        assert_int_equal(result.slope.points, 32);
        assert_near(result.ratio_32, 32, 32e-5);
        assert_true(result.flatness > 0 && result.flatness < 2e-5);
        planted_free(&plan, &result);
    }
}

static void test_outliers(void **state) {
    (void)state;
    planted plan = plant_law(6, 0);
    plan_noise(&plan, 1e-5, 3);
    gpuchar_divergence_sweep_result before = reduce_planted(&plan);
    for (uint32_t j = 0; j < 5; ++j) {
        plan.points[2 * LAUNCHES + 40 * j] *= 10;
        plan.paths[7 * LAUNCHES + 40 * j] *= 10;
    }
    gpuchar_divergence_sweep_result after = reduce_planted(&plan);
    check_clean(&after);
    assert_in_range(after.points[2].cycles.outliers, 5, before.points[2].cycles.outliers + 5);
    assert_in_range(after.paths[7].outliers, 5, before.paths[7].outliers + 5);
    assert_int_equal(after.points[1].cycles.outliers, before.points[1].cycles.outliers);
    assert_near(after.points[2].cycles.median, before.points[2].cycles.median, 1e-6 * before.points[2].cycles.median);
    assert_near(after.points[2].cycles.max, 10 * PATH_CYCLES * plan.ways[2], 0.01 * PATH_CYCLES);
    assert_true(after.points[2].cycles.mean > 1.1 * after.points[2].cycles.median);
    assert_near(after.slope.value, PATH_CYCLES, 1e-5 * PATH_CYCLES);
    free(before.points);
    planted_free(&plan, &after);
}

static void test_exact_outliers(void **state) {
    (void)state;
    planted plan = plant_law(6, 0);
    for (uint32_t j = 0; j < 3; ++j) plan.points[LAUNCHES + j] *= 10;
    gpuchar_divergence_sweep_result result = reduce_planted(&plan);
    check_clean(&result);
    assert_int_equal(result.points[1].cycles.outliers, 3);
    assert_near(result.points[1].cycles.median, 2 * PATH_CYCLES, 0);
    planted_free(&plan, &result);
}

/* ---- wrong laws ---- */

static void expect_flag(planted *plan, uint32_t flag, const char *what) {
    gpuchar_divergence_sweep_result result = reduce_planted(plan);
    if (result.evidence.flags != flag) fail_msg("%s: flags %#x, expected %#x", what, result.evidence.flags, flag);
    planted_free(plan, &result);
}

static double quadratic(double k) {
    return PATH_CYCLES * k * (1 + 0.01 * (k - 1));
}
static double saturating(double k) {
    return PATH_CYCLES * fmin(k, 16);
}
static double predicated(double k) {
    return PATH_CYCLES * 32 + 0 * k;
}
static double missing_factor(double k) {
    return PATH_CYCLES * k / 2;
}
static double logarithmic(double k) {
    return PATH_CYCLES * (1 + log2(k));
}
static double offset(double k) {
    return PATH_CYCLES * (k + 0.03);
}
static double negative_offset(double k) {
    return PATH_CYCLES * (k - 0.03);
}
static double constant(double k) {
    return PATH_CYCLES + 0 * k;
}

static void test_wrong_laws(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double (*law)(double);
    } wrong[] = {{"quadratic", quadratic},         {"saturating", saturating},   {"predicated", predicated},
                 {"half", missing_factor},         {"logarithmic", logarithmic}, {"offset", offset},
                 {"less offset", negative_offset}, {"constant", constant}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        for (uint32_t count = 6; count <= 32; count += 26) {
            planted plan = plant_law(count, 0);
            for (uint32_t j = 0; j < count; ++j) plan_point(&plan, j, wrong[i].law(plan.ways[j]));
            expect_flag(&plan, GPUCHAR_FLAG_OFF_LAW, wrong[i].name);
        }
    }
}

/* Sums of unequal paths are still a straight line through most points: the paths themselves tell. */
static void test_one_long_path(void **state) {
    (void)state;
    static const double factors[] = {2, 1.5, 1.1, 0.5, 0.9};
    static const uint32_t longer[] = {0, 1, 15, 31};
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; ++f) {
        for (size_t i = 0; i < sizeof longer / sizeof longer[0]; ++i) {
            planted plan = plant_law(6, 0);
            plan_path(&plan, longer[i], factors[f] * PATH_CYCLES);
            for (uint32_t j = 0; j < 6; ++j) {
                double extra = plan.ways[j] > longer[i] ? factors[f] - 1 : 0;
                plan_point(&plan, j, PATH_CYCLES * (plan.ways[j] + extra));
            }
            expect_flag(&plan, GPUCHAR_FLAG_OFF_LAW, "one long path");
        }
    }
}

static void test_one_wrong_point(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 6; ++i) {
        planted plan = plant_law(6, 0);
        plan_point(&plan, i, PATH_CYCLES * plan.ways[i] * 1.03);
        expect_flag(&plan, GPUCHAR_FLAG_OFF_LAW, "one point 3 % off");
    }
}

/* ---- unsteady samples ---- */

static void test_noise_above_the_bound(void **state) {
    (void)state;
    for (uint32_t kind = GPUCHAR_PATH_FP32; kind <= GPUCHAR_PATH_SPECIAL; ++kind) {
        bool memory = kind == GPUCHAR_PATH_MEMORY;
        double bound = memory ? GC_DIVERGENCE_SPREAD_MEMORY : GC_DIVERGENCE_SPREAD;
        planted point = plant_law(6, kind), path = plant_law(6, kind), below = plant_law(6, kind);
        plan_spread(point.points + 3 * LAUNCHES, 1.2 * bound);
        expect_flag(&point, GPUCHAR_FLAG_UNSTABLE, "a point above the bound");
        plan_spread(path.paths + 31 * LAUNCHES, 1.2 * bound);
        expect_flag(&path, GPUCHAR_FLAG_UNSTABLE, "a path above the bound");
        plan_spread(below.paths, 0.8 * bound);
        plan_spread(below.points, 0.8 * bound);
        expect_flag(&below, 0, "below the bound");
    }
}

/* Two populations, of which the smaller is invisible to the median deviation. */
static void test_bimodal(void **state) {
    (void)state;
    planted halves = plant_law(6, 0), third = plant_law(6, 0);
    for (uint32_t j = 0; j < LAUNCHES; j += 2) halves.points[2 * LAUNCHES + j] *= 1.01;
    expect_flag(&halves, GPUCHAR_FLAG_UNSTABLE, "half of the launches 1 % slower");
    for (uint32_t j = 0; j < LAUNCHES; j += 3) third.points[2 * LAUNCHES + j] *= 1.01;
    expect_flag(&third, GPUCHAR_FLAG_UNSTABLE, "a third of the launches 1 % slower");
}

/* ---- few and odd points ---- */

static void test_single_point(void **state) {
    (void)state;
    planted plan = plant_law(1, 0);
    plan.ways[0] = 7;
    plan_point(&plan, 0, 7 * PATH_CYCLES);
    gpuchar_divergence_sweep_result result = reduce_planted(&plan);
    assert_int_equal(result.evidence.flags, 0);
    assert_int_equal(result.known, GPUCHAR_DIVERGENCE_TIMED);
    assert_int_equal(result.slope.points, 0);
    assert_int_equal(result.intercept.points, 0);
    assert_near(result.slope_robust, 0, 0);
    assert_near(result.points[0].ratio, 7, 0);
    assert_int_equal(result.points[0].known, GPUCHAR_DIVERGENCE_POINT_RATIO);
    planted_free(&plan, &result);
}

static void test_equal_points(void **state) {
    (void)state;
    planted plan = plant_law(4, 0);
    for (uint32_t i = 0; i < 4; ++i) {
        plan.ways[i] = 8;
        plan_point(&plan, i, 8 * PATH_CYCLES);
    }
    gpuchar_divergence_sweep_result result = reduce_planted(&plan);
    assert_int_equal(result.evidence.flags, 0);
    assert_int_equal(result.slope.points, 0);
    assert_int_equal(result.known, GPUCHAR_DIVERGENCE_TIMED);
    planted_free(&plan, &result);

    plan = plant_law(4, 0); /* 1, 2, 2, 4 */
    plan.ways[2] = 2;
    plan_point(&plan, 2, 2 * PATH_CYCLES);
    plan.ways[3] = 4;
    plan_point(&plan, 3, 4 * PATH_CYCLES);
    result = reduce_planted(&plan);
    check_clean(&result);
    assert_int_equal(result.slope.points, 4);
    assert_near(result.slope.value, PATH_CYCLES, 1e-6);
    assert_false(result.known & GPUCHAR_DIVERGENCE_RATIO32); /* no k = 32 */
    assert_near(result.ratio_32, 0, 0);
    planted_free(&plan, &result);
}

static void test_no_finite_time(void **state) {
    (void)state;
    static const double odd[] = {0, 5e-324, 1e308, 1.7976931348623157e308, INFINITY, NAN, -1};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; ++i) {
        for (size_t j = 0; j < sizeof odd / sizeof odd[0]; ++j) {
            planted plan = plant_law(6, 0);
            for (uint32_t path = 0; path < 32; ++path) plan_path(&plan, path, odd[i]);
            for (uint32_t point = 0; point < 6; point += 2) plan_point(&plan, point, odd[j]);
            gpuchar_divergence_sweep_result result = reduce_planted(&plan); /* walks all numbers */
            assert_true(result.evidence.flags & GPUCHAR_FLAG_OFF_LAW);
            planted_free(&plan, &result);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_lanes_by_rule),
        cmocka_unit_test(test_random_lanes),
        cmocka_unit_test(test_given_ways),
        cmocka_unit_test(test_exact_law),
        cmocka_unit_test(test_small_offset_and_unevenness),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_exact_outliers),
        cmocka_unit_test(test_wrong_laws),
        cmocka_unit_test(test_one_long_path),
        cmocka_unit_test(test_one_wrong_point),
        cmocka_unit_test(test_noise_above_the_bound),
        cmocka_unit_test(test_bimodal),
        cmocka_unit_test(test_single_point),
        cmocka_unit_test(test_equal_points),
        cmocka_unit_test(test_no_finite_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
