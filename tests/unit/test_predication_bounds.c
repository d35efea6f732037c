/* What no cycles per link can be: floor and ceiling, slopes outside of them, and what is said of the gain all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/predication_plan.h"

/* One point with these totals of every launch: of each form the shorter body's and the longer one's. */
static planted *reduce_totals(uint32_t warps, uint32_t turns, const double totals[GPUCHAR_FORMS][GC_BODIES]) {
    plan from = plan_of(law_of_hopper, &warps, 1);
    planted *p = plant(&from);
    p->result.iterations = turns;
    for (size_t i = 0; i < (size_t)GC_PREDICATION_BLOCKS * LAUNCHES; ++i)
        p->cycles[i] = totals[i / LAUNCHES / GC_BODIES][i / LAUNCHES % GC_BODIES];
    derive(p);
    return p;
}

static void check_unknown(const gpuchar_predication_cost *cost, double least, double most) {
    assert_int_equal(cost->known, GPUCHAR_PREDICATION_COST_ISSUE | BOUNDS);
    assert_true(cost->cycles_per_link == 0 && cost->cycles_per_link_low == 0 && cost->cycles_per_link_high == 0);
    assert_true(cost->overhead_cycles == 0);
    check_near(cost->floor_cycles_per_link, least, 1e-14);
    check_near(cost->ceiling_cycles_per_link, most, 1e-4);
}

/* What an H200 gave where warps fill the issue slots: 3.8743 and 7.9172 cycles a link, below what any machine can do. */
static void test_contention(void **state) {
    (void)state;
    static const double full[GPUCHAR_FORMS][GC_BODIES] = {{41080, 68231}, {80877, 136361}, {80000, 136849}};
    planted *p = reduce_totals(16, 146, full);
    const gpuchar_predication_cost *costs = p->points[0].costs;
    check_unknown(&costs[GPUCHAR_FORM_CONVERGENT], 4, 4.1726);
    check_unknown(&costs[GPUCHAR_FORM_BRANCH], 8, 8.3391);
    assert_int_equal(costs[GPUCHAR_FORM_PREDICATED].known, KNOWN);
    check_near(per_link(&p->points[0], GPUCHAR_FORM_PREDICATED), 8.1120, 1e-5);
    assert_int_equal(p->points[0].known, 0);
    assert_true(p->points[0].branch_ratio == 0 && p->points[0].predicated_ratio == 0 && p->points[0].gain == 0);
    assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_OFF_LAW);
    assert_int_equal(p->result.saturation_warps, 16); /* the gain is at most 8.34 / 8.11 */
    free(p);
    /* With 12 warps only the branch, which waits for its links. */
    static const double some[GPUCHAR_FORMS][GC_BODIES] = {{38000, 66032}, {78000, 133644}, {60500, 102548}};
    p = reduce_totals(12, 146, some);
    check_unknown(&p->points[0].costs[GPUCHAR_FORM_BRANCH], 8, 8.1730);
    assert_true(per_link(&p->points[0], GPUCHAR_FORM_CONVERGENT) == 4);
    assert_true(per_link(&p->points[0], GPUCHAR_FORM_PREDICATED) == 6);
    assert_int_equal(p->points[0].known, 0);
    assert_int_equal(p->result.saturation_warps, 0);
    free(p);
}

/* Where the bounds of a gain leave it open, it counts as one. */
static void test_undecided(void **state) {
    (void)state;
    static const struct {
        double branch[GC_BODIES];
        uint32_t saturation;
    } cases[] = {{{80877, 136361}, 16}, {{84000, 139484}, 0}};
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        const double totals[GPUCHAR_FORMS][GC_BODIES] = {
            {41080, 68231}, {cases[i].branch[0], cases[i].branch[1]}, {80877, 136361}};
        planted *p = reduce_totals(16, 146, totals);
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form)
            assert_int_equal(p->points[0].costs[form].known, GPUCHAR_PREDICATION_COST_ISSUE | BOUNDS);
        assert_int_equal(p->result.saturation_warps, cases[i].saturation);
        free(p);
    }
}

/* One form with these totals at one warp, the others by the law. */
static planted *reduce_one(size_t form, double few, double many) {
    plan from = plan_of(law_of_hopper, USUAL, 1);
    planted *p = plant(&from);
    for (size_t i = 0; i < LAUNCHES; ++i) {
        block(p, 0, form, GC_BODY_SHORT)[i] = few;
        block(p, 0, form, GC_BODY_LONG)[i] = many;
    }
    derive(p);
    return p;
}

static void check_judged(planted *p, size_t form, double slope, bool stands) {
    const gpuchar_predication_cost *cost = &p->points[0].costs[form];
    assert_int_equal(cost->known, stands ? KNOWN : KNOWN & ~(uint32_t)GPUCHAR_PREDICATION_COST_SLOPE);
    assert_int_equal(p->points[0].known, stands ? GPUCHAR_PREDICATION_POINT_RATIOS : 0);
    assert_int_equal(p->result.evidence.flags, stands ? 0 : GPUCHAR_FLAG_OFF_LAW);
    check_near(cost->cycles_per_link, stands ? slope : 0, 1e-12);
    free(p);
}

/* Half a percent beyond a bound, to which ratios are told, and no more. */
static void test_tolerance(void **state) {
    (void)state;
    static const struct {
        double off;
        bool stands;
    } cases[] = {{0, true}, {0.004, true}, {0.006, false}};
    for (size_t i = 0; i < GPUCHAR_FORMS * GC_COUNT(cases); ++i) {
        const size_t form = i % GPUCHAR_FORMS;
        const double off = cases[i / GPUCHAR_FORMS].off, least = law_of_hopper(form, 1) / LINKS;
        const bool stands = cases[i / GPUCHAR_FORMS].stands;
        const double low = least * (1 - off), few = 1.1 * LINKS * least;
        check_judged(reduce_one(form, few, few + MORE * low), form, low, stands);
        /* Above the ceiling: what is beside the links would be less than nothing. */
        const double most = 1.5 * least, high = most * (1 + off), many = 1.75 * LINKS * most;
        check_judged(reduce_one(form, many - MORE * high, many), form, high, stands);
    }
}

/* Totals in which the links cannot have been executed are no bound either. */
static void test_total_below_floor(void **state) {
    (void)state;
    planted *p = reduce_one(GPUCHAR_FORM_BRANCH, 4 * LINKS, 1.75 * 4 * LINKS);
    const gpuchar_predication_cost *cost = &p->points[0].costs[GPUCHAR_FORM_BRANCH];
    assert_int_equal(cost->known, GPUCHAR_PREDICATION_COST_ISSUE | GPUCHAR_PREDICATION_COST_FLOOR);
    assert_true(cost->ceiling_cycles_per_link == 0);
    assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_OFF_LAW);
    free(p);
}

/* No machine code, no floor, no judgement. */
/* Four schedulers issue four instructions a cycle: a form that seems to have issued more has no rate, whatever its slope. */
static void test_rate(void **state) {
    (void)state;
    static const struct {
        double turn; /* of issue slots that the loop's three own instructions want */
        bool known;
    } cases[] = {{12, true}, {5, false}, {0, false}};
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        const uint32_t warps = 16;
        plan from = plan_of(law_of_hopper, &warps, 1);
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form)
            from.turn[form] = cases[i].turn * (form == GPUCHAR_FORM_BRANCH ? 2 : 1);
        planted *p = plant(&from);
        for (size_t k = 0; k < GC_PREDICATION_BLOCKS; ++k) {
            gpuchar_predication_form *form = gc_predication_form_of(&p->result, k / GC_BODIES, k % GC_BODIES);
            form->loop_instructions += 3;
            form->expected_count = gc_predication_expected(form, TURNS);
        }
        derive(p);
        const gpuchar_predication_cost *cost = &p->points[0].costs[GPUCHAR_FORM_CONVERGENT];
        assert_int_equal(cost->known, cases[i].known ? KNOWN : KNOWN & ~(uint32_t)GPUCHAR_PREDICATION_COST_ISSUE);
        assert_true(cases[i].known ? cost->instructions_per_cycle <= 4 : cost->instructions_per_cycle == 0);
        assert_int_equal(p->result.evidence.flags, cases[i].known ? 0 : GPUCHAR_FLAG_OFF_LAW);
        free(p);
    }
}

static void test_no_floor(void **state) {
    (void)state;
    const size_t form = GPUCHAR_FORM_PREDICATED;
    for (size_t body = 0; body < GC_BODIES; ++body) {
        planted *p = reduce_one(form, 3 * LINKS, 1.75 * 3 * LINKS);
        assert_int_equal(p->result.evidence.flags, GPUCHAR_FLAG_OFF_LAW);
        gc_predication_form_of(&p->result, form, body)->known = 0;
        derive(p);
        const gpuchar_predication_cost *cost = &p->points[0].costs[form];
        assert_int_equal(cost->known & ~(uint32_t)GPUCHAR_PREDICATION_COST_ISSUE,
                         GPUCHAR_PREDICATION_COST_SLOPE | GPUCHAR_PREDICATION_COST_CEILING);
        assert_true(cost->cycles_per_link == 3 && cost->floor_cycles_per_link == 0);
        assert_int_equal(p->result.evidence.flags, 0);
        free(p);
    }
}

/* Schedulers are counted where their number is known; stall counts are a floor everywhere. */
static void test_floor(void **state) {
    (void)state;
    static const struct {
        uint32_t arch, warps;
        double floor[GPUCHAR_FORMS];
    } cases[] = {
        {90, 1, {4, 8, 4}},    {90, 9, {4, 8, 4.5}},   {90, 12, {4, 8, 6}},
        {90, 18, {4.5, 9, 9}}, {90, 32, {8, 16, 16}},  {70, 32, {8, 16, 16}},
        {61, 32, {4, 8, 4}},   {121, 32, {8, 16, 16}}, {122, 32, {4, 8, 4}},
    };
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        plan from = plan_of(law_of_hopper, &cases[i].warps, 1);
        from.arch = cases[i].arch;
        planted *p = reduce(&from);
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form)
            check_near(p->points[0].costs[form].floor_cycles_per_link, cases[i].floor[form], 1e-14);
        assert_int_equal(p->result.evidence.flags, 0);
        free(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contention), cmocka_unit_test(test_undecided),
        cmocka_unit_test(test_tolerance),  cmocka_unit_test(test_total_below_floor),
        cmocka_unit_test(test_no_floor),   cmocka_unit_test(test_rate),
        cmocka_unit_test(test_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
