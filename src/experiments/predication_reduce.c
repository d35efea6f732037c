#include <core/util.h>
#include <experiments/predication_reduce.h>
#include <math.h>
#include <stats/stats.h>

void gc_predication_summarize(const double *cycles, uint32_t launches, double *scratch,
                              gpuchar_predication_compare_result *result) {
    for (size_t i = 0; i < result->point_count; ++i) {
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
            const double *samples = cycles + (i * GPUCHAR_FORMS + form) * launches;
            result->points[i].cycles[form] = gc_summarize(samples, launches, scratch, GC_PREDICATION_SPREAD);
        }
    }
}

/* ---- one number of warps ---- */

static bool is_timed(const gpuchar_predication_point *point) {
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        if (!(point->cycles[form].median > 0)) return false;
    }
    return true;
}

/* Warp instructions of the loops per cycle: all warps of the block execute the same. */
static double issue_rate(const gpuchar_predication_compare_result *result, const gpuchar_predication_point *point,
                         size_t form) {
    return (double)result->forms[form].expected_count * point->warps / point->cycles[form].median;
}

static bool is_decoded(const gpuchar_predication_compare_result *result) {
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        if (!(result->forms[form].known & GPUCHAR_PREDICATION_FORM_DECODED)) return false;
    }
    return true;
}

static void derive_point(gpuchar_predication_compare_result *result, gpuchar_predication_point *point) {
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        if (point->cycles[form].flags & GPUCHAR_FLAG_UNSTABLE) result->evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
    }
    if (!is_timed(point)) return;
    const double convergent = point->cycles[GPUCHAR_FORM_CONVERGENT].median;
    const double branch = point->cycles[GPUCHAR_FORM_BRANCH].median;
    const double predicated = point->cycles[GPUCHAR_FORM_PREDICATED].median;
    point->branch_ratio = branch / convergent;
    point->predicated_ratio = predicated / convergent;
    point->gain = branch / predicated;
    point->known |= GPUCHAR_PREDICATION_POINT_RATIOS;
    if (!is_decoded(result)) return;
    point->convergent_instructions_per_cycle = issue_rate(result, point, GPUCHAR_FORM_CONVERGENT);
    point->branch_instructions_per_cycle = issue_rate(result, point, GPUCHAR_FORM_BRANCH);
    point->predicated_instructions_per_cycle = issue_rate(result, point, GPUCHAR_FORM_PREDICATED);
    point->known |= GPUCHAR_PREDICATION_POINT_ISSUE;
}

/* ---- all of them ---- */

/* Whether item `i` has the property that is looked for, and how large it is. */
typedef bool (*property)(const gpuchar_predication_compare_result *result, size_t i, uint32_t *size);

/* The least of the items above every one without the property, in whatever order they stand; 0: there is none. */
static uint32_t find_onset(const gpuchar_predication_compare_result *result, size_t count, property has) {
    uint32_t without = 0, first = 0, size;
    for (size_t i = 0; i < count; ++i) {
        if (!has(result, i, &size) && size > without) without = size;
    }
    for (size_t i = 0; i < count; ++i) {
        has(result, i, &size);
        if (size > without && (first == 0 || size < first)) first = size;
    }
    return first;
}

static bool has_no_gain(const gpuchar_predication_compare_result *result, size_t i, uint32_t *size) {
    const gpuchar_predication_point *point = &result->points[i];
    *size = point->warps;
    return (point->known & GPUCHAR_PREDICATION_POINT_RATIOS) && point->gain < GC_PREDICATION_NO_GAIN;
}

static bool has_branch(const gpuchar_predication_compare_result *result, size_t i, uint32_t *size) {
    *size = result->lengths[i].length;
    return result->lengths[i].branches != 0;
}

void gc_predication_derive(gpuchar_predication_compare_result *result) {
    for (size_t i = 0; i < result->point_count; ++i) derive_point(result, &result->points[i]);
    result->saturation_warps = find_onset(result, result->point_count, has_no_gain);
    result->known |= GPUCHAR_PREDICATION_TIMED;
}

void gc_predication_derive_lengths(gpuchar_predication_compare_result *result) {
    result->compiler_branch_length = find_onset(result, result->length_count, has_branch);
    if (result->length_count) result->known |= GPUCHAR_PREDICATION_LENGTHS;
}

/* ---- counters against machine code ---- */

static bool agrees(const gpuchar_predication_form *form) {
    const uint32_t both = GPUCHAR_PREDICATION_FORM_DECODED | GPUCHAR_PREDICATION_FORM_COUNTERS;
    double threads = form->form == GPUCHAR_FORM_BRANCH ? 16 : 32;
    return (form->known & both) == both && form->executed_count == form->expected_count &&
           fabs(form->efficiency - threads) <= GC_PREDICATION_EFFICIENCY * threads;
}

void gc_predication_recount(gpuchar_predication_compare_result *result) {
    gpuchar_evidence *evidence = &result->evidence;
    const gpuchar_predication_form *branch = &result->forms[GPUCHAR_FORM_BRANCH];
    bool agree = (evidence->flags & GPUCHAR_FLAG_PROVED) != 0;
    if (evidence->counters_status != GPUCHAR_OK || !(branch->known & GPUCHAR_PREDICATION_FORM_COUNTERS)) return;
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) agree = agree && agrees(&result->forms[form]);
    if (agree) evidence->flags |= GPUCHAR_FLAG_COUNTED;
    evidence->executed_count =
        branch->executed_count > evidence->scaffold_count ? branch->executed_count - evidence->scaffold_count : 0;
    evidence->known |= GPUCHAR_EVIDENCE_EXECUTED;
}
