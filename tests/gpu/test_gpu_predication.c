/* What a branch costs beside its predicated form on the GPU at hand, over warps per SM; every value is printed. */
#include "gpu_check.h"

static const char *const forms[] = {"one arm", "branch", "predicated"};

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

static void print_point(const gpuchar_predication_point *point) {
    printf("    %2u warps:", point->warps);
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        const gpuchar_stat *cycles = &point->cycles[form];
        printf("  %s %.0f (mad/median %.1e, outliers %u, min %.0f max %.0f)", forms[form], cycles->median,
               cycles->mad / cycles->median, cycles->outliers, cycles->min, cycles->max);
    }
    printf(
        "\n        branch/one arm %.4f  predicated/one arm %.4f  gain %.4f (theory for sm_90: %.4f)  instructions per "
        "cycle %.3f %.3f %.3f\n",
        point->branch_ratio, point->predicated_ratio, point->gain, expected_gain(point->warps),
        point->convergent_instructions_per_cycle, point->branch_instructions_per_cycle,
        point->predicated_instructions_per_cycle);
}

static void check_point(const gpuchar_predication_point *point, bool hopper, uint32_t body) {
    CHECK(point->known & GPUCHAR_PREDICATION_POINT_RATIOS, "%u warps", point->warps);
    CHECK(point->known & GPUCHAR_PREDICATION_POINT_ISSUE, "%u warps", point->warps);
    if (!times_count()) return;
    /* Two loops of the same length differ by up to three cycles a turn by their place in the instruction cache. */
    if (point->warps == 1 && body == 128) {
        const double placed = 3.0 / 512;
        CHECK(fabs(point->branch_ratio / 2 - 1) <= 0.005 + placed, "%.5f", point->branch_ratio);
        CHECK(fabs(point->predicated_ratio - 1) <= 0.005 + placed, "%.5f", point->predicated_ratio);
        CHECK(fabs(point->gain / 2 - 1) <= 0.005 + placed, "%.5f", point->gain);
    }
    if (!hopper) return;
    if (point->warps >= 16 && body == 128)
        CHECK(fabs(point->gain - 1) <= 0.05, "%u warps: %.4f", point->warps, point->gain);
    CHECK(point->branch_instructions_per_cycle <= 4 && point->predicated_instructions_per_cycle <= 4,
          "%u warps issue more than there are schedulers", point->warps);
}

static void check_form(const gpuchar_predication_compare_result *result, size_t which) {
    const gpuchar_predication_form *form = &result->forms[which];
    const double threads = which == GPUCHAR_FORM_BRANCH ? 16 : 32;
    printf("    %s: loop of %llu instructions, stall sum %llu, %llu bytes, %llu decisions, %llu instructions a warp",
           forms[which], (unsigned long long)form->loop_instructions, (unsigned long long)form->loop_stall_cycles,
           (unsigned long long)form->code_bytes, (unsigned long long)form->decisions,
           (unsigned long long)form->expected_count);
    CHECK(form->known & GPUCHAR_PREDICATION_FORM_DECODED, "%s", forms[which]);
    CHECK(form->decisions == (which == GPUCHAR_FORM_PREDICATED ? 0 : 1), "%s", forms[which]);
    if (form->known & GPUCHAR_PREDICATION_FORM_COUNTERS) {
        printf(", counted %llu, efficiency %.5f", (unsigned long long)form->executed_count, form->efficiency);
        CHECK(form->executed_count == form->expected_count, "%s", forms[which]);
        CHECK(fabs(form->efficiency / threads - 1) <= 0.01, "%s: %.5f", forms[which], form->efficiency);
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

static void compare(gpuchar_session *session, uint32_t body, uint32_t preset, uint32_t counters) {
    gpuchar_predication_compare_options options = GPUCHAR_PREDICATION_COMPARE_OPTIONS_INIT;
    gpuchar_predication_compare_result result = GPUCHAR_PREDICATION_COMPARE_RESULT_INIT;
    const bool hopper = is_hopper(session);
    CHECK(gpuchar_experiment_preset("predication_compare", preset, &options) == GPUCHAR_OK, "preset");
    options.body = body;
    options.counters = counters;
    if (!times_count()) options.launches = 5;
    gpuchar_status status = gpuchar_predication_compare(session, &options, &result);
    printf(
        "body %u x %u: status %d, flags %#x, counters %s (%u passes), no gain from %u warps on, device %.1f ms, call "
        "%.1f ms, clock %.0f MHz\n",
        result.body, result.iterations, status, result.evidence.flags,
        gpuchar_status_name(result.evidence.counters_status), result.evidence.counter_passes, result.saturation_warps,
        (double)result.launches_ns * 1e-6, (double)result.call_ns * 1e-6, result.evidence.sm_clock_hz * 1e-6);
    CHECK(status >= 0, "status %d", status);
    if (status < 0) return;
    for (size_t i = 0; i < result.point_count; ++i) print_point(&result.points[i]);
    for (size_t i = 0; i < result.point_count; ++i) check_point(&result.points[i], hopper, result.body);
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) check_form(&result, form);
    check_lengths(&result);
    CHECK(result.evidence.flags & GPUCHAR_FLAG_PROVED, "proof_status %d", result.evidence.proof_status);
    if (result.evidence.counters_status == GPUCHAR_OK)
        CHECK(result.evidence.flags & GPUCHAR_FLAG_COUNTED, "flags %#x", result.evidence.flags);
    if (times_count() && preset == GPUCHAR_PRESET_QUICK)
        CHECK(result.launches_ns < 500000000, "%.3f s of device time", (double)result.launches_ns * 1e-9);
    if (times_count() && hopper && preset == GPUCHAR_PRESET_QUICK && result.body == 128)
        CHECK(result.saturation_warps == 16, "%u", result.saturation_warps);
    gpuchar_predication_compare_result_free(&result);
}

int main(void) {
    gpuchar_session *session = open_or_skip(NULL);
    compare(session, 128, GPUCHAR_PRESET_QUICK, GPUCHAR_COUNTERS_AUTO);
    if (times_count()) {
        compare(session, 64, GPUCHAR_PRESET_QUICK, GPUCHAR_COUNTERS_AUTO);
        compare(session, 256, GPUCHAR_PRESET_QUICK, GPUCHAR_COUNTERS_AUTO);
        compare(session, 128, GPUCHAR_PRESET_FULL, GPUCHAR_COUNTERS_OFF);
    }
    gpuchar_session_close(session);
    return gpu_finish();
}
