/* Nested and unbalanced divergence on the GPU at hand: every shape is as slow as the sum of its turns. */
#include "gpu_check.h"

/* Of each shape from its prediction: the model has no term for coming to a node. */
#define DEVIATION 0.015

static void check_point(const gpuchar_divergence_shapes_point *point) {
    const double median = point->cycles.median;
    printf(
        "    shape %2u  paths %2u nodes %2u turns %5llu  %9.0f cycles  predicted %9.0f (%+.3f %%)  longest path %9.0f  "
        "mad/median %.1e  outliers %u  min %.0f max %.0f",
        point->shape, point->paths, point->nodes, (unsigned long long)point->turns, median, point->predicted_cycles,
        100 * point->deviation, point->longest_cycles, point->cycles.mad / median, point->cycles.outliers,
        point->cycles.min, point->cycles.max);
    if (point->known & GPUCHAR_SHAPES_POINT_COUNTERS) {
        printf("  efficiency %.5f of %.5f, executed %llu of %llu", point->efficiency, point->expected_efficiency,
               (unsigned long long)point->executed_count, (unsigned long long)point->expected_count);
        CHECK(point->executed_count == point->expected_count, "shape %u", point->shape);
        CHECK(fabs(point->efficiency / point->expected_efficiency - 1) <= 0.001, "shape %u", point->shape);
    }
    printf("\n");
    if (!times_count()) return;
    CHECK(fabs(point->deviation) <= DEVIATION, "shape %u: %.4f", point->shape, point->deviation);
    CHECK(point->cycles.mad <= 1e-3 * median, "shape %u: %.1f", point->shape, point->cycles.mad);
}

static void check_result(const gpuchar_divergence_shapes_result *result) {
    printf("    s %.4f [%.4f, %.4f]  c %.2f  flat %.4f %%  R2 of single paths %.10f  over the shapes: s %.4f R2 %.10f  "
           "largest deviation %.3f %%\n",
           result->slope.value, result->slope.ci95_low, result->slope.ci95_high, result->intercept.value,
           100 * result->flatness, result->slope.r2, result->shapes_slope.value, result->shapes_slope.r2,
           100 * result->largest_deviation);
    printf("    loop: %llu instructions, stall sum %llu; %llu bytes; clock %.1f MHz; device %.1f ms, counters %.1f ms, "
           "call %.1f ms, %u warm-up launches\n",
           (unsigned long long)result->loop_instructions, (unsigned long long)result->loop_stall_cycles,
           (unsigned long long)result->code_bytes, result->evidence.sm_clock_hz / 1e6,
           (double)result->launches_ns * 1e-6, (double)result->counters_ns * 1e-6, (double)result->call_ns * 1e-6,
           result->warmup_launches);
    printf("    evidence: flags %#x, proof %s, counters %s, decoded %llu, executed %llu\n", result->evidence.flags,
           gpuchar_status_name(result->evidence.proof_status), gpuchar_status_name(result->evidence.counters_status),
           (unsigned long long)result->evidence.decoded_count, (unsigned long long)result->evidence.executed_count);
    CHECK(result->evidence.flags & GPUCHAR_FLAG_PROVED, "proof_status %d", result->evidence.proof_status);
    CHECK(result->evidence.decoded_count == result->evidence.intended_count, "decoded");
    if (result->evidence.counters_status == GPUCHAR_OK) {
        CHECK(result->evidence.flags & GPUCHAR_FLAG_COUNTED, "flags %#x", result->evidence.flags);
        CHECK(result->evidence.executed_count == result->evidence.intended_count, "executed");
    }
    if (!times_count()) return;
    CHECK(!(result->evidence.flags & GPUCHAR_FLAG_OFF_LAW), "flags %#x", result->evidence.flags);
    CHECK(result->shapes_slope.points < 3 || result->shapes_slope.r2 > 0.9999, "%.8f", result->shapes_slope.r2);
    printf("device time %.1f ms\n", (double)result->launches_ns * 1e-6);
}

static void measure(gpuchar_session *session, const char *what, const gpuchar_divergence_shapes_options *options) {
    gpuchar_divergence_shapes_result result = GPUCHAR_DIVERGENCE_SHAPES_RESULT_INIT;
    const gpuchar_status status = gpuchar_divergence_shapes(session, options, &result);
    printf("%s: status %d\n", what, status);
    CHECK(status >= 0, "status %d", status);
    if (status < 0) return;
    for (uint32_t i = 0; i < 32; ++i) {
        printf("    path %2u alone: %.0f and %.0f cycles, mad %.1f %.1f\n", i, result.short_paths[i].median,
               result.long_paths[i].median, result.short_paths[i].mad, result.long_paths[i].mad);
    }
    for (size_t i = 0; i < result.point_count; ++i) check_point(&result.points[i]);
    check_result(&result);
    gpuchar_divergence_shapes_result_free(&result);
}

/* Shapes of the caller's own: random maps, random turns. */
static void measure_given(gpuchar_session *session) {
    gpuchar_divergence_shapes_options options = GPUCHAR_DIVERGENCE_SHAPES_OPTIONS_INIT;
    uint32_t random = 7;
    options.given_count = GPUCHAR_SHAPES_GIVEN_MAX;
    for (uint32_t i = 0; i < options.given_count; ++i) {
        for (uint32_t lane = 0; lane < 32; ++lane) {
            random = random * 1664525u + 1013904223u;
            options.given[i].lanes[lane] = random >> 27;
        }
        for (uint32_t node = 0; node < GPUCHAR_SHAPE_NODES; ++node) {
            random = random * 1664525u + 1013904223u;
            options.given[i].turns[node] = 8 + random % 61;
        }
    }
    measure(session, "given", &options);
}

int main(void) {
    gpuchar_session *session = open_or_skip(NULL);
    gpuchar_divergence_shapes_options options = GPUCHAR_DIVERGENCE_SHAPES_OPTIONS_INIT;
    if (!times_count()) {
        options.turns = 1;
        options.launches = 5;
        options.counters = GPUCHAR_COUNTERS_OFF;
        measure(session, "small", &options);
    } else {
        measure(session, "default", NULL);
        options.counters = GPUCHAR_COUNTERS_OFF;
        measure(session, "warm", &options);
        options.turns = 96;
        measure(session, "four times as long", &options);
        measure_given(session);
    }
    gpuchar_session_close(session);
    return gpu_finish();
}
