/* The predication comparison answered from a recorded profile: whole, in part, and what it does not hold. Needs no NVRTC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/finite_walk.h"
#include "unit/predication_helper.h"
#include "unit/schema_walk.h"
#include <unit/document.h>
#include "unit/temp_folder.h"

#include <core/util.h>
#include <experiments/predication_reduce.h>
#include <session/session_internal.h>

#define LAUNCHES 9
#define POINTS 4
#define BLOCK (GC_PREDICATION_BLOCKS * LAUNCHES)
#define ANSWERED (GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_RECORDED)

static const uint32_t WARPS[POINTS] = {1, 8, 16, 32};
static const char RESULT[] = "gpuchar_predication_compare_result";
static char path[128];

/* ---- a result as measured on a GPU, with every launch kept ---- */

enum { BODY = 64, LONG_BODY = 112, TURNS = 32 };

/* 100 cycles a launch beside the links, and half a cycle a turn, or the issue slots of the loop's own instructions. */
static double law(size_t block, uint32_t warps) {
    const size_t form = block / GC_BODIES;
    const double busiest = warps > 4 ? warps / 4.0 : 1, arms = form == GPUCHAR_FORM_CONVERGENT ? 1 : 2;
    const double links = TURNS * (block % GC_BODIES == GC_BODY_LONG ? LONG_BODY : BODY);
    const double turn = warps > 4 ? warps * (form == GPUCHAR_FORM_BRANCH ? 2 : 1) : 0.5;
    return 100 + TURNS * turn + links * fmax(form == GPUCHAR_FORM_BRANCH ? 8 : 4, arms * busiest);
}

static double sample(size_t j, uint32_t warps) {
    return law(j / LAUNCHES, warps) + (double)(j % 3);
}

static void fill_forms(compare_result *result) {
    for (size_t i = 0; i < GC_PREDICATION_BLOCKS; ++i) {
        gpuchar_predication_form *form = gc_predication_form_of(result, i / GC_BODIES, i % GC_BODIES);
        form->form = (uint32_t)(i / GC_BODIES);
        form->body = i % GC_BODIES ? LONG_BODY : BODY;
        form->known = GPUCHAR_PREDICATION_FORM_DECODED | GPUCHAR_PREDICATION_FORM_COUNTERS;
        form->loop_instructions = form->body * (form->form == GPUCHAR_FORM_PREDICATED ? 2 : 1) + 3;
        form->loop_stall_cycles = 4 * form->body + 11;
        form->expected_count = form->executed_count = gc_predication_expected(form, TURNS);
        form->efficiency = form->form == GPUCHAR_FORM_BRANCH ? 16 : 32;
    }
}

static void fill_points(compare_result *result) {
    double scratch[2 * LAUNCHES];
    result->points = calloc(POINTS, sizeof result->points[0]);
    result->samples = calloc(POINTS * BLOCK, sizeof result->samples[0]);
    assert_true(result->points && result->samples);
    result->point_count = POINTS;
    result->sample_count = POINTS * BLOCK;
    for (size_t i = 0; i < POINTS; ++i) {
        result->points[i].warps = WARPS[i];
        result->points[i].sample_offset = i * BLOCK;
        for (uint32_t form = 0; form < GPUCHAR_FORMS; ++form) result->points[i].costs[form].form = form;
        for (size_t j = 0; j < BLOCK; ++j) result->samples[i * BLOCK + j] = sample(j, WARPS[i]);
    }
    gc_predication_summarize(result->samples, LAUNCHES, scratch, result);
}

static void fill_lengths(compare_result *result) {
    result->lengths = calloc(3, sizeof result->lengths[0]);
    assert_non_null(result->lengths);
    result->length_count = 3;
    for (uint32_t i = 0; i < 3; ++i)
        result->lengths[i] = (gpuchar_predication_length){i + 1, i > 1, i > 1 ? 0 : 2 * i + 2, 0, 2 * i + 2};
}

static compare_result new_result(void) {
    compare_result result = GPUCHAR_PREDICATION_COMPARE_RESULT_INIT;
    gpuchar_evidence *evidence = &result.evidence;
    result.body = BODY;
    result.long_body = LONG_BODY;
    result.iterations = TURNS;
    result.launches = LAUNCHES;
    result.seed = 1;
    fill_forms(&result);
    fill_points(&result);
    fill_lengths(&result);
    evidence->arch = 90;
    gc_predication_derive(&result);
    gc_predication_derive_lengths(&result);
    assert_int_equal(evidence->flags, 0);
    evidence->flags = GPUCHAR_FLAG_PROVED;
    gc_predication_expect(&result);
    strcpy(evidence->mnemonic, "FFMA");
    evidence->sm_clock_hz = 1.98e9;
    evidence->known |= GPUCHAR_EVIDENCE_CLOCK;
    gc_predication_recount(&result);
    assert_int_equal(evidence->flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    result.launches_ns = result.counters_ns = result.call_ns = result.device_memory_bytes = 1000;
    return result;
}

/* Saves the result as a profile's only one, frees it, and opens the profile; its status. */
static gpuchar_status open_profile(compare_result *result, gpuchar_session **session) {
    snprintf(path, sizeof path, "%s/profile.json", folder);
    write_document(path, COMPARE_NAME, result);
    gpuchar_predication_compare_result_free(result);
    return gpuchar_session_open_recorded(NULL, path, session);
}

static gpuchar_session *record(compare_result *result) {
    gpuchar_session *session = NULL;
    assert_int_equal(open_profile(result, &session), GPUCHAR_OK);
    return session;
}

static gpuchar_session *record_new(void) {
    compare_result result = new_result();
    return record(&result);
}

/* ---- answered ---- */

static void test_whole(void **state) {
    (void)state;
    compare_result wanted = new_result(), result;
    gpuchar_session *session = record_new();
    compare_options options = default_compare();
    options.keep_samples = 1;
    assert_int_equal(run_compare(session, &options, &result), GPUCHAR_OK);
    wanted.evidence.flags |= GPUCHAR_FLAG_RECORDED;
    assert_int_equal(result.evidence.flags, ANSWERED);
    assert_true(walk_equal(gpuchar_schema_get(RESULT), &wanted, &result));
    gpuchar_predication_compare_result_free(&result);
    assert_int_equal(run_compare(session, NULL, &result), GPUCHAR_OK); /* samples were not asked for */
    assert_true(!result.samples && result.sample_count == 0 && result.points[3].sample_offset == 0);
    assert_int_equal(result.length_count, 3);
    assert_int_equal(result.saturation_warps, 16);
    assert_int_equal(result.compiler_branch_length, 3);
    gpuchar_predication_compare_result_free(&result);
    gpuchar_predication_compare_result_free(&wanted);
    gpuchar_session_close(session);
}

static gpuchar_status run_part(gpuchar_session *session, uint32_t first, uint32_t second, uint32_t require,
                               compare_result *result) {
    compare_options options = default_compare();
    options.warps_count = second ? 2 : 1;
    options.warps[0] = first;
    options.warps[1] = second;
    options.require = require;
    options.keep_samples = 1;
    return run_compare(session, &options, result);
}

static void test_part(void **state) {
    (void)state;
    gpuchar_session *session = record_new();
    compare_result result;
    size_t seen = 0;
    assert_int_equal(run_part(session, 32, 8, GPUCHAR_REQUIRE_COUNTED, &result), GPUCHAR_OK);
    assert_int_equal(result.point_count, 2);
    assert_int_equal(result.points[0].warps, 32); /* in the order asked */
    assert_int_equal(result.points[1].warps, 8);
    assert_int_equal(result.sample_count, 2 * BLOCK);
    assert_int_equal(result.points[1].sample_offset, BLOCK);
    for (size_t j = 0; j < BLOCK; ++j) assert_true(result.samples[BLOCK + j] == sample(j, 8));
    assert_int_equal(result.saturation_warps, 32); /* of these two alone */
    assert_int_equal(result.length_count, 3);
    assert_int_equal(result.long_forms[GPUCHAR_FORM_BRANCH].executed_count, 2 * TURNS * (LONG_BODY + 3));
    assert_int_equal(result.evidence.executed_count, 2 * TURNS * LONG_BODY);
    assert_true(result.evidence.sm_clock_hz == 0 && !(result.evidence.known & GPUCHAR_EVIDENCE_CLOCK));
    assert_int_equal(result.launches_ns + result.counters_ns + result.call_ns + result.device_memory_bytes, 0);
    assert_null(find_infinite(gpuchar_schema_get(RESULT), &result, &seen));
    gpuchar_predication_compare_result_free(&result);
    assert_int_equal(run_part(session, 8, 0, 0, &result), GPUCHAR_OK);
    assert_int_equal(result.saturation_warps, 0);
    gpuchar_predication_compare_result_free(&result);
    gpuchar_session_close(session);
}

/* Unsteady samples are those of their own point; an unsteady clock is everybody's. */
static void test_part_flags(void **state) {
    (void)state;
    compare_result whole = new_result(), result;
    whole.points[3].costs[GPUCHAR_FORM_PREDICATED].long_cycles.flags = GPUCHAR_FLAG_UNSTABLE;
    whole.evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
    gpuchar_session *session = record(&whole);
    assert_int_equal(run_part(session, 1, 8, GPUCHAR_REQUIRE_STABLE, &result), GPUCHAR_OK);
    assert_int_equal(result.evidence.flags, ANSWERED);
    gpuchar_predication_compare_result_free(&result);
    assert_int_equal(run_part(session, 1, 32, GPUCHAR_REQUIRE_STABLE, &result), GPUCHAR_E_NOT_RECORDED);
    assert_int_equal(run_part(session, 1, 32, 0, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.flags, ANSWERED | GPUCHAR_FLAG_UNSTABLE);
    gpuchar_predication_compare_result_free(&result);
    gpuchar_session_close(session);
    whole = new_result();
    whole.evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
    session = record(&whole);
    assert_int_equal(run_part(session, 1, 8, GPUCHAR_REQUIRE_STABLE, &result), GPUCHAR_E_NOT_RECORDED);
    gpuchar_session_close(session);
}

static void test_equal_options(void **state) {
    (void)state;
    gpuchar_session *session = record_new();
    compare_options options = default_compare();
    compare_result result;
    options.body = BODY;
    options.iterations = TURNS;
    options.launches = LAUNCHES;
    options.seed = 1;
    options.counters = GPUCHAR_COUNTERS_REQUIRED;
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_STABLE;
    memcpy(options.warps, WARPS, sizeof WARPS);
    options.warps_count = POINTS;
    assert_int_equal(run_compare(session, &options, &result), GPUCHAR_OK);
    assert_true(result.call_ns == 1000); /* it is the whole */
    gpuchar_predication_compare_result_free(&result);
    gpuchar_session_close(session);
}

/* ---- slopes that cannot be true ---- */

/* The point of 16 warps as an H200 may do it: with the shorter body an iteration costs six cycles more beside its links. */
static compare_result contended(void) {
    compare_result result = new_result();
    double scratch[2 * LAUNCHES];
    for (size_t form = 0; form < GPUCHAR_FORMS; ++form) {
        double *few = result.samples + 2 * BLOCK + form * GC_BODIES * LAUNCHES;
        for (size_t j = 0; j < LAUNCHES; ++j) few[j] += 6 * TURNS;
    }
    gc_predication_summarize(result.samples, LAUNCHES, scratch, &result);
    gc_predication_derive(&result);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_OFF_LAW);
    return result;
}

static void test_contended(void **state) {
    (void)state;
    compare_result recorded = contended(), wanted = contended(), result;
    gpuchar_session *session = record(&recorded);
    compare_options options = default_compare();
    options.keep_samples = 1;
    assert_int_equal(run_compare(session, &options, &result), GPUCHAR_CAVEAT);
    wanted.evidence.flags |= GPUCHAR_FLAG_RECORDED;
    assert_true(walk_equal(gpuchar_schema_get(RESULT), &wanted, &result));
    for (size_t i = 0; i < POINTS; ++i) assert_int_equal(result.points[i].known, WARPS[i] == 16 ? 0 : 1);
    assert_true(result.points[2].costs[GPUCHAR_FORM_BRANCH].floor_cycles_per_link == 8);
    assert_int_equal(result.saturation_warps, 16); /* by the bounds of that point */
    gpuchar_predication_compare_result_free(&result);
    gpuchar_predication_compare_result_free(&wanted);
    /* Parts are judged by their own points. */
    assert_int_equal(run_part(session, 8, 32, GPUCHAR_REQUIRE_STABLE, &result), GPUCHAR_OK);
    assert_int_equal(result.evidence.flags, ANSWERED);
    gpuchar_predication_compare_result_free(&result);
    assert_int_equal(run_part(session, 8, 16, GPUCHAR_REQUIRE_STABLE, &result), GPUCHAR_E_NOT_RECORDED);
    gpuchar_session_close(session);
}

static void test_contended_text(void **state) {
    (void)state;
    compare_result result = contended();
    char *text = NULL;
    assert_int_equal(gpuchar_experiment_text(COMPARE_NAME, &result, &text), GPUCHAR_OK);
    assert_non_null(
        strstr(text, "\n     16    4.00 to 4.17    8.00 to 8.31    8.00 to 8.17         -           -         -"));
    assert_non_null(
        strstr(text, "\n     32          8.0000         16.0000         16.0000    2.0000      2.0000    1.0000"));
    assert_non_null(
        strstr(text, "3 of 12 costs are told by bounds: their slope cannot be true, since the bodies differ"));
    assert_non_null(strstr(text, "no gain from 16 warps on"));
    gpuchar_string_free(text);
    result.points[2].costs[0].known &= ~(uint32_t)GPUCHAR_PREDICATION_COST_CEILING;
    result.points[2].costs[1].known &= ~(uint32_t)GPUCHAR_PREDICATION_COST_FLOOR;
    result.points[2].costs[2].known = 0;
    result.saturation_warps = 0;
    result.evidence.flags |= GPUCHAR_FLAG_UNSTABLE;
    assert_int_equal(gpuchar_experiment_text(COMPARE_NAME, &result, &text), GPUCHAR_OK);
    assert_non_null(strstr(text, "\n     16       from 4.00         to 8.31               -         -"));
    assert_non_null(strstr(text, "since launches scatter, or the bodies"));
    assert_non_null(strstr(text, "the gain is not known to vanish"));
    gpuchar_string_free(text);
    gpuchar_predication_compare_result_free(&result);
}

/* ---- not answered ---- */

static void test_not_recorded(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        uint32_t value;
        const char *name;
    } others[] = {
#define OTHER(member, value) {offsetof(compare_options, member), value, "\"" #member "\""}
        OTHER(body, 128),
        OTHER(iterations, TURNS + 1),
        OTHER(launches, LAUNCHES + 1),
        OTHER(seed, 2),
#undef OTHER
    };
    gpuchar_session *session = record_new();
    compare_options options;
    for (size_t i = 0; i < GC_COUNT(others); ++i) {
        options = default_compare();
        memcpy((char *)&options + others[i].offset, &others[i].value, sizeof others[i].value);
        compare_fails(session, &options, GPUCHAR_E_NOT_RECORDED, COMPARE_NAME, others[i].name);
    }
    options = default_compare();
    options.warps_count = 1;
    options.warps[0] = 3;
    compare_fails(session, &options, GPUCHAR_E_NOT_RECORDED, COMPARE_NAME, "\"warps\"");
    options.warps[0] = 33; /* no file could answer it */
    compare_fails(session, &options, GPUCHAR_E_LIMIT, "warps[0]", "is 33");
    gpuchar_session_close(session);
}

static void test_required(void **state) {
    (void)state;
    compare_result bare = new_result(), result;
    free(bare.samples);
    bare.samples = NULL;
    bare.sample_count = 0;
    bare.evidence.flags = 0;
    bare.evidence.proof_status = GPUCHAR_E_NOT_PROVED;
    bare.evidence.counters_status = GPUCHAR_E_NO_PERMISSION;
    bare.evidence.decoded_count = bare.evidence.scaffold_count = bare.evidence.executed_count = 0;
    bare.evidence.known = 0;
    gpuchar_session *session = record(&bare);
    compare_options options = default_compare();
    assert_int_equal(run_compare(session, &options, &result), GPUCHAR_CAVEAT);
    gpuchar_predication_compare_result_free(&result);
    options.counters = GPUCHAR_COUNTERS_REQUIRED;
    compare_fails(session, &options, GPUCHAR_E_NOT_RECORDED, COMPARE_NAME, "\"counters\"");
    options.counters = GPUCHAR_COUNTERS_AUTO;
    options.require = GPUCHAR_REQUIRE_PROVED;
    compare_fails(session, &options, GPUCHAR_E_NOT_RECORDED, COMPARE_NAME, "\"require\"");
    options.require = 0;
    options.keep_samples = 1;
    compare_fails(session, &options, GPUCHAR_E_NOT_RECORDED, COMPARE_NAME, "\"keep_samples\"");
    gpuchar_session_close(session);
}

/* ---- files that cannot be true ---- */

static void expect_refused(compare_result *lie, const char *field) {
    gpuchar_session *opened = NULL;
    gpuchar_status status = open_profile(lie, &opened);
    if (status != GPUCHAR_E_FORMAT || !strstr(gpuchar_last_error()->message, field))
        fail_msg("%s: %s, \"%s\"", field, gpuchar_status_name(status), gpuchar_last_error()->message);
    gpuchar_session_close(opened);
}

#define REFUSE(member, value, field)                                                                                   \
    do {                                                                                                               \
        compare_result lie = new_result();                                                                             \
        lie.member = value;                                                                                            \
        expect_refused(&lie, "predication_compare[0]." field);                                                         \
    } while (0)

/* What no comparison can have. */
static void test_impossible(void **state) {
    (void)state;
    REFUSE(body, 0, "body");
    REFUSE(long_body, BODY, "long_body");
    REFUSE(iterations, 0, "iterations");
    REFUSE(launches, 0, "launches");
    REFUSE(launches, LAUNCHES + 1, "points[].costs[].short_cycles.samples");
    REFUSE(point_count, 0, "points");
    REFUSE(points[2].warps, 33, "points[].warps");
    REFUSE(points[2].warps, 0, "points[].warps");
    REFUSE(points[2].costs[1].form, 0, "points[].costs[].form");
    REFUSE(points[1].costs[2].short_cycles.median, -1, "points[].costs[].short_cycles");
    REFUSE(points[1].costs[2].long_cycles.median, 1e-300, "points[].costs[].long_cycles");
    REFUSE(points[1].costs[0].long_cycles.samples, LAUNCHES - 1, "points[].costs[].long_cycles.samples");
    REFUSE(short_forms[1].form, 2, "short_forms[].form");
    REFUSE(long_forms[1].body, BODY, "long_forms[].body");
    REFUSE(short_forms[1].efficiency, -16, "short_forms[].efficiency");
    REFUSE(long_forms[0].efficiency, 33, "long_forms[].efficiency");
    REFUSE(long_forms[2].loop_instructions, 2 * LONG_BODY - 1, "long_forms[].loop_instructions");
    REFUSE(short_forms[0].loop_stall_cycles, 4 * BODY - 1, "short_forms[].loop_stall_cycles");
    REFUSE(long_forms[2].loop_stall_cycles, 5 * LONG_BODY + 49, "long_forms[].loop_stall_cycles");
    REFUSE(samples[5], 0.25, "samples[]");
    REFUSE(evidence.sm_clock_hz, -1, "evidence.sm_clock_hz");
    REFUSE(evidence.arch, 0, "evidence.arch");
    REFUSE(evidence.proof_status, GPUCHAR_E_NOT_PROVED, "evidence.proof_status");
    REFUSE(evidence.counters_status, GPUCHAR_E_NO_CUPTI, "evidence.counters_status");
}

static void test_not_a_pair(void **state) {
    (void)state;
    compare_result lie = new_result();
    gpuchar_predication_form *form = &lie.long_forms[GPUCHAR_FORM_PREDICATED];
    form->loop_instructions++;
    form->expected_count = form->executed_count = gc_predication_expected(form, TURNS);
    gc_predication_derive(&lie);
    expect_refused(&lie, "long_forms[].loop_instructions");
}

/* What does not follow from the other numbers: each that can be worked out again is. */
static void test_not_derived(void **state) {
    (void)state;
    REFUSE(points[0].branch_ratio, 1.99, "points[].branch_ratio");
    REFUSE(points[0].predicated_ratio, 1e300, "points[].predicated_ratio");
    REFUSE(points[3].gain, -2, "points[].gain");
    REFUSE(points[3].costs[0].cycles_per_link, 4.00001, "points[].costs[].cycles_per_link");
    REFUSE(points[3].costs[1].cycles_per_link_low, 1, "points[].costs[].cycles_per_link_low");
    REFUSE(points[3].costs[2].cycles_per_link_high, 99, "points[].costs[].cycles_per_link_high");
    REFUSE(points[3].costs[2].overhead_cycles, 0, "points[].costs[].overhead_cycles");
    REFUSE(points[3].costs[0].floor_cycles_per_link, 4, "points[].costs[].floor_cycles_per_link");
    REFUSE(points[3].costs[0].ceiling_cycles_per_link, 16, "points[].costs[].ceiling_cycles_per_link");
    REFUSE(evidence.arch, 61, "points[].costs[].floor_cycles_per_link"); /* whose schedulers are not known */
    REFUSE(points[2].costs[1].instructions_per_cycle, 4, "points[].costs[].instructions_per_cycle");
    REFUSE(saturation_warps, 8, "saturation_warps");
    REFUSE(compiler_branch_length, 2, "compiler_branch_length");
    REFUSE(lengths[2].branches, 0, "compiler_branch_length");
    REFUSE(iterations, TURNS + 1, "short_forms[].expected_count");
    REFUSE(short_forms[0].expected_count, 7, "short_forms[].expected_count");
    REFUSE(long_forms[1].expected_count, 7, "long_forms[].expected_count");
    REFUSE(evidence.intended_count, 7, "evidence.intended_count");
    REFUSE(evidence.decoded_count, 7, "evidence.decoded_count");
    REFUSE(evidence.scaffold_count, 7, "evidence.scaffold_count");
    REFUSE(evidence.executed_count, 7, "evidence.executed_count");
    REFUSE(long_forms[2].executed_count, 7, "evidence.flags"); /* it claims COUNTED */
    REFUSE(short_forms[1].efficiency, 20, "evidence.flags");
    REFUSE(short_forms[1].known, GPUCHAR_PREDICATION_FORM_DECODED, "evidence.known");
    REFUSE(long_forms[0].known, GPUCHAR_PREDICATION_FORM_COUNTERS, "points[].costs[].known");
    REFUSE(known, GPUCHAR_PREDICATION_LENGTHS, "points[].costs[].known"); /* slopes of what was not timed */
    REFUSE(samples[BLOCK + 3], 5000, "points[].costs[].short_cycles");
    REFUSE(samples[BLOCK + LAUNCHES + 3], 5000, "points[].costs[].long_cycles");
    compare_result lie = new_result(); /* a longer body that is no slower has no slope */
    lie.points[0].costs[0].long_cycles = lie.points[0].costs[0].short_cycles;
    expect_refused(&lie, "points[].costs[].known");
    lie = contended(); /* nor has one below its floor */
    gpuchar_predication_cost *cost = &lie.points[2].costs[GPUCHAR_FORM_BRANCH];
    cost->cycles_per_link = (cost->long_cycles.median - cost->short_cycles.median) / (TURNS * (LONG_BODY - BODY));
    cost->known |= GPUCHAR_PREDICATION_COST_SLOPE;
    expect_refused(&lie, "points[].costs[].known");
}

/* A file may leave out what follows, and may not take flags away. */
static void test_worked_out(void **state) {
    (void)state;
    compare_result bare = new_result(), wanted = new_result(), result;
    for (size_t i = 0; i < POINTS; ++i) {
        bare.points[i].known = 0;
        for (size_t form = 0; form < GPUCHAR_FORMS; ++form) bare.points[i].costs[form].known = 0;
    }
    bare.evidence.flags = GPUCHAR_FLAG_PROVED;
    bare.evidence.known &= ~(uint32_t)GPUCHAR_EVIDENCE_EXECUTED;
    gpuchar_session *opened = record(&bare);
    compare_options options = default_compare();
    options.keep_samples = 1;
    assert_int_equal(run_compare(opened, &options, &result), GPUCHAR_OK);
    wanted.evidence.flags |= GPUCHAR_FLAG_RECORDED;
    assert_true(walk_equal(gpuchar_schema_get(RESULT), &wanted, &result));
    gpuchar_predication_compare_result_free(&result);
    gpuchar_session_close(opened);
    bare = new_result();
    bare.points[1].costs[1].short_cycles.flags = GPUCHAR_FLAG_UNSTABLE;
    opened = record(&bare);
    assert_int_equal(run_compare(opened, NULL, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.flags, ANSWERED | GPUCHAR_FLAG_UNSTABLE);
    gpuchar_predication_compare_result_free(&result);
    gpuchar_session_close(opened);
    gpuchar_predication_compare_result_free(&wanted);
}

static void test_text(void **state) {
    (void)state;
    gpuchar_session *session = record_new();
    compare_result result;
    char *text = NULL;
    assert_int_equal(run_compare(session, NULL, &result), GPUCHAR_OK);
    assert_int_equal(gpuchar_experiment_text(COMPARE_NAME, &result, &text), GPUCHAR_OK);
    assert_non_null(strstr(text, "no gain from 16 warps on"));
    assert_non_null(strstr(text, "totals, medians in cycles: 32 iterations of 64 and of 112 links"));
    assert_non_null(strstr(text, "branches from arms of 3 multiply-adds on"));
    assert_non_null(strstr(text, "counted 7360, 16.0000 threads each"));
    gpuchar_string_free(text);
    result.points[0].gain = NAN; /* a caller's own doing */
    result.points[0].known = UINT32_MAX;
    result.saturation_warps = result.compiler_branch_length = 0;
    assert_int_equal(gpuchar_experiment_text(COMPARE_NAME, &result, &text), GPUCHAR_OK);
    assert_null(strstr(text, "nan"));
    assert_non_null(strstr(text, "the gain does not vanish"));
    assert_non_null(strstr(text, "does not branch up to arms of 3"));
    gpuchar_string_free(text);
    gpuchar_predication_compare_result_free(&result);
    gpuchar_session_close(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
        FOLDER_TEST(test_whole),          FOLDER_TEST(test_part),        FOLDER_TEST(test_part_flags),
        FOLDER_TEST(test_equal_options),  FOLDER_TEST(test_required),    FOLDER_TEST(test_not_recorded),
        FOLDER_TEST(test_impossible),     FOLDER_TEST(test_not_derived), FOLDER_TEST(test_not_a_pair),
        FOLDER_TEST(test_worked_out),     FOLDER_TEST(test_text),        FOLDER_TEST(test_contended),
        FOLDER_TEST(test_contended_text),
#undef FOLDER_TEST
    };
    return cmocka_run_group_tests(tests, find_archs, NULL);
}
