/* More warps do not hide divergence: the penalty stays, as long as the instruction caches hold the paths. */
#include "gpu_check.h"

typedef gpuchar_divergence_occupancy_options occupancy_options;
typedef gpuchar_divergence_occupancy_result occupancy_result;

static void print_points(const occupancy_result *result) {
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_occupancy_point *point = &result->points[i];
        printf("k %2u body %3u warps %3u: %9.0f (mad %.1f) and %9.0f (mad %.1f) cycles, penalty %.4f, issue %.3f and "
               "%.3f, efficiency %.4f, executed %llu of %llu, uneven %u\n",
               result->ways, point->body, point->warps, point->cycles_one.median, point->cycles_one.mad,
               point->cycles_ways.median, point->cycles_ways.mad, point->penalty, point->issue_rate_one,
               point->issue_rate_ways, point->efficiency, (unsigned long long)point->executed_count,
               (unsigned long long)point->expected_count, point->uneven);
    }
    for (size_t i = 0; i < result->body_count; ++i) {
        printf("body %u: %llu bytes of code, penalty %.4f to %.4f\n", result->bodies[i].body,
               (unsigned long long)result->bodies[i].code_bytes, result->bodies[i].penalty_min,
               result->bodies[i].penalty_max);
    }
}

static occupancy_result measure(gpuchar_session *session, const occupancy_options *options) {
    occupancy_result result = GPUCHAR_DIVERGENCE_OCCUPANCY_RESULT_INIT;
    const gpuchar_status status = gpuchar_divergence_occupancy(session, options, &result);
    CHECK(status >= 0, "status %d", status);
    CHECK(result.evidence.flags & GPUCHAR_FLAG_PROVED, "flags %#x", result.evidence.flags);
    if (result.evidence.counters_status == GPUCHAR_OK) {
        CHECK(result.evidence.flags & GPUCHAR_FLAG_COUNTED, "flags %#x", result.evidence.flags);
    } else {
        printf("no counters: %s\n", gpuchar_status_name(result.evidence.counters_status));
    }
    print_points(&result);
    return result;
}

/* Flat within 5 %, from one warp to all that an SM holds. */
static void check_flat(const occupancy_result *result, uint32_t most_warps) {
    double low = 0, high = 0;
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_occupancy_point *point = &result->points[i];
        if (point->warps > most_warps) continue;
        if (low == 0 || point->penalty < low) low = point->penalty;
        if (point->penalty > high) high = point->penalty;
        CHECK(!times_count() || fabs(point->penalty / result->ways - 1) < 0.05, "penalty %.3f at %u warps",
              point->penalty, point->warps);
        CHECK(point->uneven == 0 || point->warps > result->resident_warps, "%u SMs got another number of blocks",
              point->uneven);
    }
    printf("k = %u: penalty %.4f to %.4f up to %u warps\n", result->ways, low, high, most_warps);
    CHECK(!times_count() || high < 1.05 * low, "from %.3f to %.3f", low, high);
}

int main(void) {
    gpuchar_session *session = open_or_skip(NULL);
    occupancy_options options = GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT;
    keep_to_resident(&options);
    occupancy_result result = measure(session, &options);
    check_flat(&result, result.resident_warps);
    gpuchar_divergence_occupancy_result_free(&result);
    /* Few paths: their code stays in the caches even when blocks come and go out of step. */
    options.ways = 8;
    result = measure(session, &options);
    check_flat(&result, 2 * result.resident_warps);
    gpuchar_divergence_occupancy_result_free(&result);
    options.ways = 16;
    result = measure(session, &options);
    gpuchar_divergence_occupancy_result_free(&result);
    /* What happens beyond: printed, and no less than what divergence alone costs. */
    options.ways = 32;
    options.bodies[0] = 512;
    options.bodies_count = 1;
    result = measure(session, &options);
    for (size_t i = 0; i < result.point_count; ++i) {
        CHECK(!times_count() || result.points[i].penalty > 0.95 * 32, "penalty %.3f", result.points[i].penalty);
    }
    gpuchar_divergence_occupancy_result_free(&result);
    gpuchar_session_close(session);
    return gpu_finish();
}
