/* The predication comparison's public face on sessions without GPU: what is compiled, proved and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/finite_walk.h"
#include "unit/predication_helper.h"
#include "unit/schema_walk.h"

static const char RESULT[] = "gpuchar_predication_compare_result";

static void check_evidence(const compare_result *result, uint32_t arch) {
    const gpuchar_evidence *evidence = &result->evidence;
    const gpuchar_predication_form *branch = &result->long_forms[GPUCHAR_FORM_BRANCH];
    const uint64_t work = UINT64_C(2) * result->iterations * result->long_body;
    assert_int_equal(evidence->flags, GPUCHAR_FLAG_COMPILE_ONLY | GPUCHAR_FLAG_PROVED);
    assert_int_equal(evidence->proof_status, GPUCHAR_OK);
    assert_int_equal(evidence->known, GPUCHAR_EVIDENCE_DECODED);
    assert_int_equal(evidence->arch, arch);
    assert_string_equal(evidence->mnemonic, "FFMA");
    assert_int_equal(evidence->intended_count, work);
    assert_int_equal(evidence->decoded_count, work);
    assert_int_equal(evidence->decoded_count + evidence->scaffold_count, branch->expected_count);
    assert_int_equal(evidence->executed_count, 0);
}

/* The branch walks two loops of one arm, the predicated form one loop of two. */
static void check_forms(const compare_result *result, const gpuchar_predication_form *forms, uint32_t body) {
    const gpuchar_predication_form *convergent = &forms[GPUCHAR_FORM_CONVERGENT];
    const gpuchar_predication_form *branch = &forms[GPUCHAR_FORM_BRANCH];
    const gpuchar_predication_form *predicated = &forms[GPUCHAR_FORM_PREDICATED];
    for (uint32_t form = 0; form < GPUCHAR_FORMS; ++form) {
        assert_int_equal(forms[form].form, form);
        assert_int_equal(forms[form].body, body);
        assert_int_equal(forms[form].known, GPUCHAR_PREDICATION_FORM_DECODED);
        assert_int_equal(forms[form].executed_count, 0);
    }
    assert_in_range(branch->loop_instructions, body + 3, body + 6);
    assert_in_range(predicated->loop_instructions, 2 * body + 3, 2 * body + 6);
    assert_int_equal(branch->decisions, 1);
    assert_int_equal(predicated->decisions, 0);
    assert_int_equal(convergent->loop_instructions, branch->loop_instructions);
    assert_int_equal(convergent->expected_count, result->iterations * branch->loop_instructions);
    assert_int_equal(branch->expected_count, 2 * convergent->expected_count);
    assert_int_equal(predicated->expected_count, result->iterations * predicated->loop_instructions);
    assert_true(predicated->expected_count < branch->expected_count);
    assert_true(predicated->code_bytes >= UINT64_C(32) * body);
}

/* What a slope over two bodies takes out is what they have in common: all but the links, by number and by stall counts. */
static void check_pairs(const compare_result *result) {
    for (uint32_t form = 0; form < GPUCHAR_FORMS; ++form) {
        const gpuchar_predication_form *few = &result->short_forms[form], *many = &result->long_forms[form];
        const uint64_t arms = form == GPUCHAR_FORM_PREDICATED ? 2 : 1;
        assert_int_equal(many->loop_instructions - few->loop_instructions, arms * 48);
        assert_int_equal(many->loop_stall_cycles - few->loop_stall_cycles, 4 * 48);
        assert_int_equal(many->code_bytes - few->code_bytes, UINT64_C(2) * 16 * 48);
    }
}

static void check_lengths(const compare_result *result) {
    assert_int_equal(result->length_count, 32);
    assert_int_equal(result->known, GPUCHAR_PREDICATION_LENGTHS);
    assert_in_range(result->compiler_branch_length, 4, 16);
    for (uint32_t i = 0; i < 32; ++i) {
        const gpuchar_predication_length *found = &result->lengths[i];
        const bool branches = i + 1 >= result->compiler_branch_length;
        assert_int_equal(found->length, i + 1);
        assert_int_equal(found->multiply_adds, 2 * (i + 1));
        assert_int_equal(found->branches, branches ? 1 : 0);
        assert_true(branches ? found->predicated == 0 : found->predicated >= 2 * (i + 1));
    }
}

static void check_session(gpuchar_session *session, uint32_t arch, uint32_t body) {
    compare_options options = default_compare();
    compare_result result;
    size_t seen = 0;
    options.body = body;
    options.counters = GPUCHAR_COUNTERS_OFF;
    gpuchar_status status = run_compare(session, &options, &result);
    if (status != GPUCHAR_CAVEAT || !(result.evidence.flags & GPUCHAR_FLAG_PROVED)) {
        fail_msg("sm_%u, body %u: %s, proof %s, %s", arch, body, gpuchar_status_name(status),
                 gpuchar_status_name(result.evidence.proof_status), gpuchar_last_error()->message);
    }
    check_evidence(&result, arch);
    check_forms(&result, result.short_forms, result.body);
    check_forms(&result, result.long_forms, result.long_body);
    check_pairs(&result);
    check_lengths(&result);
    assert_int_equal(result.body, body ? body : 64);
    assert_int_equal(result.long_body, result.body + 48);
    assert_int_equal(result.evidence.counters_status, GPUCHAR_E_NOT_REQUESTED);
    assert_null(find_infinite(gpuchar_schema_get(RESULT), &result, &seen));
    assert_true(seen >= 8 * (6 * 8 + 3));
    gpuchar_predication_compare_result_free(&result);
    assert_true(!result.points && !result.lengths && result.point_count == 0 && result.length_count == 0);
}

static void test_all_architectures(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < arch_count; ++i) {
        if (archs[i] < 70) continue;
        gpuchar_session *session = open_arch(archs[i], NULL);
        check_session(session, archs[i], 0);
        gpuchar_session_close(session);
    }
}

static void test_all_bodies(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    for (uint32_t body = 64; body <= 128; body *= 2) check_session(session, archs[arch_count / 2], body);
    gpuchar_session_close(session);
}

static void test_defaults(void **state) {
    NEEDS_NVRTC();
    static const uint32_t usual[] = {1, 2, 4, 8, 12, 16, 24, 32};
    gpuchar_session *session = open_any();
    compare_result result;
    assert_int_equal(run_compare(session, NULL, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.point_count, 8);
    for (size_t i = 0; i < 8; ++i) {
        assert_int_equal(result.points[i].warps, usual[i]);
        assert_int_equal(result.points[i].known, 0);
        for (uint32_t form = 0; form < GPUCHAR_FORMS; ++form) {
            const gpuchar_predication_cost *cost = &result.points[i].costs[form];
            assert_int_equal(cost->form, form);
            assert_int_equal(cost->known, 0);
            assert_int_equal(cost->short_cycles.samples + cost->long_cycles.samples, 0);
        }
    }
    assert_int_equal(result.iterations, 146);
    assert_int_equal(result.launches, 21);
    assert_int_equal(result.seed, 1);
    assert_int_equal(result.evidence.counters_status, GPUCHAR_E_NOT_APPLICABLE);
    assert_true(!result.samples && result.sample_count == 0);
    gpuchar_predication_compare_result_free(&result);
    gpuchar_session_close(session);
}

static void test_presets(void **state) {
    (void)state;
    const compare_options zero = GPUCHAR_PREDICATION_COMPARE_OPTIONS_INIT;
    compare_options options;
    memset(&options, 0xa5, sizeof options);
    options.struct_size = sizeof options;
    assert_int_equal(gpuchar_experiment_preset(COMPARE_NAME, GPUCHAR_PRESET_QUICK, &options), GPUCHAR_OK);
    assert_memory_equal(&options, &zero, sizeof zero);
    assert_int_equal(gpuchar_experiment_preset(COMPARE_NAME, GPUCHAR_PRESET_FULL, &options), GPUCHAR_OK);
    assert_int_equal(options.warps_count, 32);
    for (uint32_t i = 0; i < 32; ++i) assert_int_equal(options.warps[i], i + 1);
}

static void test_text(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    compare_result result;
    char *text = NULL;
    assert_int_equal(run_compare(session, NULL, &result), GPUCHAR_CAVEAT);
    assert_int_equal(gpuchar_experiment_text(COMPARE_NAME, &result, &text), GPUCHAR_OK);
    assert_non_null(strstr(text, "proved for sm_"));
    assert_non_null(strstr(text, "compiled only"));
    assert_non_null(strstr(text, "the compiler itself branches from arms of"));
    assert_null(strstr(text, "warps on"));
    assert_null(strstr(text, "nan"));
    gpuchar_string_free(text);
    gpuchar_experiment_result_free(COMPARE_NAME, &result);
    gpuchar_session_close(session);
}

static void test_json(void **state) {
    NEEDS_NVRTC();
    gpuchar_session *session = open_any();
    compare_result result, again = GPUCHAR_PREDICATION_COMPARE_RESULT_INIT;
    char *text = NULL, *second = NULL;
    assert_int_equal(run_compare(session, NULL, &result), GPUCHAR_CAVEAT);
    assert_int_equal(gpuchar_json_write(RESULT, &result, &text), GPUCHAR_OK);
    assert_non_null(strstr(text, "\"saturation_warps\": null"));
    assert_non_null(strstr(text, "\"gain\": null"));
    assert_non_null(strstr(text, "\"cycles_per_link\": null"));
    assert_non_null(strstr(text, "\"long_cycles\": null"));
    assert_non_null(strstr(text, "\"executed_count\": null"));
    assert_int_equal(gpuchar_json_read(RESULT, text, &again), GPUCHAR_OK);
    assert_true(walk_equal(gpuchar_schema_get(RESULT), &result, &again));
    assert_int_equal(gpuchar_json_write(RESULT, &again, &second), GPUCHAR_OK);
    assert_string_equal(text, second);
    again.lengths[5].branches++;
    assert_false(walk_equal(gpuchar_schema_get(RESULT), &result, &again));
    gpuchar_string_free(text);
    gpuchar_string_free(second);
    gpuchar_predication_compare_result_free(&again);
    gpuchar_predication_compare_result_free(&result);
    gpuchar_session_close(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_architectures), cmocka_unit_test(test_all_bodies), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_presets),           cmocka_unit_test(test_text),       cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, find_archs, NULL);
}
