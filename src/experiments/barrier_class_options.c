#include <core/error.h>
#include <core/util.h>
#include <experiments/barrier_class_options.h>
#include <experiments/options.h>
#include <string.h>

#define ALL_CLASSES 15u

static gpuchar_status check_warps(gpuchar_barrier_class_experiment_options *options) {
    static const uint32_t defaults[] = {1, 4, 32};
    gpuchar_status status = gc_option_count("warps", options->warps, options->warps_count, GC_BARRIER_SHAPES_MAX);
    if (status != GPUCHAR_OK) return status;
    for (uint32_t i = 0; i < options->warps_count; ++i) {
        status = gc_option_range("warps", options->warps[i], 1, GC_BARRIER_WARPS_MAX);
        if (status != GPUCHAR_OK) return status;
        for (uint32_t k = 0; k < i; ++k) {
            if (options->warps[i] != options->warps[k]) continue;
            return gc_advise(
                gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "warps[%u] and warps[%u] are both %u", k, i, options->warps[i]),
                "name each number of warps once");
        }
    }
    if (options->warps_count) return GPUCHAR_OK;
    memcpy(options->warps, defaults, sizeof defaults);
    options->warps_count = GC_COUNT(defaults);
    return GPUCHAR_OK;
}

static void take_defaults(gpuchar_barrier_class_experiment_options *options) {
    const struct {
        uint32_t *option, value;
    } defaults[] = {{&options->blocks, 4},
                    {&options->classes, ALL_CLASSES},
                    {&options->combinations, GPUCHAR_BARRIER_COMBINATIONS_EVERY},
                    {&options->turns, 32},
                    {&options->launches, 5},
                    {&options->spin_limit, 1024},
                    {&options->limit_ms, 2000},
                    {&options->lost_limit, 16}};
    for (size_t i = 0; i < GC_COUNT(defaults); ++i) {
        if (*defaults[i].option == 0) *defaults[i].option = defaults[i].value;
    }
}

gpuchar_status gc_barrier_resolve(void *raw) {
    gpuchar_barrier_class_experiment_options *options = raw;
    gpuchar_status status = gc_option_demands(options->counters, options->require);
    if (status == GPUCHAR_OK)
        status = gc_option_choice("combinations", options->combinations, GPUCHAR_BARRIER_COMBINATIONS_FEW);
    if (status == GPUCHAR_OK) status = gc_option_choice("classes", options->classes, ALL_CLASSES);
    if (status == GPUCHAR_OK) status = check_warps(options);
    if (status != GPUCHAR_OK) return status;
    take_defaults(options);
    const struct {
        const char *name;
        uint32_t value, lowest, highest;
    } ranges[] = {{"blocks", options->blocks, 1, GC_BARRIER_BLOCKS_MAX},
                  {"turns", options->turns, 1, GC_BARRIER_TURNS_MAX},
                  {"launches", options->launches, GC_BARRIER_LAUNCHES_MIN, GC_BARRIER_LAUNCHES_MAX},
                  {"spin_limit", options->spin_limit, 1, GC_BARRIER_SPINS_MAX},
                  {"limit_ms", options->limit_ms, GC_BARRIER_LIMIT_MS_MIN, GC_BARRIER_LIMIT_MS_MAX},
                  {"lost_limit", options->lost_limit, 1, GC_BARRIER_LOST_MAX}};
    for (size_t i = 0; i < GC_COUNT(ranges) && status == GPUCHAR_OK; ++i) {
        status = gc_option_range(ranges[i].name, ranges[i].value, ranges[i].lowest, ranges[i].highest);
    }
    return status;
}

/* The quick one is a fraction of the default: one shape, and no mismatched pairs but those with what was compiled. */
void gc_barrier_preset(uint32_t which, void *raw) {
    gpuchar_barrier_class_experiment_options *options = raw;
    if (which == GPUCHAR_PRESET_FULL) return;
    options->combinations = GPUCHAR_BARRIER_COMBINATIONS_FEW;
    options->warps_count = 1;
    options->warps[0] = 4;
    options->launches = 3;
}
