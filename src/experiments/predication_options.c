#include <core/error.h>
#include <core/util.h>
#include <experiments/options.h>
#include <experiments/predication_options.h>
#include <experiments/predication_reduce.h>
#include <string.h>

#define TARGET_ARM_CYCLES 65536 /* with the longer body */
#define LATENCY 4               /* of a multiply-add, roughly: it only sizes the default number of iterations */

static gpuchar_status resolve_warps(gpuchar_predication_compare_options *options) {
    static const uint32_t usual[] = {1, 2, 4, 8, 12, 16, 24, 32};
    gpuchar_status status = gc_option_count("warps", options->warps, options->warps_count, 32);
    for (uint32_t i = 0; i < options->warps_count && status == GPUCHAR_OK; ++i) {
        if (options->warps[i] >= 1 && options->warps[i] <= 32) continue;
        status = gc_advise(
            gc_fail(GPUCHAR_E_LIMIT, "warps[%u] is %u; a block on one SM has 1 to 32 warps", i, options->warps[i]),
            "warps_count of 0 takes the usual ones; gpuchar_divergence_occupancy fills an SM with more");
    }
    if (status != GPUCHAR_OK || options->warps_count) return status;
    memcpy(options->warps, usual, sizeof usual);
    options->warps_count = GC_COUNT(usual);
    return GPUCHAR_OK;
}

gpuchar_status gc_predication_resolve(void *raw) {
    gpuchar_predication_compare_options *options = raw;
    gpuchar_status status = gc_option_choice("keep_samples", options->keep_samples, 1);
    if (status == GPUCHAR_OK) status = gc_option_demands(options->counters, options->require);
    if (status == GPUCHAR_OK) status = resolve_warps(options);
    if (status != GPUCHAR_OK) return status;
    if (options->body == 0) options->body = 64;
    if (options->launches == 0) options->launches = 21;
    if (options->seed == 0) options->seed = 1;
    if (options->body != 64 && options->body != 128) {
        return gc_advise(gc_fail(GPUCHAR_E_LIMIT, "body is %u; it can be 64 or 128", options->body),
                         "0 takes 64; costs are measured with this body and with one of 48 more");
    }
    if (options->iterations == 0)
        options->iterations = TARGET_ARM_CYCLES / ((options->body + GC_PREDICATION_MORE) * LATENCY);
    status = gc_option_range("iterations", options->iterations, 4, 65536);
    return status == GPUCHAR_OK ? gc_option_range("launches", options->launches, 5, 10000) : status;
}

void gc_predication_preset(uint32_t which, void *raw) {
    gpuchar_predication_compare_options *options = raw;
    if (which != GPUCHAR_PRESET_FULL) return;
    for (uint32_t i = 0; i < 32; ++i) options->warps[i] = i + 1;
    options->warps_count = 32;
}
