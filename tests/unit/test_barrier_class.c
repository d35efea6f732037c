/* gpuchar_barrier_class_experiment from the outside: all well, options, presets, recordings, and sessions that run nothing. */
#include "barrier_bench.h"

/* ---- all went well */

static void check_control(const gpuchar_barrier_kernel *kernel) {
    assert_int_equal(kernel->stores_disabled, 1);
    assert_int_equal(kernel->store.end, GPUCHAR_BARRIER_ENDED);
    assert_int_equal(kernel->store.runs, 1);
    assert_int_equal(kernel->store.launches, SMALL_LAUNCHES);
    assert_int_equal(kernel->store.differing, SMALL_LAUNCHES);
}

static void check_kernels(const barrier_result *result) {
    for (uint32_t i = 0; i < GPUCHAR_BARRIER_PROBES; ++i) {
        const gpuchar_barrier_kernel *kernel = &result->kernels[i];
        assert_int_equal(kernel->probe, i);
        assert_int_equal(kernel->proof_status, GPUCHAR_OK);
        assert_int_equal(kernel->known, GPUCHAR_BARRIER_CODE);
        assert_true(kernel->bssy_in_loops >= 2 && kernel->bsync_in_loops >= 2);
        assert_int_equal(kernel->breaks_in_loops > 0, i == GPUCHAR_BARRIER_PROBE_EXIT);
        check_control(kernel);
    }
}

static void check_shape(const gpuchar_barrier_shape *shape, uint32_t probe, uint32_t cases) {
    const uint32_t threads = 2 * 3 * 32;
    assert_int_equal(shape->probe, probe);
    assert_int_equal(shape->warps, 2);
    assert_int_equal(shape->blocks, 3);
    assert_int_equal(shape->known, GPUCHAR_BARRIER_NOISE);
    assert_int_equal(shape->run.end, GPUCHAR_BARRIER_ENDED);
    assert_int_equal(shape->run.runs, cases + 1);
    assert_int_equal(shape->run.launches, (cases + 1) * SMALL_LAUNCHES);
    assert_int_equal(shape->run.differing, 0);
    assert_int_equal(shape->run.cycles.samples, (cases + 1) * 4);
    assert_int_equal(shape->run.met_min, 5 * 32 * threads);
    assert_int_equal(shape->run.met_max, 5 * 32 * threads);
    assert_int_equal(shape->run.seen_max, probe == GPUCHAR_BARRIER_PROBE_WAIT ? 5 * threads : 0);
    assert_in_range(shape->median_cycles, 10005, 10007); /* the longest warp of six, by three kinds of runs */
    assert_in_range(shape->median_min_cycles, 10005, 10005);
    assert_in_range(shape->median_max_cycles, 10007, 10007);
    assert_true(shape->noise_cycles > 0.5 && shape->noise_cycles < 1.2);
    assert_true(shape->run.cycles.max < 10010); /* without the warm-ups */
}

static void check_alike(const gpuchar_barrier_case *one) {
    assert_int_equal(one->run.end, GPUCHAR_BARRIER_ENDED);
    assert_int_equal(one->run.runs, 1);
    assert_int_equal(one->run.launches, SMALL_LAUNCHES);
    assert_int_equal(one->run.differing, 0);
    assert_int_equal(one->run.cycles.samples, 4);
    assert_int_equal(one->known, GPUCHAR_BARRIER_DIFFERENCE | GPUCHAR_BARRIER_UNITS);
    assert_int_equal(one->outside, 0);
    assert_true(one->difference_cycles >= -2 && one->difference_cycles <= 2);
    assert_true(one->edited > 0 && one->changed <= one->edited);
}

static void check_all_well(const barrier_result *result) {
    static const uint32_t cases[] = {12, 16, 12};
    assert_int_equal(result->known, GPUCHAR_BARRIER_LAUNCHED);
    assert_int_equal(result->shape_count, 3);
    assert_int_equal(result->case_count, SMALL_CASES);
    assert_int_equal(result->cases_run, SMALL_CASES);
    assert_int_equal(result->cases_not_ended + result->cases_differing + result->cases_outside, 0);
    check_kernels(result);
    for (uint32_t i = 0; i < 3; ++i) check_shape(&result->shapes[i], i, cases[i]);
    for (size_t i = 0; i < SMALL_CASES; ++i) check_alike(&result->cases[i]);
    const double chance = 2 * (12 * 2.0 / 14) + 16 * 2.0 / 18;
    assert_true(fabs(result->cases_outside_by_chance - chance) < 1e-9);
}

static void test_all_well(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    barrier_options options = small();
    options.require = GPUCHAR_REQUIRE_PROVED | GPUCHAR_REQUIRE_STABLE;
    expect_status(run(&options, "none at-all", &result), GPUCHAR_OK);
    check_all_well(&result);
    assert_int_equal(result.field_exists, 1);
    assert_int_equal(result.evidence.arch, 100);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED);
    assert_int_equal(result.evidence.counters_status, GPUCHAR_E_NOT_APPLICABLE);
    assert_string_equal(steps, "compile, proof, join, early exit, wait, ");
    expect_text(&result, "the class of BSSY, BSYNC and BREAK, bits [73:72], changed in place");
    expect_text(&result, "store disabled: changes the output");
    expect_text(&result, "of 40 edits 0 did not end, 0 changed the output");
    expect_text(&result, "counters:     none (the kernels run in another process, where nothing is counted)");
    expect_json(&result, "\"native_code\": null");
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
}

/* Both compiled classes and none: what "as compiled" stands for on a chip with the field. */
static void test_classes_as_compiled(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    expect_status(run_small("none at-all", &result), GPUCHAR_OK);
    const gpuchar_barrier_kernel *join = &result.kernels[0], *leaves = &result.kernels[1], *waits = &result.kernels[2];
    assert_true(join->bssy[2] > 0 && join->bsync[2] == join->bssy[2]);
    assert_true(leaves->bssy[1] > 0 && leaves->bsync[1] == leaves->bssy[1] && leaves->bssy[2] > 0);
    assert_true(leaves->breaks[1] > 0 && leaves->breaks[0] + leaves->breaks[2] + leaves->breaks[3] == 0);
    assert_true(waits->bssy[0] > 0);
    for (size_t i = 0; i < result.case_count; ++i) { /* the edit that changes nothing is told */
        const gpuchar_barrier_case *one = &result.cases[i];
        if (one->probe == 1 && one->breaks == 1 && one->bssy == KEEP && one->bsync == KEEP)
            assert_int_equal(one->changed, 0);
        if (one->probe == 1 && one->breaks == 2 && one->bssy == KEEP && one->bsync == KEEP)
            assert_int_equal(one->changed, one->edited);
    }
    release(&result);
}

static void test_reserved_bits(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    close_live();
    open_live(GPUCHAR_WORKER_FILE, "9");
    expect_status(run_small("none at-all", &result), GPUCHAR_OK);
    check_all_well(&result);
    assert_int_equal(result.field_exists, 0);
    for (uint32_t i = 0; i < 3; ++i) {
        const gpuchar_barrier_kernel *kernel = &result.kernels[i];
        for (uint32_t class = 1; class < 4; ++class)
            assert_int_equal(kernel->bssy[class] + kernel->bsync[class] + kernel->breaks[class], 0);
    }
    expect_text(&result, "this chip has no class field: bits [73:72], changed in place, are reserved here, and this is "
                         "not the paper's experiment");
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
    close_live();
    open_live(GPUCHAR_WORKER_FILE, "10");
}

static void test_every_combination(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    barrier_options options = small();
    options.combinations = 0;
    options.warps_count = 2;
    options.warps[1] = 1;
    options.launches = 3;
    expect_status(run(&options, "none at-all", &result), GPUCHAR_OK);
    assert_int_equal(result.case_count, 2 * (24 + 124 + 24));
    assert_int_equal(result.shape_count, 6);
    assert_int_equal(result.combinations, GPUCHAR_BARRIER_COMBINATIONS_EVERY);
    bool seen[2][3][5][5][5] = {0};
    for (size_t i = 0; i < result.case_count; ++i) {
        const gpuchar_barrier_case *one = &result.cases[i];
        bool *at = &seen[one->warps - 1][one->probe][one->bssy][one->bsync][one->breaks];
        assert_false(*at);
        *at = true;
    }
    assert_true(seen[0][1][2][1][3] && seen[1][1][0][3][KEEP] && seen[1][0][KEEP][3][KEEP]);
    expect_recorded(&result, GPUCHAR_OK);
    release(&result);
    options.classes = 1u << 3; /* one class: 3 and 7 edits */
    expect_status(run(&options, "none at-all", &result), GPUCHAR_OK);
    assert_int_equal(result.case_count, 2 * (3 + 7 + 3));
    release(&result);
}

/* ---- options */

static void test_bad_options(void **state) {
    NEEDS_NVRTC();
#define BAD(wanted, word, change)                                                                                      \
    {                                                                                                                  \
        barrier_options options = small();                                                                             \
        barrier_result result;                                                                                         \
        change;                                                                                                        \
        expect_failure(run(&options, "none at-all", &result), wanted, word, "");                                       \
    }
    BAD(GPUCHAR_E_LIMIT, "warps_count", options.warps_count = 9)
    BAD(GPUCHAR_E_LIMIT, "warps", options.warps[0] = 0)
    BAD(GPUCHAR_E_LIMIT, "warps", options.warps[0] = 33)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "warps[7]", options.warps[7] = 1)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "are both 2", options.warps[1] = 2; options.warps_count = 2)
    BAD(GPUCHAR_E_LIMIT, "blocks", options.blocks = 65)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "classes", options.classes = 16)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "combinations", options.combinations = 3)
    BAD(GPUCHAR_E_LIMIT, "turns", options.turns = 1025)
    BAD(GPUCHAR_E_LIMIT, "launches", options.launches = 2)
    BAD(GPUCHAR_E_LIMIT, "launches", options.launches = 65)
    BAD(GPUCHAR_E_LIMIT, "spin_limit", options.spin_limit = 65537)
    BAD(GPUCHAR_E_LIMIT, "limit_ms", options.limit_ms = 9)
    BAD(GPUCHAR_E_LIMIT, "lost_limit", options.lost_limit = 10001)
    BAD(GPUCHAR_E_INVALID_ARGUMENT, "require", options.require = 8)
    BAD(GPUCHAR_E_NOT_APPLICABLE, "another process", options.counters = GPUCHAR_COUNTERS_REQUIRED)
    BAD(GPUCHAR_E_STRUCT_SIZE, "struct_size", options.struct_size = 7)
#undef BAD
    assert_int_equal(gpuchar_barrier_class_experiment(session, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
}

static void test_defaults_and_presets(void **state) {
    NEEDS_NVRTC();
    barrier_result result;
    expect_status(run(NULL, "none at-all", &result), GPUCHAR_OK);
    assert_int_equal(result.shape_count, 9);
    assert_int_equal(result.shapes[1].warps, 4);
    assert_int_equal(result.shapes[2].warps, 32);
    assert_int_equal(result.case_count, 3 * 172);
    assert_int_equal(result.cases_run, 3 * 172);
    assert_true(result.blocks == 4 && result.launches == 5 && result.turns == 32);
    release(&result);
    barrier_options options = GPUCHAR_BARRIER_CLASS_EXPERIMENT_OPTIONS_INIT;
    assert_int_equal(gpuchar_experiment_preset("barrier_class_experiment", GPUCHAR_PRESET_QUICK, &options), GPUCHAR_OK);
    expect_status(run(&options, "none at-all", &result), GPUCHAR_OK);
    assert_int_equal(result.case_count, SMALL_CASES);
    release(&result);
}

/* ---- recordings that cannot be */

static void expect_refused(const barrier_result *result, const char *field) {
    barrier_result answer;
    const gpuchar_status status = read_back(result, NULL, &answer);
    if (status >= 0) fail_msg("a recording with a wrong %s is believed", field);
    const gpuchar_error *error = gpuchar_last_error();
    if (!strstr(error->message, field)) fail_msg("no \"%s\" in: %s", field, error->message);
}

static void test_wrong_recordings(void **state) {
    NEEDS_NVRTC();
    barrier_result result, answer;
    expect_status(run_small("bssy3 value", &result), GPUCHAR_OK);
#define WRONG(field, member, value)                                                                                    \
    {                                                                                                                  \
        const __typeof__(result.member) before = result.member;                                                        \
        result.member = value;                                                                                         \
        expect_refused(&result, field);                                                                                \
        result.member = before;                                                                                        \
    }
    WRONG("blocks", blocks, 0)
    WRONG("classes", classes, 16)
    WRONG("cases", classes, 7)
    WRONG("cases", combinations, 1)
    WRONG("launches", launches, 65)
    WRONG("field_exists", field_exists, 0)
    WRONG("kernels", kernels[1].breaks_in_loops, 0)
    WRONG("kernels", kernels[0].store.launches, 4)
    WRONG("kernels", kernels[0].store.met_differing, 6)
    WRONG("shapes", shapes[1].blocks, 5)
    WRONG("shapes", shapes[1].run.met_max, UINT64_MAX)
    WRONG("shapes", shapes[0].run.seen_max, 1)
    WRONG("shapes", shapes[2].run.spins_max, 1u << 30)
    WRONG("shapes", shapes[0].median_cycles, 9000)
    WRONG("shapes", shapes[0].noise_cycles, 900)
    WRONG("shapes", shapes[0].run.cycles.samples, 3)
    WRONG("cases", shapes[0].warps, 3)
    WRONG("cases", cases[3].bssy, 3)
    WRONG("cases", cases[3].warps, 1)
    WRONG("cases[].edited", cases[3].changed, 5000)
    WRONG("cases[].run", cases[3].run.differing, 9)
    WRONG("cases[].run", cases[3].run.end, 2)
    WRONG("cases[].outside", cases[3].outside, 1)
    WRONG("cases[].difference_cycles", cases[3].difference_cycles, 50)
    WRONG("cases[].difference_noise", cases[3].difference_noise, 50)
    WRONG("cases_run", cases_run, 39)
    WRONG("cases_differing", cases_differing, 0)
    WRONG("cases_outside_by_chance", cases_outside_by_chance, 0)
    WRONG("evidence.flags", evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_OFF_LAW)
    WRONG("evidence.flags", evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE)
#undef WRONG
    /* And a good one does not answer another question. */
    barrier_options other = small();
    expect_status(read_back(&result, &other, &answer), GPUCHAR_OK);
    release(&answer);
    other.warps[0] = 4;
    expect_status(read_back(&result, &other, &answer), GPUCHAR_E_NOT_RECORDED);
    other.warps[0] = 2;
    other.turns = 6;
    expect_status(read_back(&result, &other, &answer), GPUCHAR_E_NOT_RECORDED);
    release(&result);
}

/* ---- sessions that run nothing */

static void test_compile_only(void **state) {
    NEEDS_NVRTC();
    for (size_t i = 0; i < arch_count; ++i) {
        gpuchar_session *compiling = open_arch(archs[i], NULL);
        barrier_result result = GPUCHAR_BARRIER_CLASS_EXPERIMENT_RESULT_INIT;
        const gpuchar_status status = gpuchar_barrier_class_experiment(compiling, NULL, &result);
        if (archs[i] < 70) {
            expect_status(status, GPUCHAR_E_NOT_APPLICABLE);
        } else {
            expect_status(status, GPUCHAR_CAVEAT);
            if (result.evidence.flags != (GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COMPILE_ONLY))
                fail_msg("sm_%u: flags %x", archs[i], result.evidence.flags);
            assert_int_equal(result.field_exists, archs[i] >= 100);
            assert_int_equal(result.known, 0);
            assert_int_equal(result.case_count, 3 * 172);
            assert_int_equal(result.cases[0].run.end, GPUCHAR_BARRIER_NOT_RUN);
            expect_json(&result, "\"launches_ns\": null");
            expect_recorded(&result, GPUCHAR_CAVEAT);
            release(&result);
        }
        gpuchar_session_close(compiling);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_well),         cmocka_unit_test(test_classes_as_compiled),
        cmocka_unit_test(test_reserved_bits),    cmocka_unit_test(test_every_combination),
        cmocka_unit_test(test_bad_options),      cmocka_unit_test(test_defaults_and_presets),
        cmocka_unit_test(test_wrong_recordings), cmocka_unit_test(test_compile_only)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
