/* CUPTI's Host API for real, without a GPU: which metrics the chips know and how many passes they need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <gpuchar/gpuchar.h>
#include <measure/range_counters.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those of the divergence sweep. */
static const char *const METRICS[] = {"smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
                                      "smsp__thread_inst_executed_per_inst_executed.ratio"};
#define METRIC_COUNT (sizeof METRICS / sizeof METRICS[0])

static gc_cupti cupti;
static bool have_cupti;

static int load_cupti(void **state) {
    (void)state;
    have_cupti = gc_cupti_load(NULL, 0, &cupti) == GPUCHAR_OK;
    if (!have_cupti) print_message("no CUPTI: %s\n", gpuchar_last_error()->message);
    return 0;
}

/* The names belong to CUPTI. */
static size_t supported_chips(const char *const **names) {
    CUpti_Profiler_Host_GetSupportedChips_Params chips = {.structSize =
                                                              CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE};
    assert_int_equal(cupti.ProfilerHostGetSupportedChips(&chips), CUPTI_SUCCESS);
    *names = chips.ppChipNames;
    return chips.numChips;
}

static void expect_words(const char *text, const char *words) {
    if (!strstr(text, words)) fail_msg("\"%s\" does not hold \"%s\"", text, words);
}

/* CUPTI names the chip of one older system on a module (GV11B) and then refuses it. Any other refusal is a failure. */
static bool listed_only(const char *chip, gpuchar_status status) {
    return status == GPUCHAR_E_COUNTERS_UNSUPPORTED && strcmp(chip, "GV11B") == 0;
}

static void test_passes_on_every_chip(void **state) {
    (void)state;
    if (!have_cupti) skip();
    const char *const *chips = NULL;
    size_t count = supported_chips(&chips), usable = 0;
    bool hopper = false;
    for (size_t i = 0; i < count; ++i) {
        uint32_t passes = 0, alone = 0;
        gpuchar_status status = gc_counters_passes(&cupti, chips[i], METRICS, METRIC_COUNT, &passes);
        if (listed_only(chips[i], status)) continue;
        usable++;
        if (status != GPUCHAR_OK) fail_msg("%s: %s", chips[i], gpuchar_last_error()->message);
        if (passes < 1 || passes > 8) fail_msg("%s needs %u passes", chips[i], passes);
        assert_int_equal(gc_counters_passes(&cupti, chips[i], METRICS, 1, &alone), GPUCHAR_OK);
        assert_in_range(alone, 1, passes);
        hopper |= strcmp(chips[i], "GH100") == 0;
    }
    assert_true(hopper);
    assert_true(usable >= 10);
}

static void test_unknown_metric(void **state) {
    (void)state;
    if (!have_cupti) skip();
    static const char *const unknown[] = {"smsp__inst_executed_by_magic.sum", "smsp__inst_executed.median", "", ".sum",
                                          "smsp__inst_executed.sum "};
    const char *const *chips = NULL;
    size_t count = supported_chips(&chips);
    for (size_t i = 0; i < count; ++i) {
        for (size_t j = 0; j < sizeof unknown / sizeof unknown[0]; ++j) {
            const char *const asked[] = {METRICS[0], unknown[j], METRICS[1]};
            char quoted[64];
            uint32_t passes = 0;
            snprintf(quoted, sizeof quoted, "\"%s\"", unknown[j]);
            gpuchar_status status = gc_counters_passes(&cupti, chips[i], asked, 3, &passes);
            if (listed_only(chips[i], status)) continue;
            assert_int_equal(status, GPUCHAR_E_METRIC_UNKNOWN);
            const gpuchar_error *error = gpuchar_last_error();
            assert_int_equal(error->status, GPUCHAR_E_METRIC_UNKNOWN);
            assert_int_equal(error->domain, GPUCHAR_DOMAIN_CUPTI);
            assert_true(error->native_code != 0);
            expect_words(error->message, quoted);
            expect_words(error->message, chips[i]);
            expect_words(error->hint, "smsp__inst_executed.sum");
        }
    }
    uint32_t passes = 0; /* and the next one works */
    assert_int_equal(gc_counters_passes(&cupti, chips[0], METRICS, METRIC_COUNT, &passes), GPUCHAR_OK);
}

static void test_unknown_chip(void **state) {
    (void)state;
    if (!have_cupti) skip();
    static const char *const unknown[] = {"GX999", "", "gh100"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; ++i) {
        char quoted[32];
        uint32_t passes = 0;
        snprintf(quoted, sizeof quoted, "\"%s\"", unknown[i]);
        assert_int_equal(gc_counters_passes(&cupti, unknown[i], METRICS, METRIC_COUNT, &passes),
                         GPUCHAR_E_COUNTERS_UNSUPPORTED);
        assert_int_equal(gpuchar_last_error()->domain, GPUCHAR_DOMAIN_CUPTI);
        expect_words(gpuchar_last_error()->message, quoted);
        assert_true(gpuchar_last_error()->hint[0] != 0);
        assert_int_equal(passes, 0);
    }
}

/* ---- gpuchar_counters_read without a GPU ---- */

static int never_launch(void *user, size_t range, void *stream) {
    (void)range;
    (void)stream;
    ++*(int *)user;
    return 0;
}

static int launches;

static gpuchar_counters_options good_options(void) {
    gpuchar_counters_options options = GPUCHAR_COUNTERS_OPTIONS_INIT;
    options.metrics = METRICS;
    options.metric_count = METRIC_COUNT;
    options.launch = never_launch;
    options.launch_user = &launches;
    return options;
}

static void refuse(gpuchar_session *session, const gpuchar_counters_options *options, gpuchar_status wanted,
                   const char *words) {
    gpuchar_counters_result result, empty = GPUCHAR_COUNTERS_RESULT_INIT;
    memset(&result, 0xa5, sizeof result);
    result.struct_size = sizeof result;
    assert_int_equal(gpuchar_counters_read(session, options, &result), wanted);
    assert_int_equal(gpuchar_last_error()->status, wanted);
    expect_words(gpuchar_last_error()->message, words);
    assert_memory_equal(&result, &empty, sizeof result);
    assert_int_equal(launches, 0);
}

static void check_refusals(gpuchar_session *session) {
    gpuchar_counters_options options = good_options();
    const char *const holed[] = {METRICS[0], NULL, METRICS[1]};
    refuse(session, NULL, GPUCHAR_E_INVALID_ARGUMENT, "launch");
    options.launch = NULL;
    refuse(session, &options, GPUCHAR_E_INVALID_ARGUMENT, "launch");
    options = good_options();
    options.metrics = NULL;
    refuse(session, &options, GPUCHAR_E_INVALID_ARGUMENT, "metrics");
    options = good_options();
    options.metric_count = 0;
    refuse(session, &options, GPUCHAR_E_INVALID_ARGUMENT, "metrics");
    options = good_options();
    options.metrics = holed;
    refuse(session, &options, GPUCHAR_E_INVALID_ARGUMENT, "metric 1");
    options = good_options();
    options.metric_count = 513;
    refuse(session, &options, GPUCHAR_E_LIMIT, "513 metrics");
    options.metric_count = SIZE_MAX;
    refuse(session, &options, GPUCHAR_E_LIMIT, "18446744073709551615 metrics");
    options = good_options();
    options.range_count = 4097;
    refuse(session, &options, GPUCHAR_E_LIMIT, "4097 ranges");
    options = good_options();
    options.struct_size = 8;
    refuse(session, &options, GPUCHAR_E_STRUCT_SIZE, "gpuchar_counters_options");
    options = good_options();
    refuse(session, &options, GPUCHAR_E_NOT_APPLICABLE, "GPU");
    refuse(NULL, &options, GPUCHAR_E_INVALID_ARGUMENT, "session");
}

static void test_bad_reads(void **state) {
    (void)state;
    gpuchar_session *session = NULL;
    gpuchar_counters_options options = good_options();
    if (gpuchar_session_open(NULL, "sm_90", NULL, &session) != GPUCHAR_OK) skip();
    check_refusals(session);
    assert_int_equal(gpuchar_counters_read(session, &options, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    gpuchar_counters_result small = {.struct_size = 8, .passes = 77};
    assert_int_equal(gpuchar_counters_read(session, &options, &small), GPUCHAR_E_STRUCT_SIZE);
    assert_int_equal(small.passes, 77);
    gpuchar_session_cancel(session);
    refuse(session, &options, GPUCHAR_E_CANCELLED, "cancel");
    refuse(session, &options, GPUCHAR_E_NOT_APPLICABLE, "GPU");
    gpuchar_counters_result_free(NULL);
    gpuchar_session_close(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes_on_every_chip),
        cmocka_unit_test(test_unknown_metric),
        cmocka_unit_test(test_unknown_chip),
        cmocka_unit_test(test_bad_reads),
    };
    return cmocka_run_group_tests(tests, load_cupti, NULL);
}
