/* The divergence sweep's public face on sessions without GPU: what is compiled and proved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/finite_walk.h"
#include "unit/schema_walk.h"
#include "unit/sweep_helper.h"

static const char *const MNEMONICS[] = {"", "FFMA", "IMAD", "LDG", "MUFU"};

/* ---- compiled and proved ---- */

static void check_proved(const sweep_result *result, uint32_t arch, uint32_t kind, uint32_t body) {
    const gpuchar_evidence *evidence = &result->evidence;
    assert_int_equal(evidence->flags, GPUCHAR_FLAG_COMPILE_ONLY | GPUCHAR_FLAG_PROVED);
    assert_int_equal(evidence->proof_status, GPUCHAR_OK);
    assert_int_equal(evidence->known, GPUCHAR_EVIDENCE_DECODED);
    assert_int_equal(evidence->arch, arch);
    assert_int_equal(result->kind, kind);
    assert_int_equal(result->body, body);
    assert_in_range(result->iterations, 4, 65536);
    assert_true(evidence->intended_count == UINT64_C(32) * result->iterations * body);
    assert_true(evidence->decoded_count == evidence->intended_count);
    assert_int_equal(evidence->executed_count, 0);
    assert_int_equal(strncmp(evidence->mnemonic, MNEMONICS[kind], strlen(MNEMONICS[kind])), 0);
    assert_int_equal(result->known, GPUCHAR_DIVERGENCE_DECODED);
    assert_in_range(result->loop_instructions, body + 1, body + body / 2);
    assert_int_equal(result->dispatch_decisions, 31);
    assert_true(result->code_bytes >= UINT64_C(32) * 16 * body);
    assert_true(result->loop_stall_cycles >= body);
    assert_int_equal(result->slope.points, 0);
    assert_int_equal(result->paths[0].samples, 0);
    for (size_t i = 0; i < result->point_count; ++i) {
        const gpuchar_divergence_point *point = &result->points[i];
        assert_int_equal(point->known, GPUCHAR_DIVERGENCE_POINT_EXPECTED);
        assert_true(point->expected_count == (uint64_t)point->ways * result->iterations * result->loop_instructions);
    }
}

static void check_compiles(gpuchar_session *session, uint32_t arch, uint32_t kind, uint32_t body, uint32_t counters) {
    sweep_options options = default_options();
    sweep_result result;
    size_t seen = 0;
    options.kind = kind;
    options.body = body;
    options.counters = counters;
    gpuchar_status status = run_sweep(session, &options, &result);
    if (status != GPUCHAR_CAVEAT || !(result.evidence.flags & GPUCHAR_FLAG_PROVED)) {
        fail_msg("sm_%u, kind %u, body %u: %s, proof %s, %s", arch, kind, body, gpuchar_status_name(status),
                 gpuchar_status_name(result.evidence.proof_status), gpuchar_last_error()->message);
    }
    check_proved(&result, arch, kind, body);
    gpuchar_status told = counters == GPUCHAR_COUNTERS_OFF ? GPUCHAR_E_NOT_REQUESTED : GPUCHAR_E_NOT_APPLICABLE;
    assert_int_equal(result.evidence.counters_status, told);
    assert_null(find_infinite(gpuchar_schema_get("gpuchar_divergence_sweep_result"), &result, &seen));
    assert_true(seen > 300);
    gpuchar_divergence_sweep_result_free(&result);
    assert_true(!result.points && result.point_count == 0);
}

static void test_all_architectures(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < arch_count; ++i) {
        gpuchar_session *session = open_arch(archs[i], NULL);
        for (uint32_t kind = GPUCHAR_PATH_FP32; kind <= GPUCHAR_PATH_SPECIAL; ++kind) {
            check_compiles(session, archs[i], kind, 128, GPUCHAR_COUNTERS_OFF);
        }
        gpuchar_session_close(session);
    }
}

static void test_all_bodies(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    for (uint32_t body = 64; body <= 512; body *= 2) {
        check_compiles(session, archs[arch_count / 2], GPUCHAR_PATH_FP32, body, GPUCHAR_COUNTERS_AUTO);
    }
    gpuchar_session_close(session);
}

static void test_defaults(void **state) {
    NEEDS_NVRTC();
    static const uint32_t powers[] = {1, 2, 4, 8, 16, 32};
    gpuchar_session *session = open_any();
    sweep_result result;
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_CAVEAT);
    check_proved(&result, archs[arch_count / 2], GPUCHAR_PATH_FP32, 128);
    assert_int_equal(result.point_count, 6);
    for (size_t i = 0; i < 6; ++i) assert_int_equal(result.points[i].ways, powers[i]);
    assert_int_equal(result.lane_map, GPUCHAR_LANES_STRIDED);
    assert_int_equal(result.launches, 201);
    assert_int_equal(result.seed, 1);
    assert_true(!result.samples && result.sample_count == 0);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

static void test_given_lanes(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    sweep_options options = default_options();
    sweep_result result;
    options.lane_map = GPUCHAR_LANES_GIVEN;
    for (uint32_t lane = 0; lane < 32; ++lane) options.lanes[lane] = lane % 3 * 10;
    assert_int_equal(run_sweep(session, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.point_count, 1);
    assert_int_equal(result.points[0].ways, 3);
    assert_true(result.evidence.intended_count == UINT64_C(3) * result.iterations * 128);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

/* ---- errors, cancel ---- */

/* Counters on auto fail on the inside: that is told in the evidence, not in the thread's last error. */
static void test_last_error(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    sweep_options options = default_options();
    sweep_result result;
    options.launches = 4;
    check_fails(session, &options, GPUCHAR_E_LIMIT, "launches", " 4;");
    gpuchar_error *before = gpuchar_error_copy();
    assert_non_null(before);
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.counters_status, GPUCHAR_E_NOT_APPLICABLE);
    assert_int_equal(gpuchar_last_error()->status, GPUCHAR_E_LIMIT);
    assert_string_equal(gpuchar_last_error()->message, before->message);
    gpuchar_error_free(before);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

static void test_cancel(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    sweep_result result;
    gpuchar_session_cancel(session);
    gpuchar_session_cancel(session); /* twice is once */
    check_fails(session, NULL, GPUCHAR_E_CANCELLED, "cancelled", "");
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_CAVEAT);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_cancel(NULL);
    gpuchar_session_close(session);
}

/* ---- by name ---- */

static void test_catalog(void **state) {
    (void)state;
    size_t count = 0;
    for (; gpuchar_experiment_at(count); ++count) {
        const gpuchar_experiment *about = gpuchar_experiment_at(count);
        assert_ptr_equal(gpuchar_experiment_get(about->name), about);
        assert_int_equal(gpuchar_schema_get(about->options_struct)->size, about->options_size_bytes);
        assert_int_equal(gpuchar_schema_get(about->result_struct)->size, about->result_size_bytes);
        assert_true(about->title[0] != 0);
    }
    assert_null(gpuchar_experiment_at(SIZE_MAX));
    assert_non_null(gpuchar_experiment_get(SWEEP_NAME));
    assert_null(gpuchar_experiment_get("Divergence_sweep"));
    assert_null(gpuchar_experiment_get(""));
    assert_null(gpuchar_experiment_get(NULL));
}

static void check_error(gpuchar_status status, gpuchar_status wanted, const char *text) {
    assert_int_equal(status, wanted);
    if (!strstr(gpuchar_last_error()->message, text)) {
        fail_msg("no \"%s\" in: %s", text, gpuchar_last_error()->message);
    }
}

static void test_bad_names(void **state) {
    (void)state;
    static const char *const names[] = {"no_such", NULL};
    for (size_t i = 0; i < GC_COUNT(names); ++i) {
        const char *said = names[i] ? "\"no_such\"" : "NULL";
        sweep_options options = default_options();
        sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
        char *text = NULL;
        check_error(gpuchar_experiment_preset(names[i], 0, &options), GPUCHAR_E_INVALID_ARGUMENT, said);
        check_error(gpuchar_experiment_run(NULL, names[i], NULL, &result), GPUCHAR_E_INVALID_ARGUMENT, said);
        check_error(gpuchar_experiment_text(names[i], &result, &text), GPUCHAR_E_INVALID_ARGUMENT, said);
        assert_null(text);
        gpuchar_experiment_result_free(names[i], &result);
    }
    gpuchar_experiment_result_free(SWEEP_NAME, NULL);
}

static void test_presets(void **state) {
    (void)state;
    const sweep_options zero = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    sweep_options options;
    memset(&options, 0xa5, sizeof options);
    options.struct_size = sizeof options;
    assert_int_equal(gpuchar_experiment_preset(SWEEP_NAME, GPUCHAR_PRESET_QUICK, &options), GPUCHAR_OK);
    assert_memory_equal(&options, &zero, sizeof zero);
    assert_int_equal(gpuchar_experiment_preset(SWEEP_NAME, GPUCHAR_PRESET_FULL, &options), GPUCHAR_OK);
    assert_int_equal(options.ways_count, 32);
    for (uint32_t i = 0; i < 32; ++i) assert_int_equal(options.ways[i], i + 1);
    check_error(gpuchar_experiment_preset(SWEEP_NAME, 2, &options), GPUCHAR_E_INVALID_ARGUMENT, "preset 2");
    check_error(gpuchar_experiment_preset(SWEEP_NAME, 0, NULL), GPUCHAR_E_INVALID_ARGUMENT, "NULL");
    options.struct_size = 8;
    check_error(gpuchar_experiment_preset(SWEEP_NAME, 0, &options), GPUCHAR_E_STRUCT_SIZE, "struct_size");
}

static void test_run_by_name(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    sweep_options options = default_options();
    sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    char *text = NULL;
    assert_int_equal(gpuchar_experiment_preset(SWEEP_NAME, GPUCHAR_PRESET_FULL, &options), GPUCHAR_OK);
    assert_int_equal(gpuchar_experiment_run(session, SWEEP_NAME, &options, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.point_count, 32);
    check_proved(&result, archs[arch_count / 2], GPUCHAR_PATH_FP32, 128);
    assert_int_equal(gpuchar_experiment_text(SWEEP_NAME, &result, &text), GPUCHAR_OK);
    assert_non_null(strstr(text, "proved for sm_"));
    assert_non_null(strstr(text, "FFMA"));
    assert_non_null(strstr(text, "compiled only"));
    assert_null(strstr(text, "nan"));
    gpuchar_string_free(text);
    check_error(gpuchar_experiment_text(SWEEP_NAME, NULL, &text), GPUCHAR_E_INVALID_ARGUMENT, "NULL");
    check_error(gpuchar_experiment_text(SWEEP_NAME, &result, NULL), GPUCHAR_E_INVALID_ARGUMENT, "NULL");
    result.struct_size = 8;
    check_error(gpuchar_experiment_text(SWEEP_NAME, &result, &text), GPUCHAR_E_STRUCT_SIZE, "struct_size");
    assert_null(text);
    gpuchar_experiment_result_free(SWEEP_NAME, &result);
    gpuchar_session_close(session);
}

static void test_json(void **state) {
    NEEDS_NVRTC();
    static const char type[] = "gpuchar_divergence_sweep_result";
    gpuchar_session *session = open_any();
    sweep_result result, again = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    char *text = NULL, *second = NULL;
    assert_int_equal(run_sweep(session, NULL, &result), GPUCHAR_CAVEAT);
    assert_int_equal(gpuchar_json_write(type, &result, &text), GPUCHAR_OK);
    assert_non_null(strstr(text, "\"ratio_32\": null"));
    assert_non_null(strstr(text, "\"slope\": null"));
    assert_int_equal(gpuchar_json_read(type, text, &again), GPUCHAR_OK);
    assert_true(walk_equal(gpuchar_schema_get(type), &result, &again));
    assert_int_equal(again.point_count, 6);
    assert_int_equal(gpuchar_json_write(type, &again, &second), GPUCHAR_OK);
    assert_string_equal(text, second);
    again.points[5].expected_count++;
    assert_false(walk_equal(gpuchar_schema_get(type), &result, &again));
    gpuchar_string_free(text);
    gpuchar_string_free(second);
    gpuchar_divergence_sweep_result_free(&again);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_architectures), cmocka_unit_test(test_all_bodies), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_given_lanes),       cmocka_unit_test(test_last_error), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_catalog),           cmocka_unit_test(test_bad_names),  cmocka_unit_test(test_presets),
        cmocka_unit_test(test_run_by_name),       cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, find_archs, NULL);
}
