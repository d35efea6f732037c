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
#define BLOCK (GPUCHAR_FORMS * LAUNCHES)
#define ANSWERED (GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_RECORDED)

static const uint32_t WARPS[POINTS] = {1, 8, 16, 32};
static const char RESULT[] = "gpuchar_predication_compare_result";
static char path[128];

/* ---- a result as measured on a GPU, with every launch kept ---- */

static double law(size_t form, uint32_t warps) {
    const double busiest = warps > 4 ? warps / 4.0 : 1, arms = form == GPUCHAR_FORM_CONVERGENT ? 1 : 2;
    return 4096 * fmax(form == GPUCHAR_FORM_BRANCH ? 8 : 4, arms * busiest);
}

static void fill_forms(compare_result *result) {
    for (uint32_t i = 0; i < GPUCHAR_FORMS; ++i) {
        gpuchar_predication_form *form = &result->forms[i];
        form->form = i;
        form->known = GPUCHAR_PREDICATION_FORM_DECODED | GPUCHAR_PREDICATION_FORM_COUNTERS;
        form->loop_instructions = i == GPUCHAR_FORM_PREDICATED ? 259 : 131;
        form->expected_count = form->executed_count = (i == GPUCHAR_FORM_BRANCH ? 64u : 32u) * form->loop_instructions;
        form->efficiency = i == GPUCHAR_FORM_BRANCH ? 16 : 32;
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
        for (size_t j = 0; j < BLOCK; ++j)
            result->samples[i * BLOCK + j] = law(j / LAUNCHES, WARPS[i]) + (double)(j % 3);
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
    result.body = 128;
    result.iterations = 32;
    result.launches = LAUNCHES;
    result.seed = 1;
    fill_forms(&result);
    fill_points(&result);
    fill_lengths(&result);
    gc_predication_derive(&result);
    gc_predication_derive_lengths(&result);
    assert_int_equal(evidence->flags, 0);
    evidence->flags = GPUCHAR_FLAG_PROVED;
    evidence->arch = 90;
    evidence->intended_count = evidence->decoded_count = 2 * 32 * 128;
    evidence->scaffold_count = 2 * 32 * 3;
    evidence->sm_clock_hz = 1.98e9;
    evidence->known = GPUCHAR_EVIDENCE_DECODED | GPUCHAR_EVIDENCE_CLOCK;
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
    for (size_t j = 0; j < BLOCK; ++j) assert_true(result.samples[BLOCK + j] == law(j / LAUNCHES, 8) + (double)(j % 3));
    assert_int_equal(result.saturation_warps, 32); /* of these two alone */
    assert_int_equal(result.length_count, 3);
    assert_int_equal(result.forms[GPUCHAR_FORM_BRANCH].executed_count, 2 * 32 * 131);
    assert_int_equal(result.evidence.executed_count, 2 * 32 * 128);
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
    whole.points[3].cycles[GPUCHAR_FORM_PREDICATED].flags = GPUCHAR_FLAG_UNSTABLE;
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
    options.body = 128;
    options.iterations = 32;
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

/* ---- not answered ---- */

static void test_not_recorded(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        uint32_t value;
        const char *name;
    } others[] = {
#define OTHER(member, value) {offsetof(compare_options, member), value, "\"" #member "\""}
        OTHER(body, 256),
        OTHER(iterations, 33),
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

static void spoil_body(compare_result *result) {
    result->body = 0;
}
static void spoil_iterations(compare_result *result) {
    result->iterations = 0;
}
static void spoil_launches(compare_result *result) {
    result->launches = 0;
}
static void spoil_points(compare_result *result) {
    result->point_count = 0;
}
static void spoil_warps(compare_result *result) {
    result->points[2].warps = 33;
}
static void spoil_cycles(compare_result *result) {
    result->points[1].cycles[2].median = -1;
}
static void spoil_tiny(compare_result *result) {
    result->points[1].cycles[1].median = 1e-300;
}
static void spoil_branch_ratio(compare_result *result) {
    result->points[0].branch_ratio = -1;
}
static void spoil_predicated_ratio(compare_result *result) {
    result->points[0].predicated_ratio = 1e300;
}
static void spoil_gain(compare_result *result) {
    result->points[3].gain = -2;
}
static void spoil_form(compare_result *result) {
    result->forms[1].form = 2;
}
static void spoil_efficiency(compare_result *result) {
    result->forms[1].efficiency = -16;
}
static void spoil_samples(compare_result *result) {
    result->samples[5] = 0.25;
}
static void spoil_clock(compare_result *result) {
    result->evidence.sm_clock_hz = -1;
}

static void test_untrusted(void **state) {
    (void)state;
    static const struct {
        void (*spoil)(compare_result *);
        const char *field;
    } lies[] = {
        {spoil_body, "body"},
        {spoil_iterations, "iterations"},
        {spoil_launches, "launches"},
        {spoil_points, "points"},
        {spoil_warps, "points[].warps"},
        {spoil_cycles, "points[].cycles"},
        {spoil_tiny, "points[].cycles"},
        {spoil_branch_ratio, "points[].branch_ratio"},
        {spoil_predicated_ratio, "points[].predicated_ratio"},
        {spoil_gain, "points[].gain"},
        {spoil_form, "forms[].form"},
        {spoil_efficiency, "forms[].efficiency"},
        {spoil_samples, "samples[]"},
        {spoil_clock, "evidence.sm_clock_hz"},
    };
    for (size_t i = 0; i < GC_COUNT(lies); ++i) {
        compare_result lie = new_result();
        gpuchar_session *session = NULL;
        lies[i].spoil(&lie);
        gpuchar_status status = open_profile(&lie, &session);
        if (status != GPUCHAR_E_FORMAT || !strstr(gpuchar_last_error()->message, lies[i].field))
            fail_msg("%s: %s, \"%s\"", lies[i].field, gpuchar_status_name(status), gpuchar_last_error()->message);
        gpuchar_session_close(session);
    }
}

static void test_text(void **state) {
    (void)state;
    gpuchar_session *session = record_new();
    compare_result result;
    char *text = NULL;
    assert_int_equal(run_compare(session, NULL, &result), GPUCHAR_OK);
    assert_int_equal(gpuchar_experiment_text(COMPARE_NAME, &result, &text), GPUCHAR_OK);
    assert_non_null(strstr(text, "no gain from 16 warps on"));
    assert_non_null(strstr(text, "branches from arms of 3 multiply-adds on"));
    assert_non_null(strstr(text, "counted 8384, 16.0000 threads each"));
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
        FOLDER_TEST(test_whole),         FOLDER_TEST(test_part),     FOLDER_TEST(test_part_flags),
        FOLDER_TEST(test_equal_options), FOLDER_TEST(test_required), FOLDER_TEST(test_not_recorded),
        FOLDER_TEST(test_untrusted),     FOLDER_TEST(test_text),
#undef FOLDER_TEST
    };
    return cmocka_run_group_tests(tests, find_archs, NULL);
}
