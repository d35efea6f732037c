/* The shapes' public face without a GPU: bad options, every architecture, recordings, text. */
#include <unit/sweep_helper.h>
#include <unit/document.h>
#include <unit/temp_folder.h>

#include "unit/schema_walk.h"

#include <core/util.h>
#include <experiments/divergence_shapes_reduce.h>
#include <session/session_internal.h>

#define NAME "divergence_shapes"
#define LAUNCHES 9

typedef gpuchar_divergence_shapes_options shapes_options;
typedef gpuchar_divergence_shapes_result shapes_result;

static shapes_options defaults(void) {
    return GPUCHAR_DIVERGENCE_SHAPES_OPTIONS_INIT;
}

/* Into a struct full of rubbish; of a failure nothing but the size may be left. */
static gpuchar_status run_shapes(gpuchar_session *session, const shapes_options *options, shapes_result *result) {
    memset(result, 0xa5, sizeof *result);
    result->struct_size = sizeof *result;
    const gpuchar_status status = gpuchar_divergence_shapes(session, options, result);
    if (status < 0) expect_empty(result, sizeof *result);
    return status;
}

static void refuse(gpuchar_session *session, const shapes_options *options, gpuchar_status wanted, const char *first,
                   const char *second) {
    shapes_result result;
    expect_failure(run_shapes(session, options, &result), wanted, first, second);
}

static gpuchar_divergence_shape good_shape(void) {
    gpuchar_divergence_shape shape = {.reserved = 0};
    for (uint32_t lane = 0; lane < 32; ++lane) shape.lanes[lane] = lane * 7 % 32;
    for (uint32_t node = 0; node < GPUCHAR_SHAPE_NODES; ++node) shape.turns[node] = 1 + node;
    return shape;
}

/* ---- options ---- */

#define FIELD(name) offsetof(shapes_options, name)

static void test_values(void **state) {
    NEEDS_NVRTC();
    static const struct {
        size_t offset;
        uint32_t value;
        gpuchar_status wanted;
        const char *field;
    } bad[] = {
        {FIELD(shapes_count), 33, GPUCHAR_E_LIMIT, "shapes_count"},
        {FIELD(shapes_count), UINT32_MAX, GPUCHAR_E_LIMIT, "shapes_count"},
        {FIELD(shapes_count), 1, GPUCHAR_E_INVALID_ARGUMENT, "shapes[0] is 0"},
        {FIELD(shapes[0]), 3, GPUCHAR_E_INVALID_ARGUMENT, "shapes_count is 0"},
        {FIELD(shapes[31]), 99, GPUCHAR_E_INVALID_ARGUMENT, "shapes[31] is 99"},
        {FIELD(turns), 4097, GPUCHAR_E_LIMIT, "turns is 4097"},
        {FIELD(turns), UINT32_MAX, GPUCHAR_E_LIMIT, "turns"},
        {FIELD(launches), 4, GPUCHAR_E_LIMIT, "launches is 4"},
        {FIELD(launches), 10001, GPUCHAR_E_LIMIT, "launches"},
        {FIELD(counters), 3, GPUCHAR_E_INVALID_ARGUMENT, "counters is 3"},
        {FIELD(require), 8, GPUCHAR_E_INVALID_ARGUMENT, "require is 8"},
        {FIELD(keep_samples), 2, GPUCHAR_E_INVALID_ARGUMENT, "keep_samples is 2"},
        {FIELD(given_count), 9, GPUCHAR_E_LIMIT, "given_count is 9"},
        {FIELD(given_count), UINT32_MAX, GPUCHAR_E_LIMIT, "given_count"},
        {FIELD(given_count), 1, GPUCHAR_E_LIMIT, "given[0].turns[0] is 0"},
        {FIELD(given[0].turns[62]), 1, GPUCHAR_E_INVALID_ARGUMENT, "given[0] is not empty, but given_count is 0"},
        {FIELD(given[7].lanes[31]), 1, GPUCHAR_E_INVALID_ARGUMENT, "given[7] is not empty"},
    };
    gpuchar_session *session = open_any();
    for (size_t i = 0; i < GC_COUNT(bad); ++i) {
        shapes_options options = defaults();
        memcpy((char *)&options + bad[i].offset, &bad[i].value, sizeof bad[i].value);
        refuse(session, &options, bad[i].wanted, bad[i].field, "");
    }
    static const uint32_t unknown[] = {0, GC_SHAPES_NAMED + 1, GPUCHAR_SHAPE_GIVEN, UINT32_MAX};
    for (size_t i = 0; i < GC_COUNT(unknown); ++i) {
        shapes_options options = defaults();
        options.shapes[0] = 1;
        options.shapes[1] = unknown[i];
        options.shapes_count = 2;
        refuse(session, &options, GPUCHAR_E_INVALID_ARGUMENT, "shapes[1]", "given");
    }
    gpuchar_session_close(session);
}

static void test_bad_shapes(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    shapes_options options = defaults();
    options.given_count = 2;
    options.given[0] = options.given[1] = good_shape();
    options.given[1].lanes[5] = 32;
    refuse(session, &options, GPUCHAR_E_LIMIT, "given[1].lanes[5]", "path 32");
    options.given[1].lanes[5] = 31;
    options.given[1].turns[62] = 65537;
    refuse(session, &options, GPUCHAR_E_LIMIT, "given[1].turns[62] is 65537", "");
    options.given[1].turns[62] = 0;
    refuse(session, &options, GPUCHAR_E_LIMIT, "given[1].turns[62] is 0", "");
    options.given[1].turns[62] = 65536;
    options.given[1].reserved = 7;
    refuse(session, &options, GPUCHAR_E_INVALID_ARGUMENT, "given[1].reserved is 7", "");
    options.given[1].reserved = 0;
    options.given_count = 1;
    refuse(session, &options, GPUCHAR_E_INVALID_ARGUMENT, "given[1] is not empty", "given_count is 1");
    gpuchar_session_close(session);
}

/* What only a run gives, contradictions, sizes, NULL. */
static void test_demands(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    shapes_options options = defaults();
    shapes_result result;
    options.require = GPUCHAR_REQUIRE_STABLE;
    refuse(session, &options, GPUCHAR_E_NOT_APPLICABLE, "require", "compile-only");
    options.require = GPUCHAR_REQUIRE_COUNTED;
    refuse(session, &options, GPUCHAR_E_NOT_APPLICABLE, "require", "compile-only");
    options.counters = GPUCHAR_COUNTERS_OFF;
    refuse(session, &options, GPUCHAR_E_INVALID_ARGUMENT, "require", "counters");
    options = defaults();
    options.counters = GPUCHAR_COUNTERS_REQUIRED;
    refuse(session, &options, GPUCHAR_E_NOT_APPLICABLE, "counters", "compile-only");
    options = defaults();
    options.struct_size--;
    refuse(session, &options, GPUCHAR_E_STRUCT_SIZE, "gpuchar_divergence_shapes_options", "struct_size");
    refuse(NULL, NULL, GPUCHAR_E_INVALID_ARGUMENT, "session", "NULL");
    assert_int_equal(gpuchar_divergence_shapes(session, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    result.struct_size = sizeof result - 1;
    assert_int_equal(gpuchar_divergence_shapes(session, NULL, &result), GPUCHAR_E_STRUCT_SIZE);
    gpuchar_divergence_shapes_result_free(NULL);
    gpuchar_session_close(session);
}

/* ---- compile only ---- */

static void test_every_architecture(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < arch_count; ++i) {
        if (archs[i] < 70) continue;
        gpuchar_session *session = open_arch(archs[i], NULL);
        shapes_result result;
        assert_int_equal(run_shapes(session, NULL, &result), GPUCHAR_CAVEAT);
        if (result.evidence.flags != (GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COMPILE_ONLY)) {
            fail_msg("sm_%u: flags %#x, proof %d", archs[i], result.evidence.flags, result.evidence.proof_status);
        }
        assert_int_equal(result.known, GPUCHAR_SHAPES_DECODED);
        assert_int_equal(result.point_count, GC_SHAPES_NAMED);
        assert_int_equal(result.dispatch_decisions, 31);
        assert_int_equal(result.evidence.decoded_count, 63 * 24 * 64);
        assert_int_equal(result.points[2].expected_count, 19 * 24 * result.loop_instructions);
        assert_true(result.code_bytes > 63 * 64 * 16);
        gpuchar_divergence_shapes_result_free(&result);
        gpuchar_session_close(session);
    }
}

/* Named ones in the caller's order, then the caller's own; the largest allowed of everything. */
static void test_choice(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    shapes_options options = defaults();
    shapes_result result;
    options.given_count = 1;
    options.given[0] = good_shape();
    assert_int_equal(run_shapes(session, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.point_count, 1);
    assert_int_equal(result.points[0].shape, GPUCHAR_SHAPE_GIVEN);
    assert_int_equal(result.points[0].turns, 63 * 64 / 2);
    assert_memory_equal(&result.points[0].what, &options.given[0], sizeof options.given[0]);
    gpuchar_divergence_shapes_result_free(&result);
    options.given_count = GPUCHAR_SHAPES_GIVEN_MAX;
    for (uint32_t i = 0; i < GPUCHAR_SHAPES_GIVEN_MAX; ++i) options.given[i] = good_shape();
    for (uint32_t i = 0; i < 32; ++i) options.shapes[i] = GC_SHAPES_NAMED - i % GC_SHAPES_NAMED;
    options.shapes_count = 32;
    options.turns = GC_SHAPES_UNIT_MAX;
    options.launches = 10000;
    options.keep_samples = 1;
    assert_int_equal(run_shapes(session, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.point_count, GC_SHAPES_POINTS_MAX);
    assert_int_equal(result.points[0].shape, GPUCHAR_SHAPE_ONE_LONG);
    assert_int_equal(result.points[0].longest_turns, 16 * GC_SHAPES_UNIT_MAX + 5);
    assert_int_equal(result.points[39].shape, GPUCHAR_SHAPE_GIVEN);
    gpuchar_divergence_shapes_result_free(&result);
    gpuchar_session_close(session);
}

/* ---- recordings ---- */

/* Coming to a node costs something, so that a line through a part differs from the line through all. */
static double law(const gpuchar_divergence_shapes_point *point) {
    return 269.0 * (double)point->turns + 400 + 30.0 * point->nodes;
}

static const uint32_t RECORDED[] = {GPUCHAR_SHAPE_EARLY_4, GPUCHAR_SHAPE_RATIO_8, GPUCHAR_SHAPE_LINEAR,
                                    GPUCHAR_SHAPE_GIVEN};
#define POINTS 4

static void fill_cycles(double *cycles, const gpuchar_divergence_shapes_point *points) {
    for (size_t i = 0; i < (size_t)(64 + POINTS) * LAUNCHES; ++i) {
        const size_t block = i / LAUNCHES;
        cycles[i] = block < 32 ? 269.0 * 144 + 580 : block < 64 ? 269.0 * 576 + 580 : law(&points[block - 64]);
        cycles[i] += (double)(i % 5);
    }
}

/* As measured on a GPU, with every launch kept and the counters read. */
static shapes_result new_result(void) {
    shapes_result result = GPUCHAR_DIVERGENCE_SHAPES_RESULT_INIT;
    double cycles[(64 + POINTS) * LAUNCHES], scratch[2 * LAUNCHES];
    result.turns = 24;
    result.launches = LAUNCHES;
    result.seed = 1;
    result.body = 64;
    result.points = calloc(POINTS, sizeof result.points[0]);
    result.samples = calloc(POINTS * LAUNCHES, sizeof result.samples[0]);
    assert_true(result.points && result.samples);
    result.point_count = POINTS;
    result.sample_count = POINTS * LAUNCHES;
    for (size_t i = 0; i < POINTS; ++i) {
        gpuchar_divergence_shapes_point *point = &result.points[i];
        point->shape = RECORDED[i];
        if (RECORDED[i] == GPUCHAR_SHAPE_GIVEN)
            point->what = good_shape();
        else
            gc_shapes_plan(RECORDED[i], 24, &point->what);
        gc_shapes_describe(point);
        point->sample_offset = i * LAUNCHES;
        point->efficiency = point->expected_efficiency;
        point->executed_count = point->turns * 67;
        point->known = GPUCHAR_SHAPES_POINT_COUNTERS;
    }
    fill_cycles(cycles, result.points);
    memcpy(result.samples, cycles + (size_t)64 * LAUNCHES, POINTS * LAUNCHES * sizeof cycles[0]);
    gc_shapes_summarize(cycles, LAUNCHES, scratch, &result);
    result.loop_instructions = 67;
    result.known = GPUCHAR_SHAPES_DECODED;
    result.evidence.flags = GPUCHAR_FLAG_PROVED;
    result.evidence.arch = 90;
    strcpy(result.evidence.mnemonic, "FFMA");
    gc_shapes_expect(&result);
    gc_shapes_recount(&result);
    gc_shapes_derive(&result);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    result.evidence.sm_clock_hz = 1.98e9;
    result.evidence.known |= GPUCHAR_EVIDENCE_CLOCK;
    result.launches_ns = result.counters_ns = result.call_ns = result.device_memory_bytes = 1000;
    return result;
}

static char path[128];

/* Saves the result as a profile's only one. */
static void save(const shapes_result *result) {
    snprintf(path, sizeof path, "%s/profile.json", folder);
    write_document(path, NAME, result);
}

static gpuchar_session *record(const shapes_result *result) {
    gpuchar_session *session = NULL;
    save(result);
    assert_int_equal(gpuchar_session_open_recorded(NULL, path, &session), GPUCHAR_OK);
    return session;
}

static void test_recorded_whole(void **state) {
    (void)state;
    shapes_result wanted = new_result(), result;
    gpuchar_session *session = record(&wanted);
    shapes_options options = defaults();
    options.keep_samples = 1;
    options.counters = GPUCHAR_COUNTERS_REQUIRED;
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_STABLE;
    assert_int_equal(run_shapes(session, &options, &result), GPUCHAR_OK);
    wanted.evidence.flags |= GPUCHAR_FLAG_RECORDED;
    assert_true(walk_equal(gpuchar_schema_get("gpuchar_divergence_shapes_result"), &wanted, &result));
    gpuchar_divergence_shapes_result_free(&result);
    assert_int_equal(run_shapes(session, NULL, &result), GPUCHAR_OK);
    assert_true(!result.samples && result.sample_count == 0 && result.point_count == POINTS);
    gpuchar_divergence_shapes_result_free(&result);
    gpuchar_divergence_shapes_result_free(&wanted);
    gpuchar_session_close(session);
}

/* A named shape and one of the caller's own, in another order: numbers of these two only. */
static void test_recorded_part(void **state) {
    (void)state;
    shapes_result whole = new_result(), result;
    gpuchar_session *session = record(&whole);
    shapes_options options = defaults();
    options.shapes[0] = GPUCHAR_SHAPE_RATIO_8;
    options.shapes_count = 1;
    options.given[0] = good_shape();
    options.given_count = 1;
    options.keep_samples = 1;
    assert_int_equal(run_shapes(session, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.point_count, 2);
    assert_int_equal(result.points[0].shape, GPUCHAR_SHAPE_RATIO_8);
    assert_int_equal(result.points[1].shape, GPUCHAR_SHAPE_GIVEN);
    assert_true(result.points[1].cycles.median == whole.points[3].cycles.median);
    assert_true(result.points[1].predicted_cycles == whole.points[3].predicted_cycles);
    assert_true(result.samples[LAUNCHES] == whole.samples[3 * LAUNCHES]);
    assert_true(result.slope.value == whole.slope.value && result.slope.points == 64);
    assert_int_equal(result.shapes_slope.points, 2);
    assert_true(result.shapes_slope.value != whole.shapes_slope.value);
    assert_true(result.largest_deviation == fmax(fabs(whole.points[1].deviation), fabs(whole.points[3].deviation)));
    assert_true(result.largest_deviation != whole.largest_deviation);
    const uint64_t most = result.points[1].turns;
    assert_int_equal(result.evidence.decoded_count, most * 64);
    assert_int_equal(result.evidence.executed_count, most * 64);
    assert_int_equal(result.evidence.scaffold_count, most * 3);
    assert_true(result.evidence.sm_clock_hz == 0 && !(result.evidence.known & GPUCHAR_EVIDENCE_CLOCK));
    assert_int_equal(result.launches_ns + result.counters_ns + result.call_ns + result.device_memory_bytes, 0);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_RECORDED);
    gpuchar_divergence_shapes_result_free(&result);
    gpuchar_divergence_shapes_result_free(&whole);
    gpuchar_session_close(session);
}

/* The whole is off the law and counted otherwise by one shape: a part without it is not. */
static void test_recorded_flags(void **state) {
    (void)state;
    shapes_result whole = new_result(), result;
    gpuchar_stat *slow = &whole.points[2].cycles;
    double *const of_it[] = {&slow->median, &slow->mean, &slow->min, &slow->max, &slow->ci95_low, &slow->ci95_high};
    for (size_t i = 0; i < GC_COUNT(of_it); ++i) *of_it[i] *= 1.1;
    whole.points[2].executed_count++;
    gc_shapes_recount(&whole);
    gc_shapes_derive(&whole);
    assert_int_equal(whole.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_OFF_LAW);
    gpuchar_session *session = record(&whole);
    shapes_options options = defaults();
    options.require = GPUCHAR_REQUIRE_STABLE;
    refuse(session, &options, GPUCHAR_E_NOT_RECORDED, NAME, "\"require\"");
    options.shapes[0] = GPUCHAR_SHAPE_EARLY_4;
    options.shapes_count = 1;
    options.require |= GPUCHAR_REQUIRE_COUNTED;
    assert_int_equal(run_shapes(session, &options, &result), GPUCHAR_OK);
    gpuchar_divergence_shapes_result_free(&result);
    options.shapes[0] = GPUCHAR_SHAPE_LINEAR;
    refuse(session, &options, GPUCHAR_E_NOT_RECORDED, NAME, "\"require\"");
    options.require = 0;
    assert_int_equal(run_shapes(session, &options, &result), GPUCHAR_CAVEAT);
    gpuchar_divergence_shapes_result_free(&result);
    gpuchar_divergence_shapes_result_free(&whole);
    gpuchar_session_close(session);
}

static void test_not_recorded(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        uint32_t value;
        const char *name;
    } others[] = {
        {FIELD(turns), 25, "\"turns\""}, {FIELD(launches), LAUNCHES + 1, "\"launches\""}, {FIELD(seed), 2, "\"seed\""}};
    shapes_result whole = new_result();
    gpuchar_session *session = record(&whole);
    for (size_t i = 0; i < GC_COUNT(others); ++i) {
        shapes_options options = defaults();
        memcpy((char *)&options + others[i].offset, &others[i].value, sizeof others[i].value);
        refuse(session, &options, GPUCHAR_E_NOT_RECORDED, NAME, others[i].name);
    }
    shapes_options options = defaults();
    options.shapes[0] = GPUCHAR_SHAPE_LATE_2;
    options.shapes_count = 1;
    refuse(session, &options, GPUCHAR_E_NOT_RECORDED, NAME, "\"shapes\"");
    options = defaults();
    options.given[0] = good_shape();
    options.given[0].turns[62] = 1;
    options.given_count = 1;
    refuse(session, &options, GPUCHAR_E_NOT_RECORDED, NAME, "\"given\"");
    options.given[0].turns[62] = 0; /* wrong values are refused as on a GPU */
    refuse(session, &options, GPUCHAR_E_LIMIT, "given[0].turns[62]", "");
    gpuchar_divergence_shapes_result_free(&whole);
    gpuchar_session_close(session);
}

/* ---- what no call can have filled ---- */

static void spoil_lane(shapes_result *result) {
    result->points[1].what.lanes[3] = 32;
}
static void spoil_turns(shapes_result *result) {
    result->points[1].what.turns[9] = 0;
}
static void spoil_cycles(shapes_result *result) {
    result->points[0].cycles.median = -1;
}
static void spoil_path(shapes_result *result) {
    result->long_paths[4].max = 1e300;
}
static void spoil_sample(shapes_result *result) {
    result->samples[7] = 1e-300;
}
static void spoil_unit(shapes_result *result) {
    result->turns = 0;
}
static void spoil_launches(shapes_result *result) {
    result->launches = 0;
}
static void spoil_proof(shapes_result *result) {
    result->evidence.proof_status = GPUCHAR_E_NOT_PROVED;
}
static void spoil_counted(shapes_result *result) {
    result->evidence.counters_status = GPUCHAR_E_NO_PERMISSION;
}

static void test_untrusted(void **state) {
    (void)state;
    static const struct {
        void (*spoil)(shapes_result *);
        const char *field;
    } cases[] = {{spoil_lane, "points[].what"},
                 {spoil_turns, "points[].what"},
                 {spoil_cycles, "points[].cycles"},
                 {spoil_path, "long_paths[]"},
                 {spoil_sample, "samples[]"},
                 {spoil_unit, "turns"},
                 {spoil_launches, "launches"},
                 {spoil_proof, "evidence.proof_status"},
                 {spoil_counted, "evidence.counters_status"}};
    for (size_t i = 0; i < GC_COUNT(cases); ++i) {
        gpuchar_session *session = NULL;
        shapes_result result = new_result();
        cases[i].spoil(&result);
        save(&result);
        const gpuchar_status status = gpuchar_session_open_recorded(NULL, path, &session);
        expect_failure(status, GPUCHAR_E_FORMAT, NAME, cases[i].field);
        gpuchar_divergence_shapes_result_free(&result);
    }
}

/* What follows from other numbers is not taken from the file. */
static void test_recorded_lies(void **state) {
    (void)state;
    shapes_result wanted = new_result(), lying = new_result(), result;
    lying.slope.value = lying.slope.ci95_low = lying.slope.ci95_high = 1;
    lying.shapes_slope = lying.intercept = lying.slope;
    lying.flatness = lying.largest_deviation = 0.5;
    lying.points[0].predicted_cycles = lying.points[0].longest_cycles = 7;
    lying.points[1].deviation = -0.9;
    lying.points[2].expected_count = 9;
    lying.points[2].paths = 31;
    lying.points[2].expected_efficiency = 1;
    lying.evidence.decoded_count = lying.evidence.executed_count = lying.evidence.scaffold_count = 1;
    gpuchar_session *session = record(&lying);
    shapes_options options = defaults();
    options.keep_samples = 1;
    assert_int_equal(run_shapes(session, &options, &result), GPUCHAR_OK);
    wanted.evidence.flags |= GPUCHAR_FLAG_RECORDED;
    assert_true(walk_equal(gpuchar_schema_get("gpuchar_divergence_shapes_result"), &wanted, &result));
    gpuchar_divergence_shapes_result_free(&result);
    gpuchar_session_close(session);
    lying.points[0].executed_count++; /* COUNTED is a judgement, not a number */
    session = record(&lying);
    assert_true(run_shapes(session, &options, &result) == GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.flags & GPUCHAR_FLAG_COUNTED, 0);
    gpuchar_divergence_shapes_result_free(&result);
    gpuchar_divergence_shapes_result_free(&lying);
    gpuchar_divergence_shapes_result_free(&wanted);
    gpuchar_session_close(session);
}

/* ---- text ---- */

static char *text_of(const shapes_result *result) {
    char *text = NULL;
    assert_int_equal(gpuchar_experiment_text(NAME, result, &text), GPUCHAR_OK);
    return text;
}

static void test_text(void **state) {
    (void)state;
    shapes_result result = new_result();
    char *text = text_of(&result);
    const char *const said[] = {
        "nested 4",         "ratio 1:8",      "lengths 1..32", "given", "s = 269.000 cycles per turn",
        "proved for sm_90", "67 instructions"};
    for (size_t i = 0; i < GC_COUNT(said); ++i) {
        if (!strstr(text, said[i])) fail_msg("no \"%s\" in\n%s", said[i], text);
    }
    const size_t width = strcspn(text, "\n");
    for (const char *line = text; line < text + (POINTS + 1) * (width + 1); line += width + 1) {
        assert_int_equal(strcspn(line, "\n"), width);
    }
    gpuchar_string_free(text);
    /* From anywhere: no line grows without end, no number is taken for finite. */
    result.points[0].shape = UINT32_MAX;
    result.points[0].paths = result.points[0].nodes = UINT32_MAX;
    result.points[0].turns = UINT64_MAX;
    result.points[0].deviation = result.points[1].predicted_cycles = result.flatness = HUGE_VAL;
    result.points[1].cycles.median = result.slope.value = 1.7e308;
    result.points[2].cycles.samples = 0;
    text = text_of(&result);
    if (strstr(text, "inf") || strstr(text, "nan")) fail_msg("a number that is none in\n%s", text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        assert_in_range(strcspn(line, "\n"), 1, 160);
    }
    assert_int_equal(strcspn(text + width + 1, "\n"), width);
    gpuchar_string_free(text);
    gpuchar_divergence_shapes_result_free(&result);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_bad_shapes),
        cmocka_unit_test(test_demands), cmocka_unit_test(test_every_architecture),
        cmocka_unit_test(test_choice),  IN_FOLDER(test_recorded_whole),
        IN_FOLDER(test_recorded_part),  IN_FOLDER(test_recorded_flags),
        IN_FOLDER(test_not_recorded),   IN_FOLDER(test_untrusted),
        IN_FOLDER(test_recorded_lies),  cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, find_archs, NULL);
}
