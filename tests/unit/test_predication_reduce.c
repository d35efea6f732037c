/* The predication comparison's arithmetic on samples of which the answer is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/predication_plan.h"

/* ---- laws ---- */

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

static void check_point(const gpuchar_predication_point *point, double gain, double predicated, double rate) {
    const gpuchar_predication_cost *costs = point->costs;
    check_near(point->gain, gain, 1e-14);
    check_near(point->predicated_ratio, predicated, 1e-14);
    check_near(point->branch_ratio, gain * predicated, 1e-14);
    check_near(per_link(point, GPUCHAR_FORM_CONVERGENT) * predicated, per_link(point, GPUCHAR_FORM_PREDICATED), 1e-14);
    check_near(per_link(point, GPUCHAR_FORM_PREDICATED) * gain, per_link(point, GPUCHAR_FORM_BRANCH), 1e-14);
    check_near(costs[GPUCHAR_FORM_PREDICATED].instructions_per_cycle, rate, 1e-14);
    check_near(costs[GPUCHAR_FORM_BRANCH].instructions_per_cycle, rate / gain, 1e-14);
    check_near(costs[GPUCHAR_FORM_CONVERGENT].instructions_per_cycle, rate * predicated / 2, 1e-14);
    assert_int_equal(point->known, GPUCHAR_PREDICATION_POINT_RATIOS);
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        assert_int_equal(costs[form].known, KNOWN);
        /* Nothing is beside the links. */
        check_near(costs[form].floor_cycles_per_link, costs[form].cycles_per_link, 1e-14);
        check_near(costs[form].ceiling_cycles_per_link, costs[form].cycles_per_link, 1e-14);
        assert_true(costs[form].cycles_per_link_low == costs[form].cycles_per_link); /* no scatter */
        assert_true(costs[form].cycles_per_link_high == costs[form].cycles_per_link);
        assert_true(costs[form].overhead_cycles == 0);
    }
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

/*
 * The point of two bodies: what a launch and an iteration cost beside the links is in no ratio. Planted is what an H200 was
 * seen to do, a start of 130 cycles and loops of which the predicated one lies worse, and then much more of both.
 */
static void test_overhead_cancels(void **state) {
    (void)state;
    static const double scales[] = {1, 40};
    for (size_t i = 0; i < GC_COUNT(scales); ++i) {
        plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
        const double fixed[GPUCHAR_FORMS] = {130, 190, 170}, turn[GPUCHAR_FORMS] = {7, 14, 11};
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
            from.fixed[form] = scales[i] * fixed[form];
            from.turn[form] = scales[i] * turn[form];
        }
        planted *p = reduce(&from);
        const gpuchar_predication_cost *costs = p->points[0].costs;
        assert_true(costs[GPUCHAR_FORM_CONVERGENT].cycles_per_link == 4);
        assert_true(costs[GPUCHAR_FORM_BRANCH].cycles_per_link == 8);
        assert_true(costs[GPUCHAR_FORM_PREDICATED].cycles_per_link == 4);
        assert_true(p->points[0].branch_ratio == 2 && p->points[0].predicated_ratio == 1 && p->points[0].gain == 2);
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form)
            assert_true(costs[form].overhead_cycles == from.fixed[form] + TURNS * from.turn[form]);
        /* Totals miss half a percent with either body. */
        const double one_short = costs[GPUCHAR_FORM_CONVERGENT].short_cycles.median;
        const double one_long = costs[GPUCHAR_FORM_CONVERGENT].long_cycles.median;
        assert_true(costs[GPUCHAR_FORM_PREDICATED].short_cycles.median / one_short > 1.01);
        assert_true(costs[GPUCHAR_FORM_PREDICATED].long_cycles.median / one_long > 1.005);
        assert_int_equal(p->result.saturation_warps, 16);
        assert_int_equal(p->result.evidence.flags, 0);
        free(p);
    }
}

/* The ends are what the medians' intervals leave open. */
static void test_ends(void **state) {
    (void)state;
    plan from = plan_of(law_of_hopper, USUAL, 1);
    from.noise = 1e-3;
    planted *p = reduce(&from);
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        const gpuchar_predication_cost *cost = &p->points[0].costs[form];
        const double planted_link = law_of_hopper(form, 1) / LINKS;
        check_near(cost->cycles_per_link_low, (cost->long_cycles.ci95_low - cost->short_cycles.ci95_high) / MORE,
                   1e-14);
        check_near(cost->cycles_per_link_high, (cost->long_cycles.ci95_high - cost->short_cycles.ci95_low) / MORE,
                   1e-14);
        assert_true(cost->cycles_per_link_low < planted_link && planted_link < cost->cycles_per_link_high);
        check_near(cost->cycles_per_link_high, cost->cycles_per_link_low, 6e-3);
    }
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
        uint32_t flags; /* so much noise also takes slopes out of their bounds */
    } cases[] = {{1e-4, 0}, {2e-3, 0}, {1e-2, GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW}};
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
        from.noise = cases[i].noise;
        planted *p = reduce(&from);
        assert_int_equal(p->result.evidence.flags, cases[i].flags);
        check_near(p->points[0].gain, 2, 4 * from.noise);
        assert_int_equal(p->result.saturation_warps, 16);
        free(p);
    }
}

static const gpuchar_stat *summary_of(const planted *p, size_t point, size_t form, size_t body) {
    const gpuchar_predication_cost *cost = &p->points[point].costs[form];
    return body == GC_BODY_LONG ? &cost->long_cycles : &cost->short_cycles;
}

/* Any body of any form of any point tells; a few outliers do not. */
static void test_outliers(void **state) {
    (void)state;
    for (size_t b = 0; b < GC_PREDICATION_BLOCKS; ++b) {
        const size_t form = b / GC_BODIES, body = b % GC_BODIES;
        plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
        planted *p = plant(&from);
        for (size_t i = 0; i < 3; ++i) block(p, 6, form, body)[7 * i] *= 10;
        derive(p);
        assert_int_equal(summary_of(p, 6, form, body)->outliers, 3);
        assert_int_equal(p->result.evidence.flags, 0);
        check_near(p->points[6].gain, 1, 1e-14);
        for (size_t i = 0; i < LAUNCHES; ++i) block(p, 6, form, body)[i] *= i % 3 ? 1 : 1.03;
        derive(p);
        assert_int_equal(summary_of(p, 6, form, body)->flags, GPUCHAR_FLAG_UNSTABLE);
        assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_UNSTABLE);
        free(p);
    }
}

/* ---- what cannot be known ---- */

static void test_not_decoded(void **state) {
    (void)state;
    plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
    planted *p = plant(&from);
    p->result.long_forms[GPUCHAR_FORM_PREDICATED].known = 0;
    derive(p);
    const gpuchar_predication_cost *cost = &p->points[0].costs[GPUCHAR_FORM_PREDICATED];
    assert_int_equal(p->points[0].known, GPUCHAR_PREDICATION_POINT_RATIOS);
    assert_int_equal(cost->known, GPUCHAR_PREDICATION_COST_SLOPE | GPUCHAR_PREDICATION_COST_CEILING);
    assert_true(cost->instructions_per_cycle == 0 && cost->floor_cycles_per_link == 0);
    assert_int_equal(p->result.saturation_warps, 16);
    free(p);
}

/*
 * A clock that stands still, or a longer body that takes no longer: no slope. Nobody says that there is no gain when it is
 * the branch's; one arm is not in the gain, and the predicated form cannot be below its floor.
 */
static void test_no_slope(void **state) {
    (void)state;
    static const uint32_t saturations[GPUCHAR_FORMS] = {16, 0, 16};
    for (size_t b = 0; b < GC_PREDICATION_BLOCKS; ++b) {
        const size_t form = b / GC_BODIES, body = b % GC_BODIES;
        plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
        planted *p = plant(&from);
        double *cycles = block(p, 7, form, body), *other = block(p, 7, form, 1 - body);
        memset(cycles, 0, LAUNCHES * sizeof cycles[0]);
        derive(p);
        assert_int_equal(p->points[7].known, 0);
        assert_int_equal(p->points[7].costs[form].known & ~(uint32_t)GPUCHAR_PREDICATION_COST_ISSUE,
                         GPUCHAR_PREDICATION_COST_FLOOR);
        assert_int_equal(p->result.saturation_warps, saturations[form]);
        assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_OFF_LAW);
        check_near(p->points[0].gain, 2, 1e-14);
        memcpy(cycles, other, LAUNCHES * sizeof cycles[0]);
        derive(p);
        assert_int_equal(p->points[7].known, 0);
        assert_true(p->points[7].costs[form].cycles_per_link == 0);
        assert_int_equal(p->result.saturation_warps, saturations[form]);
        assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_OFF_LAW);
        free(p);
    }
}

/* What was derived from other numbers is forgotten first. */
static void test_derived_again(void **state) {
    (void)state;
    plan from = plan_of(law_of_hopper, USUAL, GC_COUNT(USUAL));
    planted *p = reduce(&from);
    memset(p->cycles, 0, sizeof p->cycles);
    p->result.evidence.flags = GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE; /* the clock moved */
    derive(p);
    assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW);
    assert_int_equal(p->result.saturation_warps, 0);
    for (size_t i = 0; i < p->result.point_count; ++i) {
        assert_int_equal(p->points[i].known, 0);
        assert_true(p->points[i].gain == 0 && p->points[i].costs[0].instructions_per_cycle == 0);
        assert_true(p->points[i].costs[0].ceiling_cycles_per_link == 0);
    }
    free(p);
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
    for (size_t i = 0; i < GC_PREDICATION_BLOCKS; ++i) {
        gpuchar_predication_form *form = gc_predication_form_of(&p->result, i / GC_BODIES, i % GC_BODIES);
        form->known |= GPUCHAR_PREDICATION_FORM_COUNTERS;
        form->loop_instructions += 3;
        form->expected_count = form->executed_count = gc_predication_expected(form, TURNS);
        form->efficiency = form->form == GPUCHAR_FORM_BRANCH ? 16 : 32;
    }
    p->result.evidence.flags = GPUCHAR_FLAG_PROVED;
    gc_predication_expect(&p->result);
    return p;
}

static uint32_t recount(planted *p) {
    gc_predication_recount(&p->result);
    const uint32_t flags = p->result.evidence.flags;
    free(p);
    return flags;
}

static void test_expected(void **state) {
    (void)state;
    planted *p = counted();
    gpuchar_evidence *evidence = &p->result.evidence;
    assert_int_equal(evidence->intended_count, 2 * TURNS * LONG_BODY);
    assert_int_equal(evidence->decoded_count, 2 * TURNS * LONG_BODY);
    assert_int_equal(evidence->scaffold_count, 2 * TURNS * 3);
    assert_int_equal(evidence->known, GPUCHAR_EVIDENCE_DECODED);
    evidence->flags = 0;
    gc_predication_expect(&p->result);
    assert_int_equal(evidence->intended_count, 2 * TURNS * LONG_BODY);
    assert_int_equal(evidence->decoded_count + evidence->scaffold_count + evidence->known, 0);
    free(p);
}

static void test_counted(void **state) {
    (void)state;
    planted *p = counted();
    gc_predication_recount(&p->result);
    assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    assert_int_equal(p->result.evidence.executed_count, 2 * TURNS * LONG_BODY);
    assert_int_equal(p->result.evidence.known, GPUCHAR_EVIDENCE_DECODED | GPUCHAR_EVIDENCE_EXECUTED);
    p->result.long_forms[0].executed_count -= 1; /* and again: what was told is taken back */
    assert_int_equal(recount(p), GPUCHAR_FLAG_PROVED);
    p = counted();
    p->result.evidence.flags = 0; /* nothing to compare with */
    assert_int_equal(recount(p), 0);
    p = counted();
    p->result.evidence.counters_status = GPUCHAR_E_NO_PERMISSION;
    assert_int_equal(recount(p), GPUCHAR_FLAG_PROVED);
    for (size_t i = 0; i < GC_PREDICATION_BLOCKS; ++i) {
#define SPOIL(change)                                                                                                  \
    p = counted();                                                                                                     \
    gc_predication_form_of(&p->result, i / GC_BODIES, i % GC_BODIES)->change;                                          \
    assert_int_equal(recount(p), GPUCHAR_FLAG_PROVED)
        SPOIL(executed_count -= 1);
        SPOIL(efficiency = 24);
        SPOIL(known = GPUCHAR_PREDICATION_FORM_DECODED);
        SPOIL(known = GPUCHAR_PREDICATION_FORM_COUNTERS);
#undef SPOIL
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hopper),   cmocka_unit_test(test_overhead_cancels), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_noise),    cmocka_unit_test(test_saturation),       cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_no_slope), cmocka_unit_test(test_not_decoded),      cmocka_unit_test(test_derived_again),
        cmocka_unit_test(test_lengths),  cmocka_unit_test(test_expected),         cmocka_unit_test(test_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
