/*
 * Occupancy on a fake GPU recovers the law that was planted in it: few warps on an SM wait for their own chains, many share
 * the issue slots, and either way a split warp takes as many times longer as it has paths.
 */
#include "planted_bench.h"

#include <core/util.h>

typedef gpuchar_divergence_occupancy_options occupancy_options;
typedef gpuchar_divergence_occupancy_result occupancy_result;

static const uint32_t warps[] = {1, 3, 8, 32, 64, 128}, bodies[] = {64, 256};
enum { TURNS = 64, WARPS = GC_COUNT(warps), BODIES = GC_COUNT(bodies), POINTS = WARPS * BODIES };

static occupancy_options small_occupancy(uint32_t ways) {
    occupancy_options options = GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT;
    options.launches = LAUNCHES;
    options.turns = TURNS;
    options.ways = ways;
    memcpy(options.warps, warps, sizeof warps);
    options.warps_count = WARPS;
    memcpy(options.bodies, bodies, sizeof bodies);
    options.bodies_count = BODIES;
    return options;
}

static gpuchar_status run_occupancy(planted *p, const occupancy_options *options, occupancy_result *result) {
    *result = gpuchar_divergence_occupancy_result_make();
    return measure(FAKE_WITH_ALL, p, "divergence_occupancy", options, result);
}

/* ---- the law once more, in the experiment's own words */

static double turns_of(uint32_t body) {
    return TURNS * 64.0 / body;
}

static double cycles_of(const planted *p, const gpuchar_occupancy_point *point, double ways) {
    const double waits = p->link * point->body,
                 issues = ceil(point->warps / 4.0) * (point->body + (double)planted_control);
    const double more = ways > 1 && point->body > 64 ? p->fetch : 0;
    return p->intercept + ways * turns_of(point->body) * ((waits > issues ? waits : issues) + more);
}

static void check_point(const planted *p, double ways, const gpuchar_occupancy_point *point) {
    const double one = cycles_of(p, point, 1), many = cycles_of(p, point, ways);
    const double looped = turns_of(point->body) * (point->body + (double)planted_control);
    assert_int_equal(point->uneven, 0);
    assert_true(point->cycles_one.median == one && point->cycles_ways.median == many);
    expect_near(point->penalty, many / one, 1e-12);
    expect_near(point->issue_rate_one, looped * point->warps / one, 1e-12);
    expect_near(point->issue_rate_ways, looped * ways * point->warps / many, 1e-12);
    expect_near(point->efficiency, 32 / ways, 1e-12);
    assert_int_equal(point->executed_count, (uint64_t)(looped * ways));
    assert_int_equal(point->executed_count, point->expected_count);
}

static void check_body(const planted *p, double ways, const occupancy_result *result, size_t index) {
    const gpuchar_occupancy_body *body = &result->bodies[index];
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < WARPS; i++) {
        const gpuchar_occupancy_point *point = &result->points[index * WARPS + i];
        assert_int_equal(point->body, bodies[index]);
        assert_int_equal(point->warps, warps[i]);
        least = fmin(least, cycles_of(p, point, ways) / cycles_of(p, point, 1));
        most = fmax(most, cycles_of(p, point, ways) / cycles_of(p, point, 1));
    }
    assert_int_equal(body->body, bodies[index]);
    expect_near(body->penalty_min, least, 1e-12);
    expect_near(body->penalty_max, most, 1e-12);
    expect_near(body->flatness, most / least - 1, 1e-9);
}

static void check_all(const planted *p, double ways, const occupancy_result *result) {
    assert_int_equal(result->point_count, POINTS);
    assert_int_equal(result->body_count, BODIES);
    for (size_t i = 0; i < POINTS; i++) check_point(p, ways, &result->points[i]);
    for (size_t i = 0; i < BODIES; i++) check_body(p, ways, result, i);
    assert_int_equal(result->sm_count, SMS);
    assert_int_equal(result->resident_warps, 64);
    assert_int_equal(result->evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    assert_int_equal(result->evidence.executed_count, (uint64_t)(ways * TURNS * 64));
    expect_near(result->evidence.sm_clock_hz, 1.98e9, 1e-4);
}

static void test_law(void **state) {
    NEEDS_NVRTC();
    static const uint32_t ways[] = {32, 5};
    for (size_t i = 0; i < GC_COUNT(ways); i++) {
        planted p = planted_default();
        occupancy_options options = small_occupancy(ways[i]);
        occupancy_result result;
        options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_STABLE;
        if (32 % ways[i] == 0) options.require |= GPUCHAR_REQUIRE_COUNTED;
        assert_failure(run_occupancy(&p, &options, &result), GPUCHAR_OK);
        check_all(&p, ways[i], &result);
        assert_true(result.bodies[0].flatness < 0.1);
        gpuchar_divergence_occupancy_result_free(&result);
    }
}

/* ---- a GPU with another law */

/* What the instruction caches do not hold is fetched by split warps alone: the penalty is not flat any more. */
static void test_cold_caches(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    occupancy_options options = small_occupancy(32);
    occupancy_result result;
    p.fetch = 900;
    assert_failure(run_occupancy(&p, &options, &result), GPUCHAR_OK);
    check_all(&p, 32, &result);
    assert_true(result.bodies[0].flatness < 0.1 && result.bodies[1].flatness > 0.25);
    gpuchar_divergence_occupancy_result_free(&result);
}

/* SMs that ran other numbers of warps are counted, and not measured by. */
static void test_uneven_blocks(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    occupancy_options options = small_occupancy(32);
    occupancy_result result;
    p.moves = true;
    assert_failure(run_occupancy(&p, &options, &result), GPUCHAR_OK);
    for (size_t i = 0; i < POINTS; i++) {
        gpuchar_occupancy_point *point = &result.points[i];
        assert_int_equal(point->uneven, 2 * 2 * LAUNCHES); /* two SMs, two forms */
        point->uneven = 0;
        check_point(&p, 32, point);
    }
    gpuchar_divergence_occupancy_result_free(&result);
}

/* One number of warps that no SM ran has no time; all others have theirs. */
static void test_starved(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    occupancy_result result;
    char *text = NULL;
    p.starves = 128;
    assert_failure(run_occupancy(&p, NULL, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_UNSTABLE);
    assert_int_equal(result.points[7].warps, 128);
    assert_false(result.points[7].known & GPUCHAR_OCCUPANCY_POINT_TIMED);
    assert_true(result.points[7].penalty == 0 && result.points[7].issue_rate_one == 0);
    for (size_t i = 0; i < 7; i++) check_point(&p, 32, &result.points[i]);
    assert_int_equal(gpuchar_experiment_text("divergence_occupancy", &result, &text), GPUCHAR_OK);
    assert_contains(text, "128 warps: not timed");
    gpuchar_string_free(text);
    gpuchar_divergence_occupancy_result_free(&result);
    /* Nothing else asked: nothing left. */
    occupancy_options options = GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT;
    options.launches = LAUNCHES;
    options.warps_count = 1;
    options.warps[0] = 128;
    assert_failure(run_occupancy(&p, &options, &result), GPUCHAR_E_MEASUREMENT);
    assert_null(result.points);
}

static void test_counters_off_by_one(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    occupancy_options options = small_occupancy(32);
    occupancy_result result;
    p.surplus = 1; /* a turn of each warp */
    assert_failure(run_occupancy(&p, &options, &result), GPUCHAR_CAVEAT);
    for (size_t i = 0; i < POINTS; i++) {
        const gpuchar_occupancy_point *point = &result.points[i];
        assert_int_equal(point->executed_count, point->expected_count + (uint64_t)turns_of(point->body));
    }
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    gpuchar_divergence_occupancy_result_free(&result);
}

/* The defaults: as many warps as an SM holds, and twice as many. */
static void test_defaults(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    occupancy_result result;
    assert_failure(run_occupancy(&p, NULL, &result), GPUCHAR_OK);
    assert_int_equal(result.point_count, 8);
    assert_int_equal(result.points[6].warps, 64);
    assert_int_equal(result.points[7].warps, 128);
    for (size_t i = 0; i < 8; i++) check_point(&p, 32, &result.points[i]);
    gpuchar_divergence_occupancy_result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law),
        cmocka_unit_test(test_cold_caches),
        cmocka_unit_test(test_uneven_blocks),
        cmocka_unit_test(test_starved),
        cmocka_unit_test(test_counters_off_by_one),
        cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, find_nvrtc, NULL);
}
