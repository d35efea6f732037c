#include <experiments/evidence.h>
#include <experiments/predication_tables.h>
#include <math.h>
#include <schema/table.h>
#include <stdlib.h>

/* ---- fields ---- */

static const gpuchar_field options_fields[] = {
#define OF(member, kind, unit, doc) GC_FIELD(gpuchar_predication_compare_options, member, kind, unit, doc)
    GC_FIELD_COUNTED_ARRAY(gpuchar_predication_compare_options, warps, U32, warps_count, "warps",
                           "warps on the SM to measure with"),
    GC_FIELD_COUNT(gpuchar_predication_compare_options, warps_count, U32,
                   "how many of them; 0: 1, 2, 4, 8, 12, 16, 24, 32"),
    OF(body, U32, "instructions", "multiply-adds of each arm per loop iteration"),
    OF(iterations, U32, "1", "loop iterations"),
    OF(launches, U32, "1", "timed launches per form and number of warps"),
    OF(counters, U32, "", "GPUCHAR_COUNTERS_..."),
    OF(require, U32, "", "GPUCHAR_REQUIRE_... bits"),
    OF(keep_samples, U32, "", "1: the result holds the cycles of each launch"),
    OF(seed, U32, "", "of the operands"),
#undef OF
};
const gpuchar_schema gc_schema_predication_compare_options = GC_SCHEMA(
    gpuchar_predication_compare_options, options_fields, 1, GC_NONE, "what the predication comparison measures");

static const gpuchar_field form_fields[] = {
#define FF(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_predication_form, member, kind, unit, known, GPUCHAR_PREDICATION_FORM_##bit, doc)
    GC_FIELD(gpuchar_predication_form, form, U32, "", "GPUCHAR_FORM_..."),
    GC_FIELD(gpuchar_predication_form, known, U32, "", "GPUCHAR_PREDICATION_FORM_... bits: which values are known"),
    FF(loop_instructions, U64, "instructions", DECODED, "of one iteration of one loop"),
    FF(loop_stall_cycles, U64, "cycles", DECODED, "sum of the assembler's stall counts of one iteration"),
    FF(code_bytes, U64, "bytes", DECODED, "size of the timed region"),
    FF(decisions, U64, "1", DECODED, "divergent branches in the timed region"),
    FF(expected_count, U64, "instructions", DECODED, "warp instructions that one warp executes in the loops"),
    FF(executed_count, U64, "instructions", COUNTERS, "the same by the counters"),
    FF(efficiency, F64, "threads/instruction", COUNTERS, "active threads per instruction in the loops"),
#undef FF
};
const gpuchar_schema gc_schema_predication_form =
    GC_SCHEMA(gpuchar_predication_form, form_fields, 0, GC_NONE, "one form of a two-way decision, with one warp");

static const gpuchar_field point_fields[] = {
#define PF(member, unit, bit, doc)                                                                                     \
    GC_FIELD_KNOWN(gpuchar_predication_point, member, F64, unit, known, GPUCHAR_PREDICATION_POINT_##bit, doc)
    GC_FIELD(gpuchar_predication_point, warps, U32, "warps", "on the SM, in one block"),
    GC_FIELD(gpuchar_predication_point, known, U32, "", "GPUCHAR_PREDICATION_POINT_... bits: which values are known"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_predication_point, cycles, gc_schema_stat, "cycles",
                          "of each form: convergent, branch, predicated"),
    PF(branch_ratio, "1", RATIOS, "branch / convergent"),
    PF(predicated_ratio, "1", RATIOS, "predicated / convergent"),
    PF(gain, "1", RATIOS, "branch / predicated"),
    PF(convergent_instructions_per_cycle, "instructions/cycle", ISSUE, "warp instructions of the loops per SM cycle"),
    PF(branch_instructions_per_cycle, "instructions/cycle", ISSUE, "the same of the branch"),
    PF(predicated_instructions_per_cycle, "instructions/cycle", ISSUE, "the same of the predicated form"),
    GC_FIELD(gpuchar_predication_point, sample_offset, U64, "1", "first sample of this point, when kept"),
#undef PF
};
const gpuchar_schema gc_schema_predication_point =
    GC_SCHEMA(gpuchar_predication_point, point_fields, 0, GC_NONE, "one number of warps of the predication comparison");

static const gpuchar_field length_fields[] = {
#define LF(member, unit, doc) GC_FIELD(gpuchar_predication_length, member, U32, unit, doc)
    LF(length, "instructions", "dependent multiply-adds of each arm"),
    LF(branches, "instructions", "conditional branches found"),
    LF(predicated, "instructions", "instructions found under a predicate"),
    LF(selects, "instructions", "found: instructions that take one of two values"),
    LF(multiply_adds, "instructions", "found: twice the length when both arms are there"),
#undef LF
};
const gpuchar_schema gc_schema_predication_length = GC_SCHEMA(gpuchar_predication_length, length_fields, 0, GC_NONE,
                                                              "what the compiler makes of a decision with short arms");

static const gpuchar_field result_fields[] = {
#define RF(member, kind, unit, doc) GC_FIELD(gpuchar_predication_compare_result, member, kind, unit, doc)
#define RK(member, kind, unit, bit, doc)                                                                               \
    GC_FIELD_KNOWN(gpuchar_predication_compare_result, member, kind, unit, known, GPUCHAR_PREDICATION_##bit, doc)
    RF(body, U32, "instructions", "multiply-adds of each arm per loop iteration"),
    RF(iterations, U32, "1", "loop iterations"),
    RF(launches, U32, "1", "timed launches per form and number of warps"),
    RF(seed, U32, "", "of the operands"),
    RF(warmup_launches, U32, "1", "launches before the timed ones"),
    RF(known, U32, "", "GPUCHAR_PREDICATION_... bits: which values are known"),
    RK(saturation_warps, U32, "warps", TIMED, "fewest warps from which on there is no gain; 0: not within the points"),
    RK(compiler_branch_length, U32, "instructions", LENGTHS,
       "shortest arm from which on the compiler branches; 0: not within the lengths"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_predication_compare_result, forms, gc_schema_predication_form, "",
                          "convergent, branch, predicated"),
    GC_FIELD_STRUCT_POINTED(gpuchar_predication_compare_result, points, gc_schema_predication_point, point_count, "",
                            "one per number of warps"),
    GC_FIELD_COUNT(gpuchar_predication_compare_result, point_count, U64, "number of points"),
    GC_FIELD_STRUCT_POINTED(gpuchar_predication_compare_result, lengths, gc_schema_predication_length, length_count, "",
                            "what the compiler itself does, one per length of the arms"),
    GC_FIELD_COUNT(gpuchar_predication_compare_result, length_count, U64, "number of lengths"),
    GC_FIELD_POINTED(gpuchar_predication_compare_result, samples, F64, sample_count, "cycles",
                     "cycles of each launch, point after point and form after form"),
    GC_FIELD_COUNT(gpuchar_predication_compare_result, sample_count, U64, "number of samples"),
    RF(compile_ns, U64, "ns", "0 when the kernels came from the cache"),
    RF(prove_ns, U64, "ns", "host time of the proofs"),
    RK(launches_ns, U64, "ns", TIMED, "device time of all timing launches and their warm-up"),
    RF(counters_ns, U64, "ns", "host time of reading the counters"),
    RF(call_ns, U64, "ns", "host time of the whole call"),
    RF(device_memory_bytes, U64, "bytes", "the call's own allocations"),
    GC_FIELD_STRUCT(gpuchar_predication_compare_result, evidence, gc_schema_evidence, "", "what stands behind it"),
#undef RF
#undef RK
};
const gpuchar_schema gc_schema_predication_compare_result =
    GC_SCHEMA(gpuchar_predication_compare_result, result_fields, 1, GC_NONE,
              "a two-way decision as a branch and in its predicated form");

void gc_predication_compare_free(void *raw) {
    gpuchar_predication_compare_result *result = raw;
    free(result->points);
    free(result->lengths);
    free(result->samples);
    result->points = NULL;
    result->lengths = NULL;
    result->samples = NULL;
    result->point_count = result->length_count = result->sample_count = 0;
}

/* ---- text ---- */

/* Results come from files and from callers too: no number is taken for finite, positive or known. */

static double known_or_nan(bool known, double value) {
    return known ? value : NAN;
}

static void text_point(const gpuchar_predication_point *point, gc_text *text) {
    bool related = (point->known & GPUCHAR_PREDICATION_POINT_RATIOS) != 0;
    bool issued = (point->known & GPUCHAR_PREDICATION_POINT_ISSUE) != 0;
    gc_text_add(text, "  %5u", point->warps);
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        const gpuchar_stat *cycles = &point->cycles[form];
        gc_text_add(text, "  %10s", gc_number_text(known_or_nan(cycles->samples != 0, cycles->median), 0, 10).text);
    }
    gc_text_add(text, "  %8s  %10s  %8s  %12s  %12s\n",
                gc_number_text(known_or_nan(related, point->branch_ratio), 4, 8).text,
                gc_number_text(known_or_nan(related, point->predicated_ratio), 4, 10).text,
                gc_number_text(known_or_nan(related, point->gain), 4, 8).text,
                gc_number_text(known_or_nan(issued, point->branch_instructions_per_cycle), 3, 12).text,
                gc_number_text(known_or_nan(issued, point->predicated_instructions_per_cycle), 3, 12).text);
}

static void text_points(const gpuchar_predication_compare_result *result, gc_text *text) {
    gc_text_add(text, "  warps     one arm      branch  predicated    branch  predicated      gain  branch instr"
                      "  pred. instr\n");
    gc_text_add(text, "  on SM      cycles      cycles      cycles  /one arm    /one arm              /cycle/SM   "
                      "  /cycle/SM\n");
    for (size_t i = 0; i < result->point_count; ++i) text_point(&result->points[i], text);
    if (result->saturation_warps) {
        gc_text_add(text, "no gain from %u warps on: they fill the issue slots by themselves\n",
                    result->saturation_warps);
    } else {
        gc_text_add(text, "the gain does not vanish within these numbers of warps\n");
    }
}

static void text_forms(const gpuchar_predication_compare_result *result, gc_text *text) {
    static const char *const names[GPUCHAR_FORMS] = {"one arm", "branch", "predicated"};
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        const gpuchar_predication_form *found = &result->forms[form];
        if (!(found->known & GPUCHAR_PREDICATION_FORM_DECODED)) continue;
        gc_text_add(text, "%-11s %llu divergent branches, %llu instructions a warp in loops of %llu", names[form],
                    (unsigned long long)found->decisions, (unsigned long long)found->expected_count,
                    (unsigned long long)found->loop_instructions);
        if (found->known & GPUCHAR_PREDICATION_FORM_COUNTERS) {
            gc_text_add(text, "; counted %llu, %s threads each", (unsigned long long)found->executed_count,
                        gc_number_text(found->efficiency, 4, 16).text);
        }
        gc_text_add(text, "\n");
    }
}

static void text_lengths(const gpuchar_predication_compare_result *result, gc_text *text) {
    if (!(result->known & GPUCHAR_PREDICATION_LENGTHS)) return;
    if (result->compiler_branch_length) {
        gc_text_add(text, "the compiler itself branches from arms of %u multiply-adds on\n",
                    result->compiler_branch_length);
    } else {
        gc_text_add(text, "the compiler itself does not branch up to arms of %u multiply-adds\n",
                    result->length_count ? result->lengths[result->length_count - 1].length : 0);
    }
}

void gc_predication_compare_text(const void *raw, gc_text *text) {
    const gpuchar_predication_compare_result *result = raw;
    if (result->known & GPUCHAR_PREDICATION_TIMED) text_points(result, text);
    gc_evidence_text(&result->evidence, text);
    text_forms(result, text);
    text_lengths(result, text);
}
