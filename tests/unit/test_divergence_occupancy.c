/* The occupancy experiment without a GPU: its reduction on planted spans, its options, its proofs, its recordings. */
#include <unit/sweep_helper.h>
#include <unit/temp_folder.h>

#include <core/util.h>
#include <experiments/occupancy_tables.h>

#define NAME "divergence_occupancy"
#define SMS 5
#define LAUNCHES 3

typedef gpuchar_divergence_occupancy_options occupancy_options;
typedef gpuchar_divergence_occupancy_result occupancy_result;

/* ---- reduction ---- */

/* Launch l takes 1000 + 10 l cycles on the median SM; SMs begin at different times of their own clocks. */
static void plant(gc_span spans[LAUNCHES][SMS]) {
    for (uint64_t launch = 0; launch < LAUNCHES; ++launch) {
        for (uint64_t sm = 0; sm < SMS; ++sm) {
            const uint64_t start = UINT64_C(1) << (20 + 4 * sm);
            spans[launch][sm] = (gc_span){~start, start + 1000 + 10 * launch + sm - 2, 4};
        }
    }
}

static void test_spans(void **state) {
    (void)state;
    gc_span spans[LAUNCHES][SMS];
    double cycles[LAUNCHES], scratch[SMS];
    uint32_t uneven = 0;
    plant(spans);
    assert_int_equal(gc_occupancy_cycles(spans[0], LAUNCHES, SMS, 4, cycles, scratch, &uneven), LAUNCHES);
    assert_int_equal(uneven, 0);
    for (int i = 0; i < LAUNCHES; ++i) assert_true(cycles[i] == 1000 + 10 * i);
    /* An SM without blocks, or with another number, is told, and says nothing of this one however long it took. */
    memset(&spans[1][0], 0, sizeof spans[1][0]);
    spans[1][4] = (gc_span){~UINT64_C(0), 1000000, 5};
    assert_int_equal(gc_occupancy_cycles(spans[0], LAUNCHES, SMS, 4, cycles, scratch, &uneven), LAUNCHES);
    assert_int_equal(uneven, 2);
    assert_true(cycles[1] == 1010);
    /* A launch without any SM to measure by is none. */
    memset(spans[1], 0, sizeof spans[1]);
    uneven = 0;
    assert_int_equal(gc_occupancy_cycles(spans[0], LAUNCHES, SMS, 4, cycles, scratch, &uneven), LAUNCHES - 1);
    assert_int_equal(uneven, SMS);
    assert_true(cycles[0] == 1000 && cycles[1] == 1020);
}

/* Two bodies on two numbers of warps: the first flat at 32, the second rising. */
static occupancy_result planted(gpuchar_occupancy_point points[4], gpuchar_occupancy_body bodies[2]) {
    static const double one[4] = {1000, 2000, 1000, 2000}, ways[4] = {32000, 64000, 32000, 96000};
    occupancy_result result = {.ways = 32, .points = points, .point_count = 4, .bodies = bodies, .body_count = 2};
    memset(points, 0, 4 * sizeof points[0]);
    memset(bodies, 0, 2 * sizeof bodies[0]);
    for (uint32_t i = 0; i < 4; ++i) {
        points[i].body = bodies[i / 2].body = i < 2 ? 64 : 128;
        points[i].warps = 1 + i % 2;
        points[i].cycles_one = (gpuchar_stat){.median = one[i], .samples = 5};
        points[i].cycles_ways = (gpuchar_stat){.median = ways[i], .samples = 5};
        points[i].expected_count = points[i].executed_count = 8000;
        points[i].efficiency = 1;
        points[i].known = GPUCHAR_OCCUPANCY_POINT_EXPECTED | GPUCHAR_OCCUPANCY_POINT_COUNTERS;
    }
    result.evidence.flags = GPUCHAR_FLAG_PROVED;
    result.evidence.scaffold_count = 100;
    return result;
}

static void test_penalties(void **state) {
    (void)state;
    gpuchar_occupancy_point points[4];
    gpuchar_occupancy_body bodies[2];
    occupancy_result result = planted(points, bodies);
    gc_occupancy_derive(&result);
    assert_true(points[0].penalty == 32 && points[1].penalty == 32 && points[3].penalty == 48);
    assert_true(points[0].issue_rate_ways == 0.25 && points[0].issue_rate_one == 0.25);
    assert_true(points[1].issue_rate_ways == 0.25);
    assert_true(bodies[0].flatness == 0 && bodies[1].flatness == 0.5);
    assert_true(bodies[1].penalty_min == 32 && bodies[1].penalty_max == 48);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    /* Unsteady in one form of one point is unsteady; a point without time has no penalty. */
    result = planted(points, bodies);
    points[2].cycles_one.flags = GPUCHAR_FLAG_UNSTABLE;
    points[3].cycles_one.median = 0;
    gc_occupancy_derive(&result);
    assert_true(result.evidence.flags & GPUCHAR_FLAG_UNSTABLE);
    assert_false(points[3].known & GPUCHAR_OCCUPANCY_POINT_TIMED);
    assert_true(bodies[1].penalty_max == 32);
}

static void test_counted(void **state) {
    (void)state;
    gpuchar_occupancy_point points[4];
    gpuchar_occupancy_body bodies[2];
    occupancy_result result = planted(points, bodies);
    gc_occupancy_recount(&result);
    assert_true(result.evidence.flags & GPUCHAR_FLAG_COUNTED);
    assert_int_equal(result.evidence.executed_count, 7900);
    result = planted(points, bodies);
    points[3].executed_count++;
    gc_occupancy_recount(&result);
    assert_false(result.evidence.flags & GPUCHAR_FLAG_COUNTED);
    result = planted(points, bodies);
    points[2].efficiency = 1.02;
    gc_occupancy_recount(&result);
    assert_false(result.evidence.flags & GPUCHAR_FLAG_COUNTED);
    result = planted(points, bodies);
    points[1].known = GPUCHAR_OCCUPANCY_POINT_EXPECTED;
    gc_occupancy_recount(&result);
    assert_false(result.evidence.flags & GPUCHAR_FLAG_COUNTED);
    result = planted(points, bodies);
    result.evidence.flags = 0;
    gc_occupancy_recount(&result);
    assert_false(result.evidence.flags & GPUCHAR_FLAG_COUNTED);
}

/* ---- options ---- */

static void refuse(gpuchar_session *session, const occupancy_options *options, gpuchar_status wanted,
                   const char *field) {
    occupancy_result result;
    memset(&result, 0xa5, sizeof result);
    result.struct_size = sizeof result;
    const gpuchar_status status = gpuchar_divergence_occupancy(session, options, &result);
    if (status != wanted || !strstr(gpuchar_last_error()->message, field)) {
        fail_msg("%s: %d \"%s\", not %d", field, status, gpuchar_last_error()->message, wanted);
    }
    if (!gpuchar_last_error()->hint[0]) fail_msg("no hint: %s", gpuchar_last_error()->message);
    expect_empty(&result, sizeof result);
}

static void test_bad_options(void **state) {
    NEEDS_NVRTC();
    static const struct {
        size_t offset;
        uint32_t value;
        gpuchar_status wanted;
        const char *field;
    } bad[] = {
#define F(name) offsetof(occupancy_options, name)
        {F(warps_count), 17, GPUCHAR_E_LIMIT, "warps_count"},
        {F(warps_count), UINT32_MAX, GPUCHAR_E_LIMIT, "warps_count"},
        {F(warps_count), 1, GPUCHAR_E_LIMIT, "warps[0] is 0"},
        {F(warps), 4, GPUCHAR_E_INVALID_ARGUMENT, "warps_count is 0"},
        {F(bodies_count), 5, GPUCHAR_E_LIMIT, "bodies_count"},
        {F(bodies_count), 1, GPUCHAR_E_LIMIT, "bodies[0] is 0"},
        {F(bodies), 64, GPUCHAR_E_INVALID_ARGUMENT, "bodies_count is 0"},
        {F(ways), 1, GPUCHAR_E_LIMIT, "ways"},
        {F(ways), 33, GPUCHAR_E_LIMIT, "ways"},
        {F(turns), 7, GPUCHAR_E_LIMIT, "turns"},
        {F(turns), 65537, GPUCHAR_E_LIMIT, "turns"},
        {F(launches), 4, GPUCHAR_E_LIMIT, "launches"},
        {F(launches), 1001, GPUCHAR_E_LIMIT, "launches"},
        {F(counters), 3, GPUCHAR_E_INVALID_ARGUMENT, "counters"},
        {F(require), 8, GPUCHAR_E_INVALID_ARGUMENT, "require"},
        {F(reserved), 1, GPUCHAR_E_INVALID_ARGUMENT, "reserved"},
#undef F
    };
    gpuchar_session *session = open_any();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        occupancy_options options = GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT;
        memcpy((char *)&options + bad[i].offset, &bad[i].value, sizeof bad[i].value);
        refuse(session, &options, bad[i].wanted, bad[i].field);
    }
    static const uint32_t warps[] = {5, 6, 260, UINT32_MAX};
    for (size_t i = 0; i < sizeof warps / sizeof warps[0]; ++i) {
        occupancy_options options = GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT;
        options.warps[0] = warps[i];
        options.warps_count = 1;
        refuse(session, &options, GPUCHAR_E_LIMIT, "warps[0]");
    }
    occupancy_options twice = GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT;
    twice.bodies[0] = twice.bodies[1] = 64;
    twice.bodies_count = 2;
    refuse(session, &twice, GPUCHAR_E_INVALID_ARGUMENT, "both 64");
    occupancy_options parts = GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT;
    parts.turns = 12;
    parts.bodies[0] = 64;
    parts.bodies[1] = 512;
    parts.bodies_count = 2;
    refuse(session, &parts, GPUCHAR_E_INVALID_ARGUMENT, "multiple of 8");
    occupancy_options demand = GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT;
    demand.require = GPUCHAR_REQUIRE_COUNTED;
    refuse(session, &demand, GPUCHAR_E_NOT_APPLICABLE, "compile-only");
    refuse(NULL, &demand, GPUCHAR_E_INVALID_ARGUMENT, "session");
    assert_int_equal(gpuchar_divergence_occupancy(session, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    gpuchar_session_close(session);
}

/* ---- proofs and recordings ---- */

static void test_every_architecture(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < arch_count; ++i) {
        if (archs[i] < 70) continue;
        gpuchar_session *session = open_arch(archs[i], NULL);
        occupancy_result result = GPUCHAR_DIVERGENCE_OCCUPANCY_RESULT_INIT;
        assert_int_equal(gpuchar_divergence_occupancy(session, NULL, &result), GPUCHAR_CAVEAT);
        if (result.evidence.flags != (GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COMPILE_ONLY)) {
            fail_msg("sm_%u: flags %#x, proof %d", archs[i], result.evidence.flags, result.evidence.proof_status);
        }
        assert_int_equal(result.point_count, 8);
        assert_int_equal(result.points[7].warps, 128);
        assert_int_equal(result.evidence.decoded_count, 32 * 64 * 64);
        assert_true(result.bodies[0].code_bytes > 32 * 64 * 16);
        gpuchar_divergence_occupancy_result_free(&result);
        gpuchar_session_close(session);
    }
}

static gpuchar_stat flat(double value) {
    return (gpuchar_stat){.median = value,
                          .mean = value,
                          .min = value,
                          .max = value,
                          .ci95_low = value,
                          .ci95_high = value,
                          .samples = 11};
}

/* Numbers that no measurement can give, each in a copy of a good result. */
static void refuse_to_add(gpuchar_session *session, const occupancy_result *good) {
    gpuchar_profile *profile = NULL;
    assert_int_equal(gpuchar_profile_create(session, &profile), GPUCHAR_OK);
#define WRONG(array, member, value, field)                                                                             \
    {                                                                                                                  \
        const occupancy_result kept = *good;                                                                           \
        const typeof_##array saved = kept.array[0];                                                                    \
        kept.array[0].known = UINT32_MAX;                                                                              \
        kept.array[0].member = value;                                                                                  \
        assert_int_equal(gpuchar_profile_add(profile, NAME, &kept), GPUCHAR_E_INVALID_ARGUMENT);                       \
        if (!strstr(gpuchar_last_error()->message, field)) fail_msg("%s: %s", field, gpuchar_last_error()->message);   \
        kept.array[0] = saved;                                                                                         \
    }
    typedef gpuchar_occupancy_point typeof_points;
    typedef gpuchar_occupancy_body typeof_bodies;
    WRONG(points, efficiency, 33, "points[].efficiency")
    WRONG(points, penalty, -1, "points[].penalty")
    WRONG(points, issue_rate_ways, 1e300, "points[].issue_rate")
    WRONG(points, cycles_one.mad, 1e15, "points[].cycles_one")
    WRONG(points, cycles_ways.median, 1e-300, "points[].cycles_ways")
    WRONG(points, body, 128, "points[].body")
    WRONG(points, warps, 0, "points[].warps")
    WRONG(points, warps, 4000000000u, "points[].warps")
    WRONG(points, expected_count, UINT64_MAX, "points[].expected_count")
    WRONG(points, expected_count, 7, "points[].expected_count")
    WRONG(bodies, penalty_min, -1, "bodies[].penalty")
    WRONG(bodies, flatness, -1, "bodies[].flatness")
#undef WRONG
    gpuchar_profile_free(profile);
}

/* Measured elsewhere, saved, opened, asked. */
static void test_recorded(void **state) {
    NEEDS_NVRTC();
    char path[160];
    gpuchar_profile *profile = NULL;
    gpuchar_session *made = open_any(), *session = NULL;
    occupancy_result result = GPUCHAR_DIVERGENCE_OCCUPANCY_RESULT_INIT;
    assert_true(gpuchar_divergence_occupancy(made, NULL, &result) >= 0);
    for (size_t i = 0; i < result.point_count; ++i) {
        result.points[i].cycles_one = flat(1000);
        result.points[i].cycles_ways = flat(31500);
    }
    gc_occupancy_derive(&result);
    result.launches_ns = 1000;
    result.evidence.flags = GPUCHAR_FLAG_PROVED;
    refuse_to_add(made, &result);
    result.points[5].penalty = result.bodies[0].flatness = 7; /* which the answer does not believe */
    snprintf(path, sizeof path, "%s/profile.json", folder);
    assert_int_equal(gpuchar_profile_create(made, &profile), GPUCHAR_OK);
    assert_int_equal(gpuchar_profile_add(profile, NAME, &result), GPUCHAR_OK);
    assert_int_equal(gpuchar_profile_save(profile, path), GPUCHAR_OK);
    gpuchar_profile_free(profile);
    gpuchar_session_close(made);
    assert_int_equal(gpuchar_session_open_recorded(NULL, path, &session), GPUCHAR_OK);
    occupancy_result answer = GPUCHAR_DIVERGENCE_OCCUPANCY_RESULT_INIT;
    assert_int_equal(gpuchar_divergence_occupancy(session, NULL, &answer), GPUCHAR_OK);
    assert_int_equal(answer.point_count, result.point_count);
    assert_true(answer.points[5].penalty == 31.5 && answer.bodies[0].flatness == 0);
    assert_true(answer.evidence.flags & GPUCHAR_FLAG_RECORDED);
    char *text = NULL;
    answer.sm_count = 10;
    answer.points[7].uneven = 22;
    assert_int_equal(gpuchar_experiment_text(NAME, &answer, &text), GPUCHAR_OK);
    assert_non_null(strstr(text, "body 64, 128 warps: an SM ran another number of them 22 times of 220"));
    gpuchar_string_free(text);
    gpuchar_divergence_occupancy_result_free(&answer);
    occupancy_options other = GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT;
    other.ways = 16;
    refuse(session, &other, GPUCHAR_E_NOT_RECORDED, "");
    assert_non_null(strstr(gpuchar_last_error()->hint, "ways"));
    other.ways = 0;
    other.require = GPUCHAR_REQUIRE_COUNTED;
    refuse(session, &other, GPUCHAR_E_NOT_RECORDED, "");
    gpuchar_session_close(session);
    gpuchar_divergence_occupancy_result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_penalties),
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_every_architecture),
        cmocka_unit_test_setup_teardown(test_recorded, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, find_archs, NULL);
}
