#include <experiments/divergence_shapes_tables.h>
#include <experiments/evidence.h>
#include <math.h>
#include <schema/table.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- fields ---- */

static const gpuchar_field shape_fields[] = {
    GC_FIELD_ARRAY(gpuchar_divergence_shape, lanes, U32, "", "path of each lane"),
    GC_FIELD_ARRAY(gpuchar_divergence_shape, turns, U32, "1", "turns of each node's loop"),
};
const gpuchar_schema gc_schema_divergence_shape =
    GC_SCHEMA(gpuchar_divergence_shape, shape_fields, 0, GC_NONE, "who takes which path, how often each loop turns");

static const gpuchar_field options_fields[] = {
#define OF(member, kind, unit, doc) GC_FIELD(gpuchar_divergence_shapes_options, member, kind, unit, doc)
    GC_FIELD_COUNTED_ARRAY(gpuchar_divergence_shapes_options, shapes, U32, shapes_count, "",
                           "GPUCHAR_SHAPE_..., those to measure"),
    GC_FIELD_COUNT(gpuchar_divergence_shapes_options, shapes_count, U32,
                   "how many; 0: all named ones, when none is given"),
    OF(turns, U32, "1", "u, what the named shapes are multiples of"),
    OF(launches, U32, "1", "timed launches per point"),
    OF(counters, U32, "", "GPUCHAR_COUNTERS_..."),
    OF(require, U32, "", "GPUCHAR_REQUIRE_... bits"),
    OF(keep_samples, U32, "", "1: the result holds the cycles of each launch"),
    OF(seed, U32, "", "of the operands"),
    GC_FIELD_COUNT(gpuchar_divergence_shapes_options, given_count, U32, "how many shapes of the caller's own"),
    GC_FIELD_ANY(gpuchar_divergence_shapes_options, given, STRUCT, GPUCHAR_FIELD_ARRAY, &gc_schema_divergence_shape,
                 sizeof(gpuchar_divergence_shape), GPUCHAR_SHAPES_GIVEN_MAX,
                 (uint32_t)offsetof(gpuchar_divergence_shapes_options, given_count), "", "these shapes"),
#undef OF
};
const gpuchar_schema gc_schema_divergence_shapes_options =
    GC_SCHEMA(gpuchar_divergence_shapes_options, options_fields, 1, GC_NONE, "which shapes of divergence are measured");

static const gpuchar_field point_fields[] = {
#define PF(member, kind, unit, doc) GC_FIELD(gpuchar_divergence_shapes_point, member, kind, unit, doc)
#define PK(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_divergence_shapes_point, member, kind, unit, known, GPUCHAR_SHAPES_POINT_##bit, doc)
    PF(shape, U32, "", "GPUCHAR_SHAPE_..."),
    PF(known, U32, "", "GPUCHAR_SHAPES_POINT_... bits: which values are known"),
    PF(paths, U32, "paths", "distinct ones"),
    PF(nodes, U32, "1", "distinct nodes that some lane comes to"),
    PF(turns, U64, "1", "of all these nodes"),
    PF(longest_turns, U64, "1", "of the path with the most"),
    GC_FIELD_STRUCT(gpuchar_divergence_shapes_point, cycles, gc_schema_stat, "cycles", "of the whole divergent region"),
    PK(predicted_cycles, F64, "cycles", PREDICTED, "s turns + c"),
    PK(longest_cycles, F64, "cycles", PREDICTED, "s longest_turns + c"),
    PK(deviation, F64, "1", PREDICTED, "cycles / predicted_cycles - 1"),
    PK(efficiency, F64, "threads/instruction", COUNTERS, "active threads per instruction inside the loops"),
    PF(expected_efficiency, F64, "threads/instruction", "the same by the shape"),
    PK(executed_count, U64, "instructions", COUNTERS, "warp instructions that the loops executed, by the counters"),
    PK(expected_count, U64, "instructions", EXPECTED, "the same by the machine code"),
    PF(sample_offset, U64, "1", "first sample of this point, when kept"),
    GC_FIELD_STRUCT(gpuchar_divergence_shapes_point, what, gc_schema_divergence_shape, "", "the shape"),
#undef PF
#undef PK
};
const gpuchar_schema gc_schema_divergence_shapes_point =
    GC_SCHEMA(gpuchar_divergence_shapes_point, point_fields, 0, GC_NONE, "one shape of divergence");

static const gpuchar_field result_fields[] = {
#define RF(member, kind, unit, doc) GC_FIELD(gpuchar_divergence_shapes_result, member, kind, unit, doc)
#define RK(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_divergence_shapes_result, member, kind, unit, known, GPUCHAR_SHAPES_##bit, doc)
    RF(turns, U32, "1", "u, what the named shapes are multiples of"),
    RF(launches, U32, "1", "timed launches per point"),
    RF(seed, U32, "", "of the operands"),
    RF(warmup_launches, U32, "1", "launches before the timed ones"),
    RF(known, U32, "", "GPUCHAR_SHAPES_... bits: which values are known"),
    RF(body, U32, "instructions", "chained instructions in each turn of a loop"),
    GC_FIELD_STRUCT_POINTED(gpuchar_divergence_shapes_result, points, gc_schema_divergence_shapes_point, point_count,
                            "", "one per shape"),
    GC_FIELD_COUNT(gpuchar_divergence_shapes_result, point_count, U64, "number of points"),
    GC_FIELD_POINTED(gpuchar_divergence_shapes_result, samples, F64, sample_count, "cycles",
                     "cycles of each launch, point after point"),
    GC_FIELD_COUNT(gpuchar_divergence_shapes_result, sample_count, U64, "number of samples"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_divergence_shapes_result, short_paths, gc_schema_stat, "cycles", "each path alone"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_divergence_shapes_result, long_paths, gc_schema_stat, "cycles",
                          "each path alone, four times as long"),
    GC_FIELD_STRUCT(gpuchar_divergence_shapes_result, slope, gc_schema_fit, "cycles/turn",
                    "s of T = s turns + c, by single paths"),
    GC_FIELD_STRUCT(gpuchar_divergence_shapes_result, intercept, gc_schema_fit, "cycles", "c"),
    GC_FIELD_STRUCT(gpuchar_divergence_shapes_result, shapes_slope, gc_schema_fit, "cycles/turn",
                    "of a line through the shapes' own points"),
    RK(flatness, F64, "1", TIMED, "(largest - smallest of the paths' own s) / s"),
    RK(largest_deviation, F64, "1", TIMED, "of a shape from the prediction"),
    RK(loop_instructions, U64, "instructions", DECODED, "of one turn, chain and loop control"),
    RK(loop_stall_cycles, U64, "cycles", DECODED, "sum of the assembler's stall counts of one turn"),
    RK(code_bytes, U64, "bytes", DECODED, "size of the timed region"),
    RK(dispatch_decisions, U64, "1", DECODED, "two-way decisions that tell the paths apart"),
    RF(compile_ns, U64, "ns", "0 when the kernel came from the cache"),
    RF(prove_ns, U64, "ns", "host time of the proof"),
    RK(launches_ns, U64, "ns", TIMED, "device time of all timing launches and their warm-up"),
    RF(counters_ns, U64, "ns", "host time of reading the counters"),
    RF(call_ns, U64, "ns", "host time of the whole call"),
    RF(device_memory_bytes, U64, "bytes", "the call's own allocations"),
    GC_FIELD_STRUCT(gpuchar_divergence_shapes_result, evidence, gc_schema_evidence, "", "what stands behind it"),
#undef RF
#undef RK
};
const gpuchar_schema gc_schema_divergence_shapes_result = GC_SCHEMA(
    gpuchar_divergence_shapes_result, result_fields, 1, GC_NONE, "the cost of nested and unbalanced divergence");

void gc_divergence_shapes_free(void *raw) {
    gpuchar_divergence_shapes_result *result = raw;
    free(result->points);
    free(result->samples);
    result->points = NULL;
    result->samples = NULL;
    result->point_count = 0;
    result->sample_count = 0;
}

/* ---- text ---- */

/* Results come from files and from callers too: no number is taken for finite, positive or known. */

static const char *name_of(uint32_t shape) {
    static const char *const names[] = {"",           "nested 1",      "nested 2",  "nested 4",      "nested 8",
                                        "nested 16",  "nested 32",     "late 2",    "late 4",        "late 8",
                                        "late 16",    "ratio 1:1",     "ratio 1:2", "ratio 1:4",     "ratio 1:8",
                                        "ratio 1:16", "lengths 1..32", "geometric", "one of 32 long"};
    if (shape == GPUCHAR_SHAPE_GIVEN) return "given";
    return shape < GC_COUNT(names) ? names[shape] : "unknown";
}

/* One cell of the table; unknown ones show a dash. */
static void add_cell(gc_text *text, int width, double value, int decimals) {
    gc_text_add(text, "  %*s", width, gc_number_text(value, decimals, width).text);
}

static void text_point(const gpuchar_divergence_shapes_point *point, gc_text *text) {
    const bool timed = point->cycles.samples != 0, predicted = (point->known & GPUCHAR_SHAPES_POINT_PREDICTED) != 0;
    const bool counted = (point->known & GPUCHAR_SHAPES_POINT_COUNTERS) != 0;
    gc_text_add(text, "  %-14s", name_of(point->shape));
    add_cell(text, 7, point->paths, 0);
    add_cell(text, 7, point->nodes, 0);
    add_cell(text, 8, (double)point->turns, 0);
    add_cell(text, 10, timed ? point->cycles.median : NAN, 0);
    add_cell(text, 10, predicted ? point->predicted_cycles : NAN, 0);
    add_cell(text, 8, predicted ? 100 * point->deviation : NAN, 3);
    add_cell(text, 12, predicted ? point->longest_cycles : NAN, 0);
    add_cell(text, 13, counted ? point->efficiency : NAN, 4);
    add_cell(text, 8, point->expected_efficiency, 4);
    gc_text_add(text, "\n");
}

/* A number inside a line, of any size but not of any length. */
static gc_number inline_number(double value, int decimals) {
    return gc_number_text(value, decimals, 16);
}

static void text_law(const gpuchar_divergence_shapes_result *result, gc_text *text) {
    gc_text_add(text,
                "T = s turns + c: s = %s cycles per turn, c = %s cycles, by 32 single paths (flat within %s %%)\n",
                inline_number(result->slope.points ? result->slope.value : NAN, 3).text,
                inline_number(result->slope.points ? result->intercept.value : NAN, 1).text,
                inline_number(100 * result->flatness, 3).text);
    gc_text_add(text, "largest deviation %s %%; R2 of cycles against turns over the shapes = %s\n",
                inline_number(100 * result->largest_deviation, 3).text,
                inline_number(result->shapes_slope.points ? result->shapes_slope.r2 : NAN, 8).text);
    if (!(result->known & GPUCHAR_SHAPES_DECODED)) return;
    gc_text_add(text, "one turn: %llu instructions, %llu cycles by the assembler's stall counts; %llu bytes of code\n",
                (unsigned long long)result->loop_instructions, (unsigned long long)result->loop_stall_cycles,
                (unsigned long long)result->code_bytes);
}

void gc_divergence_shapes_text(const void *raw, gc_text *text) {
    const gpuchar_divergence_shapes_result *result = raw;
    if (result->known & GPUCHAR_SHAPES_TIMED) {
        gc_text_add(text, "  %-14s  %7s  %7s  %8s  %10s  %10s  %8s  %12s  %13s  %8s\n", "shape", "paths", "nodes",
                    "turns", "cycles", "s turns+c", "off by %", "longest path", "threads/instr", "by shape");
        for (size_t i = 0; i < result->point_count; ++i) text_point(&result->points[i], text);
        text_law(result, text);
    }
    gc_evidence_text(&result->evidence, text);
}
