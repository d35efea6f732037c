/* The predication comparison refuses bad input: the right status, words that name the field, an emptied result, a usable session. */
#include "unit/predication_helper.h"

#include "unit/options_helper.h"

static gpuchar_status run(gpuchar_session *on, const void *options, void *result) {
    return gpuchar_predication_compare(on, options, result);
}

static void free_result(void *result) {
    gpuchar_predication_compare_result_free(result);
}

#define FIELD(name) offsetof(compare_options, name)

static const subject SUBJECT = {COMPARE_NAME, run, free_result, FIELD(counters), FIELD(require)};

static void test_values(void **state) {
    NEEDS_NVRTC();
    static const bad_value bad[] = {
        {FIELD(warps_count), 33, GPUCHAR_E_LIMIT, "warps_count"},
        {FIELD(warps_count), UINT32_MAX, GPUCHAR_E_LIMIT, "warps_count"},
        {FIELD(body), 1, GPUCHAR_E_LIMIT, "body"},
        {FIELD(body), 63, GPUCHAR_E_LIMIT, "body"},
        {FIELD(body), 256, GPUCHAR_E_LIMIT, "body"},
        {FIELD(body), 512, GPUCHAR_E_LIMIT, "body"},
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
        {FIELD(require), 8, GPUCHAR_E_INVALID_ARGUMENT, "require"},
        {FIELD(require), 0x80000001u, GPUCHAR_E_INVALID_ARGUMENT, "require"},
        {FIELD(keep_samples), 2, GPUCHAR_E_INVALID_ARGUMENT, "keep_samples"},
    };
    refuse_values(bad, sizeof bad / sizeof bad[0]);
}

static void test_edges_are_allowed(void **state) {
    NEEDS_NVRTC();
    static const good_value good[] = {{FIELD(body), 128},   {FIELD(iterations), 4},   {FIELD(iterations), 65536},
                                      {FIELD(launches), 5}, {FIELD(launches), 10000}, {FIELD(keep_samples), 1},
                                      {FIELD(require), 1},  {FIELD(counters), 1},     {FIELD(seed), UINT32_MAX}};
    accept_values(good, sizeof good / sizeof good[0]);
}

static void test_warps(void **state) {
    NEEDS_NVRTC();
    static const uint32_t bad[] = {0, 33, 100, UINT32_MAX};
    refuse_entries(FIELD(warps), FIELD(warps_count), bad, sizeof bad / sizeof bad[0], "warps");
    compare_options options = default_compare();
    compare_result result;
    options.warps[0] = 4;
    options.warps[1] = 33; /* behind warps_count */
    options.warps_count = 1;
    refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "warps[1]", "is 33");
    options.warps[1] = 0;
    assert_int_equal(run_compare(session, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.point_count, 1);
    assert_int_equal(result.points[0].warps, 4);
    gpuchar_predication_compare_result_free(&result);
}

/* What would be ignored is refused: its caller believes in it. */
static void test_contradictions(void **state) {
    NEEDS_NVRTC();
    compare_options options = default_compare();
    options.warps[31] = 2;
    refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "warps[31] is 2", "warps_count is 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_edges_are_allowed),
        cmocka_unit_test(test_warps),
        cmocka_unit_test(test_contradictions),
        TESTS_OF_ALL,
    };
    return cmocka_run_group_tests(tests, open_subject, close_subject);
}
