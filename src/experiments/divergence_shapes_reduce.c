#include <core/util.h>
#include <experiments/divergence_shapes_reduce.h>
#include <math.h>
#include <stats/stats.h>
#include <string.h>

/* ---- shapes ---- */

#define ROOT 0
#define FIRST_LEAF 31

static void fill(gpuchar_divergence_shape *what, uint32_t turns) {
    memset(what, 0, sizeof *what);
    for (uint32_t i = 0; i < GPUCHAR_SHAPE_NODES; ++i) what->turns[i] = turns;
}

/* Lane i takes the (i % ways)-th of the paths 0, stride, 2 stride ... */
static void spread(gpuchar_divergence_shape *what, uint32_t ways, uint32_t stride) {
    for (uint32_t lane = 0; lane < 32; ++lane) what->lanes[lane] = lane % ways * stride;
}

static void set_path(gpuchar_divergence_shape *what, uint32_t path, uint64_t turns) {
    what->turns[FIRST_LEAF + path] = turns > 0 ? (uint32_t)turns : 1;
}

/* 9 u / 2^((31 - path) / 4), in whole numbers: quarters of a power of two, in thousandths. */
static uint64_t geometric(uint32_t path, uint32_t unit) {
    static const uint64_t quarters[] = {1000, 841, 707, 595};
    const uint32_t down = 31 - path;
    return (9 * unit * quarters[down % 4] / 1000) >> (down / 4);
}

static uint64_t unequal(uint32_t shape, uint32_t path, uint32_t unit) {
    if (shape == GPUCHAR_SHAPE_LINEAR) return (uint64_t)(path + 1) * unit / 12;
    if (shape == GPUCHAR_SHAPE_GEOMETRIC) return geometric(path, unit);
    return path == 0 ? 16 * unit : unit;
}

void gc_shapes_plan(uint32_t shape, uint32_t unit, gpuchar_divergence_shape *what) {
    const bool nested = shape <= GPUCHAR_SHAPE_LATE_16;
    fill(what, nested ? unit : 1);
    if (shape <= GPUCHAR_SHAPE_EARLY_32) {
        const uint32_t ways = 1u << (shape - GPUCHAR_SHAPE_EARLY_1);
        spread(what, ways, 32 / ways);
    } else if (nested) {
        spread(what, 2u << (shape - GPUCHAR_SHAPE_LATE_2), 1);
    } else if (shape <= GPUCHAR_SHAPE_RATIO_16) {
        spread(what, 2, 16);
        set_path(what, 0, 16 * unit);
        set_path(what, 16, 16 * unit >> (shape - GPUCHAR_SHAPE_RATIO_1));
    } else {
        spread(what, 32, 1);
        for (uint32_t path = 0; path < 32; ++path) set_path(what, path, unequal(shape, path, unit));
    }
}

void gc_shapes_plan_path(uint32_t path, uint32_t turns, gpuchar_divergence_shape *what) {
    fill(what, turns);
    for (uint32_t lane = 0; lane < 32; ++lane) what->lanes[lane] = path;
}

/* Adds a lane's way through the tree; its turns. */
static uint64_t follow(const gpuchar_divergence_shape *what, uint32_t lane, uint32_t lanes_at[GPUCHAR_SHAPE_NODES]) {
    uint64_t turns = 0;
    uint32_t node = FIRST_LEAF + what->lanes[lane] % GC_SHAPES_PATHS;
    for (;; node = (node - 1) / 2) {
        lanes_at[node]++;
        turns += what->turns[node];
        if (node == ROOT) return turns;
    }
}

void gc_shapes_describe(gpuchar_divergence_shapes_point *point) {
    uint32_t lanes_at[GPUCHAR_SHAPE_NODES] = {0};
    uint64_t thread_turns = 0;
    point->paths = point->nodes = 0;
    point->turns = point->longest_turns = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint64_t turns = follow(&point->what, lane, lanes_at);
        thread_turns += turns;
        if (turns > point->longest_turns) point->longest_turns = turns;
    }
    for (uint32_t node = 0; node < GPUCHAR_SHAPE_NODES; ++node) {
        if (!lanes_at[node]) continue;
        point->nodes++;
        point->paths += node >= FIRST_LEAF;
        point->turns += point->what.turns[node];
    }
    point->expected_efficiency = point->turns ? (double)thread_turns / (double)point->turns : 0;
}

/* ---- what the machine code says ---- */

void gc_shapes_expect(gpuchar_divergence_shapes_result *result) {
    gpuchar_evidence *evidence = &result->evidence;
    const bool proved = (evidence->flags & GPUCHAR_FLAG_PROVED) != 0 && result->loop_instructions >= GC_SHAPES_BODY;
    uint64_t most = 0;
    for (size_t i = 0; i < result->point_count; ++i) {
        gpuchar_divergence_shapes_point *point = &result->points[i];
        if (point->turns > most) most = point->turns;
        if (!proved) continue;
        point->expected_count = point->turns * result->loop_instructions;
        point->known |= GPUCHAR_SHAPES_POINT_EXPECTED;
    }
    evidence->intended_count = most * GC_SHAPES_BODY;
    if (!proved) return;
    evidence->decoded_count = most * GC_SHAPES_BODY;
    evidence->scaffold_count = most * (result->loop_instructions - GC_SHAPES_BODY);
    evidence->known |= GPUCHAR_EVIDENCE_DECODED;
}

/* ---- times ---- */

void gc_shapes_summarize(const double *cycles, uint32_t launches, double *scratch,
                         gpuchar_divergence_shapes_result *result) {
    const size_t count = 2 * GC_SHAPES_PATHS + result->point_count;
    for (size_t i = 0; i < count; ++i) {
        gpuchar_stat *to = i < GC_SHAPES_PATHS       ? &result->short_paths[i]
                           : i < 2 * GC_SHAPES_PATHS ? &result->long_paths[i - GC_SHAPES_PATHS]
                                                     : &result->points[i - 2 * GC_SHAPES_PATHS].cycles;
        *to = gc_summarize(cycles + i * launches, launches, scratch, GC_DIVERGENCE_SPREAD);
    }
}

static void flag(gpuchar_divergence_shapes_result *result, uint32_t flags) {
    result->evidence.flags |= flags;
}

/* s and c from single paths in two lengths: 64 points, of which no lane diverges. False when there is no such line. */
static bool derive_line(gpuchar_divergence_shapes_result *result) {
    double x[2 * GC_SHAPES_PATHS], y[2 * GC_SHAPES_PATHS], low = INFINITY, high = 0;
    const double turns = GC_SHAPES_LEVELS * (double)result->turns, more = (GC_SHAPES_LONG - 1) * turns;
    gc_line line;
    for (size_t i = 0; i < GC_SHAPES_PATHS; ++i) {
        const gpuchar_stat *brief = &result->short_paths[i], *lasting = &result->long_paths[i];
        const double own = (lasting->median - brief->median) / more;
        low = fmin(low, own);
        high = fmax(high, own);
        x[2 * i] = turns;
        x[2 * i + 1] = GC_SHAPES_LONG * turns;
        y[2 * i] = brief->median;
        y[2 * i + 1] = lasting->median;
        flag(result, (brief->flags | lasting->flags) & GPUCHAR_FLAG_UNSTABLE);
    }
    if (!gc_fit_line(x, y, GC_COUNT(x), &line) || !(line.slope.value > 0)) return false;
    result->slope = line.slope;
    result->intercept = line.intercept;
    result->flatness = (high - low) / line.slope.value;
    if (result->flatness > GC_SHAPES_LAW) flag(result, GPUCHAR_FLAG_OFF_LAW);
    return true;
}

static void derive_point(gpuchar_divergence_shapes_result *result, gpuchar_divergence_shapes_point *point) {
    const double slope = result->slope.value, intercept = result->intercept.value;
    const double predicted = slope * (double)point->turns + intercept;
    flag(result, point->cycles.flags & GPUCHAR_FLAG_UNSTABLE);
    if (!(predicted > 0)) {
        flag(result, GPUCHAR_FLAG_OFF_LAW);
        return;
    }
    point->predicted_cycles = predicted;
    point->longest_cycles = slope * (double)point->longest_turns + intercept;
    point->deviation = point->cycles.median / predicted - 1;
    point->known |= GPUCHAR_SHAPES_POINT_PREDICTED;
    result->largest_deviation = fmax(result->largest_deviation, fabs(point->deviation));
}

static void derive_shapes_line(gpuchar_divergence_shapes_result *result) {
    double x[GC_SHAPES_POINTS_MAX], y[GC_SHAPES_POINTS_MAX];
    const size_t count = result->point_count < GC_SHAPES_POINTS_MAX ? result->point_count : GC_SHAPES_POINTS_MAX;
    gc_line line;
    for (size_t i = 0; i < count; ++i) {
        x[i] = (double)result->points[i].turns;
        y[i] = result->points[i].cycles.median;
    }
    if (gc_fit_line(x, y, count, &line)) result->shapes_slope = line.slope;
}

void gc_shapes_derive(gpuchar_divergence_shapes_result *result) {
    result->known |= GPUCHAR_SHAPES_TIMED;
    result->flatness = result->largest_deviation = 0;
    if (!derive_line(result)) {
        flag(result, GPUCHAR_FLAG_OFF_LAW);
        return;
    }
    for (size_t i = 0; i < result->point_count; ++i) derive_point(result, &result->points[i]);
    if (result->largest_deviation > GC_SHAPES_LAW) flag(result, GPUCHAR_FLAG_OFF_LAW);
    derive_shapes_line(result);
}

/* ---- counters ---- */

static bool agrees(const gpuchar_divergence_shapes_point *point) {
    const double expected = point->expected_efficiency;
    return (point->known & GPUCHAR_SHAPES_POINT_EXPECTED) && point->executed_count == point->expected_count &&
           fabs(point->efficiency - expected) <= GC_DIVERGENCE_EFFICIENCY * expected;
}

void gc_shapes_recount(gpuchar_divergence_shapes_result *result) {
    gpuchar_evidence *evidence = &result->evidence;
    const bool proved = (evidence->flags & GPUCHAR_FLAG_PROVED) != 0;
    bool agree = proved;
    uint64_t executed = 0;
    evidence->flags &= ~(uint32_t)GPUCHAR_FLAG_COUNTED;
    evidence->known &= ~(uint32_t)GPUCHAR_EVIDENCE_EXECUTED;
    evidence->executed_count = 0;
    if (evidence->counters_status != GPUCHAR_OK) return;
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_divergence_shapes_point *point = &result->points[i];
        if (!(point->known & GPUCHAR_SHAPES_POINT_COUNTERS)) {
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
