/* Recorded shapes: whether a recording can be true, whether it answers a call, and the answer, of all its points or of a part. */
#include <experiments/divergence_shapes_reduce.h>
#include <experiments/divergence_shapes_tables.h>
#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <experiments/untrusted.h>
#include <stdlib.h>
#include <string.h>

typedef gpuchar_divergence_shapes_options shapes_options;
typedef gpuchar_divergence_shapes_result shapes_result;
typedef gpuchar_divergence_shapes_point shapes_point;

/* ---- whether a recording can be true: a file may say anything ---- */

static bool is_shape(const gpuchar_divergence_shape *what) {
    for (size_t lane = 0; lane < GC_COUNT(what->lanes); ++lane) {
        if (what->lanes[lane] >= GC_SHAPES_PATHS) return false;
    }
    for (size_t node = 0; node < GC_COUNT(what->turns); ++node) {
        if (what->turns[node] < 1 || what->turns[node] > GC_SHAPES_TURNS_MAX) return false;
    }
    return true;
}

static bool is_timed(const gpuchar_stat *cycles) {
    return gc_is_summary(cycles) && gc_are_cycles(cycles->median);
}

static const char *find_wrong_point(const shapes_point *point) {
    if (!is_shape(&point->what)) return "points[].what";
    if (!is_timed(&point->cycles)) return "points[].cycles";
    return gc_is_amount(point->efficiency) ? NULL : "points[].efficiency";
}

/* The field that no call can have filled so; NULL when there is none. Shapes and flags of a newer library may appear. */
static const char *find_wrong(const shapes_result *recorded) {
    if (recorded->turns < 1 || recorded->turns > GC_SHAPES_UNIT_MAX) return "turns";
    if (recorded->launches < 1) return "launches";
    if (recorded->point_count < 1 || recorded->point_count > GC_SHAPES_POINTS_MAX) return "points";
    for (size_t i = 0; i < recorded->point_count; ++i) {
        const char *wrong = find_wrong_point(&recorded->points[i]);
        if (wrong) return wrong;
    }
    for (size_t i = 0; i < GC_SHAPES_PATHS; ++i) {
        if (!is_timed(&recorded->short_paths[i])) return "short_paths[]";
        if (!is_timed(&recorded->long_paths[i])) return "long_paths[]";
    }
    for (size_t i = 0; i < recorded->sample_count; ++i) {
        if (!gc_are_cycles(recorded->samples[i])) return "samples[]";
    }
    if (recorded->loop_instructions > UINT32_MAX) return "loop_instructions";
    return gc_find_wrong_evidence(&recorded->evidence);
}

/* ---- whether it answers ---- */

static size_t asked_count(const shapes_options *asked, const shapes_result *recorded) {
    const size_t count = (size_t)asked->shapes_count + asked->given_count;
    return count ? count : recorded->point_count;
}

static bool is_given(const shapes_point *point, const gpuchar_divergence_shape *given) {
    return memcmp(point->what.lanes, given->lanes, sizeof given->lanes) == 0 &&
           memcmp(point->what.turns, given->turns, sizeof given->turns) == 0;
}

/* The recorded point that is asked for in place `index`: named shapes by their names, the caller's own by what they are. */
static const shapes_point *find_point(const shapes_options *asked, const shapes_result *recorded, size_t index) {
    const bool all = asked->shapes_count + asked->given_count == 0, named = index < asked->shapes_count;
    if (all) return &recorded->points[index];
    for (size_t i = 0; i < recorded->point_count; ++i) {
        const shapes_point *point = &recorded->points[i];
        if (named ? point->shape == asked->shapes[index]
                  : is_given(point, &asked->given[index - asked->shapes_count])) {
            return point;
        }
    }
    return NULL;
}

/* Whether the samples of all points are there. */
static bool has_samples(const shapes_result *recorded) {
    const size_t launches = recorded->launches;
    if (recorded->point_count > recorded->sample_count / launches) return false;
    for (size_t i = 0; i < recorded->point_count; ++i) {
        if (recorded->points[i].sample_offset > recorded->sample_count - launches) return false;
    }
    return true;
}

static const char *compare(const shapes_options *asked, const shapes_result *recorded) {
    if (gc_differs(asked->turns, recorded->turns)) return "turns";
    if (gc_differs(asked->launches, recorded->launches)) return "launches";
    if (gc_differs(asked->seed, recorded->seed)) return "seed";
    if (asked->shapes_count > GC_COUNT(asked->shapes)) return "shapes_count";
    if (asked->given_count > GC_COUNT(asked->given)) return "given_count";
    for (size_t i = 0; i < asked_count(asked, recorded); ++i) {
        if (!find_point(asked, recorded, i)) return i < asked->shapes_count ? "shapes" : "given";
    }
    return asked->keep_samples && !has_samples(recorded) ? "keep_samples" : NULL;
}

/* ---- the points ---- */

/* Copies one recorded point and, when asked for, its samples, behind what the answer holds already. */
static void copy_point(const shapes_result *recorded, const shapes_point *point, shapes_result *answer) {
    shapes_point *made = &answer->points[answer->point_count++];
    *made = *point;
    made->sample_offset = answer->sample_count;
    gc_shapes_describe(made); /* what follows from the shape is not taken from a file */
    if (!answer->samples) return;
    memcpy(answer->samples + answer->sample_count, recorded->samples + point->sample_offset,
           recorded->launches * sizeof answer->samples[0]);
    answer->sample_count += recorded->launches;
}

static bool copy_points(const shapes_options *asked, const shapes_result *recorded, shapes_result *answer) {
    const size_t count = asked_count(asked, recorded);
    answer->points = calloc(count, sizeof answer->points[0]);
    answer->samples = asked->keep_samples ? calloc(count, recorded->launches * sizeof answer->samples[0]) : NULL;
    answer->point_count = 0;
    answer->sample_count = 0;
    if (!answer->points || (asked->keep_samples && !answer->samples)) {
        gc_divergence_shapes_free(answer);
        return false;
    }
    for (size_t i = 0; i < count; ++i) copy_point(recorded, find_point(asked, recorded, i), answer);
    return true;
}

/* ---- a part: no number in it may belong to points that it does not hold ---- */

static bool is_part(const shapes_options *asked, const shapes_result *recorded) {
    const size_t count = asked_count(asked, recorded);
    if (count != recorded->point_count) return true;
    for (size_t i = 0; i < count; ++i) {
        if (find_point(asked, recorded, i) != &recorded->points[i]) return true;
    }
    return false;
}

/* Unsteady by samples, which a part may not hold, or by a clock that moved, which all of them share. */
static bool clock_moved(const shapes_result *recorded) {
    uint32_t by_samples = 0;
    for (size_t i = 0; i < recorded->point_count; ++i) by_samples |= recorded->points[i].cycles.flags;
    for (size_t i = 0; i < GC_SHAPES_PATHS; ++i) {
        by_samples |= recorded->short_paths[i].flags | recorded->long_paths[i].flags;
    }
    return (recorded->evidence.flags & ~by_samples & GPUCHAR_FLAG_UNSTABLE) != 0;
}

/* What the whole call had: its clock, what it had cost. */
static void take_part(const shapes_result *recorded, shapes_result *part) {
    part->launches_ns = part->counters_ns = part->call_ns = part->device_memory_bytes = 0;
    part->evidence.sm_clock_hz = 0;
    part->evidence.known &= ~(uint32_t)GPUCHAR_EVIDENCE_CLOCK;
    part->evidence.flags &= ~(uint32_t)(GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_OFF_LAW);
    if (clock_moved(recorded)) part->evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
}

/* ---- what follows from the other numbers is worked out again: a file cannot say otherwise ---- */

static void derive_again(shapes_result *answer) {
    const uint32_t derived = GPUCHAR_SHAPES_POINT_PREDICTED | GPUCHAR_SHAPES_POINT_EXPECTED;
    for (size_t i = 0; i < answer->point_count; ++i) {
        shapes_point *point = &answer->points[i];
        point->known &= ~derived;
        point->expected_count = 0;
        point->predicted_cycles = point->longest_cycles = point->deviation = 0;
    }
    memset(&answer->slope, 0, sizeof answer->slope);
    memset(&answer->intercept, 0, sizeof answer->intercept);
    memset(&answer->shapes_slope, 0, sizeof answer->shapes_slope);
    answer->flatness = answer->largest_deviation = 0;
    answer->evidence.known &= ~(uint32_t)GPUCHAR_EVIDENCE_DECODED;
    answer->evidence.decoded_count = answer->evidence.scaffold_count = 0;
    gc_shapes_expect(answer);
    gc_shapes_recount(answer);
    if (answer->known & GPUCHAR_SHAPES_TIMED) gc_shapes_derive(answer);
}

/* ---- the answer ---- */

const char *gc_divergence_shapes_answer(const void *options, const void *recorded_result, void *result) {
    const shapes_options *asked = options;
    const shapes_result *recorded = recorded_result;
    shapes_result *answer = result, made = *recorded;
    const char *reason = find_wrong(recorded);
    if (!reason) reason = compare(asked, recorded);
    if (reason) return reason;
    if (!copy_points(asked, recorded, &made)) return gc_answer_no_memory;
    if (is_part(asked, recorded)) take_part(recorded, &made);
    derive_again(&made);
    /* Of the answer, not of the recording: a part can be steady where the whole is not, and the other way round. */
    reason = gc_evidence_unmet(&made.evidence, asked->counters, asked->require);
    if (reason) {
        gc_divergence_shapes_free(&made);
        return reason;
    }
    made.struct_size = answer->struct_size;
    *answer = made;
    return NULL;
}
