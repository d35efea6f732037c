/* The predication comparison refuses bad input: the right status, words that name the field, an emptied result, a usable session. */
#include "unit/predication_helper.h"

static gpuchar_session *session;

static int open_session(void **state) {
    if (find_archs(state) != 0) return -1;
    if (arch_count > 0) session = open_any();
    return 0;
}

static int close_session(void **state) {
    (void)state;
    gpuchar_session_close(session);
    session = NULL;
    return 0;
}

/* Through its function and by its name; the session answers afterwards. */
static void refuse(const compare_options *options, gpuchar_status wanted, const char *field, const char *value) {
    compare_result result;
    compare_fails(session, options, wanted, field, value);
    memset(&result, 0xa5, sizeof result);
    result.struct_size = sizeof result;
    expect_failure(gpuchar_experiment_run(session, COMPARE_NAME, options, &result), wanted, field, value);
    expect_empty(&result, sizeof result);
    assert_int_equal(run_compare(session, NULL, &result), GPUCHAR_CAVEAT);
    gpuchar_predication_compare_result_free(&result);
}

#define FIELD(name) offsetof(compare_options, name)

static void test_values(void **state) {
    NEEDS_NVRTC();
    static const struct {
        size_t offset;
        uint32_t value;
        gpuchar_status wanted;
        const char *field;
    } bad[] = {
        {FIELD(warps_count), 33, GPUCHAR_E_LIMIT, "warps_count"},
        {FIELD(warps_count), UINT32_MAX, GPUCHAR_E_LIMIT, "warps_count"},
        {FIELD(body), 1, GPUCHAR_E_LIMIT, "body"},
        {FIELD(body), 63, GPUCHAR_E_LIMIT, "body"},
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
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        compare_options options = default_compare();
        char value[16];
        memcpy((char *)&options + bad[i].offset, &bad[i].value, sizeof bad[i].value);
        snprintf(value, sizeof value, "is %u", bad[i].value);
        refuse(&options, bad[i].wanted, bad[i].field, value);
    }
}

static void test_edges_are_allowed(void **state) {
    NEEDS_NVRTC();
    static const struct {
        size_t offset;
        uint32_t value;
    } good[] = {{FIELD(iterations), 4},   {FIELD(iterations), 65536}, {FIELD(launches), 5}, {FIELD(launches), 10000},
                {FIELD(keep_samples), 1}, {FIELD(require), 1},        {FIELD(counters), 1}, {FIELD(seed), UINT32_MAX}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        compare_options options = default_compare();
        compare_result result;
        memcpy((char *)&options + good[i].offset, &good[i].value, sizeof good[i].value);
        assert_int_equal(run_compare(session, &options, &result), GPUCHAR_CAVEAT);
        gpuchar_predication_compare_result_free(&result);
    }
}

static void test_warps(void **state) {
    NEEDS_NVRTC();
    static const uint32_t bad[] = {0, 33, 100, UINT32_MAX};
    compare_options options;
    compare_result result;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        char value[16];
        options = default_compare();
        for (uint32_t w = 0; w < 32; ++w) options.warps[w] = w + 1;
        options.warps_count = 32;
        options.warps[17] = bad[i];
        snprintf(value, sizeof value, "is %u", bad[i]);
        refuse(&options, GPUCHAR_E_LIMIT, "warps[17]", value);
    }
    options = default_compare();
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
    options = default_compare();
    options.counters = GPUCHAR_COUNTERS_OFF;
    options.require = GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_PROVED;
    refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "`require`", "GPUCHAR_COUNTERS_OFF");
}

/* What only a run gives cannot be demanded of a session that runs nothing. */
static void test_demands(void **state) {
    NEEDS_NVRTC();
    compare_options options = default_compare();
    options.counters = GPUCHAR_COUNTERS_REQUIRED;
    refuse(&options, GPUCHAR_E_NOT_APPLICABLE, "counters", "compile-only");
    options.counters = GPUCHAR_COUNTERS_AUTO;
    options.require = GPUCHAR_REQUIRE_COUNTED;
    refuse(&options, GPUCHAR_E_NOT_APPLICABLE, "require", "compile-only");
    options.counters = GPUCHAR_COUNTERS_OFF;
    options.require = GPUCHAR_REQUIRE_STABLE | GPUCHAR_REQUIRE_PROVED;
    refuse(&options, GPUCHAR_E_NOT_APPLICABLE, "require", "compile-only");
}

/* ---- struct_size ---- */

static void test_sizes(void **state) {
    NEEDS_NVRTC();
    static const size_t bad[] = {0, 1, 8, sizeof(compare_options) - 1, (size_t)1 << 40, SIZE_MAX};
    struct {
        compare_options known;
        uint64_t tail;
    } newer = {.known = GPUCHAR_PREDICATION_COMPARE_OPTIONS_INIT};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        compare_options options = default_compare();
        compare_result result = GPUCHAR_PREDICATION_COMPARE_RESULT_INIT;
        char value[32];
        options.struct_size = bad[i];
        snprintf(value, sizeof value, "is %zu", bad[i]);
        refuse(&options, GPUCHAR_E_STRUCT_SIZE, "gpuchar_predication_compare_options", value);
        result.struct_size = bad[i] == sizeof(compare_options) - 1 ? sizeof result - 1 : bad[i];
        expect_failure(gpuchar_predication_compare(session, NULL, &result), GPUCHAR_E_STRUCT_SIZE,
                       "gpuchar_predication_compare_result", "struct_size");
    }
    newer.known.struct_size = sizeof newer;
    newer.tail = 1;
    refuse(&newer.known, GPUCHAR_E_STRUCT_SIZE, "gpuchar_predication_compare_options", "offset");
}

static void test_null(void **state) {
    (void)state;
    static const char name[] = "gpuchar_predication_compare_result";
    compare_result result = GPUCHAR_PREDICATION_COMPARE_RESULT_INIT;
    compare_fails(NULL, NULL, GPUCHAR_E_INVALID_ARGUMENT, "session", "NULL");
    gpuchar_predication_compare_result_free(NULL);
    gpuchar_predication_compare_result_free(&result);
    expect_failure(gpuchar_predication_compare(NULL, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT, name, "NULL");
    NEEDS_NVRTC();
    expect_failure(gpuchar_predication_compare(session, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT, name, "NULL");
}

static void test_cancel(void **state) {
    NEEDS_NVRTC();
    compare_result result;
    gpuchar_session_cancel(session);
    compare_fails(session, NULL, GPUCHAR_E_CANCELLED, "cancelled", "");
    assert_int_equal(run_compare(session, NULL, &result), GPUCHAR_CAVEAT);
    gpuchar_predication_compare_result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_edges_are_allowed),
        cmocka_unit_test(test_warps),   cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_demands), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_null),    cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
