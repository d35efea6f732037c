/* Recorded sweeps: whether one can be true, whether it answers a call, and the answer, of all its points or of a part. */
#include <experiments/divergence_reduce.h>
#include <experiments/divergence_tables.h>
#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <experiments/untrusted.h>
#include <stdlib.h>
#include <string.h>

/* ---- whether a recording can be true: a file may say anything ---- */

/* The machine code's count follows from three other numbers, and the counters are judged by it. */
static bool is_expected(const gpuchar_divergence_sweep_result *recorded, const gpuchar_divergence_point *point) {
    if (!(point->known & GPUCHAR_DIVERGENCE_POINT_EXPECTED)) return true;
    return (recorded->known & GPUCHAR_DIVERGENCE_DECODED) &&
           point->expected_count == (uint64_t)point->ways * recorded->iterations * recorded->loop_instructions;
}

static const char *find_wrong_point(const gpuchar_divergence_sweep_result *recorded,
                                    const gpuchar_divergence_point *point) {
    if (point->ways < 1 || point->ways > 32) return "points[].ways";
    if (!gc_is_summary(&point->cycles) || !gc_are_cycles(point->cycles.median)) return "points[].cycles";
    if (point->cycles.samples && point->cycles.samples != recorded->launches) return "points[].cycles.samples";
    if (!gc_is_of_line(point->predicted_cycles)) return "points[].predicted_cycles";
    if (!gc_are_threads(point->efficiency)) return "points[].efficiency";
    if (!gc_are_threads(point->efficiency_kernel)) return "points[].efficiency_kernel";
    if (!is_expected(recorded, point)) return "points[].expected_count";
    return gc_is_amount(point->ratio) ? NULL : "points[].ratio";
}

static const char *find_wrong_number(const gpuchar_divergence_sweep_result *recorded) {
    for (size_t i = 0; i < GC_COUNT(recorded->paths); ++i) {
        if (!gc_is_summary(&recorded->paths[i]) || !gc_are_cycles(recorded->paths[i].median)) return "paths[]";
    }
    for (size_t i = 0; i < recorded->sample_count; ++i) {
        if (!gc_are_cycles(recorded->samples[i])) return "samples[]";
    }
    if (!gc_is_summary(&recorded->sm_clock_hz)) return "sm_clock_hz";
    if (!gc_is_amount(recorded->path_mean_cycles)) return "path_mean_cycles";
    if (!gc_is_amount(recorded->flatness)) return "flatness";
    if (!gc_is_amount(recorded->ratio_32)) return "ratio_32";
    if (!gc_is_amount(recorded->intercept_ratio)) return "intercept_ratio";
    if (!gc_is_fit(&recorded->slope)) return "slope";
    if (!gc_is_fit(&recorded->intercept)) return "intercept";
    if (!gc_is_of_line(recorded->slope_robust)) return "slope_robust";
    if (!gc_are_threads(recorded->validation_convergent)) return "validation_convergent";
    if (!gc_are_threads(recorded->validation_two_way)) return "validation_two_way";
    return gc_are_threads(recorded->validation_full) ? NULL : "validation_full";
}

/* The field that no sweep can have filled so; NULL when there is none. Kinds, maps and flags of a newer library may appear. */
static const char *find_wrong(const gpuchar_divergence_sweep_result *recorded) {
    if (recorded->body < 1) return "body";
    if (recorded->iterations < 1) return "iterations";
    if (recorded->launches < 1) return "launches";
    if (recorded->point_count < 1 || recorded->point_count > 32) return "points";
    for (size_t i = 0; i < recorded->point_count; ++i) {
        const char *wrong = find_wrong_point(recorded, &recorded->points[i]);
        if (wrong) return wrong;
    }
    const char *wrong = find_wrong_number(recorded);
    return wrong ? wrong : gc_find_wrong_evidence(&recorded->evidence);
}

/* ---- whether it answers ---- */

/* Whether the samples of all points are there. */
static bool has_samples(const gpuchar_divergence_sweep_result *recorded) {
    size_t launches = recorded->launches;
    if (recorded->point_count > recorded->sample_count / launches) return false;
    for (size_t i = 0; i < recorded->point_count; ++i) {
        if (recorded->points[i].sample_offset > recorded->sample_count - launches) return false;
    }
    return true;
}

static const gpuchar_divergence_point *find_point(const gpuchar_divergence_sweep_result *recorded, uint32_t ways) {
    for (size_t i = 0; i < recorded->point_count; ++i) {
        if (recorded->points[i].ways == ways) return &recorded->points[i];
    }
    return NULL;
}

static const char *compare(const gpuchar_divergence_sweep_options *asked,
                           const gpuchar_divergence_sweep_result *recorded) {
    if (gc_differs(asked->kind, recorded->kind)) return "kind";
    if (gc_differs(asked->lane_map, recorded->lane_map)) return "lane_map";
    if (asked->lane_map == GPUCHAR_LANES_GIVEN) return "lanes";
    if (gc_differs(asked->body, recorded->body)) return "body";
    if (gc_differs(asked->iterations, recorded->iterations)) return "iterations";
    if (gc_differs(asked->launches, recorded->launches)) return "launches";
    if (gc_differs(asked->seed, recorded->seed)) return "seed";
    if (asked->ways_count > 32) return "ways_count";
    for (uint32_t i = 0; i < asked->ways_count; ++i) {
        if (!find_point(recorded, asked->ways[i])) return "ways";
    }
    return asked->keep_samples && !has_samples(recorded) ? "keep_samples" : NULL;
}

/* ---- the points ---- */

/* Copies one recorded point and, when asked for, its samples, behind what the answer holds already. */
static void copy_point(const gpuchar_divergence_sweep_result *recorded, const gpuchar_divergence_point *point,
                       gpuchar_divergence_sweep_result *answer) {
    gpuchar_divergence_point *made = &answer->points[answer->point_count++];
    *made = *point;
    made->sample_offset = answer->sample_count;
    if (!answer->samples) return;
    memcpy(answer->samples + answer->sample_count, recorded->samples + point->sample_offset,
           recorded->launches * sizeof answer->samples[0]);
    answer->sample_count += recorded->launches;
}

static bool copy_points(const gpuchar_divergence_sweep_options *asked, const gpuchar_divergence_sweep_result *recorded,
                        gpuchar_divergence_sweep_result *answer) {
    size_t count = asked->ways_count ? asked->ways_count : recorded->point_count;
    answer->points = calloc(count, sizeof answer->points[0]);
    answer->samples = asked->keep_samples ? calloc(count, recorded->launches * sizeof answer->samples[0]) : NULL;
    answer->point_count = 0;
    answer->sample_count = 0;
    if (!answer->points || (asked->keep_samples && !answer->samples)) {
        gc_divergence_sweep_free(answer);
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        copy_point(recorded, asked->ways_count ? find_point(recorded, asked->ways[i]) : &recorded->points[i], answer);
    }
    return true;
}

/* ---- a part of a sweep: no number in it may belong to points that it does not hold ---- */

static bool is_part(const gpuchar_divergence_sweep_options *asked, const gpuchar_divergence_sweep_result *recorded) {
    if (asked->ways_count == 0) return false;
    if (asked->ways_count != recorded->point_count) return true;
    for (size_t i = 0; i < recorded->point_count; ++i) {
        if (recorded->points[i].ways != asked->ways[i]) return true;
    }
    return false;
}

/* What the whole sweep had: its clock, what its call had cost. */
static void forget_whole(gpuchar_divergence_sweep_result *part) {
    memset(&part->sm_clock_hz, 0, sizeof part->sm_clock_hz);
    part->launches_ns = part->counters_ns = part->call_ns = part->device_memory_bytes = 0;
    part->evidence.sm_clock_hz = 0;
    part->evidence.known &= ~(uint32_t)GPUCHAR_EVIDENCE_CLOCK;
    part->evidence.flags &= ~(uint32_t)(GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW);
}

/* A sweep is unsteady by its samples, which its parts may not hold, or by a clock that moved, which all of them share. */
static bool clock_moved(const gpuchar_divergence_sweep_result *recorded) {
    uint32_t by_samples = 0;
    for (size_t i = 0; i < recorded->point_count; ++i) by_samples |= recorded->points[i].cycles.flags;
    for (size_t i = 0; i < GC_COUNT(recorded->paths); ++i) by_samples |= recorded->paths[i].flags;
    return (recorded->evidence.flags & ~by_samples & GPUCHAR_FLAG_UNSTABLE) != 0;
}

static uint32_t most_ways(const gpuchar_divergence_sweep_result *result) {
    uint32_t most = 1; /* the least that find_wrong lets pass */
    for (size_t i = 0; i < result->point_count; ++i) {
        if (result->points[i].ways > most) most = result->points[i].ways;
    }
    return most;
}

/* Counts are those of the point with most paths, and each path has the same: one that does not divide is unknown. */
static bool scale(uint64_t *count, uint32_t ways, uint32_t recorded_ways) {
    bool divides = *count % recorded_ways == 0;
    *count = divides ? *count / recorded_ways * ways : 0;
    return divides;
}

static void scale_counts(gpuchar_evidence *evidence, uint32_t ways, uint32_t recorded_ways) {
    scale(&evidence->intended_count, ways, recorded_ways);
    bool decoded = scale(&evidence->decoded_count, ways, recorded_ways);
    bool scaffold = scale(&evidence->scaffold_count, ways, recorded_ways);
    if (decoded && scaffold) return;
    evidence->decoded_count = evidence->scaffold_count = 0;
    evidence->known &= ~(uint32_t)GPUCHAR_EVIDENCE_DECODED;
}

static void take_part(const gpuchar_divergence_sweep_result *recorded, gpuchar_divergence_sweep_result *part) {
    forget_whole(part);
    if (clock_moved(recorded)) part->evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
    scale_counts(&part->evidence, most_ways(part), most_ways(recorded));
}

/* ---- what follows from the other numbers is worked out again: a file cannot say otherwise ---- */

static void forget_derived(gpuchar_divergence_sweep_result *answer) {
    const uint32_t derived = GPUCHAR_DIVERGENCE_POINT_PREDICTED | GPUCHAR_DIVERGENCE_POINT_RATIO;
    for (size_t i = 0; i < answer->point_count; ++i) {
        answer->points[i].known &= ~derived;
        answer->points[i].predicted_cycles = answer->points[i].ratio = 0;
    }
    memset(&answer->slope, 0, sizeof answer->slope);
    memset(&answer->intercept, 0, sizeof answer->intercept);
    answer->slope_robust = answer->ratio_32 = answer->intercept_ratio = 0;
    answer->known &= ~(uint32_t)(GPUCHAR_DIVERGENCE_RATIO32 | GPUCHAR_DIVERGENCE_INTERCEPT);
}

static void derive_again(gpuchar_divergence_sweep_result *answer) {
    forget_derived(answer);
    gc_divergence_recount(answer);
    if (answer->known & GPUCHAR_DIVERGENCE_TIMED) gc_divergence_derive(answer);
}

/* ---- the answer ---- */

const char *gc_divergence_sweep_answer(const void *options, const void *recorded_result, void *result) {
    const gpuchar_divergence_sweep_options *asked = options;
    const gpuchar_divergence_sweep_result *recorded = recorded_result;
    gpuchar_divergence_sweep_result *answer = result, made = *recorded;
    const char *reason = find_wrong(recorded);
    if (!reason) reason = compare(asked, recorded);
    if (reason) return reason;
    if (!copy_points(asked, recorded, &made)) return gc_answer_no_memory;
    if (is_part(asked, recorded)) take_part(recorded, &made);
    derive_again(&made);
    /* Of the answer, not of the recording: a part of a sweep can be steady where the whole is not, and the other way round. */
    reason = gc_evidence_unmet(&made.evidence, asked->counters, asked->require);
    if (reason) {
        gc_divergence_sweep_free(&made);
        return reason;
    }
    made.struct_size = answer->struct_size;
    *answer = made;
    return NULL;
}
