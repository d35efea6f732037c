/* Shapes of divergence, and the arithmetic on samples of which the answer is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/finite_walk.h"

#include <core/util.h>
#include <experiments/divergence_shapes_reduce.h>
#include <stdlib.h>

#define UNIT 24
#define LAUNCHES 21
#define SLOPE 269.0
#define INTERCEPT 420.0

/* ---- shapes ---- */

static gpuchar_divergence_shapes_point describe(uint32_t shape) {
    gpuchar_divergence_shapes_point point = {.shape = shape};
    gc_shapes_plan(shape, UNIT, &point.what);
    gc_shapes_describe(&point);
    return point;
}

static void test_named(void **state) {
    (void)state;
    static const struct {
        uint32_t shape, paths, nodes, turns, longest;
    } wanted[] = {
        {GPUCHAR_SHAPE_EARLY_1, 1, 6, 6 * UNIT, 6 * UNIT},
        {GPUCHAR_SHAPE_EARLY_2, 2, 11, 11 * UNIT, 6 * UNIT},
        {GPUCHAR_SHAPE_EARLY_4, 4, 19, 19 * UNIT, 6 * UNIT},
        {GPUCHAR_SHAPE_EARLY_8, 8, 31, 31 * UNIT, 6 * UNIT},
        {GPUCHAR_SHAPE_EARLY_16, 16, 47, 47 * UNIT, 6 * UNIT},
        {GPUCHAR_SHAPE_EARLY_32, 32, 63, 63 * UNIT, 6 * UNIT},
        {GPUCHAR_SHAPE_LATE_2, 2, 7, 7 * UNIT, 6 * UNIT},
        {GPUCHAR_SHAPE_LATE_4, 4, 10, 10 * UNIT, 6 * UNIT},
        {GPUCHAR_SHAPE_LATE_8, 8, 17, 17 * UNIT, 6 * UNIT},
        {GPUCHAR_SHAPE_LATE_16, 16, 32, 32 * UNIT, 6 * UNIT},
        {GPUCHAR_SHAPE_RATIO_1, 2, 11, 9 + 32 * UNIT, 5 + 16 * UNIT},
        {GPUCHAR_SHAPE_RATIO_2, 2, 11, 9 + 24 * UNIT, 5 + 16 * UNIT},
        {GPUCHAR_SHAPE_RATIO_4, 2, 11, 9 + 20 * UNIT, 5 + 16 * UNIT},
        {GPUCHAR_SHAPE_RATIO_8, 2, 11, 9 + 18 * UNIT, 5 + 16 * UNIT},
        {GPUCHAR_SHAPE_RATIO_16, 2, 11, 9 + 17 * UNIT, 5 + 16 * UNIT},
        {GPUCHAR_SHAPE_LINEAR, 32, 63, 31 + 2 * 528, 5 + 64},
        {GPUCHAR_SHAPE_GEOMETRIC, 32, 63, 31 + 1341, 5 + 9 * UNIT},
        {GPUCHAR_SHAPE_ONE_LONG, 32, 63, 31 + 31 * UNIT + 16 * UNIT, 5 + 16 * UNIT},
    };
    assert_int_equal(GC_COUNT(wanted), GC_SHAPES_NAMED);
    for (size_t i = 0; i < GC_COUNT(wanted); ++i) {
        const gpuchar_divergence_shapes_point point = describe(wanted[i].shape);
        if (point.paths != wanted[i].paths || point.nodes != wanted[i].nodes || point.turns != wanted[i].turns ||
            point.longest_turns != wanted[i].longest) {
            fail_msg("shape %u: %u paths, %u nodes, %llu turns, %llu at most", wanted[i].shape, point.paths,
                     point.nodes, (unsigned long long)point.turns, (unsigned long long)point.longest_turns);
        }
    }
}

/* The same facts another way: from the root down, lane after lane. */
static void check_by_lanes(const gpuchar_divergence_shapes_point *point) {
    uint64_t turns[GPUCHAR_SHAPE_NODES] = {0}, sum = 0, threads = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        uint32_t node = 0;
        for (uint32_t bit = 16;; bit >>= 1) {
            turns[node] = point->what.turns[node];
            threads += point->what.turns[node];
            if (!bit) break;
            node = 2 * node + (point->what.lanes[lane] & bit ? 2 : 1);
        }
        assert_int_equal(node, 31 + point->what.lanes[lane]);
    }
    for (uint32_t node = 0; node < GPUCHAR_SHAPE_NODES; ++node) sum += turns[node];
    assert_int_equal(point->turns, sum);
    assert_true(fabs(point->expected_efficiency - (double)threads / (double)sum) < 1e-12);
}

static void test_efficiency(void **state) {
    (void)state;
    gc_random random = gc_random_seed(5);
    assert_true(describe(GPUCHAR_SHAPE_EARLY_1).expected_efficiency == 32);
    assert_true(describe(GPUCHAR_SHAPE_EARLY_32).expected_efficiency == 32.0 * 6 / 63);
    assert_true(describe(GPUCHAR_SHAPE_RATIO_1).expected_efficiency == 32.0 * (5 + 16 * UNIT) / (9 + 32 * UNIT));
    for (uint32_t shape = 1; shape <= GC_SHAPES_NAMED; ++shape) {
        const gpuchar_divergence_shapes_point point = describe(shape);
        check_by_lanes(&point);
    }
    for (int i = 0; i < 100; ++i) {
        gpuchar_divergence_shapes_point point = {.shape = GPUCHAR_SHAPE_GIVEN};
        for (uint32_t lane = 0; lane < 32; ++lane) point.what.lanes[lane] = gc_random_below(&random, 32);
        for (uint32_t node = 0; node < 63; ++node) point.what.turns[node] = 1 + gc_random_below(&random, 65536);
        gc_shapes_describe(&point);
        check_by_lanes(&point);
    }
}

/* Whatever the unit, each node turns once at least and no more often than the kernel is proved for. */
static void test_units(void **state) {
    (void)state;
    static const uint32_t units[] = {1, 2, 3, 12, 24, 1000, GC_SHAPES_UNIT_MAX};
    for (size_t i = 0; i < GC_COUNT(units); ++i) {
        for (uint32_t shape = 1; shape <= GC_SHAPES_NAMED; ++shape) {
            gpuchar_divergence_shape what;
            memset(&what, 0xff, sizeof what);
            gc_shapes_plan(shape, units[i], &what);
            for (uint32_t lane = 0; lane < 32; ++lane) assert_in_range(what.lanes[lane], 0, 31);
            for (uint32_t node = 0; node < 63; ++node) assert_in_range(what.turns[node], 1, GC_SHAPES_TURNS_MAX);
            assert_int_equal(what.reserved, 0);
        }
    }
}

static void test_geometric(void **state) {
    (void)state;
    const gpuchar_divergence_shapes_point point = describe(GPUCHAR_SHAPE_GEOMETRIC);
    for (uint32_t path = 0; path < 32; ++path) {
        const double exact = 9 * UNIT / exp2((31 - path) / 4.0), turns = point.what.turns[31 + path];
        assert_true(turns <= exact + 1e-9 && turns > exact - 1.2);
    }
}

/* ---- planted samples ---- */

typedef double (*law_function)(const gpuchar_divergence_shapes_point *point);

static double law_sum(const gpuchar_divergence_shapes_point *point) {
    return SLOPE * (double)point->turns + INTERCEPT;
}

typedef struct planted {
    double cycles[(2 * GC_SHAPES_PATHS + GC_SHAPES_NAMED) * LAUNCHES];
    double scratch[2 * LAUNCHES];
    gpuchar_divergence_shapes_point points[GC_SHAPES_NAMED];
    gpuchar_divergence_shapes_result result;
} planted;

static double *samples_of(planted *p, size_t block) {
    return p->cycles + block * LAUNCHES;
}

/* Single paths by the line, the shapes by `law`; each sample off by up to `noise` of itself. */
static planted *plant(law_function law, double noise) {
    planted *p = calloc(1, sizeof *p);
    gc_random random = gc_random_seed(20240229);
    assert_non_null(p);
    p->result = gpuchar_divergence_shapes_result_make();
    p->result.turns = UNIT;
    p->result.points = p->points;
    p->result.point_count = GC_SHAPES_NAMED;
    for (uint32_t i = 0; i < GC_SHAPES_NAMED; ++i) p->points[i] = describe(i + 1);
    for (size_t i = 0; i < 2 * GC_SHAPES_PATHS + GC_SHAPES_NAMED; ++i) {
        double value = SLOPE * 6 * UNIT * (i < GC_SHAPES_PATHS ? 1 : GC_SHAPES_LONG) + INTERCEPT;
        if (i >= 2 * GC_SHAPES_PATHS) value = law(&p->points[i - 2 * GC_SHAPES_PATHS]);
        for (size_t j = 0; j < LAUNCHES; ++j) {
            samples_of(p, i)[j] = value * (1 + noise * (2 * gc_random_unit(&random) - 1));
        }
    }
    return p;
}

static void derive(planted *p) {
    size_t seen = 0;
    gc_shapes_summarize(p->cycles, LAUNCHES, p->scratch, &p->result);
    gc_shapes_derive(&p->result);
    const gpuchar_schema *schema = gpuchar_schema_get("gpuchar_divergence_shapes_result");
    assert_non_null(schema);
    const char *field = find_infinite(schema, &p->result, &seen);
    if (field) fail_msg("%s is not finite", field);
    assert_true(seen > 64 * 8 + GC_SHAPES_NAMED * 12);
}

static planted *reduce(law_function law, double noise) {
    planted *p = plant(law, noise);
    derive(p);
    return p;
}

static void check_near(double value, double wanted, double relative) {
    if (!(fabs(value - wanted) <= relative * fabs(wanted))) fail_msg("%.17g instead of %.17g", value, wanted);
}

static void test_exact_law(void **state) {
    (void)state;
    planted *p = reduce(law_sum, 0);
    assert_int_equal(p->result.evidence.flags, 0);
    assert_int_equal(p->result.known, GPUCHAR_SHAPES_TIMED);
    check_near(p->result.slope.value, SLOPE, 1e-12);
    check_near(p->result.intercept.value, INTERCEPT, 1e-8);
    check_near(p->result.shapes_slope.value, SLOPE, 1e-12);
    check_near(p->result.shapes_slope.r2, 1, 1e-12);
    assert_int_equal(p->result.slope.points, 64);
    assert_int_equal(p->result.shapes_slope.points, GC_SHAPES_NAMED);
    assert_true(p->result.flatness < 1e-12 && p->result.largest_deviation < 1e-12);
    for (size_t i = 0; i < GC_SHAPES_NAMED; ++i) {
        const gpuchar_divergence_shapes_point *point = &p->points[i];
        assert_int_equal(point->known, GPUCHAR_SHAPES_POINT_PREDICTED);
        assert_int_equal(point->cycles.samples, LAUNCHES);
        check_near(point->predicted_cycles, law_sum(point), 1e-12);
        check_near(point->longest_cycles, SLOPE * (double)point->longest_turns + INTERCEPT, 1e-12);
    }
    free(p);
}

/* What coming to a node costs is no other law, at the default turns. */
static double law_nodes(const gpuchar_divergence_shapes_point *point) {
    return law_sum(point) + 40 * (point->nodes - 6.0);
}

static void test_nodes_cost(void **state) {
    (void)state;
    planted *p = reduce(law_nodes, 1e-4);
    assert_int_equal(p->result.evidence.flags, 0);
    assert_true(p->result.largest_deviation > 0.004 && p->result.largest_deviation < 0.01);
    free(p);
}

static void test_tiny_noise(void **state) {
    (void)state;
    planted *p = reduce(law_sum, 1e-4);
    assert_int_equal(p->result.evidence.flags, 0);
    check_near(p->result.slope.value, SLOPE, 1e-4);
    assert_true(p->result.slope.ci95_low < p->result.slope.value && p->result.slope.ci95_high > p->result.slope.value);
    assert_true(p->result.flatness > 0 && p->result.flatness < 1e-3);
    assert_true(p->result.largest_deviation > 0 && p->result.largest_deviation < 1e-3);
    free(p);
}

static void test_outliers(void **state) {
    (void)state;
    planted *clean = reduce(law_sum, 1e-4), *p = plant(law_sum, 1e-4);
    for (size_t i = 0; i < 3; ++i) samples_of(p, 64 + 5)[5 * i] *= 10;
    samples_of(p, 9)[20] *= 10;
    samples_of(p, 40)[0] *= 10;
    derive(p);
    assert_int_equal(p->result.evidence.flags, 0);
    assert_int_equal(p->points[5].cycles.outliers, 3);
    assert_int_equal(p->result.short_paths[9].outliers, 1);
    assert_int_equal(p->result.long_paths[8].outliers, 1);
    check_near(p->points[5].cycles.median, clean->points[5].cycles.median, 1e-4);
    check_near(p->result.slope.value, clean->result.slope.value, 1e-5);
    free(clean);
    free(p);
}

/* ---- laws that do not hold ---- */

static double law_longest(const gpuchar_divergence_shapes_point *point) {
    return SLOPE * (double)point->longest_turns + INTERCEPT;
}
static double law_slower(const gpuchar_divergence_shapes_point *point) {
    return law_sum(point) * (point->paths > 1 ? 1.025 : 1);
}
static double law_faster(const gpuchar_divergence_shapes_point *point) {
    return law_sum(point) * (point->paths > 1 ? 0.975 : 1);
}
static double law_one_shape(const gpuchar_divergence_shapes_point *point) {
    return law_sum(point) * (point->shape == GPUCHAR_SHAPE_RATIO_8 ? 0.97 : 1);
}
static double law_paths(const gpuchar_divergence_shapes_point *point) {
    return law_sum(point) + SLOPE * 10 * (point->paths - 1); /* work that each path repeats */
}

static void test_wrong_laws(void **state) {
    (void)state;
    static const law_function laws[] = {law_longest, law_slower, law_faster, law_one_shape, law_paths};
    for (size_t i = 0; i < GC_COUNT(laws); ++i) {
        for (int noisy = 0; noisy <= 1; ++noisy) {
            planted *p = reduce(laws[i], noisy ? 1e-4 : 0);
            if (p->result.evidence.flags != GPUCHAR_FLAG_OFF_LAW) fail_msg("law %zu passes", i);
            assert_true(p->result.largest_deviation > GC_SHAPES_LAW);
            free(p);
        }
    }
    planted *p = reduce(law_longest, 0);
    check_near(p->points[GPUCHAR_SHAPE_RATIO_1 - 1].deviation,
               (SLOPE * (5 + 16 * UNIT) + INTERCEPT) / (SLOPE * (9 + 32 * UNIT) + INTERCEPT) - 1, 1e-9);
    check_near(p->result.slope.value, SLOPE, 1e-12); /* nothing is fitted to the shapes */
    free(p);
}

/* A path whose loops take longer: the shapes' prediction says nothing then. */
static void test_uneven_paths(void **state) {
    (void)state;
    planted *p = plant(law_sum, 0);
    for (size_t j = 0; j < LAUNCHES; ++j) {
        samples_of(p, 7)[j] *= 1.03;
        samples_of(p, 39)[j] *= 1.03;
    }
    derive(p);
    check_near(p->result.flatness, 0.03, 0.01);
    assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_OFF_LAW);
    free(p);
}

static void test_noise(void **state) {
    (void)state;
    planted *p = reduce(law_sum, 4e-3);
    assert_true(p->result.evidence.flags & GPUCHAR_FLAG_UNSTABLE);
    free(p);
    static const size_t blocks[] = {3, 35, 70}; /* a short path, a long one, a shape */
    for (size_t i = 0; i < GC_COUNT(blocks); ++i) {
        p = plant(law_sum, 0);
        for (size_t j = 0; j < LAUNCHES; j += 2) samples_of(p, blocks[i])[j] *= 1.004;
        derive(p);
        assert_int_equal(p->result.evidence.flags & GPUCHAR_FLAG_UNSTABLE, GPUCHAR_FLAG_UNSTABLE);
        free(p);
    }
}

/* Long paths no longer than short ones, or no time at all: no prediction, no number that is none. */
static void test_no_line(void **state) {
    (void)state;
    for (int zero = 0; zero <= 1; ++zero) {
        planted *p = plant(law_sum, 0);
        for (size_t i = 0; i < (size_t)64 * LAUNCHES; ++i) p->cycles[i] = zero ? 0 : 5000;
        derive(p);
        assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_OFF_LAW);
        assert_int_equal(p->points[4].known, 0);
        assert_int_equal(p->result.slope.points, 0);
        free(p);
    }
}

/* ---- counts ---- */

static planted *counted(void) {
    planted *p = reduce(law_sum, 0);
    p->result.evidence.flags = GPUCHAR_FLAG_PROVED;
    p->result.loop_instructions = 67;
    gc_shapes_expect(&p->result);
    for (size_t i = 0; i < GC_SHAPES_NAMED; ++i) {
        p->points[i].executed_count = p->points[i].turns * 67;
        p->points[i].efficiency = p->points[i].expected_efficiency * 1.001;
        p->points[i].known |= GPUCHAR_SHAPES_POINT_COUNTERS;
    }
    return p;
}

static bool is_counted(planted *p) {
    gc_shapes_recount(&p->result);
    return (p->result.evidence.flags & GPUCHAR_FLAG_COUNTED) != 0;
}

static void test_counts(void **state) {
    (void)state;
    planted *p = counted();
    const gpuchar_evidence *evidence = &p->result.evidence;
    assert_true(is_counted(p));
    assert_int_equal(evidence->intended_count, 63 * UNIT * 64);
    assert_int_equal(evidence->decoded_count, 63 * UNIT * 64);
    assert_int_equal(evidence->executed_count, 63 * UNIT * 64);
    assert_int_equal(evidence->scaffold_count, 63 * UNIT * 3);
    assert_int_equal(p->points[2].expected_count, 19 * UNIT * 67);
    p->points[3].executed_count++;
    assert_false(is_counted(p));
    p->points[3].executed_count--;
    assert_true(is_counted(p));
    p->points[17].efficiency *= 1.02;
    assert_false(is_counted(p));
    free(p);
    p = counted();
    p->points[0].known &= ~(uint32_t)GPUCHAR_SHAPES_POINT_COUNTERS;
    assert_false(is_counted(p));
    assert_int_equal(p->result.evidence.counters_status, GPUCHAR_E_NOT_RECORDED);
    free(p);
    p = counted();
    p->result.evidence.flags = 0; /* not proved: nothing to agree with */
    assert_false(is_counted(p));
    free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named),        cmocka_unit_test(test_efficiency), cmocka_unit_test(test_units),
        cmocka_unit_test(test_geometric),    cmocka_unit_test(test_exact_law),  cmocka_unit_test(test_nodes_cost),
        cmocka_unit_test(test_tiny_noise),   cmocka_unit_test(test_outliers),   cmocka_unit_test(test_wrong_laws),
        cmocka_unit_test(test_uneven_paths), cmocka_unit_test(test_noise),      cmocka_unit_test(test_no_line),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
