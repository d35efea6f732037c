/* What stands between two clock reads, of kernels for which that is known, on all architectures. */
#include "contents_samples.h"

/* Calls `check` for each architecture that the compiler and the decoder know. */
static void for_each(void (*check)(const test_cubin *, int)) {
    int checked = 0;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++) {
        if (!is_told(NVRTC.archs[i])) continue;
        check(samples(i), NVRTC.archs[i]);
        checked++;
    }
    assert_true(checked > 5);
}

/* Roles and rows say the same; places of rows exist. */
static void expect_consistent(const gc_contents *contents) {
    uint64_t roles = 0, rows = 0, called_roles = 0, called_rows = 0;
    for (uint32_t r = 0; r < GC_ROLES; r++) roles += contents->roles[r];
    for (uint32_t r = 0; r < GC_ROLES; r++) called_roles += contents->called[r];
    for (uint32_t i = 0; i < contents->row_count; i++) {
        *(contents->rows[i].called ? &called_rows : &rows) += contents->rows[i].count;
        assert_true(contents->rows[i].loop == GC_NO_LOOP || contents->rows[i].loop < contents->loop_count);
    }
    assert_int_equal(roles, rows);
    assert_int_equal(called_roles, called_rows);
    assert_int_equal(roles * 16, contents->region_bytes);
    for (uint32_t k = 0; k < GC_COUNTS; k++) assert_true(contents->outside[k].min <= contents->outside[k].max);
    for (uint32_t i = 0; i < contents->loop_count; i++)
        assert_true(contents->loops[i].parent == GC_NO_LOOP || contents->loops[i].parent < contents->loop_count);
}

static void check_chain(const test_cubin *cubin, int arch) {
    const uint64_t turns = 7;
    gc_contents_question question = ask("chain", &FFMA);
    question.turns = &turns;
    question.turn_count = 1;
    gc_contents found = read_contents(cubin, &question);
    expect_told(&found, "chain", arch);
    expect_consistent(&found);
    assert_int_equal(found.reads, 2);
    assert_int_equal(found.clock_bits, 64);
    assert_int_equal(found.loop_count, 1);
    const gc_contents_loop *loop = &found.loops[0];
    assert_true(loop->straight && found.straight && found.exact);
    assert_false(found.emulated || found.absent);
    expect_span(loop->turn[GC_COUNT_INTENDED], 16, 16, "a turn's FFMA", arch);
    assert_int_equal(count_in(&found, 0, false, GC_ROLE_INTENDED), 16);
    assert_int_equal(count_in(&found, 0, false, GC_ROLE_LOOP), 3); /* counter, compare, branch */
    assert_int_equal(count_in(&found, 0, false, GC_ROLE_FOREIGN), 0);
    assert_int_equal(found.loop_branches, 1);
    assert_int_equal(found.decisions, 0);
    /* Each FFMA waits for the one before: at least four cycles. */
    assert_true(loop->turn[GC_COUNT_STALL].min >= 15 * 4 && loop->turn[GC_COUNT_STALL].max <= 16 * 5 + 48);
    const uint64_t all = found.outside[GC_COUNT_INSTRUCTIONS].min + 7 * (uint64_t)loop->instructions;
    expect_span(found.total[GC_COUNT_INSTRUCTIONS], all, all, "executed", arch);
    expect_span(found.total[GC_COUNT_INTENDED], 112, 112, "FFMA executed", arch);
    const uint64_t stall = found.outside[GC_COUNT_STALL].min + 7 * loop->turn[GC_COUNT_STALL].min;
    expect_span(found.total[GC_COUNT_STALL], stall, stall, "stalls", arch);
    gc_contents_free(&found);
}

static void test_chain(void **state) {
    (void)state;
    for_each(check_chain);
}

static void check_nested(const test_cubin *cubin, int arch) {
    const uint64_t turns[2] = {3, 5};
    gc_contents_question question = ask("nested", &FFMA);
    question.turns = turns;
    question.turn_count = 2;
    gc_contents found = read_contents(cubin, &question);
    expect_told(&found, "nested", arch);
    expect_consistent(&found);
    assert_int_equal(found.loop_count, 2);
    const gc_contents_loop *outer = &found.loops[0], *inner = &found.loops[1];
    assert_true(outer->parent == GC_NO_LOOP && outer->depth == 1 && inner->parent == 0 && inner->depth == 2);
    assert_true(outer->pc < inner->pc && outer->straight && inner->straight);
    expect_span(outer->turn[GC_COUNT_INTENDED], 1, 1, "the outer loop's FFMA", arch);
    expect_span(inner->turn[GC_COUNT_INTENDED], 8, 8, "the inner loop's FFMA", arch);
    expect_span(found.total[GC_COUNT_INTENDED], 3 * (1 + 5 * 8), 3 * (1 + 5 * 8), "FFMA executed", arch);
    const uint64_t all = found.outside[GC_COUNT_INSTRUCTIONS].min + 3 * (uint64_t)outer->instructions +
                         15 * (uint64_t)inner->instructions;
    expect_span(found.total[GC_COUNT_INSTRUCTIONS], all, all, "executed", arch);
    for (uint32_t i = 0; i < found.row_count; i++)
        if (found.rows[i].loop == 1) assert_int_equal(found.rows[i].at_most, found.rows[i].count * 15);
    gc_contents_free(&found);
}

static void test_nested_loops(void **state) {
    (void)state;
    for_each(check_nested);
}

static void check_twice(const test_cubin *cubin, int arch) {
    static const uint64_t expected[] = {8, 0, 3};
    gc_contents_question question = ask("twice", &FFMA);
    uint64_t end = 0;
    for (uint32_t read = 0; read < 3; read++) {
        question.read = read;
        gc_contents found = read_contents(cubin, &question);
        expect_told(&found, "twice", arch);
        expect_consistent(&found);
        assert_int_equal(found.reads, 4);
        if (read) assert_int_equal(found.start_pc, end);
        end = found.end_pc;
        assert_int_equal(found.roles[GC_ROLE_INTENDED], expected[read]);
        gc_contents_free(&found);
    }
    question.read = 3;
    gc_contents last = read_contents(cubin, &question);
    expect_refused(&last, "the last read", arch, "no clock read comes behind the clock read at 0x");
    question.read = 4;
    gc_contents none = read_contents(cubin, &question);
    expect_refused(&none, "a fifth read", arch, "4 clock reads: there is no number 4");
}

static void test_several_regions(void **state) {
    (void)state;
    for_each(check_twice);
}

static void check_divergent(const test_cubin *cubin, int arch) {
    const gc_contents_question question = ask("divergent", &FFMA);
    gc_contents found = read_contents(cubin, &question);
    expect_told(&found, "divergent", arch);
    expect_consistent(&found);
    assert_false(found.straight || found.exact);
    assert_true(found.divergent >= 1 && found.divergent <= found.decisions);
    assert_int_equal(found.loop_count, 1);
    expect_span(found.outside[GC_COUNT_INTENDED], 0, 8, "FFMA on either way", arch);
    assert_int_equal(count_in(&found, 0, false, GC_ROLE_FOREIGN), 1); /* the IMAD */
    assert_int_equal(count_in(&found, 0, false, GC_ROLE_LOOP), 3);
    assert_int_equal(found.barriers.bssy, found.barriers.bsync);
    gc_contents_free(&found);
}

static void test_divergence(void **state) {
    (void)state;
    for_each(check_divergent);
}

static void check_local(const test_cubin *cubin, int arch) {
    static const char *const kernels[] = {"spills", "tight"};
    for (int k = 0; k < 2; k++) {
        const gc_contents_question question = ask(kernels[k], &FFMA);
        gc_contents found = read_contents(cubin, &question);
        expect_told(&found, kernels[k], arch);
        expect_consistent(&found);
        if (!found.local_loads || !found.local_stores)
            fail_msg("%s on sm_%d: %u loads, %u stores", kernels[k], arch, found.local_loads, found.local_stores);
        assert_int_equal(found.local_loads, count_of(&found, "LDL", false));
        assert_int_equal(found.local_stores, count_of(&found, "STL", false));
        gc_contents_free(&found);
    }
}

static void test_local_memory(void **state) {
    (void)state;
    for_each(check_local);
}

static void check_called(const test_cubin *cubin, int arch) {
    gc_contents_question question = ask("called", &FFMA);
    gc_contents found = read_contents(cubin, &question);
    expect_told(&found, "called", arch);
    expect_consistent(&found);
    assert_int_equal(found.calls, 2);
    assert_int_equal(found.routines, 1);
    assert_true(found.emulated && found.straight); /* the caller has not said that the routine is its own */
    assert_int_equal(found.called[GC_ROLE_INTENDED], 16);
    assert_int_equal(found.called[GC_ROLE_CALL], 2); /* RET */
    assert_int_equal(found.roles[GC_ROLE_CALL], 4);
    uint64_t called = 0;
    for (uint32_t r = 0; r < GC_ROLES; r++) called += found.called[r];
    expect_span(found.outside[GC_COUNT_CALLED], called, called, "called", arch);
    assert_int_equal(found.routine_bytes * 2, called * 16);
    gc_contents_free(&found);
    question.routine_intended = true;
    found = read_contents(cubin, &question);
    assert_false(found.emulated || found.absent);
    expect_span(found.outside[GC_COUNT_INTENDED], 16, 16, "FFMA called", arch);
    gc_contents_free(&found);
}

static void check_called_in_loop(const test_cubin *cubin, int arch) {
    const uint64_t turns = 9;
    gc_contents_question question = ask("called_in_loop", &FFMA);
    question.routine_intended = true;
    question.turns = &turns;
    question.turn_count = 1;
    gc_contents found = read_contents(cubin, &question);
    expect_told(&found, "called_in_loop", arch);
    expect_consistent(&found);
    assert_int_equal(count_in(&found, 0, true, GC_ROLE_INTENDED), 8);
    expect_span(found.total[GC_COUNT_INTENDED], 72, 72, "FFMA called in a loop", arch);
    gc_contents_free(&found);
    question = ask("called_twice_deep", &FFMA);
    found = read_contents(cubin, &question);
    expect_told(&found, "called_twice_deep", arch);
    expect_consistent(&found);
    assert_int_equal(found.calls, 3);
    assert_int_equal(found.routines, 2);
    assert_int_equal(found.called[GC_ROLE_INTENDED], 16);
    gc_contents_free(&found);
}

static void test_calls(void **state) {
    (void)state;
    for_each(check_called);
    for_each(check_called_in_loop);
}

static void check_divided(const test_cubin *cubin, int arch) {
    static const gc_contents_pattern division = {.mnemonic = "FDIV"}; /* there is no such instruction */
    const gc_contents_question question = ask("divided", &division);
    gc_contents found = read_contents(cubin, &question);
    expect_told(&found, "divided", arch);
    expect_consistent(&found);
    assert_true(found.emulated);
    assert_int_equal(found.calls, 1);
    assert_true(count_of(&found, "MUFU", false) >= 1 && count_of(&found, "FFMA", false) >= 4);
    assert_non_null(strstr(found.foreign, "MUFU"));
    /* The routine is for numbers out of range only. */
    assert_int_equal(found.outside[GC_COUNT_CALLED].min, 0);
    assert_true(found.outside[GC_COUNT_CALLED].max > 20);
    gc_contents_free(&found);
}

static void check_shared(const test_cubin *cubin, int arch) {
    static const gc_contents_pattern load = {.mnemonic = "LDS"};
    const gc_contents_question question = ask("shared_memory", &load);
    gc_contents found = read_contents(cubin, &question);
    expect_told(&found, "shared_memory", arch);
    expect_consistent(&found);
    assert_int_equal(found.barriers.bar, 1);
    assert_int_equal(found.roles[GC_ROLE_INTENDED], 1);
    assert_int_equal(count_of(&found, "STS", false), 1);
    assert_int_equal(found.local_loads + found.local_stores, 0);
    assert_true(found.outside[GC_COUNT_WAITS].min >= 1 && found.straight);
    gc_contents_free(&found);
}

static void check_nothing(const test_cubin *cubin, int arch) {
    const gc_contents_question question = ask("nothing", &FFMA);
    gc_contents found = read_contents(cubin, &question);
    expect_told(&found, "nothing", arch);
    expect_consistent(&found);
    assert_true(found.absent && !found.emulated);
    gc_contents_free(&found);
}

static void check_half(const test_cubin *cubin, int arch) {
    const gc_contents_question question = ask("half", &FFMA);
    gc_contents found = read_contents(cubin, &question);
    expect_told(&found, "half", arch);
    expect_consistent(&found);
    assert_int_equal(found.clock_bits, 32);
    assert_int_equal(found.roles[GC_ROLE_INTENDED], 8);
    gc_contents_free(&found);
}

static void test_small_regions(void **state) {
    (void)state;
    for_each(check_divided);
    for_each(check_shared);
    for_each(check_nothing);
    for_each(check_half);
}

static void check_refused(const test_cubin *cubin, int arch) {
    static const char *const cases[][2] = {
        {"recursion", "a called routine calls itself at 0x"},
        {"pointed", "the target of the call at 0x"},
        {"ends", "the timed region can be left at 0x"},
        {"branches", "more than one clock read can come next behind the clock read at 0x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const gc_contents_question question = ask(cases[i][0], &FFMA);
        gc_contents found = read_contents(cubin, &question);
        expect_refused(&found, cases[i][0], arch, cases[i][1]);
    }
}

static void test_refusals(void **state) {
    (void)state;
    for_each(check_refused);
}

/* Fields tell instructions of one name apart: here by the destination. */
static void check_fields(const test_cubin *cubin, int arch) {
    patient open;
    assert_int_equal(patient_open(cubin, "chain", &open), 0);
    const uint32_t first = find_mnemonic(&open, open.first_clock, "FFMA", 0);
    const uint64_t destination = open.flow.instructions[first].destination;
    const uint16_t opcode = open.flow.instructions[first].opcode;
    patient_close(&open);
    const gc_contents_pattern fits = {.opcode = opcode, .low_mask = 0xff0000, .low_value = destination << 16};
    const gc_contents_pattern other = {.mnemonic = "FFMA", .low_mask = 0xff0000, .low_value = 0xfe0000};
    gc_contents_question question = ask("chain", &fits);
    gc_contents found = read_contents(cubin, &question);
    assert_int_equal(found.roles[GC_ROLE_INTENDED], 16);
    gc_contents_free(&found);
    question.intended = &other;
    found = read_contents(cubin, &question);
    expect_told(&found, "chain", arch);
    assert_int_equal(found.roles[GC_ROLE_INTENDED], 0);
    assert_true(found.emulated);
    /* What the question allows is not foreign, and then nothing works in its place. */
    const char *extra[64];
    for (uint32_t i = 0; i < found.row_count; i++)
        if (found.rows[i].role == GC_ROLE_FOREIGN) extra[question.extra_count++] = found.rows[i].mnemonic;
    assert_true(question.extra_count > 0 && question.extra_count <= 64);
    question.extra = extra;
    gc_contents_free(&found);
    found = read_contents(cubin, &question);
    assert_true(found.roles[GC_ROLE_EXTRA] >= 16 && found.roles[GC_ROLE_FOREIGN] == 0);
    assert_true(found.absent && !found.emulated);
    gc_contents_free(&found);
}

static void test_fields(void **state) {
    (void)state;
    for_each(check_fields);
}

/* IMMA does it up to sm_89; from sm_90 on a routine that works on 8-bit numbers. */
static void test_int4(void **state) {
    (void)state;
    static const gc_contents_pattern native = {.mnemonic = "IMMA"};
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++) {
        const int arch = NVRTC.archs[i];
        if (arch < 75 || !is_told(arch)) continue;
        test_cubin made = nvrtc_compile(&NVRTC, INT4_SAMPLE, arch);
        assert_non_null(made.bytes);
        const gc_contents_question question = ask("int4", &native);
        gc_contents found = read_contents(&made, &question);
        expect_told(&found, "int4", arch);
        expect_consistent(&found);
        assert_int_equal(found.emulated, arch >= 90);
        assert_int_equal(found.calls, arch >= 90 ? 2 : 0);
        assert_int_equal(found.roles[GC_ROLE_INTENDED], arch >= 90 ? 0 : 2);
        assert_int_equal(found.called[GC_ROLE_INTENDED], arch >= 90 ? 4 : 0);
        gc_contents_free(&found);
        free(made.bytes);
    }
}

/* QMMA where the chip has it; elsewhere conversions and HMMA. */
static void test_fp8(void **state) {
    (void)state;
    static const gc_contents_pattern native = {.mnemonic = "QMMA"};
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++) {
        const int arch = NVRTC.archs[i];
        if (arch < 89 || !is_told(arch)) continue;
        test_cubin made = nvrtc_compile(&NVRTC, FP8_SAMPLE, arch);
        assert_non_null(made.bytes);
        const gc_contents_question question = ask("fp8", &native);
        gc_contents found = read_contents(&made, &question);
        expect_told(&found, "fp8", arch);
        expect_consistent(&found);
        const bool has = arch == 89 || arch >= 120;
        assert_int_equal(found.emulated, !has);
        assert_int_equal(found.roles[GC_ROLE_INTENDED], has ? 1 : 0);
        if (!has) assert_true(strstr(found.foreign, "HMMA 2") && strstr(found.foreign, "F2FP 4"));
        gc_contents_free(&found);
        free(made.bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chain),
                                       cmocka_unit_test(test_nested_loops),
                                       cmocka_unit_test(test_several_regions),
                                       cmocka_unit_test(test_divergence),
                                       cmocka_unit_test(test_local_memory),
                                       cmocka_unit_test(test_calls),
                                       cmocka_unit_test(test_small_regions),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_fields),
                                       cmocka_unit_test(test_int4),
                                       cmocka_unit_test(test_fp8)};
    return cmocka_run_group_tests(tests, setup, samples_teardown);
}
