/* What a branch costs beside its predicated form on the GPU at hand, over warps per SM; every value is printed. */
#include "gpu_check.h"

static const char *const names[] = {"one arm", "branch", "predicated"};

static bool is_hopper(gpuchar_session *session) {
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    CHECK(gpuchar_device_info_get(session, &info) == GPUCHAR_OK, "device info");
    return info.architecture == 90;
}

/* Four sub-partitions that issue one instruction each, and four cycles from a multiply-add to the next of its chain. */
static double expected_gain(uint32_t warps) {
    double busiest = ceil(warps / 4.0);
    return fmax(8, 2 * busiest) / fmax(4, 2 * busiest);
}

static void print_total(const char *body, const gpuchar_stat *cycles) {
    printf("  %s %.0f (mad/median %.1e, outliers %u, min %.0f max %.0f, flags %#x)", body, cycles->median,
           cycles->mad / cycles->median, cycles->outliers, cycles->min, cycles->max, cycles->flags);
}

static bool has_slope(const gpuchar_predication_cost *cost) {
    return (cost->known & GPUCHAR_PREDICATION_COST_SLOPE) != 0;
}

/* Where warps contend a slope may be one that cannot be true, and is then unknown: its bounds still say something. */
static double most_of(const gpuchar_predication_cost *cost) {
    return has_slope(cost) ? cost->cycles_per_link : cost->ceiling_cycles_per_link;
}

static double least_of(const gpuchar_predication_cost *cost) {
    return has_slope(cost) ? cost->cycles_per_link : cost->floor_cycles_per_link;
}

static double slope_by_totals(const gpuchar_predication_cost *cost, const gpuchar_predication_compare_result *result) {
    const double links = (double)result->iterations * (result->long_body - result->body);
    return (cost->long_cycles.median - cost->short_cycles.median) / links;
}

static void print_point(const gpuchar_predication_point *point, const gpuchar_predication_compare_result *result) {
    if (!(point->known & GPUCHAR_PREDICATION_POINT_RATIOS))
        printf("    %2u warps: ratios unknown; gain at most %.4f (theory for sm_90: %.4f)\n", point->warps,
               most_of(&point->costs[GPUCHAR_FORM_BRANCH]) / least_of(&point->costs[GPUCHAR_FORM_PREDICATED]),
               expected_gain(point->warps));
    else
        printf("    %2u warps: branch/one arm %.4f  predicated/one arm %.4f  gain %.4f (theory for sm_90: %.4f)\n",
               point->warps, point->branch_ratio, point->predicated_ratio, point->gain, expected_gain(point->warps));
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        const gpuchar_predication_cost *cost = &point->costs[form];
        printf("        %-10s %.4f cycles a link%s, floor %.4f, ceiling %.4f, ", names[form],
               slope_by_totals(cost, result), has_slope(cost) ? "" : " REFUSED", cost->floor_cycles_per_link,
               cost->ceiling_cycles_per_link);
        printf("(%.4f to %.4f), beside them %.0f, %.3f instructions a cycle; totals:", cost->cycles_per_link_low,
               cost->cycles_per_link_high, cost->overhead_cycles, cost->instructions_per_cycle);
        print_total("short", &cost->short_cycles);
        print_total("long", &cost->long_cycles);
        printf("\n");
    }
}

/* Every cost has bounds, and a slope that is told lies within them. */
static void check_bounds(const gpuchar_predication_cost *cost, uint32_t warps) {
    const char *name = names[cost->form];
    const double slope = cost->cycles_per_link;
    CHECK(cost->known & GPUCHAR_PREDICATION_COST_FLOOR, "%u warps, %s", warps, name);
    CHECK(cost->known & GPUCHAR_PREDICATION_COST_CEILING, "%u warps, %s", warps, name);
    CHECK(cost->floor_cycles_per_link <= cost->ceiling_cycles_per_link * (1 + 0.005), "%u warps, %s", warps, name);
    if (!has_slope(cost)) return;
    CHECK(slope >= cost->floor_cycles_per_link * (1 - 0.005), "%u warps, %s: %.5f", warps, name, slope);
    CHECK(slope <= cost->ceiling_cycles_per_link * (1 + 0.005), "%u warps, %s: %.5f", warps, name, slope);
}

/* Up to two warps a scheduler every slope was a true one on an H200; with more of them the bodies may differ. */
static void check_point(const gpuchar_predication_point *point, bool hopper, uint32_t body) {
    const bool related = (point->known & GPUCHAR_PREDICATION_POINT_RATIOS) != 0;
    const double most_gain =
        most_of(&point->costs[GPUCHAR_FORM_BRANCH]) / least_of(&point->costs[GPUCHAR_FORM_PREDICATED]);
    CHECK(related || !times_count() || point->warps > 8, "%u warps: no ratios", point->warps);
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        const gpuchar_predication_cost *cost = &point->costs[form];
        if (times_count()) check_bounds(cost, point->warps);
        CHECK(cost->known & GPUCHAR_PREDICATION_COST_ISSUE, "%u warps, %s", point->warps, names[form]);
        CHECK(!times_count() || !hopper || cost->instructions_per_cycle <= 4,
              "%u warps, %s: issues more than there are schedulers", point->warps, names[form]);
    }
    if (!times_count()) return;
    if (point->warps == 1 && body == 64) {
        CHECK(fabs(point->branch_ratio / 2 - 1) <= 0.005, "%.5f", point->branch_ratio);
        CHECK(fabs(point->predicated_ratio - 1) <= 0.005, "%.5f", point->predicated_ratio);
        CHECK(fabs(point->gain / 2 - 1) <= 0.005, "%.5f", point->gain);
    }
    if (!hopper) return;
    if (point->warps == 1 && body == 64)
        CHECK(fabs(point->costs[GPUCHAR_FORM_CONVERGENT].cycles_per_link / 4 - 1) <= 0.005, "%.5f",
              point->costs[GPUCHAR_FORM_CONVERGENT].cycles_per_link);
    if (point->warps >= 16 && body == 64) {
        CHECK(!related || fabs(point->gain - 1) <= 0.05, "%u warps: %.4f", point->warps, point->gain);
        CHECK(related || most_gain <= 1.05, "%u warps: up to %.4f", point->warps, most_gain);
    }
}

static void check_form(const gpuchar_predication_form *form) {
    const uint32_t which = form->form;
    const double threads = which == GPUCHAR_FORM_BRANCH ? 16 : 32;
    printf("    %s, body %llu: loop of %llu instructions, stall sum %llu, %llu bytes, %llu decisions, %llu "
           "instructions a warp",
           names[which], (unsigned long long)form->body, (unsigned long long)form->loop_instructions,
           (unsigned long long)form->loop_stall_cycles, (unsigned long long)form->code_bytes,
           (unsigned long long)form->decisions, (unsigned long long)form->expected_count);
    CHECK(form->known & GPUCHAR_PREDICATION_FORM_DECODED, "%s", names[which]);
    CHECK(form->decisions == (which == GPUCHAR_FORM_PREDICATED ? 0 : 1), "%s", names[which]);
    if (form->known & GPUCHAR_PREDICATION_FORM_COUNTERS) {
        printf(", counted %llu, efficiency %.5f", (unsigned long long)form->executed_count, form->efficiency);
        CHECK(form->executed_count == form->expected_count, "%s", names[which]);
        CHECK(fabs(form->efficiency / threads - 1) <= 0.01, "%s: %.5f", names[which], form->efficiency);
    }
    printf("\n");
}

static void check_lengths(const gpuchar_predication_compare_result *result) {
    printf("    the compiler branches from %u on; length: branches, predicated, selects, multiply-adds:",
           result->compiler_branch_length);
    for (size_t i = 0; i < result->length_count; ++i) {
        const gpuchar_predication_length *found = &result->lengths[i];
        printf(" %u:%u,%u,%u,%u", found->length, found->branches, found->predicated, found->selects,
               found->multiply_adds);
    }
    printf("\n");
    CHECK(result->length_count == 32, "%zu", result->length_count);
}

/* How much is unknown is printed, and never without the flag. */
static void check_unknown(const gpuchar_predication_compare_result *result) {
    size_t points = 0, slopes = 0;
    for (size_t i = 0; i < result->point_count; ++i) {
        size_t here = 0;
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) here += !has_slope(&result->points[i].costs[form]);
        CHECK((here == 0) == ((result->points[i].known & GPUCHAR_PREDICATION_POINT_RATIOS) != 0), "%zu", i);
        points += here != 0;
        slopes += here;
    }
    printf("    %zu of %zu points have unknown slopes, %zu of %zu slopes in all\n", points, result->point_count, slopes,
           result->point_count * GPUCHAR_FORMS);
    CHECK((slopes != 0) == ((result->evidence.flags & GPUCHAR_FLAG_OFF_LAW) != 0), "flags %#x", result->evidence.flags);
}

static void compare(gpuchar_session *session, uint32_t body, uint32_t preset, uint32_t counters) {
    gpuchar_predication_compare_options options = GPUCHAR_PREDICATION_COMPARE_OPTIONS_INIT;
    gpuchar_predication_compare_result result = GPUCHAR_PREDICATION_COMPARE_RESULT_INIT;
    const bool hopper = is_hopper(session);
    CHECK(gpuchar_experiment_preset("predication_compare", preset, &options) == GPUCHAR_OK, "preset");
    options.body = body;
    options.counters = counters;
    if (!times_count()) options.launches = 5;
    gpuchar_status status = gpuchar_predication_compare(session, &options, &result);
    printf("bodies %u and %u x %u: status %d, flags %#x, counters %s (%u passes), no gain from %u warps on, device "
           "%.1f ms, call %.1f ms, clock %.0f MHz\n",
           result.body, result.long_body, result.iterations, status, result.evidence.flags,
           gpuchar_status_name(result.evidence.counters_status), result.evidence.counter_passes,
           result.saturation_warps, (double)result.launches_ns * 1e-6, (double)result.call_ns * 1e-6,
           result.evidence.sm_clock_hz * 1e-6);
    CHECK(status >= 0, "status %d", status);
    if (status < 0) return;
    for (size_t i = 0; i < result.point_count; ++i) print_point(&result.points[i], &result);
    check_unknown(&result);
    for (size_t i = 0; i < result.point_count; ++i) check_point(&result.points[i], hopper, result.body);
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        check_form(&result.short_forms[form]);
        check_form(&result.long_forms[form]);
    }
    check_lengths(&result);
    CHECK(result.evidence.flags & GPUCHAR_FLAG_PROVED, "proof_status %d", result.evidence.proof_status);
    if (result.evidence.counters_status == GPUCHAR_OK)
        CHECK(result.evidence.flags & GPUCHAR_FLAG_COUNTED, "flags %#x", result.evidence.flags);
    if (times_count() && preset == GPUCHAR_PRESET_QUICK)
        CHECK(result.launches_ns < 500000000, "%.3f s of device time", (double)result.launches_ns * 1e-9);
    if (times_count() && hopper && preset == GPUCHAR_PRESET_QUICK && result.body == 64)
        CHECK(result.saturation_warps == 16, "%u", result.saturation_warps);
    gpuchar_predication_compare_result_free(&result);
}

int main(void) {
    gpuchar_session *session = open_or_skip(NULL);
    compare(session, 64, GPUCHAR_PRESET_QUICK, GPUCHAR_COUNTERS_AUTO);
    if (times_count()) {
        compare(session, 128, GPUCHAR_PRESET_QUICK, GPUCHAR_COUNTERS_AUTO);
        compare(session, 64, GPUCHAR_PRESET_FULL, GPUCHAR_COUNTERS_OFF);
    }
    gpuchar_session_close(session);
    return gpu_finish();
}
