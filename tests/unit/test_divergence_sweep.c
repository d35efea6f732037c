/* The divergence sweep without a GPU: compile-only sessions, callbacks, the catalog of experiments, text and JSON. */
#include <unit/sweep_client.h>

static uint32_t archs[64];
static size_t arch_count;

static int find_archs(void **state) {
    (void)state;
    arch_count = known_archs(archs);
    return 0;
}

/* ---- compile, prove, tell ---- */

static void check_proved(const gpuchar_divergence_sweep_result *result, uint32_t arch) {
    const gpuchar_evidence *evidence = &result->evidence;
    assert_int_equal(evidence->flags, GPUCHAR_FLAG_COMPILE_ONLY | GPUCHAR_FLAG_PROVED);
    assert_int_equal(evidence->proof_status, GPUCHAR_OK);
    assert_int_equal(evidence->counters_status, GPUCHAR_E_NOT_APPLICABLE);
    assert_int_equal(evidence->known, GPUCHAR_EVIDENCE_DECODED);
    assert_int_equal(evidence->arch, arch);
    assert_int_equal(evidence->intended_count, (uint64_t)32 * result->iterations * result->body);
    assert_int_equal(evidence->decoded_count, evidence->intended_count);
    assert_int_equal(evidence->executed_count, 0);
    assert_int_equal(result->known, GPUCHAR_DIVERGENCE_DECODED);
    assert_int_equal(result->dispatch_decisions, 31);
    assert_in_range(result->loop_instructions, result->body + 1, result->body + result->body / 8 + 16);
    assert_int_equal(evidence->scaffold_count,
                     (uint64_t)32 * result->iterations * (result->loop_instructions - result->body));
    assert_in_range(result->code_bytes, 32 * 16 * result->loop_instructions, 40 * 16 * result->loop_instructions);
    assert_true(result->loop_stall_cycles >= result->loop_instructions);
    assert_true(result->prove_ns > 0 && result->call_ns >= result->prove_ns);
}

/* Nothing was run: no number may look as if it had been. */
static void check_not_run(const gpuchar_divergence_sweep_result *result) {
    assert_int_equal(result->warmup_launches, 0);
    assert_int_equal(result->sample_count, 0);
    assert_null(result->samples);
    assert_int_equal(result->slope.points, 0);
    assert_int_equal(result->intercept.points, 0);
    assert_true(result->path_mean_cycles == 0 && result->ratio_32 == 0 && result->flatness == 0);
    assert_int_equal(result->launches_ns, 0);
    assert_int_equal(result->device_memory_bytes, 0);
    for (size_t i = 0; i < 32; ++i) assert_int_equal(result->paths[i].samples, 0);
    for (size_t i = 0; i < result->point_count; ++i) {
        assert_int_equal(result->points[i].cycles.samples, 0);
        assert_int_equal(result->points[i].known & ~(uint32_t)GPUCHAR_DIVERGENCE_POINT_EXPECTED, 0);
    }
}

static void check_expected_counts(const gpuchar_divergence_sweep_result *result) {
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_divergence_point *point = &result->points[i];
        assert_int_equal(point->known, GPUCHAR_DIVERGENCE_POINT_EXPECTED);
        assert_int_equal(point->expected_count, (uint64_t)point->ways * result->iterations * result->loop_instructions);
    }
}

static void test_every_architecture(void **state) {
    (void)state;
    if (arch_count == 0) skip();
    static const char *const mnemonics[] = {"", "FFMA", "IMAD", "LDG", "MUFU"};
    for (size_t i = 0; i < arch_count; ++i) {
        gpuchar_session *session = NULL;
        expect_status(open_compile_only(archs[i], NULL, &session), GPUCHAR_OK);
        for (uint32_t kind = GPUCHAR_PATH_FP32; kind <= GPUCHAR_PATH_SPECIAL; ++kind) {
            gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
            gpuchar_divergence_sweep_result result = dirty_result();
            options.kind = kind;
            options.body = 64;
            options.counters = GPUCHAR_COUNTERS_OFF;
            expect_status(gpuchar_divergence_sweep(session, &options, &result), GPUCHAR_CAVEAT);
            check_not_run(&result);
            assert_int_equal(result.kind, kind);
            if (archs[i] >= 70) {
                check_proved(&result, archs[i]);
                check_expected_counts(&result);
                assert_string_equal(result.evidence.mnemonic, mnemonics[kind]);
            } else {
                assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_COMPILE_ONLY);
                assert_int_equal(result.evidence.proof_status, GPUCHAR_E_SASS_UNKNOWN);
            }
            gpuchar_divergence_sweep_result_free(&result);
        }
        gpuchar_session_close(session);
    }
}

static void test_every_body(void **state) {
    (void)state;
    if (arch_count == 0) skip();
    gpuchar_session *session = new_compile_only(NULL);
    for (uint32_t body = 64; body <= 512; body *= 2) {
        gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
        gpuchar_divergence_sweep_result result = dirty_result();
        options.body = body;
        options.require = GPUCHAR_REQUIRE_PROVED;
        expect_status(gpuchar_divergence_sweep(session, &options, &result), GPUCHAR_CAVEAT);
        check_proved(&result, 90);
        assert_int_equal(result.body, body);
        assert_int_equal(result.iterations, 32768 / (body * 4));
        gpuchar_divergence_sweep_result_free(&result);
        assert_null(result.points);
        assert_int_equal(result.point_count, 0);
    }
    gpuchar_session_close(session);
}

static void test_defaults_and_own_ways(void **state) {
    (void)state;
    if (arch_count == 0) skip();
    gpuchar_session *session = new_compile_only(NULL);
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT, before;
    gpuchar_divergence_sweep_result result = dirty_result();
    expect_status(gpuchar_divergence_sweep(session, NULL, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.kind, GPUCHAR_PATH_FP32);
    assert_int_equal(result.lane_map, GPUCHAR_LANES_STRIDED);
    assert_int_equal(result.body, 128);
    assert_int_equal(result.iterations, 64);
    assert_int_equal(result.launches, 201);
    assert_int_equal(result.seed, 1);
    assert_int_equal(result.point_count, 6);
    for (uint32_t i = 0; i < 6; ++i) assert_int_equal(result.points[i].ways, 1u << i);
    gpuchar_divergence_sweep_result_free(&result);
    static const uint32_t own[] = {7, 3, 7, 32, 1};
    memcpy(options.ways, own, sizeof own);
    options.ways_count = 5;
    options.seed = 99;
    before = options;
    expect_status(gpuchar_divergence_sweep(session, &options, &result), GPUCHAR_CAVEAT);
    assert_memory_equal(&options, &before, sizeof options);
    assert_int_equal(result.point_count, 5);
    for (uint32_t i = 0; i < 5; ++i) assert_int_equal(result.points[i].ways, own[i]);
    assert_int_equal(result.seed, 99);
    check_expected_counts(&result);
    assert_int_equal(result.compile_ns, 0); /* the same kernels as above */
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

/* ---- callbacks and interruptions ---- */

typedef struct watcher {
    gpuchar_session *session;
    uint32_t calls;
    bool call_again;
    bool cancel;
    double last;
} watcher;

static void watch(void *user, const char *step, double done) {
    watcher *w = user;
    w->calls++;
    w->last = done;
    assert_true(step && step[0] && done >= 0 && done <= 1);
    if (w->cancel) gpuchar_session_cancel(w->session);
    if (!w->call_again) return;
    gpuchar_divergence_sweep_result result = dirty_result();
    expect_status(gpuchar_divergence_sweep(w->session, NULL, &result), GPUCHAR_E_BUSY);
    expect_empty(&result, sizeof result);
}

static gpuchar_session *new_watched(watcher *w) {
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    options.progress = watch;
    options.progress_user = w;
    w->session = new_compile_only(&options);
    return w->session;
}

static void test_busy_in_callback(void **state) {
    (void)state;
    if (arch_count == 0) skip();
    watcher w = {.call_again = true};
    gpuchar_session *session = new_watched(&w);
    gpuchar_divergence_sweep_result result = dirty_result();
    expect_status(gpuchar_divergence_sweep(session, NULL, &result), GPUCHAR_CAVEAT);
    check_proved(&result, 90);
    assert_true(w.calls >= 2);
    assert_true(w.last == 1);
    gpuchar_divergence_sweep_result_free(&result);
    w.call_again = false;
    expect_usable(session);
    gpuchar_session_close(session);
}

static void test_cancel(void **state) {
    (void)state;
    if (arch_count == 0) skip();
    watcher w = {0};
    gpuchar_session *session = new_watched(&w);
    gpuchar_divergence_sweep_result result = dirty_result();
    gpuchar_session_cancel(session);
    gpuchar_session_cancel(session);
    expect_status(gpuchar_divergence_sweep(session, NULL, &result), GPUCHAR_E_CANCELLED);
    expect_empty(&result, sizeof result);
    assert_int_equal(w.calls, 0);
    expect_usable(session);
    w.cancel = true; /* from inside: the running call ends, not the one after it */
    result = dirty_result();
    expect_status(gpuchar_divergence_sweep(session, NULL, &result), GPUCHAR_E_CANCELLED);
    expect_empty(&result, sizeof result);
    w.cancel = false;
    expect_usable(session);
    gpuchar_session_close(session);
}

/* ---- the catalog ---- */

static void test_catalog(void **state) {
    (void)state;
    size_t count = 0;
    while (gpuchar_experiment_at(count)) {
        const gpuchar_experiment *about = gpuchar_experiment_at(count++);
        assert_ptr_equal(gpuchar_experiment_get(about->name), about);
        const gpuchar_schema *options = gpuchar_schema_get(about->options_struct);
        const gpuchar_schema *result = gpuchar_schema_get(about->result_struct);
        assert_non_null(options);
        assert_non_null(result);
        assert_int_equal(options->size, about->options_size_bytes);
        assert_int_equal(result->size, about->result_size_bytes);
        assert_true(about->title[0] != 0);
    }
    assert_true(count >= 1);
    assert_null(gpuchar_experiment_at(SIZE_MAX));
    assert_non_null(gpuchar_experiment_get(SWEEP_NAME));
}

static void test_bad_names(void **state) {
    (void)state;
    static const char *const bad[] = {
        NULL, "", "divergence", "divergence_sweep ", "DIVERGENCE_SWEEP", "gpuchar_divergence_sweep"};
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
        char *text = NULL;
        assert_null(gpuchar_experiment_get(bad[i]));
        expect_status(gpuchar_experiment_preset(bad[i], GPUCHAR_PRESET_FULL, &options), GPUCHAR_E_INVALID_ARGUMENT);
        expect_words(gpuchar_last_error()->message, bad[i] ? bad[i] : "NULL");
        expect_status(gpuchar_experiment_run(NULL, bad[i], NULL, &result), GPUCHAR_E_INVALID_ARGUMENT);
        expect_words(gpuchar_last_error()->message, bad[i] ? bad[i] : "NULL");
        expect_status(gpuchar_experiment_text(bad[i], &result, &text), GPUCHAR_E_INVALID_ARGUMENT);
        assert_null(text);
        gpuchar_experiment_result_free(bad[i], &result);
    }
    gpuchar_experiment_result_free(SWEEP_NAME, NULL);
}

static void test_presets(void **state) {
    (void)state;
    gpuchar_divergence_sweep_options options;
    memset(&options, 0xa5, sizeof options);
    options.struct_size = sizeof options;
    expect_status(gpuchar_experiment_preset(SWEEP_NAME, GPUCHAR_PRESET_QUICK, &options), GPUCHAR_OK);
    expect_empty(&options, sizeof options); /* all defaults */
    expect_status(gpuchar_experiment_preset(SWEEP_NAME, GPUCHAR_PRESET_FULL, &options), GPUCHAR_OK);
    assert_int_equal(options.ways_count, 32);
    for (uint32_t i = 0; i < 32; ++i) assert_int_equal(options.ways[i], i + 1);
    expect_status(gpuchar_experiment_preset(SWEEP_NAME, 2, &options), GPUCHAR_E_INVALID_ARGUMENT);
    expect_words(gpuchar_last_error()->message, "preset 2");
    expect_status(gpuchar_experiment_preset(SWEEP_NAME, 0, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    options.struct_size = 8;
    expect_status(gpuchar_experiment_preset(SWEEP_NAME, 0, &options), GPUCHAR_E_STRUCT_SIZE);
}

/* ---- text and JSON ---- */

static void test_text(void **state) {
    (void)state;
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    char *text = NULL;
    expect_status(gpuchar_experiment_text(SWEEP_NAME, NULL, &text), GPUCHAR_E_INVALID_ARGUMENT);
    expect_status(gpuchar_experiment_text(SWEEP_NAME, &result, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    result.struct_size = 8;
    expect_status(gpuchar_experiment_text(SWEEP_NAME, &result, &text), GPUCHAR_E_STRUCT_SIZE);
    assert_null(text);
    if (arch_count == 0) skip();
    gpuchar_session *session = new_compile_only(NULL);
    result = dirty_result();
    expect_status(gpuchar_experiment_run(session, SWEEP_NAME, NULL, &result), GPUCHAR_CAVEAT);
    expect_status(gpuchar_experiment_text(SWEEP_NAME, &result, &text), GPUCHAR_OK);
    expect_words(text, "proved for sm_90, 262144 FFMA as intended");
    expect_words(text, "compiled only");
    assert_null(strstr(text, "cycles")); /* no time without a run */
    gpuchar_string_free(text);
    gpuchar_experiment_result_free(SWEEP_NAME, &result);
    assert_null(result.points);
    gpuchar_session_close(session);
}

static void test_json(void **state) {
    (void)state;
    if (arch_count == 0) skip();
    static const char name[] = "gpuchar_divergence_sweep_result";
    gpuchar_session *session = new_compile_only(NULL);
    gpuchar_divergence_sweep_result result = dirty_result(), back = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    char *text = NULL, *again = NULL;
    expect_status(gpuchar_divergence_sweep(session, NULL, &result), GPUCHAR_CAVEAT);
    expect_status(gpuchar_json_write(name, &result, &text), GPUCHAR_OK);
    expect_words(text, "\"path_mean_cycles\": null");
    expect_words(text, "\"dispatch_decisions\": 31");
    expect_words(text, "\"counters_status\": \"GPUCHAR_E_NOT_APPLICABLE\"");
    expect_status(gpuchar_json_read(name, text, &back), GPUCHAR_OK);
    assert_int_equal(back.point_count, result.point_count);
    assert_memory_equal(back.points, result.points, result.point_count * sizeof result.points[0]);
    assert_memory_equal(&back.evidence, &result.evidence, sizeof result.evidence);
    expect_status(gpuchar_json_write(name, &back, &again), GPUCHAR_OK);
    assert_string_equal(again, text);
    gpuchar_string_free(text);
    gpuchar_string_free(again);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_divergence_sweep_result_free(&back);
    gpuchar_session_close(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_architecture),
        cmocka_unit_test(test_every_body),
        cmocka_unit_test(test_defaults_and_own_ways),
        cmocka_unit_test(test_busy_in_callback),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_catalog),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, find_archs, NULL);
}
