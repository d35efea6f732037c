/* Recorded comparisons: whether one can be true, whether it answers a call, and the answer, of all its points or of a part. */
#include <core/util.h>
#include <experiments/experiment.h>
#include <experiments/predication_reduce.h>
#include <experiments/predication_tables.h>
#include <experiments/evidence.h>
#include <experiments/untrusted.h>
#include <stdlib.h>
#include <string.h>

typedef gpuchar_predication_compare_options compare_options;
typedef gpuchar_predication_compare_result compare_result;

/* ---- whether a recording can be true ---- */

static const char *find_wrong_point(const gpuchar_predication_point *point) {
    if (point->warps < 1 || point->warps > 32) return "points[].warps";
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        const gpuchar_stat *cycles = &point->cycles[form];
        if (!gc_is_summary(cycles) || !gc_are_cycles(cycles->median)) return "points[].cycles";
    }
    if (!gc_is_amount(point->branch_ratio)) return "points[].branch_ratio";
    if (!gc_is_amount(point->predicated_ratio)) return "points[].predicated_ratio";
    return gc_is_amount(point->gain) ? NULL : "points[].gain";
}

/* The field that no comparison can have filled so; NULL when there is none. Flags of a newer library may appear. */
static const char *find_wrong(const compare_result *recorded) {
    if (recorded->body < 1) return "body";
    if (recorded->iterations < 1) return "iterations";
    if (recorded->launches < 1) return "launches";
    if (recorded->point_count < 1 || recorded->point_count > 32) return "points";
    for (size_t i = 0; i < recorded->point_count; ++i) {
        const char *wrong = find_wrong_point(&recorded->points[i]);
        if (wrong) return wrong;
    }
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        if (recorded->forms[form].form != form) return "forms[].form";
        if (!gc_is_amount(recorded->forms[form].efficiency)) return "forms[].efficiency";
    }
    for (size_t i = 0; i < recorded->sample_count; ++i) {
        if (!gc_are_cycles(recorded->samples[i])) return "samples[]";
    }
    return gc_is_amount(recorded->evidence.sm_clock_hz) ? NULL : "evidence.sm_clock_hz";
}

/* ---- whether it answers ---- */

/* Samples of one point. */
static size_t block_of(const compare_result *recorded) {
    return (size_t)GPUCHAR_FORMS * recorded->launches;
}

static bool has_samples(const compare_result *recorded) {
    const size_t block = block_of(recorded);
    if (recorded->point_count > recorded->sample_count / block) return false;
    for (size_t i = 0; i < recorded->point_count; ++i) {
        if (recorded->points[i].sample_offset > recorded->sample_count - block) return false;
    }
    return true;
}

static const gpuchar_predication_point *find_point(const compare_result *recorded, uint32_t warps) {
    for (size_t i = 0; i < recorded->point_count; ++i) {
        if (recorded->points[i].warps == warps) return &recorded->points[i];
    }
    return NULL;
}

static const char *compare(const compare_options *asked, const compare_result *recorded) {
    if (gc_differs(asked->body, recorded->body)) return "body";
    if (gc_differs(asked->iterations, recorded->iterations)) return "iterations";
    if (gc_differs(asked->launches, recorded->launches)) return "launches";
    if (gc_differs(asked->seed, recorded->seed)) return "seed";
    if (asked->warps_count > 32) return "warps_count";
    for (uint32_t i = 0; i < asked->warps_count; ++i) {
        if (!find_point(recorded, asked->warps[i])) return "warps";
    }
    return asked->keep_samples && !has_samples(recorded) ? "keep_samples" : NULL;
}

/* ---- the arrays ---- */

/* Copies one recorded point and, when asked for, its samples, behind what the answer holds already. */
static void copy_point(const compare_result *recorded, const gpuchar_predication_point *point, compare_result *answer) {
    gpuchar_predication_point *made = &answer->points[answer->point_count++];
    *made = *point;
    made->sample_offset = answer->sample_count;
    if (!answer->samples) return;
    memcpy(answer->samples + answer->sample_count, recorded->samples + point->sample_offset,
           block_of(recorded) * sizeof answer->samples[0]);
    answer->sample_count += block_of(recorded);
}

static bool copy_lengths(const compare_result *recorded, compare_result *answer) {
    const size_t bytes = recorded->length_count * sizeof recorded->lengths[0];
    answer->lengths = bytes ? malloc(bytes) : NULL;
    answer->length_count = 0;
    if (bytes == 0) return true;
    if (!answer->lengths) return false;
    memcpy(answer->lengths, recorded->lengths, bytes);
    answer->length_count = recorded->length_count;
    return true;
}

static bool copy_arrays(const compare_options *asked, const compare_result *recorded, compare_result *answer) {
    const size_t count = asked->warps_count ? asked->warps_count : recorded->point_count;
    answer->points = calloc(count, sizeof answer->points[0]);
    answer->samples = asked->keep_samples ? calloc(count, block_of(recorded) * sizeof answer->samples[0]) : NULL;
    answer->point_count = answer->sample_count = 0;
    if (!copy_lengths(recorded, answer) || !answer->points || (asked->keep_samples && !answer->samples)) {
        gc_predication_compare_free(answer);
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        copy_point(recorded, asked->warps_count ? find_point(recorded, asked->warps[i]) : &recorded->points[i], answer);
    }
    return true;
}

/* ---- a part: no number in it may belong to points that it does not hold ---- */

static bool is_part(const compare_options *asked, const compare_result *recorded) {
    if (asked->warps_count == 0) return false;
    if (asked->warps_count != recorded->point_count) return true;
    for (size_t i = 0; i < recorded->point_count; ++i) {
        if (recorded->points[i].warps != asked->warps[i]) return true;
    }
    return false;
}

/* A call is unsteady by its samples, which its parts may not hold, or by a clock that moved, which all of them share. */
static bool clock_moved(const compare_result *recorded) {
    uint32_t by_samples = 0;
    for (size_t i = 0; i < recorded->point_count; ++i) {
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) by_samples |= recorded->points[i].cycles[form].flags;
    }
    return (recorded->evidence.flags & ~by_samples & GPUCHAR_FLAG_UNSTABLE) != 0;
}

/* Forms, lengths and the evidence's counts are those of one warp: every part has them. */
static void take_part(const compare_result *recorded, compare_result *part) {
    part->launches_ns = part->counters_ns = part->call_ns = part->device_memory_bytes = 0;
    part->evidence.sm_clock_hz = 0;
    part->evidence.known &= ~(uint32_t)GPUCHAR_EVIDENCE_CLOCK;
    part->evidence.flags &= ~(uint32_t)GPUCHAR_FLAG_UNSTABLE;
    if (clock_moved(recorded)) part->evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
    if (part->known & GPUCHAR_PREDICATION_TIMED) gc_predication_derive(part);
}

/* ---- the answer ---- */

const char *gc_predication_compare_answer(const void *options, const void *recorded_result, void *result) {
    const compare_options *asked = options;
    const compare_result *recorded = recorded_result;
    compare_result *answer = result, made = *recorded;
    const char *reason = find_wrong(recorded);
    if (!reason) reason = compare(asked, recorded);
    if (reason) return reason;
    if (!copy_arrays(asked, recorded, &made)) return gc_answer_no_memory;
    if (is_part(asked, recorded)) take_part(recorded, &made);
    /* Of the answer, not of the recording: a part can be steady where the whole is not, and the other way round. */
    reason = gc_evidence_unmet(&made.evidence, asked->counters, asked->require);
    if (reason) {
        gc_predication_compare_free(&made);
        return reason;
    }
    made.struct_size = answer->struct_size;
    *answer = made;
    return NULL;
}
