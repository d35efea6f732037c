/* The divergence sweep's options: what is refused, and what stands for the zeros. */
#include <core/error.h>
#include <core/util.h>
#include <experiments/divergence_options.h>
#include <experiments/divergence_reduce.h>
#include <experiments/options.h>
#include <string.h>

#define TARGET_PATH_CYCLES 32768

/* Of each kind's chained instruction, roughly: they only size the default number of iterations. */
static const uint32_t latencies[] = {0, 4, 4, 36, 20};

/* ---- ways and lanes: what would be ignored is refused, because its caller believes in it ---- */

static gpuchar_status check_given_lanes(gpuchar_divergence_sweep_options *options) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (options->lanes[lane] > 31) {
            gc_fail(GPUCHAR_E_LIMIT, "lanes[%u] is path %u; there are paths 0 to 31", lane, options->lanes[lane]);
            gc_hint("give each lane the number of its path, counted from 0");
            return GPUCHAR_E_LIMIT;
        }
    }
    uint32_t given = gc_divergence_given_ways(options->lanes);
    if (options->ways_count > 1 || (options->ways_count == 1 && options->ways[0] != given)) {
        gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the given lanes take %u paths: leave `ways` empty", given);
        gc_hint("set ways_count and `ways` to 0; the lanes tell the number of paths");
        return GPUCHAR_E_INVALID_ARGUMENT;
    }
    options->ways[0] = given;
    options->ways_count = 1;
    return GPUCHAR_OK;
}

static gpuchar_status check_no_lanes(const gpuchar_divergence_sweep_options *options) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (options->lanes[lane] == 0) continue;
        gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "lanes[%u] is %u, but lane_map is %u, which does not read `lanes`", lane,
                options->lanes[lane], options->lane_map);
        gc_hint("set lane_map to GPUCHAR_LANES_GIVEN (%d), or leave `lanes` at zero", GPUCHAR_LANES_GIVEN);
        return GPUCHAR_E_INVALID_ARGUMENT;
    }
    return GPUCHAR_OK;
}

static gpuchar_status resolve_ways(gpuchar_divergence_sweep_options *options) {
    static const uint32_t powers[] = {1, 2, 4, 8, 16, 32};
    gpuchar_status status = gc_option_count("ways", options->ways, options->ways_count, 32);
    if (status == GPUCHAR_OK) {
        status = options->lane_map == GPUCHAR_LANES_GIVEN ? check_given_lanes(options) : check_no_lanes(options);
    }
    if (status != GPUCHAR_OK) return status;
    if (options->ways_count == 0) {
        memcpy(options->ways, powers, sizeof powers);
        options->ways_count = GC_COUNT(powers);
    }
    for (uint32_t i = 0; i < options->ways_count; ++i) {
        if (options->ways[i] < 1 || options->ways[i] > 32) {
            gc_fail(GPUCHAR_E_LIMIT, "ways[%u] is %u; a warp splits into 1 to 32 paths", i, options->ways[i]);
            gc_hint("a warp has 32 lanes: give each of the ways_count entries 1 to 32, or leave both at 0");
            return GPUCHAR_E_LIMIT;
        }
    }
    return GPUCHAR_OK;
}

/* ---- the rest ---- */

gpuchar_status gc_divergence_resolve(void *raw) {
    gpuchar_divergence_sweep_options *options = raw;
    gpuchar_status status = gc_option_choice("kind", options->kind, GPUCHAR_PATH_SPECIAL);
    if (status == GPUCHAR_OK) status = gc_option_choice("lane_map", options->lane_map, GPUCHAR_LANES_GIVEN);
    if (status == GPUCHAR_OK) status = gc_option_choice("keep_samples", options->keep_samples, 1);
    if (status == GPUCHAR_OK) status = gc_option_demands(options->counters, options->require);
    if (status == GPUCHAR_OK) status = resolve_ways(options);
    if (status != GPUCHAR_OK) return status;
    if (options->kind == 0) options->kind = GPUCHAR_PATH_FP32;
    if (options->lane_map == 0) options->lane_map = GPUCHAR_LANES_STRIDED;
    if (options->body == 0) options->body = 128;
    if (options->launches == 0) options->launches = 201;
    if (options->seed == 0) options->seed = 1;
    status = gc_option_body("body", GC_OPTION_ALONE, options->body);
    if (status != GPUCHAR_OK) return status;
    if (options->iterations == 0) {
        options->iterations = TARGET_PATH_CYCLES / (options->body * latencies[options->kind]);
        if (options->iterations < 4) options->iterations = 4;
    }
    status = gc_option_range("iterations", options->iterations, 4, 65536);
    return status == GPUCHAR_OK ? gc_option_range("launches", options->launches, 5, 10000) : status;
}

void gc_divergence_preset(uint32_t which, void *raw) {
    gpuchar_divergence_sweep_options *options = raw;
    if (which != GPUCHAR_PRESET_FULL) return;
    for (uint32_t k = 1; k <= 32; ++k) options->ways[k - 1] = k;
    options->ways_count = 32;
}
