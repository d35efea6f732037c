#include <core/util.h>
#include <experiments/divergence_reduce.h>
#include <math.h>
#include <stats/stats.h>

static void shuffle(uint8_t lanes[32], uint64_t seed) {
    gc_random random = gc_random_seed(seed);
    for (uint32_t i = 31; i > 0; --i) {
        uint32_t j = gc_random_below(&random, i + 1);
        uint8_t kept = lanes[i];
        lanes[i] = lanes[j];
        lanes[j] = kept;
    }
}

void gc_divergence_lanes(const gpuchar_divergence_sweep_options *options, uint32_t ways, uint8_t lanes[32]) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
        uint32_t path = lane % ways;
        if (options->lane_map == GPUCHAR_LANES_CONTIGUOUS) path = lane * ways / 32;
        if (options->lane_map == GPUCHAR_LANES_GIVEN) path = options->lanes[lane];
        lanes[lane] = (uint8_t)path;
    }
    if (options->lane_map == GPUCHAR_LANES_RANDOM) shuffle(lanes, options->seed * UINT64_C(33) + ways);
}

uint32_t gc_divergence_given_ways(const uint32_t lanes[32]) {
    uint32_t seen = 0, ways = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        uint32_t bit = 1u << (lanes[lane] % 32);
        if (!(seen & bit)) ++ways;
        seen |= bit;
    }
    return ways;
}

void gc_divergence_summarize(const double *path_cycles, const double *point_cycles, uint32_t launches, uint32_t kind,
                             double *scratch, gpuchar_divergence_sweep_result *result) {
    double spread = kind == GPUCHAR_PATH_MEMORY ? GC_DIVERGENCE_SPREAD_MEMORY : GC_DIVERGENCE_SPREAD;
    for (size_t i = 0; i < 32; ++i) {
        result->paths[i] = gc_summarize(path_cycles + i * launches, launches, scratch, spread);
    }
    for (size_t i = 0; i < result->point_count; ++i) {
        result->points[i].cycles = gc_summarize(point_cycles + i * launches, launches, scratch, spread);
    }
}

/* Mean, spread over the paths, and whether any of them is unsteady or longer than the others: the law is about equal paths. */
static void derive_paths(gpuchar_divergence_sweep_result *result) {
    double mean = 0, low = INFINITY, high = 0;
    for (size_t i = 0; i < 32; ++i) {
        double median = result->paths[i].median;
        mean += median / 32;
        low = fmin(low, median);
        high = fmax(high, median);
        if (result->paths[i].flags & GPUCHAR_FLAG_UNSTABLE) result->evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
    }
    result->path_mean_cycles = mean;
    result->flatness = mean > 0 ? (high - low) / mean : 0;
    if (result->flatness > GC_DIVERGENCE_LAW) result->evidence.flags |= GPUCHAR_FLAG_OFF_LAW;
    result->known |= GPUCHAR_DIVERGENCE_TIMED;
}

/* What the points' counters say, against the machine code. The loops' own scaffold is known from there. */
static bool is_close(double value, double expected) {
    return fabs(value - expected) <= GC_DIVERGENCE_EFFICIENCY * expected;
}

/* What the counters must show: as many instructions as the machine code says, each with a k-th of the warp. */
static bool agrees(const gpuchar_divergence_point *point) {
    return (point->known & GPUCHAR_DIVERGENCE_POINT_EXPECTED) && point->executed_count == point->expected_count &&
           is_close(point->efficiency, 32.0 / point->ways);
}

static bool is_validated(const gpuchar_divergence_sweep_result *result) {
    return (result->known & GPUCHAR_DIVERGENCE_VALIDATED) && is_close(result->validation_convergent, 32) &&
           is_close(result->validation_two_way, 16) && is_close(result->validation_full, 1);
}

void gc_divergence_recount(gpuchar_divergence_sweep_result *result) {
    gpuchar_evidence *evidence = &result->evidence;
    bool proved = (evidence->flags & GPUCHAR_FLAG_PROVED) != 0, agree = proved && is_validated(result);
    uint64_t executed = 0;
    evidence->flags &= ~(uint32_t)GPUCHAR_FLAG_COUNTED;
    evidence->known &= ~(uint32_t)GPUCHAR_EVIDENCE_EXECUTED;
    evidence->executed_count = 0;
    if (evidence->counters_status != GPUCHAR_OK) return;
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_divergence_point *point = &result->points[i];
        if (!(point->known & GPUCHAR_DIVERGENCE_POINT_COUNTERS)) {
            evidence->counters_status = GPUCHAR_E_NOT_RECORDED;
            return;
        }
        if (point->executed_count > executed) executed = point->executed_count;
        agree = agree && agrees(point);
    }
    if (agree) evidence->flags |= GPUCHAR_FLAG_COUNTED;
    if (proved && !(evidence->known & GPUCHAR_EVIDENCE_DECODED)) return;
    evidence->executed_count = executed > evidence->scaffold_count ? executed - evidence->scaffold_count : 0;
    evidence->known |= GPUCHAR_EVIDENCE_EXECUTED;
}

static void derive_point(gpuchar_divergence_sweep_result *result, gpuchar_divergence_point *point) {
    point->ratio = point->cycles.median / result->path_mean_cycles;
    point->known |= GPUCHAR_DIVERGENCE_POINT_RATIO;
    if (point->cycles.flags & GPUCHAR_FLAG_UNSTABLE) result->evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
    if (fabs(point->ratio / point->ways - 1) > GC_DIVERGENCE_LAW) result->evidence.flags |= GPUCHAR_FLAG_OFF_LAW;
    if (point->ways == 32) {
        result->ratio_32 = point->ratio;
        result->known |= GPUCHAR_DIVERGENCE_RATIO32;
    }
}

#define GC_POINTS_MAX 32

static void derive_fit(gpuchar_divergence_sweep_result *result) {
    double x[GC_POINTS_MAX], y[GC_POINTS_MAX], scratch[GC_POINTS_MAX * (GC_POINTS_MAX - 1) / 2];
    gc_line line;
    size_t count = result->point_count < GC_POINTS_MAX ? result->point_count : GC_POINTS_MAX;
    for (size_t i = 0; i < count; ++i) {
        x[i] = result->points[i].ways;
        y[i] = result->points[i].cycles.median;
    }
    if (!gc_fit_line(x, y, count, &line)) return;
    result->slope = line.slope;
    result->intercept = line.intercept;
    if (line.slope.r2 < GC_DIVERGENCE_LAW_R2) result->evidence.flags |= GPUCHAR_FLAG_OFF_LAW;
    if (!gc_theil_sen(x, y, count, scratch, &result->slope_robust)) result->slope_robust = 0;
    for (size_t i = 0; i < count; ++i) {
        result->points[i].predicted_cycles = line.slope.value * x[i] + line.intercept.value;
        result->points[i].known |= GPUCHAR_DIVERGENCE_POINT_PREDICTED;
    }
    if (line.slope.value > 0) {
        result->intercept_ratio = fabs(line.intercept.value) / line.slope.value;
        result->known |= GPUCHAR_DIVERGENCE_INTERCEPT;
    }
}

void gc_divergence_derive(gpuchar_divergence_sweep_result *result) {
    derive_paths(result);
    if (!(result->path_mean_cycles > 0)) {
        result->evidence.flags |= GPUCHAR_FLAG_OFF_LAW;
        return;
    }
    for (size_t i = 0; i < result->point_count; ++i) derive_point(result, &result->points[i]);
    derive_fit(result);
}
