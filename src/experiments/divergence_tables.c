#include <experiments/divergence_tables.h>
#include <experiments/evidence.h>
#include <math.h>
#include <schema/table.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- fields ---- */

static const gpuchar_field options_fields[] = {
#define OF(member, kind, unit, doc) GC_FIELD(gpuchar_divergence_sweep_options, member, kind, unit, doc)
    GC_FIELD_COUNTED_ARRAY(gpuchar_divergence_sweep_options, ways, U32, ways_count, "paths", "numbers of paths k"),
    GC_FIELD_COUNT(gpuchar_divergence_sweep_options, ways_count, U32, "how many k; 0: 1, 2, 4, 8, 16, 32"),
    OF(kind, U32, "", "GPUCHAR_PATH_..., what the paths are made of"),
    OF(lane_map, U32, "", "GPUCHAR_LANES_..., which lane takes which path"),
    OF(body, U32, "instructions", "chained instructions per loop iteration"),
    OF(iterations, U32, "1", "loop iterations per path"),
    OF(launches, U32, "1", "timed launches per point"),
    OF(counters, U32, "", "GPUCHAR_COUNTERS_..."),
    OF(require, U32, "", "GPUCHAR_REQUIRE_... bits"),
    OF(keep_samples, U32, "", "1: the result holds the cycles of each launch"),
    OF(seed, U32, "", "of the random lane map and of the operands"),
    GC_FIELD_ARRAY(gpuchar_divergence_sweep_options, lanes, U32, "", "path of each lane, for GPUCHAR_LANES_GIVEN"),
#undef OF
};
const gpuchar_schema gc_schema_divergence_sweep_options =
    GC_SCHEMA(gpuchar_divergence_sweep_options, options_fields, 1, GC_NONE, "what the divergence sweep measures");

static const gpuchar_field point_fields[] = {
#define PF(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_divergence_point, member, kind, unit, known, GPUCHAR_DIVERGENCE_POINT_##bit, doc)
    GC_FIELD(gpuchar_divergence_point, ways, U32, "paths", "k"),
    GC_FIELD(gpuchar_divergence_point, known, U32, "", "GPUCHAR_DIVERGENCE_POINT_... bits: which values are known"),
    GC_FIELD_STRUCT(gpuchar_divergence_point, cycles, gc_schema_stat, "cycles", "of the whole divergent region, T(k)"),
    PF(ratio, F64, "1", RATIO, "T(k) / mean cycles of one path"),
    PF(predicted_cycles, F64, "cycles", PREDICTED, "s k + c of the fit"),
    PF(efficiency, F64, "threads/instruction", COUNTERS, "active threads per instruction inside the paths"),
    PF(efficiency_kernel, F64, "threads/instruction", COUNTERS, "the same of the whole kernel, prologue included"),
    PF(executed_count, U64, "instructions", COUNTERS, "warp instructions that the paths executed, by the counters"),
    PF(expected_count, U64, "instructions", EXPECTED, "the same by the machine code"),
    GC_FIELD(gpuchar_divergence_point, sample_offset, U64, "1", "first sample of this point, when kept"),
#undef PF
};
const gpuchar_schema gc_schema_divergence_point =
    GC_SCHEMA(gpuchar_divergence_point, point_fields, 0, GC_NONE, "one k of the divergence sweep");

static const gpuchar_field result_fields[] = {
#define RF(member, kind, unit, doc) GC_FIELD(gpuchar_divergence_sweep_result, member, kind, unit, doc)
#define RK(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_divergence_sweep_result, member, kind, unit, known, GPUCHAR_DIVERGENCE_##bit, doc)
    RF(kind, U32, "", "GPUCHAR_PATH_..., what the paths are made of"),
    RF(lane_map, U32, "", "GPUCHAR_LANES_..., which lane takes which path"),
    RF(body, U32, "instructions", "chained instructions per loop iteration"),
    RF(iterations, U32, "1", "loop iterations per path"),
    RF(launches, U32, "1", "timed launches per point"),
    RF(seed, U32, "", "of the random lane map and of the operands"),
    RF(warmup_launches, U32, "1", "launches before the timed ones"),
    RF(known, U32, "", "GPUCHAR_DIVERGENCE_... bits: which values are known"),
    GC_FIELD_STRUCT_POINTED(gpuchar_divergence_sweep_result, points, gc_schema_divergence_point, point_count, "",
                            "one per k"),
    GC_FIELD_COUNT(gpuchar_divergence_sweep_result, point_count, U64, "number of points"),
    GC_FIELD_POINTED(gpuchar_divergence_sweep_result, samples, F64, sample_count, "cycles",
                     "cycles of each launch, point after point"),
    GC_FIELD_COUNT(gpuchar_divergence_sweep_result, sample_count, U64, "number of samples"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_divergence_sweep_result, paths, gc_schema_stat, "cycles", "each path alone"),
    GC_FIELD_STRUCT(gpuchar_divergence_sweep_result, sm_clock_hz, gc_schema_stat, "Hz", "SM clock of each launch"),
    GC_FIELD_STRUCT(gpuchar_divergence_sweep_result, slope, gc_schema_fit, "cycles/path", "s of T(k) = s k + c"),
    GC_FIELD_STRUCT(gpuchar_divergence_sweep_result, intercept, gc_schema_fit, "cycles", "c"),
    RF(slope_robust, F64, "cycles/path", "Theil-Sen estimate of s; 0 when slope is unknown"),
    RK(path_mean_cycles, F64, "cycles", TIMED, "mean over the paths of their medians"),
    RK(flatness, F64, "1", TIMED, "(largest - smallest path median) / mean"),
    RK(ratio_32, F64, "1", RATIO32, "T(32) / path_mean_cycles"),
    RK(intercept_ratio, F64, "1", INTERCEPT, "|c| / s"),
    RK(validation_convergent, F64, "threads/instruction", VALIDATED, "a separate kernel without divergence: 32"),
    RK(validation_two_way, F64, "threads/instruction", VALIDATED, "a separate kernel that splits in two: 16"),
    RK(validation_full, F64, "threads/instruction", VALIDATED, "a separate kernel that splits in 32: 1"),
    RK(loop_instructions, U64, "instructions", DECODED, "of one iteration, chain and loop control"),
    RK(loop_stall_cycles, U64, "cycles", DECODED, "sum of the assembler's stall counts of one iteration"),
    RK(code_bytes, U64, "bytes", DECODED, "size of the timed region"),
    RK(dispatch_decisions, U64, "1", DECODED, "two-way decisions that tell the paths apart"),
    RF(compile_ns, U64, "ns", "0 when the kernels came from the cache"),
    RF(prove_ns, U64, "ns", "host time of the proof"),
    RK(launches_ns, U64, "ns", TIMED, "device time of all timing launches and their warm-up"),
    RF(counters_ns, U64, "ns", "host time of reading the counters"),
    RF(call_ns, U64, "ns", "host time of the whole call"),
    RF(device_memory_bytes, U64, "bytes", "the call's own allocations"),
    GC_FIELD_STRUCT(gpuchar_divergence_sweep_result, evidence, gc_schema_evidence, "", "what stands behind it"),
#undef RF
#undef RK
};
const gpuchar_schema gc_schema_divergence_sweep_result =
    GC_SCHEMA(gpuchar_divergence_sweep_result, result_fields, 1, GC_NONE, "the cost of k paths through one warp");

void gc_divergence_sweep_free(void *raw) {
    gpuchar_divergence_sweep_result *result = raw;
    free(result->points);
    free(result->samples);
    result->points = NULL;
    result->samples = NULL;
    result->point_count = 0;
    result->sample_count = 0;
}

/* ---- text ---- */

/* Results come from files and from callers too: no number is taken for finite, positive or known. */

/* A spread of any size in seven characters. */
static gc_number spread_number(double spread) {
    gc_number number = {"-"};
    if (isfinite(spread) && snprintf(number.text, sizeof number.text, "%.1e", spread) > 7) {
        snprintf(number.text, sizeof number.text, "%.0e", spread);
    }
    return number;
}

static void text_cycles(const gpuchar_divergence_point *point, gc_text *text) {
    const gpuchar_stat *cycles = &point->cycles;
    bool timed = cycles->samples != 0, related = (point->known & GPUCHAR_DIVERGENCE_POINT_RATIO) != 0;
    gc_text_add(text, "  %10s  %10s  %7s  %9s", gc_number_text(timed ? cycles->median : NAN, 0, 10).text,
                gc_number_text(related ? point->ratio : NAN, 4, 10).text,
                spread_number(timed ? cycles->mad / cycles->median : NAN).text,
                gc_number_text(timed ? (double)cycles->outliers : NAN, 0, 9).text);
}

static void text_points(const gpuchar_divergence_sweep_result *result, gc_text *text) {
    gc_text_add(text, "    k      cycles   k=1 paths   spread   outliers   threads/instr   ideal 32/k\n");
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_divergence_point *point = &result->points[i];
        bool counted = (point->known & GPUCHAR_DIVERGENCE_POINT_COUNTERS) != 0;
        gc_text_add(text, "  %3u", point->ways);
        text_cycles(point, text);
        gc_text_add(text, "  %14s  %11s\n", gc_number_text(counted ? point->efficiency : NAN, 4, 14).text,
                    gc_number_text(point->ways ? 32.0 / point->ways : NAN, 4, 11).text);
    }
}

/* A number inside a line, of any size but not of any length. */
static gc_number inline_number(double value, int decimals) {
    return gc_number_text(value, decimals, 16);
}

static void text_fit(const gpuchar_divergence_sweep_result *result, gc_text *text) {
    bool related = (result->known & GPUCHAR_DIVERGENCE_INTERCEPT) != 0;
    if (!result->slope.points) return;
    gc_text_add(text, "T(k) = s k + c: s = %s cycles per path, c = %s cycles (%s %% of s), R2 = %s\n",
                inline_number(result->slope.value, 1).text, inline_number(result->intercept.value, 1).text,
                inline_number(related ? 100 * result->intercept_ratio : NAN, 3).text,
                inline_number(result->slope.r2, 8).text);
}

static void text_laws(const gpuchar_divergence_sweep_result *result, gc_text *text) {
    double mean = result->path_mean_cycles;
    text_fit(result, text);
    gc_text_add(text, "one path alone: %s cycles (mean of 32 paths, flat within %s %%)", inline_number(mean, 1).text,
                inline_number(100 * result->flatness, 3).text);
    if (result->known & GPUCHAR_DIVERGENCE_RATIO32) {
        gc_text_add(text, "; T(32) / one path = %s", inline_number(result->ratio_32, 4).text);
    }
    gc_text_add(text, "\n");
    if (result->known & GPUCHAR_DIVERGENCE_DECODED) {
        gc_text_add(text,
                    "one iteration: %llu instructions, %llu cycles by the assembler's stall counts, %s measured\n",
                    (unsigned long long)result->loop_instructions, (unsigned long long)result->loop_stall_cycles,
                    inline_number(result->iterations ? mean / result->iterations : NAN, 2).text);
    }
    if (result->known & GPUCHAR_DIVERGENCE_VALIDATED) {
        gc_text_add(text, "kernels of known divergence: convergent %s, 2-way %s, 32-way %s threads/instruction\n",
                    inline_number(result->validation_convergent, 4).text,
                    inline_number(result->validation_two_way, 4).text, inline_number(result->validation_full, 4).text);
    }
}

void gc_divergence_sweep_text(const void *raw, gc_text *text) {
    const gpuchar_divergence_sweep_result *result = raw;
    if (result->known & GPUCHAR_DIVERGENCE_TIMED) {
        text_points(result, text);
        text_laws(result, text);
    }
    gc_evidence_text(&result->evidence, text);
}
