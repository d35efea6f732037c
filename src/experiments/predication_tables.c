#include <experiments/evidence.h>
#include <experiments/predication_tables.h>
#include <math.h>
#include <schema/table.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- fields ---- */

static const gpuchar_field options_fields[] = {
#define OF(member, kind, unit, doc) GC_FIELD(gpuchar_predication_compare_options, member, kind, unit, doc)
    GC_FIELD_COUNTED_ARRAY(gpuchar_predication_compare_options, warps, U32, warps_count, "warps",
                           "warps on the SM to measure with"),
    GC_FIELD_COUNT(gpuchar_predication_compare_options, warps_count, U32,
                   "how many of them; 0: 1, 2, 4, 8, 12, 16, 24, 32"),
    OF(body, U32, "instructions", "multiply-adds of each arm per loop iteration, of the shorter of two bodies"),
    OF(iterations, U32, "1", "loop iterations, of both bodies"),
    OF(launches, U32, "1", "timed launches per form, body and number of warps"),
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
    GC_FIELD(gpuchar_predication_form, body, U64, "instructions", "multiply-adds of each arm per loop iteration"),
    FF(loop_instructions, U64, "instructions", DECODED, "of one iteration of one loop"),
    FF(loop_stall_cycles, U64, "cycles", DECODED, "sum of the assembler's stall counts of one iteration"),
    FF(code_bytes, U64, "bytes", DECODED, "size of the timed region"),
    FF(decisions, U64, "1", DECODED, "two-way decisions in the timed region"),
    FF(expected_count, U64, "instructions", DECODED, "warp instructions that one warp executes in the loops"),
    FF(executed_count, U64, "instructions", COUNTERS, "the same by the counters"),
    FF(efficiency, F64, "threads/instruction", COUNTERS, "active threads per instruction in the loops"),
#undef FF
};
const gpuchar_schema gc_schema_predication_form = GC_SCHEMA(gpuchar_predication_form, form_fields, 0, GC_NONE,
                                                            "one form of a two-way decision with one body, one warp");

static const gpuchar_field cost_fields[] = {
#define CF(member, unit, bit, doc)                                                                                     \
    GC_FIELD_KNOWN(gpuchar_predication_cost, member, F64, unit, known, GPUCHAR_PREDICATION_COST_##bit, doc)
    GC_FIELD(gpuchar_predication_cost, form, U32, "", "GPUCHAR_FORM_..."),
    GC_FIELD(gpuchar_predication_cost, known, U32, "", "GPUCHAR_PREDICATION_COST_... bits: which values are known"),
    GC_FIELD_STRUCT(gpuchar_predication_cost, short_cycles, gc_schema_stat, "cycles", "total with the shorter body"),
    GC_FIELD_STRUCT(gpuchar_predication_cost, long_cycles, gc_schema_stat, "cycles", "total with the longer body"),
    CF(cycles_per_link, "cycles/link", SLOPE, "(long - short) / (iterations * (long_body - body)), by the medians"),
    CF(cycles_per_link_low, "cycles/link", SLOPE, "the least that the medians' 95 % intervals allow"),
    CF(cycles_per_link_high, "cycles/link", SLOPE, "the most"),
    CF(floor_cycles_per_link, "cycles/link", FLOOR, "no link costs less, by stall counts and issue slots"),
    CF(ceiling_cycles_per_link, "cycles/link", CEILING, "none costs more: long / (iterations * long_body)"),
    CF(overhead_cycles, "cycles", SLOPE,
       "what a total holds beside its links: short - iterations * body * cycles_per_link"),
    CF(instructions_per_cycle, "instructions/cycle", ISSUE,
       "warp instructions of the loops per SM cycle, by the longer body's total"),
#undef CF
};
const gpuchar_schema gc_schema_predication_cost =
    GC_SCHEMA(gpuchar_predication_cost, cost_fields, 0, GC_NONE, "what one form costs with some warps");

static const gpuchar_field point_fields[] = {
#define PF(member, unit, bit, doc)                                                                                     \
    GC_FIELD_KNOWN(gpuchar_predication_point, member, F64, unit, known, GPUCHAR_PREDICATION_POINT_##bit, doc)
    GC_FIELD(gpuchar_predication_point, warps, U32, "warps", "on the SM, in one block"),
    GC_FIELD(gpuchar_predication_point, known, U32, "", "GPUCHAR_PREDICATION_POINT_... bits: which values are known"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_predication_point, costs, gc_schema_predication_cost, "",
                          "of each form: convergent, branch, predicated"),
    PF(branch_ratio, "1", RATIOS, "of cycles per link: branch / convergent"),
    PF(predicated_ratio, "1", RATIOS, "predicated / convergent"),
    PF(gain, "1", RATIOS, "branch / predicated"),
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
    RF(body, U32, "instructions", "multiply-adds of each arm per loop iteration, of the shorter body"),
    RF(long_body, U32, "instructions", "the same of the longer one"),
    RF(iterations, U32, "1", "loop iterations, of both bodies"),
    RF(launches, U32, "1", "timed launches per form, body and number of warps"),
    RF(seed, U32, "", "of the operands"),
    RF(warmup_launches, U32, "1", "launches before the timed ones"),
    RF(known, U32, "", "GPUCHAR_PREDICATION_... bits: which values are known"),
    RK(saturation_warps, U32, "warps", TIMED, "fewest warps from which on there is no gain; 0: not within the points"),
    RK(compiler_branch_length, U32, "instructions", LENGTHS,
       "shortest arm from which on the compiler branches; 0: not within the lengths"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_predication_compare_result, short_forms, gc_schema_predication_form, "",
                          "convergent, branch, predicated; with the shorter body"),
    GC_FIELD_STRUCT_ARRAY(gpuchar_predication_compare_result, long_forms, gc_schema_predication_form, "",
                          "the same with the longer body"),
    GC_FIELD_STRUCT_POINTED(gpuchar_predication_compare_result, points, gc_schema_predication_point, point_count, "",
                            "one per number of warps"),
    GC_FIELD_COUNT(gpuchar_predication_compare_result, point_count, U64, "number of points"),
    GC_FIELD_STRUCT_POINTED(gpuchar_predication_compare_result, lengths, gc_schema_predication_length, length_count, "",
                            "what the compiler itself does, one per length of the arms"),
    GC_FIELD_COUNT(gpuchar_predication_compare_result, length_count, U64, "number of lengths"),
    GC_FIELD_POINTED(gpuchar_predication_compare_result, samples, F64, sample_count, "cycles",
                     "cycles of each launch: point after point, form after form, shorter body before longer"),
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

static const char *const names[GPUCHAR_FORMS] = {"one arm", "branch", "predicated"};

/* A number, or what stands for an unknown one, behind two blanks. */
static void text_number(bool known, double value, int decimals, int width, gc_text *text) {
    gc_text_add(text, "  %*s", width, gc_number_text(known ? value : NAN, decimals, width).text);
}

/* The slope, or what is known of a cost without one: that it is from the floor to the ceiling. */
static void text_slope(const gpuchar_predication_cost *cost, gc_text *text) {
    const gc_number least = gc_number_text(cost->floor_cycles_per_link, 2, 5);
    const gc_number most = gc_number_text(cost->ceiling_cycles_per_link, 2, 5);
    char bounds[2 * sizeof(gc_number) + 16] = "-";
    switch (cost->known & (GPUCHAR_PREDICATION_COST_FLOOR | GPUCHAR_PREDICATION_COST_CEILING)) {
    case GPUCHAR_PREDICATION_COST_FLOOR:
        snprintf(bounds, sizeof bounds, "from %s", least.text);
        break;
    case GPUCHAR_PREDICATION_COST_CEILING:
        snprintf(bounds, sizeof bounds, "to %s", most.text);
        break;
    case 0:
        break;
    default:
        snprintf(bounds, sizeof bounds, "%s to %s", least.text, most.text);
    }
    if (cost->known & GPUCHAR_PREDICATION_COST_SLOPE)
        text_number(true, cost->cycles_per_link, 4, 14, text);
    else
        gc_text_add(text, "  %14s", bounds);
}

static void text_cost(const gpuchar_predication_point *point, gc_text *text) {
    static const size_t issuing[] = {GPUCHAR_FORM_BRANCH, GPUCHAR_FORM_PREDICATED};
    const bool related = (point->known & GPUCHAR_PREDICATION_POINT_RATIOS) != 0;
    gc_text_add(text, "  %5u", point->warps);
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) text_slope(&point->costs[form], text);
    text_number(related, point->branch_ratio, 4, 8, text);
    text_number(related, point->predicated_ratio, 4, 10, text);
    text_number(related, point->gain, 4, 8, text);
    for (size_t i = 0; i < GC_COUNT(issuing); ++i) {
        const gpuchar_predication_cost *cost = &point->costs[issuing[i]];
        text_number((cost->known & GPUCHAR_PREDICATION_COST_ISSUE) != 0, cost->instructions_per_cycle, 3, 12, text);
    }
    gc_text_add(text, "\n");
}

static void text_totals(const gpuchar_predication_compare_result *result, gc_text *text) {
    gc_text_add(text, "totals, medians in cycles: %u iterations of %u and of %u links\n", result->iterations,
                result->body, result->long_body);
    gc_text_add(text, "  warps");
    for (size_t i = 0; i < 2 * GPUCHAR_FORMS; ++i) gc_text_add(text, "  %10s", names[i / 2]);
    gc_text_add(text, "\n");
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_predication_point *point = &result->points[i];
        gc_text_add(text, "  %5u", point->warps);
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
            const gpuchar_stat *few = &point->costs[form].short_cycles, *many = &point->costs[form].long_cycles;
            text_number(few->samples != 0, few->median, 0, 10, text);
            text_number(many->samples != 0, many->median, 0, 10, text);
        }
        gc_text_add(text, "\n");
    }
}

/* Why some stand as bounds, and what can be said of the gain all the same. */
static void text_verdict(const gpuchar_predication_compare_result *result, gc_text *text) {
    size_t without = 0;
    for (size_t i = 0; i < result->point_count * GPUCHAR_FORMS; ++i) {
        const gpuchar_predication_cost *cost = &result->points[i / GPUCHAR_FORMS].costs[i % GPUCHAR_FORMS];
        without += !(cost->known & GPUCHAR_PREDICATION_COST_SLOPE);
    }
    if (without) {
        gc_text_add(text, "%zu of %zu costs are told by bounds: their slope cannot be true, since %s\n", without,
                    result->point_count * GPUCHAR_FORMS,
                    (result->evidence.flags & GPUCHAR_FLAG_UNSTABLE)
                        ? "launches scatter, or the bodies\ndiffer in what an iteration costs beside its links"
                        : "the bodies differ in what\nan iteration costs beside its links");
    }
    if (result->saturation_warps) {
        gc_text_add(text, "no gain from %u warps on: they fill the issue slots by themselves\n",
                    result->saturation_warps);
    } else {
        gc_text_add(text, "the gain %s within these numbers of warps\n",
                    without ? "is not known to vanish" : "does not vanish");
    }
}

static void text_points(const gpuchar_predication_compare_result *result, gc_text *text) {
    gc_text_add(text, "  warps         one arm          branch      predicated    branch  predicated      gain"
                      "  branch instr   pred. instr\n");
    gc_text_add(text, "  on SM        cyc/link        cyc/link        cyc/link  /one arm    /one arm          "
                      "     /cycle/SM     /cycle/SM\n");
    for (size_t i = 0; i < result->point_count; ++i) text_cost(&result->points[i], text);
    text_verdict(result, text);
    text_totals(result, text);
}

static void text_form(const gpuchar_predication_form *found, const char *name, gc_text *text) {
    if (!(found->known & GPUCHAR_PREDICATION_FORM_DECODED)) return;
    gc_text_add(text, "%-11s %llu two-way decisions, %llu instructions a warp in loops of %llu", name,
                (unsigned long long)found->decisions, (unsigned long long)found->expected_count,
                (unsigned long long)found->loop_instructions);
    if (found->known & GPUCHAR_PREDICATION_FORM_COUNTERS) {
        gc_text_add(text, "; counted %llu, %s threads each", (unsigned long long)found->executed_count,
                    gc_number_text(found->efficiency, 4, 16).text);
    }
    gc_text_add(text, "\n");
}

static void text_forms(const gpuchar_predication_compare_result *result, gc_text *text) {
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        text_form(&result->short_forms[form], names[form], text);
        text_form(&result->long_forms[form], names[form], text);
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
