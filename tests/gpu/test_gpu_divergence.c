/* The laws of the divergence sweep on the GPU at hand: every kind, every lane map, every k. */
#include "gpu_check.h"

static const char *const kinds[] = {"", "fp32", "int32", "memory", "special"};
static const char *const maps[] = {"", "strided", "contiguous", "random", "given"};

static void print_outliers(const gpuchar_divergence_sweep_result *result, const gpuchar_divergence_point *point) {
    if (!point->cycles.outliers || !result->samples) return;
    printf("        outliers of k = %u:", point->ways);
    for (uint32_t i = 0; i < result->launches; ++i) {
        double sample = result->samples[point->sample_offset + i], away = fabs(sample - point->cycles.median);
        if (0.6745 * away > 3.5 * point->cycles.mad && away > 0) printf(" %.0f", sample);
    }
    printf("\n");
}

static void check_point(const gpuchar_divergence_sweep_result *result, const gpuchar_divergence_point *point) {
    bool chain = result->kind == GPUCHAR_PATH_FP32 || result->kind == GPUCHAR_PATH_INT32;
    double spread = point->cycles.mad / point->cycles.median;
    printf("    %2u %10.0f cycles  ratio %8.4f (%+.3f %%)  mad/median %.1e  outliers %3u  min %.0f max %.0f",
           point->ways, point->cycles.median, point->ratio, 100 * (point->ratio / point->ways - 1), spread,
           point->cycles.outliers, point->cycles.min, point->cycles.max);
    if (point->known & GPUCHAR_DIVERGENCE_POINT_COUNTERS) {
        printf("  efficiency %.5f (%+.4f %%), kernel %.4f", point->efficiency,
               100 * (point->efficiency * point->ways / 32 - 1), point->efficiency_kernel);
        CHECK(fabs(point->efficiency * point->ways / 32 - 1) <= 0.01, "k = %u", point->ways);
        CHECK(point->executed_count == point->expected_count, "k = %u: %llu of %llu", point->ways,
              (unsigned long long)point->executed_count, (unsigned long long)point->expected_count);
    }
    printf("\n");
    print_outliers(result, point);
    /* A load of one lane alone returns sooner than one of two or more, so that with more than 16 paths the law bends. */
    if (!times_count() || (result->kind == GPUCHAR_PATH_MEMORY && point->ways > 16)) return;
    CHECK(fabs(point->ratio / point->ways - 1) <= 0.01, "k = %u", point->ways);
    CHECK(!chain || spread <= 1e-4, "k = %u", point->ways);
}

static void check_laws(const gpuchar_divergence_sweep_result *result) {
    printf(
        "    s %.2f [%.2f, %.2f]  c %.2f  |c|/s %.5f  R2 %.10f  Theil-Sen %.2f  T(32)/T(1 path) %.4f  flat %.4f %%\n",
        result->slope.value, result->slope.ci95_low, result->slope.ci95_high, result->intercept.value,
        result->intercept_ratio, result->slope.r2, result->slope_robust, result->ratio_32, 100 * result->flatness);
    printf("    loop: %llu instructions, stall sum %llu, %.3f cycles measured; clock %.1f MHz\n",
           (unsigned long long)result->loop_instructions, (unsigned long long)result->loop_stall_cycles,
           result->path_mean_cycles / result->iterations, result->evidence.sm_clock_hz / 1e6);
    CHECK(result->evidence.flags & GPUCHAR_FLAG_PROVED, "proof_status %d", result->evidence.proof_status);
    CHECK(result->evidence.decoded_count == result->evidence.intended_count, "decoded");
    if (!times_count() || result->kind == GPUCHAR_PATH_MEMORY) return;
    CHECK(result->slope.r2 > 0.9999, "%.8f", result->slope.r2);
    if (result->kind == GPUCHAR_PATH_FP32) CHECK(result->intercept_ratio <= 0.01, "%.5f", result->intercept_ratio);
}

static void sweep(gpuchar_session *session, uint32_t kind, uint32_t map, uint32_t counters) {
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    options.kind = kind;
    options.lane_map = map;
    options.counters = counters;
    options.keep_samples = 1;
    bool given = map == GPUCHAR_LANES_GIVEN;
    for (uint32_t i = 0; i < 32; ++i) {
        if (given) options.lanes[i] = i % 5 * 3; /* five paths that are not neighbours */
        if (!given) options.ways[options.ways_count++] = i + 1;
    }
    gpuchar_status status = gpuchar_divergence_sweep(session, &options, &result);
    printf("%s, %s: status %d, flags %#x, counters %s\n", kinds[kind], maps[map], status, result.evidence.flags,
           gpuchar_status_name(result.evidence.counters_status));
    CHECK(status >= 0, "status %d", status);
    if (status < 0) return;
    for (size_t i = 0; i < result.point_count; ++i) check_point(&result, &result.points[i]);
    if (result.point_count > 1) check_laws(&result);
    if (result.known & GPUCHAR_DIVERGENCE_VALIDATED) {
        printf("    validation %.5f %.5f %.5f, %u passes\n", result.validation_convergent, result.validation_two_way,
               result.validation_full, result.evidence.counter_passes);
        CHECK(fabs(result.validation_convergent / 32 - 1) <= 0.01, "convergent");
        CHECK(fabs(result.validation_two_way / 16 - 1) <= 0.01, "two-way");
        CHECK(fabs(result.validation_full - 1) <= 0.01, "32-way");
        CHECK(result.evidence.flags & GPUCHAR_FLAG_COUNTED, "flags %#x", result.evidence.flags);
    }
    gpuchar_divergence_sweep_result_free(&result);
}

/* The same law whatever the chain's and the loop's length: if not, something else is in the number. */
static void other_lengths(gpuchar_session *session) {
    static const struct {
        uint32_t body, iterations;
    } lengths[] = {{64, 64}, {64, 128}, {128, 64}, {128, 128}, {256, 32}, {256, 64}, {512, 16}, {512, 32}};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
        gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
        options.body = lengths[i].body;
        options.iterations = lengths[i].iterations;
        options.counters = GPUCHAR_COUNTERS_OFF;
        options.launches = 21;
        gpuchar_status status = gpuchar_divergence_sweep(session, &options, &result);
        CHECK(status >= 0, "status %d", status);
        double links = (double)options.body * options.iterations;
        printf("body %3u x %3u: s / link %.5f, path alone / link %.5f, stall sum / link %.5f, T(32)/path %.4f, flat "
               "%.3f %%\n",
               options.body, options.iterations, result.slope.value / links, result.path_mean_cycles / links,
               (double)result.loop_stall_cycles / options.body, result.ratio_32, 100 * result.flatness);
        gpuchar_divergence_sweep_result_free(&result);
    }
}

int main(void) {
    gpuchar_session *session = open_or_skip(NULL);
    if (times_count()) {
        for (uint32_t map = GPUCHAR_LANES_STRIDED; map <= GPUCHAR_LANES_GIVEN; ++map) {
            sweep(session, GPUCHAR_PATH_FP32, map,
                  map == GPUCHAR_LANES_STRIDED ? GPUCHAR_COUNTERS_AUTO : GPUCHAR_COUNTERS_OFF);
        }
        for (uint32_t kind = GPUCHAR_PATH_INT32; kind <= GPUCHAR_PATH_SPECIAL; ++kind) {
            sweep(session, kind, GPUCHAR_LANES_STRIDED, GPUCHAR_COUNTERS_AUTO);
        }
        other_lengths(session);
    } else {
        gpuchar_divergence_sweep_options options = small_sweep();
        for (uint32_t kind = GPUCHAR_PATH_FP32; kind <= GPUCHAR_PATH_SPECIAL; ++kind) {
            gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
            options.kind = kind;
            CHECK(gpuchar_divergence_sweep(session, &options, &result) >= 0, "kind %u", kind);
            gpuchar_divergence_sweep_result_free(&result);
        }
    }
    gpuchar_session_close(session);
    return gpu_finish();
}
