/* The divergence sweep refuses bad input: the right status, words that name the field, an emptied result, a usable session. */
#include "unit/options_helper.h"

static gpuchar_status run(gpuchar_session *on, const void *options, void *result) {
    return gpuchar_divergence_sweep(on, options, result);
}

static void free_result(void *result) {
    gpuchar_divergence_sweep_result_free(result);
}

#define FIELD(name) offsetof(sweep_options, name)

static const subject SUBJECT = {SWEEP_NAME, run, free_result, FIELD(counters), FIELD(require)};

static void test_values(void **state) {
    NEEDS_NVRTC();
    static const bad_value bad[] = {
        {FIELD(ways_count), 33, GPUCHAR_E_LIMIT, "ways_count"},
        {FIELD(ways_count), UINT32_MAX, GPUCHAR_E_LIMIT, "ways_count"},
        {FIELD(kind), 5, GPUCHAR_E_INVALID_ARGUMENT, "kind"},
        {FIELD(kind), 9, GPUCHAR_E_INVALID_ARGUMENT, "kind"},
        {FIELD(kind), UINT32_MAX, GPUCHAR_E_INVALID_ARGUMENT, "kind"},
        {FIELD(lane_map), 5, GPUCHAR_E_INVALID_ARGUMENT, "lane_map"},
        {FIELD(lane_map), 9, GPUCHAR_E_INVALID_ARGUMENT, "lane_map"},
        {FIELD(body), 1, GPUCHAR_E_LIMIT, "body"},
        {FIELD(body), 63, GPUCHAR_E_LIMIT, "body"},
        {FIELD(body), 100, GPUCHAR_E_LIMIT, "body"},
        {FIELD(body), 1024, GPUCHAR_E_LIMIT, "body"},
        {FIELD(body), UINT32_MAX, GPUCHAR_E_LIMIT, "body"},
        {FIELD(iterations), 1, GPUCHAR_E_LIMIT, "iterations"},
        {FIELD(iterations), 3, GPUCHAR_E_LIMIT, "iterations"},
        {FIELD(iterations), 65537, GPUCHAR_E_LIMIT, "iterations"},
        {FIELD(iterations), UINT32_MAX, GPUCHAR_E_LIMIT, "iterations"},
        {FIELD(launches), 1, GPUCHAR_E_LIMIT, "launches"},
        {FIELD(launches), 4, GPUCHAR_E_LIMIT, "launches"},
        {FIELD(launches), 10001, GPUCHAR_E_LIMIT, "launches"},
        {FIELD(launches), UINT32_MAX, GPUCHAR_E_LIMIT, "launches"},
        {FIELD(counters), 3, GPUCHAR_E_INVALID_ARGUMENT, "counters"},
        {FIELD(counters), 9, GPUCHAR_E_INVALID_ARGUMENT, "counters"},
        {FIELD(require), 8, GPUCHAR_E_INVALID_ARGUMENT, "require"},
        {FIELD(require), 0x80000001u, GPUCHAR_E_INVALID_ARGUMENT, "require"},
        {FIELD(keep_samples), 2, GPUCHAR_E_INVALID_ARGUMENT, "keep_samples"},
    };
    refuse_values(bad, sizeof bad / sizeof bad[0]);
}

static void test_edges_are_allowed(void **state) {
    NEEDS_NVRTC();
    static const good_value good[] = {{FIELD(iterations), 4},   {FIELD(iterations), 65536}, {FIELD(launches), 5},
                                      {FIELD(launches), 10000}, {FIELD(keep_samples), 1},   {FIELD(require), 1},
                                      {FIELD(counters), 1},     {FIELD(lane_map), 3}};
    accept_values(good, sizeof good / sizeof good[0]);
}

static void test_ways(void **state) {
    NEEDS_NVRTC();
    static const uint32_t bad[] = {0, 33, 100, UINT32_MAX};
    refuse_entries(FIELD(ways), FIELD(ways_count), bad, sizeof bad / sizeof bad[0], "ways");
    sweep_options options = default_options();
    options.ways[0] = 4;
    options.ways[5] = 33; /* behind ways_count */
    options.ways_count = 1;
    refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "ways[5] is 33", "ways_count is 1");
}

/* What would be ignored is refused: its caller believes in it. */
static void test_contradictions(void **state) {
    NEEDS_NVRTC();
    static const uint32_t maps[] = {0, GPUCHAR_LANES_STRIDED, GPUCHAR_LANES_CONTIGUOUS, GPUCHAR_LANES_RANDOM};
    sweep_options options = default_options();
    options.ways[0] = 2;
    refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "ways[0] is 2", "ways_count is 0");
    options.lane_map = GPUCHAR_LANES_GIVEN; /* not even where the lanes tell the number */
    options.lanes[31] = 1;
    refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "ways[0] is 2", "ways_count is 0");
    options = default_options();
    options.ways[31] = 33;
    refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "ways[31] is 33", "ways_count is 0");
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; ++i) {
        options = default_options();
        options.lane_map = maps[i];
        options.lanes[i * 10] = 1;
        refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "is 1, but lane_map", "GPUCHAR_LANES_GIVEN");
    }
}

static void test_given_lanes(void **state) {
    NEEDS_NVRTC();
    sweep_options options = default_options();
    sweep_result result = dirty_result();
    options.lane_map = GPUCHAR_LANES_GIVEN;
    options.lanes[3] = 32;
    refuse(&options, GPUCHAR_E_LIMIT, "lanes[3]", "path 32");
    options.lanes[3] = UINT32_MAX;
    refuse(&options, GPUCHAR_E_LIMIT, "lanes[3]", "path 4294967295");
    options.lanes[3] = 31;
    options.ways[0] = 3;
    options.ways_count = 1;
    refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "ways", "2 paths");
    options.ways_count = 2;
    refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "ways", "2 paths");
    options.ways_count = 33;
    refuse(&options, GPUCHAR_E_LIMIT, "ways_count is 33", "32");
    for (uint32_t count = 0; count <= 1; ++count) { /* the right number may be told */
        options.ways_count = count;
        options.ways[0] = 2 * count;
        assert_int_equal(gpuchar_divergence_sweep(session, &options, &result), GPUCHAR_CAVEAT);
        assert_int_equal(result.point_count, 1);
        assert_int_equal(result.points[0].ways, 2);
        assert_int_equal(result.lane_map, GPUCHAR_LANES_GIVEN);
        gpuchar_divergence_sweep_result_free(&result);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),      cmocka_unit_test(test_edges_are_allowed), cmocka_unit_test(test_ways),
        cmocka_unit_test(test_given_lanes), cmocka_unit_test(test_contradictions),    TESTS_OF_ALL,
    };
    return cmocka_run_group_tests(tests, open_subject, close_subject);
}
