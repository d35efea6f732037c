/* The divergence sweep refuses bad input: the right status, words that name the field, an emptied result, a usable session. */
#include <unit/sweep_helper.h>

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

static void refuse(const sweep_options *options, gpuchar_status wanted, const char *field, const char *value) {
    check_fails(session, options, wanted, field, value);
    sweep_result result = dirty_result();
    expect_failure(gpuchar_experiment_run(session, SWEEP_NAME, options, &result), wanted, field, value);
    expect_empty(&result, sizeof result);
    expect_usable(session);
}

#define FIELD(name) offsetof(sweep_options, name)

static void test_values(void **state) {
    NEEDS_NVRTC();
    static const struct {
        size_t offset;
        uint32_t value;
        gpuchar_status wanted;
        const char *field;
    } bad[] = {
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
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        sweep_options options = default_options();
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
                {FIELD(keep_samples), 1}, {FIELD(require), 1},        {FIELD(counters), 1}, {FIELD(lane_map), 3}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        sweep_options options = default_options();
        sweep_result result = dirty_result();
        memcpy((char *)&options + good[i].offset, &good[i].value, sizeof good[i].value);
        assert_int_equal(gpuchar_divergence_sweep(session, &options, &result), GPUCHAR_CAVEAT);
        gpuchar_divergence_sweep_result_free(&result);
    }
}

static void test_ways(void **state) {
    NEEDS_NVRTC();
    static const uint32_t bad[] = {0, 33, 100, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        sweep_options options = default_options();
        char value[16];
        for (uint32_t k = 0; k < 32; ++k) options.ways[k] = k + 1;
        options.ways_count = 32;
        options.ways[17] = bad[i];
        snprintf(value, sizeof value, "is %u", bad[i]);
        refuse(&options, GPUCHAR_E_LIMIT, "ways[17]", value);
    }
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
    options = default_options();
    options.counters = GPUCHAR_COUNTERS_OFF;
    options.require = GPUCHAR_REQUIRE_COUNTED | GPUCHAR_REQUIRE_PROVED;
    refuse(&options, GPUCHAR_E_INVALID_ARGUMENT, "`require`", "GPUCHAR_COUNTERS_OFF");
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

/* What only a run gives cannot be demanded of a session that runs nothing. */
static void test_demands(void **state) {
    NEEDS_NVRTC();
    sweep_options options = default_options();
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

typedef struct grown_options {
    sweep_options known;
    uint64_t tail;
} grown_options;

typedef struct grown_result {
    sweep_result known;
    uint64_t tail;
} grown_result;

static void test_options_size(void **state) {
    NEEDS_NVRTC();
    static const size_t bad[] = {0, 1, 8, sizeof(sweep_options) - 1, (size_t)1 << 40, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        sweep_options options = default_options();
        char value[32];
        options.struct_size = bad[i];
        snprintf(value, sizeof value, "is %zu", bad[i]);
        refuse(&options, GPUCHAR_E_STRUCT_SIZE, "gpuchar_divergence_sweep_options", value);
        assert_non_null(strstr(gpuchar_last_error()->hint, "gpuchar_divergence_sweep_options_make"));
    }
    grown_options newer = {.known = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT};
    sweep_result result = dirty_result();
    newer.known.struct_size = sizeof newer;
    newer.known.body = 64;
    assert_int_equal(gpuchar_divergence_sweep(session, &newer.known, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.body, 64);
    gpuchar_divergence_sweep_result_free(&result);
    newer.tail = (uint64_t)1 << 63;
    char offset[48];
    snprintf(offset, sizeof offset, "offset %zu", sizeof newer - 1);
    refuse(&newer.known, GPUCHAR_E_STRUCT_SIZE, "gpuchar_divergence_sweep_options", offset);
}

static void test_result_size(void **state) {
    NEEDS_NVRTC();
    static const size_t bad[] = {0, 1, 8, sizeof(sweep_result) - 1, (size_t)1 << 40, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        sweep_result result = dirty_result(), untouched;
        result.struct_size = bad[i];
        memcpy(&untouched, &result, sizeof result);
        gpuchar_status status = gpuchar_divergence_sweep(session, NULL, &result);
        expect_failure(status, GPUCHAR_E_STRUCT_SIZE, "gpuchar_divergence_sweep_result", "struct_size");
        assert_memory_equal(&result, &untouched, sizeof result); /* nobody knows how much of it there is */
        expect_usable(session);
    }
    grown_result newer;
    memset(&newer, 0xa5, sizeof newer);
    newer.known.struct_size = sizeof newer;
    assert_int_equal(gpuchar_divergence_sweep(session, NULL, &newer.known), GPUCHAR_CAVEAT);
    assert_int_equal(newer.known.struct_size, sizeof newer);
    assert_int_equal(newer.tail, 0);
    assert_int_equal(newer.known.point_count, 6);
    gpuchar_divergence_sweep_result_free(&newer.known);
    memset(&newer, 0xa5, sizeof newer);
    newer.known.struct_size = sizeof newer;
    sweep_options options = default_options();
    options.kind = 9;
    gpuchar_status status = gpuchar_divergence_sweep(session, &options, &newer.known);
    expect_failure(status, GPUCHAR_E_INVALID_ARGUMENT, "kind", "is 9");
    expect_empty(&newer, sizeof newer);
}

static void test_null(void **state) {
    (void)state;
    static const char name[] = "gpuchar_divergence_sweep_result";
    sweep_result result = dirty_result();
    check_fails(NULL, NULL, GPUCHAR_E_INVALID_ARGUMENT, "session", "NULL");
    assert_int_equal(gpuchar_divergence_sweep(NULL, NULL, &result), GPUCHAR_E_INVALID_ARGUMENT);
    gpuchar_divergence_sweep_result_free(NULL);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_divergence_sweep_result_free(&result);
    expect_failure(gpuchar_divergence_sweep(NULL, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT, name, "NULL");
    NEEDS_NVRTC();
    expect_failure(gpuchar_divergence_sweep(session, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT, name, "NULL");
    expect_usable(session);
}

/* ---- callbacks ---- */

typedef struct watcher {
    gpuchar_session *session;
    uint32_t calls;
    bool call_again;
    bool cancel;
} watcher;

static void watch(void *user, const char *step, double done) {
    watcher *w = user;
    w->calls++;
    assert_true(step && step[0] && done >= 0 && done <= 1);
    if (w->cancel) gpuchar_session_cancel(w->session);
    if (!w->call_again) return;
    check_fails(w->session, NULL, GPUCHAR_E_BUSY, "call", "");
}

static void test_callbacks(void **state) {
    NEEDS_NVRTC();
    watcher w = {.call_again = true};
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    sweep_result result = dirty_result();
    options.progress = watch;
    options.progress_user = &w;
    w.session = open_arch(archs[arch_count / 2], &options);
    assert_int_equal(gpuchar_divergence_sweep(w.session, NULL, &result), GPUCHAR_CAVEAT);
    assert_true(w.calls >= 2);
    gpuchar_divergence_sweep_result_free(&result);
    w.call_again = false;
    w.cancel = true; /* from inside: the running call ends, not the one after it */
    check_fails(w.session, NULL, GPUCHAR_E_CANCELLED, "cancelled", "");
    w.cancel = false;
    expect_usable(w.session);
    gpuchar_session_close(w.session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),       cmocka_unit_test(test_edges_are_allowed), cmocka_unit_test(test_ways),
        cmocka_unit_test(test_given_lanes),  cmocka_unit_test(test_contradictions),    cmocka_unit_test(test_demands),
        cmocka_unit_test(test_options_size), cmocka_unit_test(test_result_size),       cmocka_unit_test(test_null),
        cmocka_unit_test(test_callbacks),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
