#include <core/util.h>
#include <experiments/predication_reduce.h>
#include <math.h>
#include <stats/stats.h>

gpuchar_predication_form *gc_predication_form_of(gpuchar_predication_compare_result *result, size_t form, size_t body) {
    return body == GC_BODY_LONG ? &result->long_forms[form] : &result->short_forms[form];
}

/* The branch walks a loop for each arm. */
static uint32_t loops_of(size_t form) {
    return form == GPUCHAR_FORM_BRANCH ? 2 : 1;
}

uint64_t gc_predication_expected(const gpuchar_predication_form *form, uint32_t iterations) {
    return (uint64_t)loops_of(form->form) * iterations * form->loop_instructions;
}

void gc_predication_summarize(const double *cycles, uint32_t launches, double *scratch,
                              gpuchar_predication_compare_result *result) {
    for (size_t i = 0; i < result->point_count; ++i) {
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form, cycles += GC_BODIES * launches) {
            gpuchar_predication_cost *cost = &result->points[i].costs[form];
            cost->short_cycles = gc_summarize(cycles, launches, scratch, GC_PREDICATION_SPREAD);
            cost->long_cycles = gc_summarize(cycles + launches, launches, scratch, GC_PREDICATION_SPREAD);
        }
    }
}

/* ---- one form with one number of warps ---- */

static bool is_decoded(const gpuchar_predication_form *form) {
    return (form->known & GPUCHAR_PREDICATION_FORM_DECODED) != 0;
}

/* Of an SM, each issues one warp instruction a cycle at most. 0: not known of an architecture. */
static uint32_t schedulers_of(uint32_t arch) {
    return arch >= 70 && arch <= 121 ? 4 : 0;
}

/* Every warp waits as long as the assembler says, and all of them together need the issue slots, however they take turns. */
static void derive_floor(const gpuchar_predication_compare_result *result, uint32_t warps,
                         gpuchar_predication_cost *cost, size_t form) {
    const gpuchar_predication_form *few = &result->short_forms[form], *many = &result->long_forms[form];
    const double links = (double)(result->long_body - result->body) / loops_of(form);
    const uint32_t schedulers = schedulers_of(result->evidence.arch);
    if (!is_decoded(few) || !is_decoded(many)) return;
    const double stalled = ((double)many->loop_stall_cycles - (double)few->loop_stall_cycles) / links;
    const double issued = ((double)many->loop_instructions - (double)few->loop_instructions) / links;
    const double least = fmax(stalled, schedulers ? warps * issued / schedulers : 0);
    if (!(least > 0)) return;
    cost->floor_cycles_per_link = least;
    cost->known |= GPUCHAR_PREDICATION_COST_FLOOR;
}

static bool is_below_floor(const gpuchar_predication_cost *cost, double cycles_per_link) {
    return (cost->known & GPUCHAR_PREDICATION_COST_FLOOR) &&
           cycles_per_link < (1 - GC_PREDICATION_BOUND) * cost->floor_cycles_per_link;
}

/* Totals in which the links cannot have been executed bound nothing. */
static bool derive_ceiling(const gpuchar_predication_compare_result *result, gpuchar_predication_cost *cost) {
    const gpuchar_stat *few = &cost->short_cycles, *many = &cost->long_cycles;
    const double most = many->median / ((double)result->iterations * result->long_body);
    if (!(few->median > 0) || !(many->median > few->median) || is_below_floor(cost, most)) return false;
    cost->ceiling_cycles_per_link = most;
    cost->known |= GPUCHAR_PREDICATION_COST_CEILING;
    return true;
}

/*
 * Whatever both bodies have in common, per launch and per iteration, is not in the difference. What they do not have in
 * common is: the slope is then no cost of a link, and where it leaves the bounds this is known.
 */
static void derive_slope(gpuchar_predication_compare_result *result, gpuchar_predication_cost *cost) {
    const gpuchar_stat *few = &cost->short_cycles, *many = &cost->long_cycles;
    const double turns = result->iterations, links = turns * (result->long_body - result->body);
    const double slope = (many->median - few->median) / links;
    if (!derive_ceiling(result, cost) || is_below_floor(cost, slope) ||
        slope > (1 + GC_PREDICATION_BOUND) * cost->ceiling_cycles_per_link) {
        result->evidence.flags |= GPUCHAR_FLAG_OFF_LAW;
        return;
    }
    cost->cycles_per_link = slope;
    cost->cycles_per_link_low = (many->ci95_low - few->ci95_high) / links;
    cost->cycles_per_link_high = (many->ci95_high - few->ci95_low) / links;
    cost->overhead_cycles = few->median - turns * result->body * cost->cycles_per_link;
    cost->known |= GPUCHAR_PREDICATION_COST_SLOPE;
}

/* All warps of the block execute the same. More than the schedulers can issue was not executed in these cycles. */
static void derive_issue(gpuchar_predication_compare_result *result, uint32_t warps, gpuchar_predication_cost *cost,
                         size_t form) {
    const gpuchar_predication_form *code = &result->long_forms[form];
    if (!is_decoded(code) || !(cost->long_cycles.median > 0)) return;
    const double rate = (double)code->expected_count * warps / cost->long_cycles.median;
    const uint32_t schedulers = schedulers_of(result->evidence.arch);
    if (schedulers && rate > (1 + GC_PREDICATION_BOUND) * schedulers) {
        result->evidence.flags |= GPUCHAR_FLAG_OFF_LAW;
        return;
    }
    cost->instructions_per_cycle = rate;
    cost->known |= GPUCHAR_PREDICATION_COST_ISSUE;
}

/* ---- one number of warps ---- */

static void forget_point(gpuchar_predication_point *point) {
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        gpuchar_predication_cost *cost = &point->costs[form];
        cost->known &= ~(uint32_t)(GPUCHAR_PREDICATION_COST_SLOPE | GPUCHAR_PREDICATION_COST_ISSUE |
                                   GPUCHAR_PREDICATION_COST_FLOOR | GPUCHAR_PREDICATION_COST_CEILING);
        cost->cycles_per_link = cost->cycles_per_link_low = cost->cycles_per_link_high = 0;
        cost->floor_cycles_per_link = cost->ceiling_cycles_per_link = 0;
        cost->overhead_cycles = cost->instructions_per_cycle = 0;
    }
    point->known &= ~(uint32_t)GPUCHAR_PREDICATION_POINT_RATIOS;
    point->branch_ratio = point->predicated_ratio = point->gain = 0;
}

void gc_predication_forget(gpuchar_predication_compare_result *result) {
    for (size_t i = 0; i < result->point_count; ++i) forget_point(&result->points[i]);
    result->saturation_warps = 0;
    result->evidence.flags &= ~(uint32_t)GPUCHAR_FLAG_OFF_LAW;
}

static void derive_ratios(gpuchar_predication_point *point) {
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        if (!(point->costs[form].known & GPUCHAR_PREDICATION_COST_SLOPE)) return;
    }
    const double convergent = point->costs[GPUCHAR_FORM_CONVERGENT].cycles_per_link;
    const double branch = point->costs[GPUCHAR_FORM_BRANCH].cycles_per_link;
    const double predicated = point->costs[GPUCHAR_FORM_PREDICATED].cycles_per_link;
    point->branch_ratio = branch / convergent;
    point->predicated_ratio = predicated / convergent;
    point->gain = branch / predicated;
    point->known |= GPUCHAR_PREDICATION_POINT_RATIOS;
}

static void derive_point(gpuchar_predication_compare_result *result, gpuchar_predication_point *point) {
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        gpuchar_predication_cost *cost = &point->costs[form];
        result->evidence.flags |= (cost->short_cycles.flags | cost->long_cycles.flags) & GPUCHAR_FLAG_UNSTABLE;
        derive_floor(result, point->warps, cost, form);
        derive_slope(result, cost);
        derive_issue(result, point->warps, cost, form);
    }
    derive_ratios(point);
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

/* The gain, or, where a slope is unknown, the most that it can be by the bounds. 0: there is none. */
static double most_gain(const gpuchar_predication_point *point) {
    const gpuchar_predication_cost *branch = &point->costs[GPUCHAR_FORM_BRANCH];
    const gpuchar_predication_cost *predicated = &point->costs[GPUCHAR_FORM_PREDICATED];
    const bool has_branch = (branch->known & GPUCHAR_PREDICATION_COST_SLOPE) != 0;
    const bool has_predicated = (predicated->known & GPUCHAR_PREDICATION_COST_SLOPE) != 0;
    const double most = has_branch ? branch->cycles_per_link : branch->ceiling_cycles_per_link;
    const double least = has_predicated ? predicated->cycles_per_link : predicated->floor_cycles_per_link;
    return least > 0 ? most / least : 0;
}

static bool has_no_gain(const gpuchar_predication_compare_result *result, size_t i, uint32_t *size) {
    const double gain = most_gain(&result->points[i]);
    *size = result->points[i].warps;
    return gain > 0 && gain < GC_PREDICATION_NO_GAIN;
}

static bool has_branch(const gpuchar_predication_compare_result *result, size_t i, uint32_t *size) {
    *size = result->lengths[i].length;
    return result->lengths[i].branches != 0;
}

void gc_predication_derive(gpuchar_predication_compare_result *result) {
    gc_predication_forget(result);
    for (size_t i = 0; i < result->point_count; ++i) derive_point(result, &result->points[i]);
    result->saturation_warps = find_onset(result, result->point_count, has_no_gain);
    result->known |= GPUCHAR_PREDICATION_TIMED;
}

void gc_predication_derive_lengths(gpuchar_predication_compare_result *result) {
    result->compiler_branch_length = find_onset(result, result->length_count, has_branch);
    if (result->length_count) result->known |= GPUCHAR_PREDICATION_LENGTHS;
}

/* ---- counts ---- */

/* What one warp executes of the branch: the predicated form executes as many multiply-adds, and less loop control. */
void gc_predication_expect(gpuchar_predication_compare_result *result) {
    gpuchar_evidence *evidence = &result->evidence;
    const gpuchar_predication_form *branch = &result->long_forms[GPUCHAR_FORM_BRANCH];
    evidence->intended_count = UINT64_C(2) * result->iterations * result->long_body;
    evidence->decoded_count = evidence->scaffold_count = 0;
    evidence->known &= ~(uint32_t)GPUCHAR_EVIDENCE_DECODED;
    if (!(evidence->flags & GPUCHAR_FLAG_PROVED) || !is_decoded(branch)) return;
    evidence->decoded_count = evidence->intended_count; /* which is what was proved */
    evidence->scaffold_count = branch->expected_count - evidence->decoded_count;
    evidence->known |= GPUCHAR_EVIDENCE_DECODED;
}

static bool agrees(const gpuchar_predication_form *form) {
    const uint32_t both = GPUCHAR_PREDICATION_FORM_DECODED | GPUCHAR_PREDICATION_FORM_COUNTERS;
    double threads = form->form == GPUCHAR_FORM_BRANCH ? 16 : 32;
    return (form->known & both) == both && form->executed_count == form->expected_count &&
           fabs(form->efficiency - threads) <= GC_PREDICATION_EFFICIENCY * threads;
}

void gc_predication_recount(gpuchar_predication_compare_result *result) {
    gpuchar_evidence *evidence = &result->evidence;
    const gpuchar_predication_form *branch = &result->long_forms[GPUCHAR_FORM_BRANCH];
    bool agree = (evidence->flags & GPUCHAR_FLAG_PROVED) != 0;
    evidence->flags &= ~(uint32_t)GPUCHAR_FLAG_COUNTED;
    evidence->known &= ~(uint32_t)GPUCHAR_EVIDENCE_EXECUTED;
    evidence->executed_count = 0;
    if (evidence->counters_status != GPUCHAR_OK) return;
    for (size_t i = 0; i < GC_PREDICATION_BLOCKS; ++i) {
        const gpuchar_predication_form *form = gc_predication_form_of(result, i / GC_BODIES, i % GC_BODIES);
        if (!(form->known & GPUCHAR_PREDICATION_FORM_COUNTERS)) {
            evidence->counters_status = GPUCHAR_E_NOT_RECORDED;
            return;
        }
        agree = agree && agrees(form);
    }
    if (agree) evidence->flags |= GPUCHAR_FLAG_COUNTED;
    if ((evidence->flags & GPUCHAR_FLAG_PROVED) && !(evidence->known & GPUCHAR_EVIDENCE_DECODED)) return;
    evidence->executed_count =
        branch->executed_count > evidence->scaffold_count ? branch->executed_count - evidence->scaffold_count : 0;
    evidence->known |= GPUCHAR_EVIDENCE_EXECUTED;
}
