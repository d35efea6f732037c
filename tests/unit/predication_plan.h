/* Samples of the predication comparison of which the answer is known: a law, and what stands beside it. */
#ifndef TEST_PREDICATION_PLAN_H
#define TEST_PREDICATION_PLAN_H

#include "unit/finite_walk.h"

#include <core/util.h>
#include <experiments/predication_reduce.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCHES 21
#define TURNS 128
#define BODY 64
#define LONG_BODY 112
#define LINKS (TURNS * 1.0 * BODY)              /* with the shorter body */
#define MORE (TURNS * 1.0 * (LONG_BODY - BODY)) /* with the longer one so many more */

static const uint32_t USUAL[] = {1, 2, 4, 8, 12, 16, 24, 32};

#define BOUNDS (GPUCHAR_PREDICATION_COST_FLOOR | GPUCHAR_PREDICATION_COST_CEILING)
#define KNOWN (GPUCHAR_PREDICATION_COST_SLOPE | GPUCHAR_PREDICATION_COST_ISSUE | BOUNDS)

/* ---- planted samples ---- */

/* Cycles of a form with some warps, and how they scatter. */
typedef struct plan {
    double (*law)(size_t form, uint32_t warps); /* of LINKS links */
    double fixed[GPUCHAR_FORMS];                /* of a launch */
    double turn[GPUCHAR_FORMS];                 /* of an iteration, beside its links */
    double noise;                               /* relative half width of a uniform distribution */
    uint32_t arch;                              /* 0: no machine is known that could do it, and no stall counts */
    uint32_t warps[32];
    uint32_t count;
} plan;

typedef struct planted {
    double cycles[32 * GC_PREDICATION_BLOCKS * LAUNCHES];
    double scratch[2 * LAUNCHES];
    gpuchar_predication_point points[32];
    gpuchar_predication_length lengths[32];
    gpuchar_predication_compare_result result;
} planted;

/* Four schedulers, one instruction a cycle each, and four cycles from link to link of a chain. */
static inline double law_of_hopper(size_t form, uint32_t warps) {
    const double busiest = ceil(warps / 4.0), arms = form == GPUCHAR_FORM_CONVERGENT ? 1 : 2;
    const double waiting = form == GPUCHAR_FORM_BRANCH ? 2 * 4 : 4;
    return LINKS * fmax(waiting, arms * busiest);
}

static inline plan plan_of(double (*law)(size_t, uint32_t), const uint32_t *warps, uint32_t count) {
    plan made = {.law = law, .count = count, .arch = law == law_of_hopper ? 90 : 0};
    memcpy(made.warps, warps, count * sizeof warps[0]);
    return made;
}

static inline double *block(planted *p, size_t point, size_t form, size_t body) {
    return p->cycles + ((point * GPUCHAR_FORMS + form) * GC_BODIES + body) * LAUNCHES;
}

static inline double total(const plan *from, size_t form, size_t body, uint32_t warps) {
    const double links = (body == GC_BODY_LONG ? 1.75 : 1) * from->law(form, warps);
    return from->fixed[form] + TURNS * from->turn[form] + links;
}

static inline void plant_form(const plan *from, gc_random *random, size_t i, size_t form, planted *p) {
    for (size_t body = 0; body < GC_BODIES; ++body) {
        for (size_t j = 0; j < LAUNCHES; ++j) {
            const double scatter = 1 + from->noise * (2 * gc_random_unit(random) - 1);
            block(p, i, form, body)[j] = total(from, form, body, from->warps[i]) * scatter;
        }
    }
}

static inline planted *plant(const plan *from) {
    planted *p = calloc(1, sizeof *p);
    gc_random random = gc_random_seed(20240229);
    assert_non_null(p);
    p->result = gpuchar_predication_compare_result_make();
    p->result.points = p->points;
    p->result.point_count = from->count;
    p->result.body = BODY;
    p->result.long_body = LONG_BODY;
    p->result.iterations = TURNS;
    p->result.evidence.arch = from->arch;
    for (size_t i = 0; i < GC_PREDICATION_BLOCKS; ++i) {
        const uint32_t which = (uint32_t)(i / GC_BODIES);
        gpuchar_predication_form *form = gc_predication_form_of(&p->result, which, i % GC_BODIES);
        form->form = which;
        form->known = GPUCHAR_PREDICATION_FORM_DECODED;
        form->loop_instructions = (i % GC_BODIES ? LONG_BODY : BODY) * (which == GPUCHAR_FORM_PREDICATED ? 2u : 1u);
        form->loop_stall_cycles = from->arch ? 4 * (i % GC_BODIES ? LONG_BODY : BODY) + 11 : 0;
        form->expected_count = gc_predication_expected(form, TURNS);
    }
    for (size_t i = 0; i < from->count; ++i) {
        p->points[i].warps = from->warps[i];
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) plant_form(from, &random, i, form, p);
    }
    return p;
}

static inline void derive(planted *p) {
    size_t seen = 0;
    gc_predication_summarize(p->cycles, LAUNCHES, p->scratch, &p->result);
    gc_predication_derive(&p->result);
    const char *field = find_infinite(gpuchar_schema_get("gpuchar_predication_compare_result"), &p->result, &seen);
    if (field) fail_msg("%s is not finite", field);
    assert_true(seen > p->result.point_count * GC_PREDICATION_BLOCKS * 8);
}

static inline planted *reduce(const plan *from) {
    planted *p = plant(from);
    derive(p);
    return p;
}

static inline void check_near(double value, double wanted, double relative) {
    if (!(fabs(value - wanted) <= relative * fabs(wanted))) fail_msg("%.17g instead of %.17g", value, wanted);
}

static inline double per_link(const gpuchar_predication_point *point, size_t form) {
    return point->costs[form].cycles_per_link;
}

#endif
