#include <experiments/evidence.h>
#include <experiments/experiment.h>
#include <experiments/occupancy_tables.h>
#include <experiments/untrusted.h>
#include <math.h>
#include <schema/table.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- fields ---- */

#define OPTIONS gpuchar_divergence_occupancy_options
#define RESULT gpuchar_divergence_occupancy_result

static const gpuchar_field options_fields[] = {
#define OF(member, unit, doc) GC_FIELD(OPTIONS, member, U32, unit, doc)
    GC_FIELD_COUNTED_ARRAY(OPTIONS, warps, U32, warps_count, "warps", "warps per SM"),
    GC_FIELD_COUNT(OPTIONS, warps_count, U32, "how many; 0: the default ones"),
    GC_FIELD_COUNTED_ARRAY(OPTIONS, bodies, U32, bodies_count, "instructions", "chained FFMA of one path's loop"),
    GC_FIELD_COUNT(OPTIONS, bodies_count, U32, "how many; 0: 64"),
    OF(ways, "paths", "of the divergent form"),
    OF(turns, "1", "of body 64"),
    OF(launches, "1", "timed launches per point and form"),
    OF(counters, "", "GPUCHAR_COUNTERS_..."),
    OF(require, "", "GPUCHAR_REQUIRE_... bits"),
    OF(reserved, "", "0"),
#undef OF
};
const gpuchar_schema gc_schema_divergence_occupancy_options = GC_SCHEMA(
    gpuchar_divergence_occupancy_options, options_fields, 1, GC_NONE, "what the occupancy experiment measures");

static const gpuchar_field point_fields[] = {
#define PF(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_occupancy_point, member, kind, unit, known, GPUCHAR_OCCUPANCY_POINT_##bit, doc)
    GC_FIELD(gpuchar_occupancy_point, body, U32, "instructions", "chained FFMA of one path's loop"),
    GC_FIELD(gpuchar_occupancy_point, warps, U32, "warps", "per SM"),
    GC_FIELD(gpuchar_occupancy_point, known, U32, "", "GPUCHAR_OCCUPANCY_POINT_... bits"),
    PF(uneven, U32, "1", TIMED, "SMs of all launches that ran another number of warps, and are not measured by"),
    GC_FIELD_STRUCT(gpuchar_occupancy_point, cycles_one, gc_schema_stat, "cycles", "all lanes on one path"),
    GC_FIELD_STRUCT(gpuchar_occupancy_point, cycles_ways, gc_schema_stat, "cycles", "each warp split into k paths"),
    PF(penalty, F64, "1", TIMED, "cycles_ways / cycles_one"),
    PF(issue_rate_one, F64, "instructions/cycle/SM", TIMED, "of the loops, by the machine code; 0 when not proved"),
    PF(issue_rate_ways, F64, "instructions/cycle/SM", TIMED, "the same, divergent form"),
    PF(efficiency, F64, "threads/instruction", COUNTERS, "active threads per instruction inside the paths"),
    PF(executed_count, U64, "instructions", COUNTERS, "of one warp's paths, by the counters"),
    PF(expected_count, U64, "instructions", EXPECTED, "the same by the machine code"),
#undef PF
};
const gpuchar_schema gc_schema_occupancy_point =
    GC_SCHEMA(gpuchar_occupancy_point, point_fields, 0, GC_NONE, "one body on so many warps per SM");

static const gpuchar_field body_fields[] = {
#define BF(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_occupancy_body, member, kind, unit, known, GPUCHAR_OCCUPANCY_BODY_##bit, doc)
    GC_FIELD(gpuchar_occupancy_body, body, U32, "instructions", "chained FFMA of one path's loop"),
    GC_FIELD(gpuchar_occupancy_body, known, U32, "", "GPUCHAR_OCCUPANCY_BODY_... bits"),
    BF(code_bytes, U64, "bytes", DECODED, "size of the timed region"),
    BF(penalty_min, F64, "1", TIMED, "smallest penalty over the warps"),
    BF(penalty_max, F64, "1", TIMED, "largest penalty"),
    BF(flatness, F64, "1", TIMED, "(largest - smallest penalty) / smallest"),
#undef BF
};
const gpuchar_schema gc_schema_occupancy_body =
    GC_SCHEMA(gpuchar_occupancy_body, body_fields, 0, GC_NONE, "one size of code over all warps");

static const gpuchar_field result_fields[] = {
#define RF(member, kind, unit, doc) GC_FIELD(RESULT, member, kind, unit, doc)
    RF(ways, U32, "paths", "of the divergent form"),
    RF(turns, U32, "1", "of body 64"),
    RF(launches, U32, "1", "timed launches per point and form"),
    RF(warmup_launches, U32, "1", "launches before the timed ones"),
    RF(sm_count, U32, "1", "SMs that ran"),
    RF(resident_warps, U32, "warps", "the most that an SM holds"),
    GC_FIELD_STRUCT_POINTED(RESULT, points, gc_schema_occupancy_point, point_count, "", "body after body"),
    GC_FIELD_COUNT(RESULT, point_count, U64, "number of points"),
    GC_FIELD_STRUCT_POINTED(RESULT, bodies, gc_schema_occupancy_body, body_count, "", "sizes of code"),
    GC_FIELD_COUNT(RESULT, body_count, U64, "number of bodies"),
    RF(compile_ns, U64, "ns", "0 when the kernels came from the cache"),
    RF(prove_ns, U64, "ns", "host time of the proofs"),
    RF(launches_ns, U64, "ns", "device time of all timing launches and their warm-up; 0: nothing was timed"),
    RF(counters_ns, U64, "ns", "host time of reading the counters"),
    RF(call_ns, U64, "ns", "host time of the whole call"),
    RF(device_memory_bytes, U64, "bytes", "the call's own allocations"),
    GC_FIELD_STRUCT(RESULT, evidence, gc_schema_evidence, "", "what stands behind it"),
#undef RF
};
const gpuchar_schema gc_schema_divergence_occupancy_result = GC_SCHEMA(
    gpuchar_divergence_occupancy_result, result_fields, 1, GC_NONE, "the penalty of divergence over the warps per SM");

void gc_occupancy_free(void *raw) {
    RESULT *result = raw;
    free(result->points);
    free(result->bodies);
    result->points = NULL;
    result->bodies = NULL;
    result->point_count = result->body_count = 0;
}

/* ---- text ---- */

static const char *number(double value, int decimals, char out[32]) {
    const gc_number made = gc_number_text(value, decimals, 10);
    snprintf(out, 32, "%s", made.text);
    return out;
}

static void text_point(const gpuchar_occupancy_point *point, gc_text *text) {
    char cells[6][32];
    const bool timed = (point->known & GPUCHAR_OCCUPANCY_POINT_TIMED) != 0;
    const bool rated = timed && (point->known & GPUCHAR_OCCUPANCY_POINT_EXPECTED);
    const bool counted = (point->known & GPUCHAR_OCCUPANCY_POINT_COUNTERS) != 0;
    gc_text_add(text, "  %4u  %6u  %10s  %10s  %8s  %10s  %10s  %13s\n", point->body, point->warps,
                number(timed ? point->cycles_one.median : NAN, 0, cells[0]),
                number(timed ? point->cycles_ways.median : NAN, 0, cells[1]),
                number(timed ? point->penalty : NAN, 3, cells[2]),
                number(rated ? point->issue_rate_one : NAN, 3, cells[3]),
                number(rated ? point->issue_rate_ways : NAN, 3, cells[4]),
                number(counted ? point->efficiency : NAN, 4, cells[5]));
}

/* The GPU gives blocks to whichever SM has room: in turns, not all SMs get as many. */
static void text_uneven(const gpuchar_occupancy_point *point, const RESULT *result, gc_text *text) {
    if (!(point->known & GPUCHAR_OCCUPANCY_POINT_TIMED)) {
        gc_text_add(text, "body %u, %u warps: not timed, in most launches no SM ran as many\n", point->body,
                    point->warps);
        return;
    }
    if (!point->uneven) return;
    gc_text_add(text, "body %u, %u warps: an SM ran another number of them %u times of %llu\n", point->body,
                point->warps, point->uneven, 2ull * result->launches * result->sm_count);
}

static void text_body(const gpuchar_occupancy_body *body, gc_text *text) {
    char cells[3][32];
    if (!(body->known & GPUCHAR_OCCUPANCY_BODY_TIMED)) return;
    gc_text_add(text, "body %u: %llu bytes of code, penalty %s to %s, flat within %s %%\n", body->body,
                (unsigned long long)body->code_bytes, number(body->penalty_min, 3, cells[0]),
                number(body->penalty_max, 3, cells[1]), number(100 * body->flatness, 2, cells[2]));
}

void gc_occupancy_text(const void *raw, gc_text *text) {
    const RESULT *result = raw;
    if (result->launches_ns) {
        gc_text_add(text, "                  cycles                            instructions/cycle\n");
        gc_text_add(text, "  body   warps    one path  %4u paths   penalty    one path  %4u paths  threads/instr\n",
                    result->ways, result->ways);
        for (size_t i = 0; i < result->point_count; ++i) text_point(&result->points[i], text);
        for (size_t i = 0; i < result->body_count; ++i) text_body(&result->bodies[i], text);
        for (size_t i = 0; i < result->point_count; ++i) text_uneven(&result->points[i], result, text);
    }
    gc_evidence_text(&result->evidence, text);
}

/* ---- recorded ---- */

/* All bodies have the same multiply-adds; loop control is a small part of what is executed with them. */
static bool is_expected(const RESULT *recorded, const gpuchar_occupancy_point *point) {
    const uint64_t work = (uint64_t)recorded->ways * recorded->turns * 64;
    return point->expected_count >= work && point->expected_count <= 2 * work;
}

static const char *find_wrong_point(const RESULT *recorded, const gpuchar_occupancy_point *point) {
    const double rates[] = {point->penalty, point->issue_rate_one, point->issue_rate_ways};
    if (point->warps < 1 || point->warps > GC_OCCUPANCY_WARPS_MAX) return "points[].warps";
    if ((point->known & GPUCHAR_OCCUPANCY_POINT_EXPECTED) && !is_expected(recorded, point)) {
        return "points[].expected_count";
    }
    if (!gc_is_summary(&point->cycles_one) || !gc_are_cycles(point->cycles_one.median)) return "points[].cycles_one";
    if (!gc_is_summary(&point->cycles_ways) || !gc_are_cycles(point->cycles_ways.median)) return "points[].cycles_ways";
    for (size_t i = 0; i < GC_COUNT(rates); ++i) {
        if (!gc_is_amount(rates[i])) return i == 0 ? "points[].penalty" : "points[].issue_rate";
    }
    return gc_are_threads(point->efficiency) ? NULL : "points[].efficiency";
}

static const char *find_wrong_body(const gpuchar_occupancy_body *body) {
    if (body->body < 1) return "bodies[].body";
    if (!gc_is_amount(body->penalty_min) || !gc_is_amount(body->penalty_max)) return "bodies[].penalty";
    return gc_is_amount(body->flatness) ? NULL : "bodies[].flatness";
}

static const char *find_wrong_size(const RESULT *recorded) {
    if (recorded->ways < 2 || recorded->ways > 32) return "ways";
    if (recorded->turns < 1 || recorded->turns > 65536) return "turns";
    if (recorded->launches < 1) return "launches";
    if (recorded->point_count < 1 || recorded->point_count > 64) return "points";
    if (recorded->body_count < 1 || recorded->body_count > 4) return "bodies";
    return recorded->point_count % recorded->body_count == 0 ? NULL : "points";
}

static const char *find_wrong(const RESULT *recorded) {
    const char *wrong = find_wrong_size(recorded);
    for (size_t i = 0; !wrong && i < recorded->body_count; ++i) wrong = find_wrong_body(&recorded->bodies[i]);
    for (size_t i = 0; !wrong && i < recorded->point_count; ++i) {
        const gpuchar_occupancy_point *point = &recorded->points[i];
        const size_t per_body = recorded->point_count / recorded->body_count;
        wrong =
            point->body == recorded->bodies[i / per_body].body ? find_wrong_point(recorded, point) : "points[].body";
    }
    return wrong ? wrong : gc_find_wrong_evidence(&recorded->evidence);
}

/* What follows from the other numbers is worked out again: a file cannot say otherwise. */
static void derive_again(RESULT *answer) {
    for (size_t i = 0; i < answer->point_count; ++i) {
        gpuchar_occupancy_point *point = &answer->points[i];
        point->known &= ~(uint32_t)GPUCHAR_OCCUPANCY_POINT_TIMED;
        point->penalty = point->issue_rate_one = point->issue_rate_ways = 0;
    }
    for (size_t i = 0; i < answer->body_count; ++i) {
        gpuchar_occupancy_body *body = &answer->bodies[i];
        body->known &= ~(uint32_t)GPUCHAR_OCCUPANCY_BODY_TIMED;
        body->penalty_min = body->penalty_max = body->flatness = 0;
    }
    gc_occupancy_derive(answer);
    gc_occupancy_recount(answer);
}

/* A recording answers for all its warps and bodies, or for none. */
static const char *compare_lists(const OPTIONS *asked, const RESULT *recorded) {
    const size_t per_body = recorded->point_count / recorded->body_count;
    if (asked->bodies_count && asked->bodies_count != recorded->body_count) return "bodies";
    for (uint32_t i = 0; i < asked->bodies_count; ++i) {
        if (asked->bodies[i] != recorded->bodies[i].body) return "bodies";
    }
    if (asked->warps_count && asked->warps_count != per_body) return "warps";
    for (uint32_t i = 0; i < asked->warps_count; ++i) {
        if (asked->warps[i] != recorded->points[i].warps) return "warps";
    }
    return NULL;
}

static void *copy_of(const void *from, size_t bytes) {
    void *made = malloc(bytes);
    if (made) memcpy(made, from, bytes);
    return made;
}

const char *gc_occupancy_answer(const void *options, const void *recorded_result, void *result) {
    const OPTIONS *asked = options;
    const RESULT *recorded = recorded_result;
    RESULT *answer = result, made = *recorded;
    const char *reason = find_wrong(recorded);
    if (!reason) reason = compare_lists(asked, recorded);
    if (!reason && asked->ways && asked->ways != recorded->ways) reason = "ways";
    if (!reason && asked->turns && asked->turns != recorded->turns) reason = "turns";
    if (!reason && asked->launches && asked->launches != recorded->launches) reason = "launches";
    if (reason) return reason;
    made.points = copy_of(recorded->points, recorded->point_count * sizeof made.points[0]);
    made.bodies = copy_of(recorded->bodies, recorded->body_count * sizeof made.bodies[0]);
    if (!made.points || !made.bodies) {
        gc_occupancy_free(&made);
        return gc_answer_no_memory;
    }
    derive_again(&made);
    reason = gc_evidence_unmet(&made.evidence, asked->counters, asked->require);
    if (reason) {
        gc_occupancy_free(&made);
        return reason;
    }
    made.struct_size = answer->struct_size;
    *answer = made;
    return NULL;
}
