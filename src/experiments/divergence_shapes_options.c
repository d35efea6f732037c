#include <core/error.h>
#include <core/util.h>
#include <experiments/divergence_shapes_options.h>
#include <experiments/divergence_shapes_reduce.h>
#include <experiments/options.h>
#include <string.h>

static gpuchar_status resolve_named(gpuchar_divergence_shapes_options *options) {
    gpuchar_status status =
        gc_option_count("shapes", options->shapes, options->shapes_count, GC_COUNT(options->shapes));
    for (uint32_t i = 0; i < options->shapes_count && status == GPUCHAR_OK; ++i) {
        if (options->shapes[i] >= 1 && options->shapes[i] <= GC_SHAPES_NAMED) continue;
        gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "shapes[%u] is %u; known are 1 to %d", i, options->shapes[i],
                GC_SHAPES_NAMED);
        gc_hint("shapes of your own stand in `given`, counted by given_count");
        return GPUCHAR_E_INVALID_ARGUMENT;
    }
    if (status != GPUCHAR_OK || options->shapes_count || options->given_count) return status;
    for (uint32_t i = 0; i < GC_SHAPES_NAMED; ++i) options->shapes[i] = i + 1;
    options->shapes_count = GC_SHAPES_NAMED;
    return GPUCHAR_OK;
}

static gpuchar_status check_given(const gpuchar_divergence_shape *given, uint32_t index) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (given->lanes[lane] < GC_SHAPES_PATHS) continue;
        return gc_advise(gc_fail(GPUCHAR_E_LIMIT, "given[%u].lanes[%u] is path %u; there are paths 0 to 31", index,
                                 lane, given->lanes[lane]),
                         "the tree has 32 leaves, numbered from the left");
    }
    for (uint32_t node = 0; node < GPUCHAR_SHAPE_NODES; ++node) {
        if (given->turns[node] >= 1 && given->turns[node] <= GC_SHAPES_TURNS_MAX) continue;
        gc_fail(GPUCHAR_E_LIMIT, "given[%u].turns[%u] is %u; it can be 1 to %d", index, node, given->turns[node],
                GC_SHAPES_TURNS_MAX);
        gc_hint("each of the 63 nodes turns at least once, also those that no lane comes to");
        return GPUCHAR_E_LIMIT;
    }
    if (given->reserved == 0) return GPUCHAR_OK;
    return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "given[%u].reserved is %u, not 0", index, given->reserved),
                     "a newer library may know it; set it to 0");
}

/* What would be ignored is refused, because its caller believes in it. */
static gpuchar_status check_unused(const gpuchar_divergence_shape *given, uint32_t index, uint32_t count) {
    static const gpuchar_divergence_shape empty;
    if (memcmp(given, &empty, sizeof empty) == 0) return GPUCHAR_OK;
    gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "given[%u] is not empty, but given_count is %u", index, count);
    gc_hint("set given_count to the number of entries");
    return GPUCHAR_E_INVALID_ARGUMENT;
}

static gpuchar_status check_all_given(const gpuchar_divergence_shapes_options *options) {
    const uint32_t count = options->given_count;
    gpuchar_status status = GPUCHAR_OK;
    if (count > GPUCHAR_SHAPES_GIVEN_MAX) {
        return gc_advise(gc_fail(GPUCHAR_E_LIMIT, "given_count is %u; at most %d", count, GPUCHAR_SHAPES_GIVEN_MAX),
                         "measure the others in another call");
    }
    for (uint32_t i = 0; i < GPUCHAR_SHAPES_GIVEN_MAX && status == GPUCHAR_OK; ++i) {
        status = i < count ? check_given(&options->given[i], i) : check_unused(&options->given[i], i, count);
    }
    return status;
}

gpuchar_status gc_shapes_resolve(void *raw) {
    gpuchar_divergence_shapes_options *options = raw;
    gpuchar_status status = gc_option_choice("keep_samples", options->keep_samples, 1);
    if (status == GPUCHAR_OK) status = gc_option_demands(options->counters, options->require);
    if (status == GPUCHAR_OK) status = check_all_given(options);
    if (status == GPUCHAR_OK) status = resolve_named(options);
    if (status != GPUCHAR_OK) return status;
    if (options->turns == 0) options->turns = 24;
    if (options->launches == 0) options->launches = 21;
    if (options->seed == 0) options->seed = 1;
    status = gc_option_range("turns", options->turns, 1, GC_SHAPES_UNIT_MAX);
    return status == GPUCHAR_OK ? gc_option_range("launches", options->launches, 5, 10000) : status;
}

/* The quick set is the full one: it takes a tenth of a second. */
void gc_shapes_preset(uint32_t which, void *raw) {
    (void)which;
    (void)raw;
}
