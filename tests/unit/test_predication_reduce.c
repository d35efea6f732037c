/* The predication comparison's arithmetic on samples of which the answer is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/finite_walk.h"

#include <core/util.h>
#include <experiments/predication_reduce.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCHES 21
#define TURNS 128.0
#define LINKS (TURNS * 128)

static const uint32_t USUAL[] = {1, 2, 4, 8, 12, 16, 24, 32};

/* ---- planted samples ---- */

/* Cycles of a form with some warps, and how they scatter. */
typedef struct plan {
    double (*law)(size_t form, uint32_t warps);
    double noise; /* relative half width of a uniform distribution */
    uint32_t warps[32];
    uint32_t count;
} plan;

typedef struct planted {
    double cycles[32 * GPUCHAR_FORMS * LAUNCHES];
    double scratch[2 * LAUNCHES];
    gpuchar_predication_point points[32];
    gpuchar_predication_length lengths[32];
    gpuchar_predication_compare_result result;
} planted;

/* Four schedulers, one instruction a cycle each, and four cycles from link to link of a chain. */
static double law_of_hopper(size_t form, uint32_t warps) {
    const double busiest = ceil(warps / 4.0), arms = form == GPUCHAR_FORM_CONVERGENT ? 1 : 2;
    const double waiting = form == GPUCHAR_FORM_BRANCH ? 2 * 4 : 4;
    return LINKS * fmax(waiting, arms * busiest);
}

static double law_of_gain(size_t form, uint32_t warps) {
    return law_of_hopper(form, 1) + 0 * warps;
}

static double law_without_gain(size_t form, uint32_t warps) {
    return LINKS * 4 * (form == GPUCHAR_FORM_CONVERGENT ? 1 : 2) + 0 * warps;
}

/* A gain at 16 warps that is missing at 2: it has not vanished before 24. */
static double law_with_a_hole(size_t form, uint32_t warps) {
    const bool gain = warps == 1 || warps == 16;
    return form == GPUCHAR_FORM_BRANCH && gain ? 2 * LINKS : LINKS;
}

static plan plan_of(double (*law)(size_t, uint32_t), const uint32_t *warps, uint32_t count) {
    plan made = {.law = law, .count = count};
    memcpy(made.warps, warps, count * sizeof warps[0]);
    return made;
}

static double *block(planted *p, size_t point, size_t form) {
    return p->cycles + (point * GPUCHAR_FORMS + form) * LAUNCHES;
}

static planted *plant(const plan *from) {
    planted *p = calloc(1, sizeof *p);
    gc_random random = gc_random_seed(20240229);
    assert_non_null(p);
    p->result = gpuchar_predication_compare_result_make();
    p->result.points = p->points;
    p->result.point_count = from->count;
    for (uint32_t form = 0; form < GPUCHAR_FORMS; ++form) {
        p->result.forms[form].form = form;
        p->result.forms[form].known = GPUCHAR_PREDICATION_FORM_DECODED;
        p->result.forms[form].expected_count = (uint64_t)LINKS * (form == GPUCHAR_FORM_CONVERGENT ? 1 : 2);
    }
    for (size_t i = 0; i < from->count; ++i) {
        p->points[i].warps = from->warps[i];
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
            for (size_t j = 0; j < LAUNCHES; ++j) {
                const double scatter = 1 + from->noise * (2 * gc_random_unit(&random) - 1);
                block(p, i, form)[j] = from->law(form, from->warps[i]) * scatter;
            }
        }
    }
    return p;
}

static void derive(planted *p) {
    size_t seen = 0;
    gc_predication_summarize(p->cycles, LAUNCHES, p->scratch, &p->result);
    gc_predication_derive(&p->result);
    const char *field = find_infinite(gpuchar_schema_get("gpuchar_predication_compare_result"), &p->result, &seen);
    if (field) fail_msg("%s is not finite", field);
    assert_true(seen > p->result.point_count * GPUCHAR_FORMS * 8);
}

static planted *reduce(const plan *from) {
    planted *p = plant(from);
    derive(p);
    return p;
}

static void check_near(double value, double wanted, double relative) {
    if (!(fabs(value - wanted) <= relative * fabs(wanted))) fail_msg("%.17g instead of %.17g", value, wanted);
}

/* ---- laws ---- */

static void check_point(const gpuchar_predication_point *point, double gain, double predicated, double rate) {
    check_near(point->gain, gain, 1e-14);
    check_near(point->predicated_ratio, predicated, 1e-14);
    check_near(point->branch_ratio, gain * predicated, 1e-14);
    check_near(point->predicated_instructions_per_cycle, rate, 1e-14);
    check_near(point->branch_instructions_per_cycle, rate / gain, 1e-14);
    check_near(point->convergent_instructions_per_cycle, rate * predicated / 2, 1e-14);
    assert_int_equal(point->known, GPUCHAR_PREDICATION_POINT_RATIOS | GPUCHAR_PREDICATION_POINT_ISSUE);
}

static void test_hopper(void **state) {
    (void)state;
    plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
    planted *p = reduce(&from);
    check_point(&p->points[0], 2, 1, 0.5);
    check_point(&p->points[1], 2, 1, 1);
    check_point(&p->points[2], 2, 1, 2);
    check_point(&p->points[3], 2, 1, 4);
    check_point(&p->points[4], 8.0 / 6, 1.5, 4);
    for (size_t i = 5; i < 8; ++i) check_point(&p->points[i], 1, 2, 4);
    assert_int_equal(p->result.saturation_warps, 16);
    assert_int_equal(p->result.known, GPUCHAR_PREDICATION_TIMED);
    assert_int_equal(p->result.evidence.flags, 0);
    free(p);
}

static uint32_t saturation_of(double (*law)(size_t, uint32_t), const uint32_t *warps, uint32_t count) {
    plan from = plan_of(law, warps, count);
    planted *p = reduce(&from);
    const uint32_t saturation = p->result.saturation_warps;
    free(p);
    return saturation;
}

static void test_saturation(void **state) {
    (void)state;
    static const uint32_t mixed[] = {32, 1, 24, 8, 16, 8}, few[] = {1, 2, 8}, many[] = {24, 17};
    assert_int_equal(saturation_of(law_of_hopper, mixed, GC_COUNT(mixed)), 16);
    assert_int_equal(saturation_of(law_of_hopper, few, GC_COUNT(few)), 0);
    assert_int_equal(saturation_of(law_of_hopper, many, GC_COUNT(many)), 17);
    assert_int_equal(saturation_of(law_of_gain, USUAL, GC_COUNT(USUAL)), 0);
    assert_int_equal(saturation_of(law_without_gain, USUAL, GC_COUNT(USUAL)), 1);
    assert_int_equal(saturation_of(law_with_a_hole, USUAL, GC_COUNT(USUAL)), 24);
}

static void test_noise(void **state) {
    (void)state;
    static const struct {
        double noise;
        bool unstable;
    } cases[] = {{1e-4, false}, {2e-3, false}, {1e-2, true}};
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
        from.noise = cases[i].noise;
        planted *p = reduce(&from);
        assert_int_equal(p->result.evidence.flags, cases[i].unstable ? GPUCHAR_FLAG_UNSTABLE : 0);
        check_near(p->points[0].gain, 2, 2 * from.noise);
        assert_int_equal(p->result.saturation_warps, 16);
        free(p);
    }
}

/* Any form of any point tells; a few outliers do not. */
static void test_outliers(void **state) {
    (void)state;
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
        planted *p = plant(&from);
        for (size_t i = 0; i < 3; ++i) block(p, 6, form)[7 * i] *= 10;
        derive(p);
        assert_int_equal(p->points[6].cycles[form].outliers, 3);
        assert_int_equal(p->result.evidence.flags, 0);
        check_near(p->points[6].gain, 1, 1e-14);
        for (size_t i = 0; i < LAUNCHES; ++i) block(p, 6, form)[i] = (i % 3 ? 1 : 1.3) * LINKS;
        derive(p);
        assert_int_equal(p->points[6].cycles[form].flags, GPUCHAR_FLAG_UNSTABLE);
        assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_UNSTABLE);
        free(p);
    }
}

/* ---- what cannot be known ---- */

static void test_not_decoded(void **state) {
    (void)state;
    plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
    planted *p = plant(&from);
    p->result.forms[GPUCHAR_FORM_PREDICATED].known = 0;
    derive(p);
    assert_int_equal(p->points[0].known, GPUCHAR_PREDICATION_POINT_RATIOS);
    assert_true(p->points[0].branch_instructions_per_cycle == 0);
    assert_int_equal(p->result.saturation_warps, 16);
    free(p);
}

/* A clock that stands still: nothing is divided by it, and nobody says that there is no gain. */
static void test_no_cycles(void **state) {
    (void)state;
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
        planted *p = plant(&from);
        memset(block(p, 7, form), 0, LAUNCHES * sizeof p->cycles[0]);
        derive(p);
        assert_int_equal(p->points[7].known, 0);
        assert_int_equal(p->result.saturation_warps, 0);
        check_near(p->points[0].gain, 2, 1e-14);
        free(p);
    }
}

/* ---- what the compiler does ---- */

static uint32_t onset_of(const uint32_t *branches, size_t count) {
    planted *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->result.lengths = p->lengths;
    p->result.length_count = count;
    for (size_t i = 0; i < count; ++i) {
        p->lengths[i].length = (uint32_t)i + 1;
        p->lengths[i].branches = branches[i];
    }
    gc_predication_derive_lengths(&p->result);
    assert_int_equal(p->result.known, count ? GPUCHAR_PREDICATION_LENGTHS : 0);
    const uint32_t onset = p->result.compiler_branch_length;
    free(p);
    return onset;
}

static void test_lengths(void **state) {
    (void)state;
    assert_int_equal(onset_of((const uint32_t[]){0, 0, 0, 1, 1, 2}, 6), 4);
    assert_int_equal(onset_of((const uint32_t[]){0, 1, 0, 1, 1, 1}, 6), 4);
    assert_int_equal(onset_of((const uint32_t[]){1, 1, 1}, 3), 1);
    assert_int_equal(onset_of((const uint32_t[]){0, 0, 1, 0}, 4), 0);
    assert_int_equal(onset_of((const uint32_t[]){0, 0, 0}, 3), 0);
    assert_int_equal(onset_of(NULL, 0), 0);
}

/* ---- counters ---- */

static planted *counted(void) {
    plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
    planted *p = reduce(&from);
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        p->result.forms[form].known |= GPUCHAR_PREDICATION_FORM_COUNTERS;
        p->result.forms[form].executed_count = p->result.forms[form].expected_count;
        p->result.forms[form].efficiency = form == GPUCHAR_FORM_BRANCH ? 16 : 32;
    }
    p->result.evidence.flags = GPUCHAR_FLAG_PROVED;
    p->result.evidence.scaffold_count = 100;
    return p;
}

static uint32_t recount(planted *p) {
    gc_predication_recount(&p->result);
    const uint32_t flags = p->result.evidence.flags;
    free(p);
    return flags;
}

static void test_counted(void **state) {
    (void)state;
    planted *p = counted();
    gc_predication_recount(&p->result);
    assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    assert_int_equal(p->result.evidence.executed_count, 2 * (uint64_t)LINKS - 100);
    assert_int_equal(p->result.evidence.known, GPUCHAR_EVIDENCE_EXECUTED);
    free(p);
    p = counted();
    p->result.evidence.flags = 0; /* nothing to compare with */
    assert_int_equal(recount(p), 0);
    p = counted();
    p->result.evidence.counters_status = GPUCHAR_E_NO_PERMISSION;
    assert_int_equal(recount(p), GPUCHAR_FLAG_PROVED);
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        p = counted();
        p->result.forms[form].executed_count -= 1;
        assert_int_equal(recount(p), GPUCHAR_FLAG_PROVED);
        p = counted();
        p->result.forms[form].efficiency = 24;
        assert_int_equal(recount(p), GPUCHAR_FLAG_PROVED);
        p = counted();
        p->result.forms[form].known = GPUCHAR_PREDICATION_FORM_DECODED;
        assert_int_equal(recount(p), GPUCHAR_FLAG_PROVED);
        p = counted();
        p->result.forms[form].known = GPUCHAR_PREDICATION_FORM_COUNTERS;
        assert_int_equal(recount(p), GPUCHAR_FLAG_PROVED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hopper),   cmocka_unit_test(test_saturation),  cmocka_unit_test(test_noise),
        cmocka_unit_test(test_outliers), cmocka_unit_test(test_not_decoded), cmocka_unit_test(test_no_cycles),
        cmocka_unit_test(test_lengths),  cmocka_unit_test(test_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
