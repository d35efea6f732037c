/* Recorded comparisons: whether one can be true, whether it answers a call, and the answer, of all its points or of a part. */
#include <core/util.h>
#include <experiments/experiment.h>
#include <experiments/predication_reduce.h>
#include <experiments/predication_tables.h>
#include <experiments/evidence.h>
#include <experiments/untrusted.h>
#include <proof/proof.h>
#include <stdlib.h>
#include <string.h>

typedef gpuchar_predication_compare_options compare_options;
typedef gpuchar_predication_compare_result compare_result;

/* ---- whether a recording can be true: a file may say anything ---- */

static const char *find_wrong_point(const compare_result *recorded, const gpuchar_predication_point *point) {
    if (point->warps < 1 || point->warps > 32) return "points[].warps";
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        const gpuchar_predication_cost *cost = &point->costs[form];
        const gpuchar_stat *few = &cost->short_cycles, *many = &cost->long_cycles;
        if (cost->form != form) return "points[].costs[].form";
        if (!gc_is_summary(few) || !gc_are_cycles(few->median)) return "points[].costs[].short_cycles";
        if (!gc_is_summary(many) || !gc_are_cycles(many->median)) return "points[].costs[].long_cycles";
        if (few->samples && few->samples != recorded->launches) return "points[].costs[].short_cycles.samples";
        if (many->samples && many->samples != recorded->launches) return "points[].costs[].long_cycles.samples";
    }
    return NULL;
}

/* What a proof lets pass, of chains that go side by side: floors are made of it. */
static bool is_stall(const gpuchar_predication_form *form, uint64_t links) {
    return form->loop_stall_cycles >= links * GC_PROOF_STALL_MIN &&
           form->loop_stall_cycles <= links * GC_PROOF_STALL_MAX + GC_PROOF_LOOP_STALL_MAX;
}

/* The machine code's count follows from other numbers, and the counters are judged by it. */
static const char *find_wrong_form(const compare_result *recorded, size_t which, size_t body) {
    enum { FORM, BODY, EFFICIENCY, LOOP, STALL, EXPECTED, FIELDS };
    static const char *const names[GC_BODIES][FIELDS] = {
#define NAMES(forms)                                                                                                   \
    {forms "[].form",                                                                                                  \
     forms "[].body",                                                                                                  \
     forms "[].efficiency",                                                                                            \
     forms "[].loop_instructions",                                                                                     \
     forms "[].loop_stall_cycles",                                                                                     \
     forms "[].expected_count"}
        NAMES("short_forms"), NAMES("long_forms")
#undef NAMES
    };
    const bool is_long = body == GC_BODY_LONG;
    const gpuchar_predication_form *form = is_long ? &recorded->long_forms[which] : &recorded->short_forms[which];
    const uint64_t links = is_long ? recorded->long_body : recorded->body;
    if (form->form != which) return names[body][FORM];
    if (form->body != links) return names[body][BODY];
    if (!gc_are_threads(form->efficiency)) return names[body][EFFICIENCY];
    if (!(form->known & GPUCHAR_PREDICATION_FORM_DECODED)) return NULL;
    if (form->loop_instructions < (which == GPUCHAR_FORM_PREDICATED ? 2 * links : links)) return names[body][LOOP];
    if (!is_stall(form, links)) return names[body][STALL];
    if (form->expected_count != gc_predication_expected(form, recorded->iterations)) return names[body][EXPECTED];
    return NULL;
}

/* With both proved, the loops of two bodies differ in their links only. */
static bool is_pair(const compare_result *recorded, size_t form) {
    const gpuchar_predication_form *few = &recorded->short_forms[form], *many = &recorded->long_forms[form];
    const uint64_t links = many->body - few->body;
    if (!(recorded->evidence.flags & GPUCHAR_FLAG_PROVED)) return true;
    if (!(few->known & many->known & GPUCHAR_PREDICATION_FORM_DECODED)) return true;
    return many->loop_instructions - few->loop_instructions == (form == GPUCHAR_FORM_PREDICATED ? 2 * links : links);
}

static const char *find_wrong_number(const compare_result *recorded) {
    for (size_t i = 0; i < recorded->point_count; ++i) {
        const char *wrong = find_wrong_point(recorded, &recorded->points[i]);
        if (wrong) return wrong;
    }
    for (size_t i = 0; i < GC_PREDICATION_BLOCKS; ++i) {
        const char *wrong = find_wrong_form(recorded, i / GC_BODIES, i % GC_BODIES);
        if (wrong) return wrong;
    }
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        if (!is_pair(recorded, form)) return "long_forms[].loop_instructions";
    }
    for (size_t i = 0; i < recorded->sample_count; ++i) {
        if (!gc_are_cycles(recorded->samples[i])) return "samples[]";
    }
    return NULL;
}

/* The field that no comparison can have filled so; NULL when there is none. Flags of a newer library may appear. */
static const char *find_wrong(const compare_result *recorded) {
    if (recorded->body < 1) return "body";
    if (recorded->long_body <= recorded->body) return "long_body";
    if (recorded->iterations < 1) return "iterations";
    if (recorded->launches < 1) return "launches";
    if (recorded->point_count < 1 || recorded->point_count > 32) return "points";
    const char *wrong = find_wrong_number(recorded);
    return wrong ? wrong : gc_find_wrong_evidence(&recorded->evidence);
}

/* ---- whether it answers ---- */

/* Samples of one point. */
static size_t block_of(const compare_result *recorded) {
    return (size_t)GC_PREDICATION_BLOCKS * recorded->launches;
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

/* ---- what follows from other numbers is worked out again, and must be what the file says ---- */

static void derive_again(compare_result *result) {
    const uint32_t decoded = result->evidence.known & GPUCHAR_EVIDENCE_DECODED;
    gc_predication_expect(result);
    if (!decoded) { /* nor is the mnemonic known */
        result->evidence.decoded_count = result->evidence.scaffold_count = 0;
        result->evidence.known &= ~(uint32_t)GPUCHAR_EVIDENCE_DECODED;
    }
    gc_predication_recount(result);
    if (result->known & GPUCHAR_PREDICATION_TIMED)
        gc_predication_derive(result);
    else
        gc_predication_forget(result);
    if (result->known & GPUCHAR_PREDICATION_LENGTHS) gc_predication_derive_lengths(result);
}

/* A known number is the one that was worked out; what a file leaves unknown it may. */
typedef struct claim {
    const char *name;
    bool known; /* in the file */
    double said, derived;
} claim;

static const char *find_wrong_claim(const claim *claims, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (claims[i].known && !gc_is_same(claims[i].said, claims[i].derived)) return claims[i].name;
    }
    return NULL;
}

static const char *find_other_cost(const gpuchar_predication_cost *said, const gpuchar_predication_cost *derived) {
    const bool slope = (said->known & GPUCHAR_PREDICATION_COST_SLOPE) != 0;
    const bool issue = (said->known & GPUCHAR_PREDICATION_COST_ISSUE) != 0;
    const bool least = (said->known & GPUCHAR_PREDICATION_COST_FLOOR) != 0;
    const bool most = (said->known & GPUCHAR_PREDICATION_COST_CEILING) != 0;
    const uint32_t derives = GPUCHAR_PREDICATION_COST_SLOPE | GPUCHAR_PREDICATION_COST_ISSUE |
                             GPUCHAR_PREDICATION_COST_FLOOR | GPUCHAR_PREDICATION_COST_CEILING;
    const claim claims[] = {
#define CLAIM(member, known) {"points[].costs[]." #member, known, said->member, derived->member}
        CLAIM(cycles_per_link, slope),       CLAIM(cycles_per_link_low, slope),    CLAIM(cycles_per_link_high, slope),
        CLAIM(floor_cycles_per_link, least), CLAIM(ceiling_cycles_per_link, most), CLAIM(overhead_cycles, slope),
        CLAIM(instructions_per_cycle, issue)
#undef CLAIM
    };
    if (said->known & ~derived->known & derives) return "points[].costs[].known";
    return find_wrong_claim(claims, GC_COUNT(claims));
}

static const char *find_other_point(const gpuchar_predication_point *said, const gpuchar_predication_point *derived) {
    const bool ratios = (said->known & GPUCHAR_PREDICATION_POINT_RATIOS) != 0;
    const claim claims[] = {{"points[].branch_ratio", ratios, said->branch_ratio, derived->branch_ratio},
                            {"points[].predicated_ratio", ratios, said->predicated_ratio, derived->predicated_ratio},
                            {"points[].gain", ratios, said->gain, derived->gain}};
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        const char *wrong = find_other_cost(&said->costs[form], &derived->costs[form]);
        if (wrong) return wrong;
    }
    if (ratios && !(derived->known & GPUCHAR_PREDICATION_POINT_RATIOS)) return "points[].known";
    return find_wrong_claim(claims, GC_COUNT(claims));
}

static const char *find_other_count(const gpuchar_evidence *said, const gpuchar_evidence *derived) {
    const uint32_t derives = GPUCHAR_EVIDENCE_DECODED | GPUCHAR_EVIDENCE_EXECUTED;
    if (said->intended_count != derived->intended_count) return "evidence.intended_count";
    if (said->known & ~derived->known & derives) return "evidence.known";
    if ((said->known & GPUCHAR_EVIDENCE_DECODED) && said->decoded_count != derived->decoded_count)
        return "evidence.decoded_count";
    if ((said->known & GPUCHAR_EVIDENCE_DECODED) && said->scaffold_count != derived->scaffold_count)
        return "evidence.scaffold_count";
    if ((said->known & GPUCHAR_EVIDENCE_EXECUTED) && said->executed_count != derived->executed_count)
        return "evidence.executed_count";
    return said->flags & ~derived->flags & GPUCHAR_FLAG_COUNTED ? "evidence.flags" : NULL;
}

/* `derived` holds all points of the recording, in their order. */
static const char *find_other(const compare_result *said, const compare_result *derived) {
    const bool timed = (said->known & GPUCHAR_PREDICATION_TIMED) != 0;
    const bool read = (said->known & GPUCHAR_PREDICATION_LENGTHS) != 0;
    for (size_t i = 0; i < said->point_count; ++i) {
        const char *wrong = find_other_point(&said->points[i], &derived->points[i]);
        if (wrong) return wrong;
    }
    if (timed && said->saturation_warps != derived->saturation_warps) return "saturation_warps";
    if (read && said->compiler_branch_length != derived->compiler_branch_length) return "compiler_branch_length";
    return find_other_count(&said->evidence, &derived->evidence);
}

/* A summary of other samples than those that the file holds. */
static bool is_other(const gpuchar_stat *said, const gpuchar_stat *derived) {
    const claim claims[] = {
#define CLAIM(member) {#member, said->samples != 0, said->member, derived->member}
        CLAIM(median), CLAIM(mean), CLAIM(min), CLAIM(max), CLAIM(mad), CLAIM(cv), CLAIM(ci95_low), CLAIM(ci95_high),
#undef CLAIM
    };
    return find_wrong_claim(claims, GC_COUNT(claims)) || (said->samples && said->outliers != derived->outliers);
}

static const char *find_other_samples(const compare_result *recorded, compare_result *derived, double *scratch) {
    for (size_t i = 0; i < recorded->point_count; ++i) {
        compare_result one = {.points = &derived->points[i], .point_count = 1};
        gc_predication_summarize(recorded->samples + recorded->points[i].sample_offset, recorded->launches, scratch,
                                 &one);
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
            const gpuchar_predication_cost *said = &recorded->points[i].costs[form], *made = &one.points[0].costs[form];
            if (is_other(&said->short_cycles, &made->short_cycles)) return "points[].costs[].short_cycles";
            if (is_other(&said->long_cycles, &made->long_cycles)) return "points[].costs[].long_cycles";
        }
    }
    return NULL;
}

/* The field that is not what follows from the others, gc_answer_no_memory, or NULL. */
static const char *check_derived(const compare_result *recorded) {
    const bool sampled = has_samples(recorded);
    const size_t points = recorded->point_count * sizeof recorded->points[0];
    compare_result derived = *recorded;
    double *scratch = sampled ? malloc(2 * (size_t)recorded->launches * sizeof *scratch) : NULL;
    const char *wrong = gc_answer_no_memory;
    derived.points = malloc(points);
    if (derived.points && (scratch || !sampled)) {
        memcpy(derived.points, recorded->points, points);
        derive_again(&derived);
        wrong = find_other(recorded, &derived);
        if (!wrong && sampled) wrong = find_other_samples(recorded, &derived, scratch);
    }
    free(derived.points);
    free(scratch);
    return wrong;
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
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
            const gpuchar_predication_cost *cost = &recorded->points[i].costs[form];
            by_samples |= cost->short_cycles.flags | cost->long_cycles.flags;
        }
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
}

/* ---- the answer ---- */

const char *gc_predication_compare_answer(const void *options, const void *recorded_result, void *result) {
    const compare_options *asked = options;
    const compare_result *recorded = recorded_result;
    compare_result *answer = result, made = *recorded;
    const char *reason = find_wrong(recorded);
    if (!reason) reason = check_derived(recorded);
    if (!reason) reason = compare(asked, recorded);
    if (reason) return reason;
    if (!copy_arrays(asked, recorded, &made)) return gc_answer_no_memory;
    if (is_part(asked, recorded)) take_part(recorded, &made);
    derive_again(&made);
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
