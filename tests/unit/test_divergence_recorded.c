/* Answers of a recorded session: a planted sweep is saved, loaded and asked in all the ways it can answer, and in those it cannot. */
#include <unit/sweep_client.h>
#include <unit/divergence_planted.h>
#include <unit/temp_folder.h>

static char path[128];
static gpuchar_session *session;

/* All k from 1 to 32, steady and on the law. */
static gpuchar_divergence_sweep_result planted_result(uint32_t flags) {
    planted plan = plant_law(32, 0);
    plan_noise(&plan, 1e-5, 11);
    gpuchar_divergence_sweep_result result = reduce_planted(&plan);
    result.kind = GPUCHAR_PATH_FP32;
    result.lane_map = GPUCHAR_LANES_STRIDED;
    result.body = 128;
    result.iterations = 64;
    result.launches = LAUNCHES;
    result.seed = 1;
    result.samples = plan.points;
    result.sample_count = (size_t)32 * LAUNCHES;
    for (uint32_t i = 0; i < 32; ++i) result.points[i].sample_offset = (uint64_t)i * LAUNCHES;
    result.evidence.flags |= flags;
    result.evidence.counters_status = flags & GPUCHAR_FLAG_COUNTED ? GPUCHAR_OK : GPUCHAR_E_NO_PERMISSION;
    result.evidence.arch = 90;
    free(plan.paths);
    return result;
}

static gpuchar_profile *empty_profile(void) {
    gpuchar_session *device = NULL;
    gpuchar_profile *profile = NULL;
    assert_int_equal(open_compile_only(90, NULL, &device), GPUCHAR_OK);
    expect_status(gpuchar_profile_create(device, &profile), GPUCHAR_OK);
    gpuchar_session_close(device);
    return profile;
}

/* Through the file, as a user does. */
static void record(const gpuchar_divergence_sweep_result *results, size_t count) {
    gpuchar_profile *profile = empty_profile(), *loaded = NULL;
    for (size_t i = 0; i < count; ++i) {
        expect_status(gpuchar_profile_add(profile, SWEEP_NAME, &results[i]), GPUCHAR_OK);
    }
    expect_status(gpuchar_profile_save(profile, path), GPUCHAR_OK);
    gpuchar_profile_free(profile);
    expect_status(gpuchar_profile_load(path, &loaded), GPUCHAR_OK);
    gpuchar_profile_free(loaded);
    gpuchar_session_close(session);
    session = NULL;
    expect_status(gpuchar_session_open_recorded(NULL, path, &session), GPUCHAR_OK);
}

static int set_up(void **state) {
    uint32_t archs[64];
    session = NULL;
    if (make_folder(state)) return -1;
    snprintf(path, sizeof path, "%s/profile.json", folder);
    if (known_archs(archs) == 0) return 0;
    gpuchar_divergence_sweep_result result = planted_result(GPUCHAR_FLAG_PROVED);
    record(&result, 1);
    gpuchar_divergence_sweep_result_free(&result);
    return 0;
}

static int tear_down(void **state) {
    gpuchar_session_close(session);
    return remove_folder(state);
}

static void expect_not_recorded(const gpuchar_divergence_sweep_options *options, const char *option) {
    char quoted[48];
    gpuchar_divergence_sweep_result result = dirty_result();
    snprintf(quoted, sizeof quoted, "\"%s\"", option);
    expect_status(gpuchar_divergence_sweep(session, options, &result), GPUCHAR_E_NOT_RECORDED);
    expect_empty(&result, sizeof result);
    expect_words(gpuchar_last_error()->hint, quoted);
}

/* ---- what it answers ---- */

static void test_defaults(void **state) {
    (void)state;
    if (!session) skip();
    gpuchar_divergence_sweep_result planted_one = planted_result(GPUCHAR_FLAG_PROVED), result = dirty_result();
    expect_status(gpuchar_divergence_sweep(session, NULL, &result), GPUCHAR_OK);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_RECORDED);
    assert_int_equal(result.point_count, 32);
    assert_int_equal(result.known, planted_one.known);
    for (uint32_t i = 0; i < 32; ++i) {
        assert_memory_equal(&result.points[i].cycles, &planted_one.points[i].cycles, sizeof result.points[i].cycles);
        assert_near(result.points[i].predicted_cycles, planted_one.points[i].predicted_cycles, 0);
    }
    assert_memory_equal(&result.slope, &planted_one.slope, sizeof result.slope);
    assert_memory_equal(result.paths, planted_one.paths, sizeof result.paths);
    assert_near(result.ratio_32, planted_one.ratio_32, 0);
    assert_int_equal(result.sample_count, 0); /* not asked for */
    assert_null(result.samples);
    gpuchar_divergence_sweep_result_free(&planted_one);
    gpuchar_divergence_sweep_result_free(&result);
}

static void test_equal_options(void **state) {
    (void)state;
    if (!session) skip();
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result result = dirty_result();
    expect_status(gpuchar_experiment_preset(SWEEP_NAME, GPUCHAR_PRESET_FULL, &options), GPUCHAR_OK);
    options.kind = GPUCHAR_PATH_FP32;
    options.lane_map = GPUCHAR_LANES_STRIDED;
    options.body = 128;
    options.iterations = 64;
    options.launches = LAUNCHES;
    options.seed = 1;
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_STABLE;
    expect_status(gpuchar_experiment_run(session, SWEEP_NAME, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.point_count, 32);
    gpuchar_divergence_sweep_result_free(&result);
}

static void test_subset(void **state) {
    (void)state;
    if (!session) skip();
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result result = dirty_result();
    static const uint32_t ways[] = {20, 3, 9, 3};
    memcpy(options.ways, ways, sizeof ways);
    options.ways_count = 4;
    expect_status(gpuchar_divergence_sweep(session, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.point_count, 4);
    for (uint32_t i = 0; i < 4; ++i) {
        assert_int_equal(result.points[i].ways, ways[i]);
        assert_near(result.points[i].cycles.median, ways[i] * PATH_CYCLES, PATH_CYCLES * 1e-3);
        assert_true(result.points[i].known & GPUCHAR_DIVERGENCE_POINT_PREDICTED);
    }
    assert_int_equal(result.slope.points, 4); /* fitted to these points, not to those that were left out */
    assert_false(result.known & GPUCHAR_DIVERGENCE_RATIO32);
    assert_near(result.ratio_32, 0, 0);
    assert_all_finite(gpuchar_schema_get("gpuchar_divergence_sweep_result"), &result);
    gpuchar_divergence_sweep_result_free(&result);

    options.ways_count = 1;
    expect_status(gpuchar_divergence_sweep(session, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.slope.points, 0);
    assert_near(result.slope_robust, 0, 0);
    assert_false(result.known & GPUCHAR_DIVERGENCE_INTERCEPT);
    assert_false(result.points[0].known & GPUCHAR_DIVERGENCE_POINT_PREDICTED);
    gpuchar_divergence_sweep_result_free(&result);
}

static void test_samples(void **state) {
    (void)state;
    if (!session) skip();
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result planted_one = planted_result(0), result = dirty_result();
    options.ways[0] = 31;
    options.ways[1] = 2;
    options.ways_count = 2;
    options.keep_samples = 1;
    expect_status(gpuchar_divergence_sweep(session, &options, &result), GPUCHAR_OK);
    assert_int_equal(result.sample_count, 2 * LAUNCHES);
    for (uint32_t i = 0; i < 2; ++i) {
        assert_int_equal(result.points[i].sample_offset, i * LAUNCHES);
        assert_memory_equal(result.samples + (size_t)i * LAUNCHES,
                            planted_one.samples + (size_t)(options.ways[i] - 1) * LAUNCHES, LAUNCHES * sizeof(double));
    }
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_divergence_sweep_result_free(&planted_one);
}

/* What the measuring call had returned, the recorded one returns again. */
static void test_caveats_stay(void **state) {
    (void)state;
    if (!session) skip();
    static const struct {
        uint32_t flags;
        gpuchar_status counters_status, wanted;
    } cases[] = {
        {GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED, GPUCHAR_OK, GPUCHAR_OK},
        {GPUCHAR_FLAG_PROVED, GPUCHAR_E_NOT_REQUESTED, GPUCHAR_OK},
        {GPUCHAR_FLAG_PROVED, GPUCHAR_OK, GPUCHAR_CAVEAT}, /* counters disagreed */
        {0, GPUCHAR_E_NOT_REQUESTED, GPUCHAR_CAVEAT},
        {GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_OFF_LAW, GPUCHAR_E_NOT_REQUESTED, GPUCHAR_CAVEAT},
        {GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE, GPUCHAR_E_NOT_REQUESTED, GPUCHAR_CAVEAT},
        {GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_THROTTLED, GPUCHAR_E_NOT_REQUESTED, GPUCHAR_CAVEAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gpuchar_divergence_sweep_result recorded = planted_result(cases[i].flags), result = dirty_result();
        recorded.evidence.counters_status = cases[i].counters_status;
        record(&recorded, 1);
        expect_status(gpuchar_divergence_sweep(session, NULL, &result), cases[i].wanted);
        assert_int_equal(result.evidence.flags, cases[i].flags | GPUCHAR_FLAG_RECORDED);
        gpuchar_divergence_sweep_result_free(&result);
        gpuchar_divergence_sweep_result_free(&recorded);
    }
}

static void test_newest_that_fits(void **state) {
    (void)state;
    if (!session) skip();
    gpuchar_divergence_sweep_result recorded[2] = {planted_result(GPUCHAR_FLAG_PROVED),
                                                   planted_result(GPUCHAR_FLAG_PROVED)};
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    recorded[1].body = 512;
    record(recorded, 2);
    for (uint32_t body = 0; body <= 512; body += 128) {
        gpuchar_divergence_sweep_result result = dirty_result();
        options.body = body;
        if (body == 256 || body == 384) continue;
        expect_status(gpuchar_divergence_sweep(session, &options, &result), GPUCHAR_OK);
        assert_int_equal(result.body, body ? body : 512);
        gpuchar_divergence_sweep_result_free(&result);
    }
    for (size_t i = 0; i < 2; ++i) gpuchar_divergence_sweep_result_free(&recorded[i]);
}

/* ---- what it does not answer ---- */

static void test_other_options(void **state) {
    (void)state;
    if (!session) skip();
#define FIELD(name, value)                                                                                             \
    { offsetof(gpuchar_divergence_sweep_options, name), value, #name }
    static const struct {
        size_t offset;
        uint32_t value;
        const char *option;
    } others[] = {FIELD(body, 64),
                  FIELD(kind, GPUCHAR_PATH_INT32),
                  FIELD(iterations, 5),
                  FIELD(lane_map, GPUCHAR_LANES_RANDOM),
                  FIELD(launches, 5),
                  FIELD(lane_map, GPUCHAR_LANES_GIVEN),
                  FIELD(seed, 2),
                  FIELD(counters, GPUCHAR_COUNTERS_REQUIRED),
                  FIELD(require, GPUCHAR_REQUIRE_COUNTED)};
#undef FIELD
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
        gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
        memcpy((char *)&options + others[i].offset, &others[i].value, sizeof others[i].value);
        expect_not_recorded(&options, others[i].option);
    }
    gpuchar_divergence_sweep_result result = dirty_result(); /* and the next one is answered */
    expect_status(gpuchar_divergence_sweep(session, NULL, &result), GPUCHAR_OK);
    gpuchar_divergence_sweep_result_free(&result);
}

/* Wrong values are wrong here too: no file could answer them. */
static void test_bad_options(void **state) {
    (void)state;
    if (!session) skip();
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result result = dirty_result();
#define BAD(field, value, wanted)                                                                                      \
    options = gpuchar_divergence_sweep_options_make();                                                                 \
    options.field = value;                                                                                             \
    expect_status(gpuchar_divergence_sweep(session, &options, &result), wanted);                                       \
    expect_empty(&result, sizeof result)
    BAD(ways_count, 33, GPUCHAR_E_LIMIT);
    BAD(ways_count, UINT32_MAX, GPUCHAR_E_LIMIT);
    BAD(ways_count, 1, GPUCHAR_E_LIMIT); /* ways[0] is 0 */
    BAD(kind, 9, GPUCHAR_E_INVALID_ARGUMENT);
    BAD(body, 100, GPUCHAR_E_LIMIT);
    BAD(require, 64, GPUCHAR_E_INVALID_ARGUMENT);
    BAD(keep_samples, 2, GPUCHAR_E_INVALID_ARGUMENT);
    BAD(struct_size, 8, GPUCHAR_E_STRUCT_SIZE);
#undef BAD
}

static void test_missing_parts(void **state) {
    (void)state;
    if (!session) skip();
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result recorded = planted_result(GPUCHAR_FLAG_UNSTABLE);
    free(recorded.samples);
    recorded.samples = NULL;
    recorded.sample_count = 0;
    recorded.point_count = 5;
    record(&recorded, 1);
    options.ways[0] = 6;
    options.ways_count = 1;
    expect_not_recorded(&options, "ways");
    options.ways[0] = 5;
    options.keep_samples = 1;
    expect_not_recorded(&options, "keep_samples");
    options.keep_samples = 0;
    options.require = GPUCHAR_REQUIRE_PROVED;
    expect_not_recorded(&options, "require");
    options.require = GPUCHAR_REQUIRE_STABLE;
    expect_not_recorded(&options, "require");
    gpuchar_divergence_sweep_result_free(&recorded);
}

/* A file may say anything. */
static void test_samples_out_of_range(void **state) {
    (void)state;
    if (!session) skip();
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    options.keep_samples = 1;
    static const struct {
        uint64_t offset;
        uint32_t launches;
    } bad[] = {{UINT64_MAX, LAUNCHES},
               {UINT64_MAX - 100, LAUNCHES},
               {31 * LAUNCHES + 1, LAUNCHES},
               {0, LAUNCHES + 1},
               {0, UINT32_MAX},
               {0, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        gpuchar_divergence_sweep_result recorded = planted_result(GPUCHAR_FLAG_PROVED);
        recorded.points[3].sample_offset = bad[i].offset;
        recorded.launches = bad[i].launches;
        record(&recorded, 1);
        expect_not_recorded(&options, "keep_samples");
        gpuchar_divergence_sweep_result_free(&recorded);
    }
}

static void test_profile_with_nothing(void **state) {
    (void)state;
    if (!session) skip();
    gpuchar_divergence_sweep_result result = dirty_result();
    record(NULL, 0);
    expect_status(gpuchar_divergence_sweep(session, NULL, &result), GPUCHAR_E_NOT_RECORDED);
    expect_empty(&result, sizeof result);
    expect_words(gpuchar_last_error()->message, SWEEP_NAME);
}

int main(void) {
#define RECORDED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        RECORDED(test_defaults),
        RECORDED(test_equal_options),
        RECORDED(test_subset),
        RECORDED(test_samples),
        RECORDED(test_caveats_stay),
        RECORDED(test_newest_that_fits),
        RECORDED(test_other_options),
        RECORDED(test_bad_options),
        RECORDED(test_missing_parts),
        RECORDED(test_samples_out_of_range),
        RECORDED(test_profile_with_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
