/* The shapes on a fake GPU recover the law that was planted in it, with numbers of turns worked out by hand. */
#include "planted_bench.h"

#include <core/util.h>

typedef gpuchar_divergence_shapes_options shapes_options;
typedef gpuchar_divergence_shapes_result shapes_result;

enum { UNIT = 6, LONGER = 4 };

/* What a shape comes to when a node of a nested one turns UNIT times; `thread_turns` is the sum over the 32 lanes. */
typedef struct known_shape {
    uint32_t shape, paths, nodes;
    uint64_t turns, longest, thread_turns;
} known_shape;

static const known_shape known[] = {
    {GPUCHAR_SHAPE_EARLY_1, 1, 6, 6 * UNIT, 6 * UNIT, 32 * 6 * UNIT},
    {GPUCHAR_SHAPE_EARLY_2, 2, 11, 11 * UNIT, 6 * UNIT, 32 * 6 * UNIT},
    {GPUCHAR_SHAPE_EARLY_32, 32, 63, 63 * UNIT, 6 * UNIT, 32 * 6 * UNIT},
    {GPUCHAR_SHAPE_LATE_2, 2, 7, 7 * UNIT, 6 * UNIT, 32 * 6 * UNIT},
    {GPUCHAR_SHAPE_LATE_16, 16, 1 + 1 + 2 + 4 + 8 + 16, 32 * UNIT, 6 * UNIT, 32 * 6 * UNIT},
    /* Inner nodes turn once. */
    {GPUCHAR_SHAPE_RATIO_4, 2, 11, 9 + 20 * UNIT, 5 + 16 * UNIT, 32 * 5 + 16 * 20 * UNIT},
    {GPUCHAR_SHAPE_ONE_LONG, 32, 63, 31 + 47 * UNIT, 5 + 16 * UNIT, 32 * 5 + 47 * UNIT},
};
enum { KNOWN = sizeof known / sizeof known[0] };

static shapes_options small_shapes(void) {
    shapes_options options = GPUCHAR_DIVERGENCE_SHAPES_OPTIONS_INIT;
    options.launches = LAUNCHES;
    options.turns = UNIT;
    for (size_t i = 0; i < KNOWN; i++) options.shapes[options.shapes_count++] = known[i].shape;
    return options;
}

static gpuchar_status run_shapes(planted *p, const shapes_options *options, shapes_result *result) {
    *result = gpuchar_divergence_shapes_result_make();
    return measure(FAKE_WITH_ALL, p, "divergence_shapes", options, result);
}

static void check_point(const planted *p, const known_shape *what, const gpuchar_divergence_shapes_point *point) {
    const double turn = p->link * BODY;
    assert_int_equal(point->paths, what->paths);
    assert_int_equal(point->nodes, what->nodes);
    assert_int_equal(point->turns, what->turns);
    assert_int_equal(point->longest_turns, what->longest);
    assert_true(point->cycles.median == 40 + turn * (double)what->turns);
    expect_near(point->predicted_cycles, point->cycles.median, 1e-9);
    expect_near(point->longest_cycles, 40 + turn * (double)what->longest, 1e-9);
    assert_true(fabs(point->deviation) < 1e-9);
    expect_near(point->expected_efficiency, (double)what->thread_turns / (double)what->turns, 1e-12);
    expect_near(point->efficiency, point->expected_efficiency, 1e-12);
    assert_int_equal(point->executed_count, what->turns * (BODY + planted_control));
    assert_int_equal(point->executed_count, point->expected_count);
}

static void test_law(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    shapes_options options = small_shapes();
    shapes_result result;
    options.keep_samples = 1;
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_STABLE;
    assert_failure(run_shapes(&p, &options, &result), GPUCHAR_OK);
    expect_near(result.slope.value, p.link * BODY, 1e-9);
    expect_near(result.intercept.value, 40, 1e-6);
    expect_near(result.shapes_slope.value, p.link * BODY, 1e-9);
    assert_true(fabs(result.flatness) < 1e-9 && result.largest_deviation < 1e-9);
    for (size_t i = 0; i < 32; i++) {
        assert_true(result.short_paths[i].median == 40 + p.link * BODY * 6 * UNIT);
        assert_true(result.long_paths[i].median == 40 + p.link * BODY * 6 * UNIT * LONGER);
    }
    assert_int_equal(result.point_count, KNOWN);
    assert_int_equal(result.sample_count, KNOWN * LAUNCHES);
    for (size_t i = 0; i < KNOWN; i++) {
        check_point(&p, &known[i], &result.points[i]);
        assert_true(result.samples[result.points[i].sample_offset + LAUNCHES - 1] == result.points[i].cycles.median);
    }
    expect_near(result.evidence.sm_clock_hz, 1.98e9, 1e-4);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    assert_int_equal(result.evidence.executed_count, 63 * UNIT * BODY);
    assert_int_equal(result.evidence.counter_passes, 1);
    gpuchar_divergence_shapes_result_free(&result);
}

/* All named shapes and, behind them, one of the caller's: what is measured is what is predicted, for each. */
static void test_all_and_given(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    shapes_options options = small_shapes();
    shapes_result result;
    uint64_t turns = 0;
    options.shapes_count = 0;
    memset(options.shapes, 0, sizeof options.shapes);
    assert_failure(run_shapes(&p, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.point_count, 18);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    assert_true(result.largest_deviation < 1e-9);
    gpuchar_divergence_shapes_result_free(&result);

    options.given_count = 1;
    for (uint32_t lane = 0; lane < 32; lane++) options.given[0].lanes[lane] = 31 - lane;
    for (uint32_t node = 0; node < 63; node++) turns += options.given[0].turns[node] = 1 + node * 5 % 7;
    p = planted_default();
    assert_failure(run_shapes(&p, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.point_count, 1);
    assert_int_equal(result.points[0].turns, turns);
    assert_true(result.points[0].cycles.median == 40 + p.link * BODY * (double)turns);
    assert_int_equal(result.points[0].executed_count, turns * (BODY + planted_control));
    gpuchar_divergence_shapes_result_free(&result);
}

/* ---- a GPU with another law */

/* Coming to a node costs what the line through single paths, six nodes each, takes for its constant. */
static void test_costly_nodes(void **state) {
    NEEDS_NVRTC();
    static const double costs[] = {30, 90};
    for (size_t i = 0; i < GC_COUNT(costs); i++) {
        planted p = planted_default();
        shapes_options options = small_shapes();
        shapes_result result;
        p.node = costs[i];
        /* ONE_LONG comes to all 63 with the fewest turns. */
        const double turns = 31 + 47 * UNIT, predicted = 40 + 6 * p.node + p.link * BODY * turns;
        const double deviation = 57 * p.node / predicted;
        const bool is_off = deviation > 0.02;
        assert_int_equal(is_off, i);
        assert_failure(run_shapes(&p, &options, &result), is_off ? GPUCHAR_CAVEAT : GPUCHAR_OK);
        expect_near(result.intercept.value, 40 + 6 * p.node, 1e-6);
        expect_near(result.points[KNOWN - 1].predicted_cycles, predicted, 1e-9);
        expect_near(result.points[KNOWN - 1].deviation, deviation, 1e-6);
        expect_near(result.largest_deviation, deviation, 1e-6);
        assert_int_equal(result.evidence.flags & GPUCHAR_FLAG_OFF_LAW, is_off ? GPUCHAR_FLAG_OFF_LAW : 0);
        gpuchar_divergence_shapes_result_free(&result);
    }
}

/* A path whose leaf takes longer differs from the others in its own slope; a sixth of its turns are there. */
static void test_longer_path(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    shapes_options options = small_shapes();
    shapes_result result;
    p.longer_path = 0.15;
    assert_failure(run_shapes(&p, &options, &result), GPUCHAR_CAVEAT);
    expect_near(result.flatness, 0.15 / 6, 0.01);
    expect_near(result.long_paths[7].median / result.long_paths[6].median, 1 + 0.15 / 6, 1e-3);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_OFF_LAW | GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    gpuchar_divergence_shapes_result_free(&result);
}

static void test_counters_off_by_one(void **state) {
    NEEDS_NVRTC();
    planted p = planted_default();
    shapes_options options = small_shapes();
    shapes_result result;
    p.surplus = 1; /* a turn */
    assert_failure(run_shapes(&p, &options, &result), GPUCHAR_CAVEAT);
    for (size_t i = 0; i < KNOWN; i++) {
        const gpuchar_divergence_shapes_point *point = &result.points[i];
        assert_int_equal(point->executed_count, point->expected_count + known[i].turns);
    }
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    gpuchar_divergence_shapes_result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law),
        cmocka_unit_test(test_all_and_given),
        cmocka_unit_test(test_costly_nodes),
        cmocka_unit_test(test_longer_path),
        cmocka_unit_test(test_counters_off_by_one),
    };
    return cmocka_run_group_tests(tests, find_nvrtc, NULL);
}
