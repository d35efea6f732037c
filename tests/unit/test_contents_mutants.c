/* Known kernels changed in one place each: the contents must change with it, or be refused in words. */
#include "contents_samples.h"

static uint32_t middle_ffma(const patient *open) {
    const uint32_t found = find_mnemonic(open, open->first_clock, "FFMA", 8);
    assert_int_not_equal(found, UINT32_MAX);
    return found;
}

static void spoil_work(patient *open) {
    set_opcode(open, middle_ffma(open), 0x221); /* FADD */
}
static void spoil_nop(patient *open) {
    set_nop(open, middle_ffma(open));
}
static void spoil_never(patient *open) {
    set_bits(open, middle_ffma(open), 15, 12, 15); /* @!PT */
}
static void spoil_guard(patient *open) {
    set_bits(open, middle_ffma(open), 15, 12, 3);
}
static void spoil_local(patient *open) {
    set_opcode(open, middle_ffma(open), 0x983); /* LDL */
}
static void spoil_barrier(patient *open) {
    set_opcode(open, middle_ffma(open), 0xb1d); /* BAR */
}
static void spoil_barrier_move(patient *open) {
    const uint32_t at = middle_ffma(open);
    set_opcode(open, at, 0x356); /* BMOV, from a register into a barrier */
}
static void spoil_stall(patient *open) {
    const uint32_t at = middle_ffma(open);
    set_bits(open, at, 108, 105, open->flow.instructions[at].stall + 1u);
}
static void spoil_wait(patient *open) {
    set_bits(open, middle_ffma(open), 121, 116, 0x20);
}
static void spoil_write_barrier(patient *open) {
    set_bits(open, middle_ffma(open), 112, 110, 2);
}

/* What one turn of the loop holds. */
typedef struct turn {
    uint64_t intended, intended_max, foreign, padding, stall, waits, sets, local, bars, spilled;
} turn;

static turn read_turn(const test_cubin *cubin, int arch, const char *what) {
    const gc_contents_question question = ask("chain", &FFMA);
    gc_contents found = read_contents(cubin, &question);
    expect_told(&found, what, arch);
    assert_int_equal(found.loop_count, 1);
    const gc_span *one = found.loops[0].turn;
    const turn read = {one[GC_COUNT_INTENDED].min, one[GC_COUNT_INTENDED].max,
                       one[GC_COUNT_FOREIGN].max,  count_in(&found, 0, false, GC_ROLE_PADDING),
                       one[GC_COUNT_STALL].max,    one[GC_COUNT_WAITS].max,
                       one[GC_COUNT_SETS].max,     found.local_loads,
                       found.barriers.bar,         found.barriers.spilled};
    gc_contents_free(&found);
    return read;
}

typedef struct change {
    const char *name;
    void (*spoil)(patient *);
    turn by; /* added to what there was; numbers wrap around */
} change;

#define LESS UINT64_MAX /* one less */

static const change CHANGES[] = {
    {"FADD for FFMA", spoil_work, {.intended = LESS, .intended_max = LESS, .foreign = 1}},
    {"NOP for FFMA", spoil_nop, {.intended = LESS, .intended_max = LESS, .padding = 1}},
    {"FFMA switched off", spoil_never, {.intended = LESS, .intended_max = LESS, .padding = 1}},
    {"FFMA predicated", spoil_guard, {.intended = LESS}},
    {"LDL for FFMA", spoil_local, {.intended = LESS, .intended_max = LESS, .foreign = 1, .local = 1}},
    {"BAR for FFMA", spoil_barrier, {.intended = LESS, .intended_max = LESS, .foreign = 1, .bars = 1}},
    {"BMOV for FFMA", spoil_barrier_move, {.intended = LESS, .intended_max = LESS, .foreign = 1, .spilled = 1}},
    {"a stall more", spoil_stall, {.stall = 1}},
    {"a wait", spoil_wait, {.waits = 1}},
    {"a scoreboard", spoil_write_barrier, {.sets = 1}},
};

static void check_change(const change *one, const test_cubin *whole, int arch) {
    const turn before = read_turn(whole, arch, "chain");
    patient open;
    assert_int_equal(patient_open(whole, "chain", &open), 0);
    one->spoil(&open);
    const turn after = read_turn(&open.cubin, arch, one->name);
    patient_close(&open);
    const uint64_t *was = (const uint64_t *)&before, *is = (const uint64_t *)&after, *by = (const uint64_t *)&one->by;
    for (size_t i = 0; i < sizeof before / sizeof *was; i++)
        if (is[i] != was[i] + by[i])
            fail_msg("%s on sm_%d: number %zu was %llu and is %llu", one->name, arch, i, (unsigned long long)was[i],
                     (unsigned long long)is[i]);
}

static void test_changes_are_seen(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (size_t c = 0; c < sizeof CHANGES / sizeof CHANGES[0] && is_told(NVRTC.archs[i]); c++)
            check_change(&CHANGES[c], samples(i), NVRTC.archs[i]);
}

/* ---- what must be refused */

static void spoil_unknown(patient *open) {
    set_opcode(open, middle_ffma(open), 0xfff);
}
static void spoil_first_clock(patient *open) {
    set_nop(open, open->first_clock);
}
static void spoil_clock_guard(patient *open) {
    set_bits(open, open->second_clock, 15, 12, 2);
}
static void spoil_clock_half(patient *open) {
    set_bits(open, open->second_clock, 79, 72, 0x51);
}
static void spoil_clock_width(patient *open) {
    set_bits(open, open->second_clock, 80, 80, 0);
}
static void spoil_clock_in_loop(patient *open) {
    copy_word(open, middle_ffma(open), open->second_clock);
}
static void spoil_exit(patient *open) {
    const uint32_t at = middle_ffma(open);
    set_nop(open, at);
    set_bits(open, at, 15, 0, 0x094d); /* @P0 EXIT */
    set_bits(open, at, 90, 87, 7);
}

static uint32_t back_edge(const patient *open) {
    const gc_block *block = &open->flow.blocks[loop_block(open, 0)];
    return block->first + block->count - 1;
}

/* Makes `at` a branch to instruction `to`. */
static void set_branch(patient *open, uint32_t at, uint32_t to, uint32_t guard) {
    const uint64_t words = ((uint64_t)to - at - 1) * 4;
    gc_cubin cubin;
    assert_int_equal(gc_cubin_open(open->cubin.bytes, open->cubin.size, &cubin), GPUCHAR_OK);
    set_nop(open, at);
    set_bits(open, at, 15, 0, 0x0947 | guard << 12);
    set_bits(open, at, 90, 87, 7);
    const uint64_t field = cubin.arch >= 90 ? words >> 8 : words;
    set_bits(open, at, 63, 34, field & 0x3fffffff);
    set_bits(open, at, 81, 64, field >> 30 & 0x3ffff);
    if (cubin.arch >= 90) set_bits(open, at, 23, 16, words & 0xff);
}

static void spoil_endless(patient *open) {
    const uint32_t at = back_edge(open);
    set_branch(open, at, open->flow.blocks[loop_block(open, 0)].first, 7);
}
/* A way into the middle of the loop, from before it. */
static void spoil_two_entries(patient *open) {
    set_branch(open, open->first_clock + 1, middle_ffma(open), 2);
}
/* From before the first read into the region. */
static void spoil_entered(patient *open) {
    set_branch(open, open->first_clock - 1, middle_ffma(open), 2);
}
static void spoil_again(patient *open) {
    set_branch(open, middle_ffma(open), open->first_clock, 2);
}

static void spoil_return_address(patient *open) {
    const uint32_t call = find_mnemonic(open, open->first_clock, "CALL", 0);
    assert_int_not_equal(call, UINT32_MAX);
    for (uint32_t i = 0; i < open->flow.instruction_count; i++) {
        uint32_t immediate;
        memcpy(&immediate, open->code + (size_t)i * 16 + 4, sizeof immediate);
        if (immediate == open->flow.instructions[call].pc + 16) set_bits(open, i, 63, 32, immediate + 16);
    }
}
static void spoil_call_target(patient *open) {
    const uint32_t call = find_mnemonic(open, open->first_clock, "CALL", 0);
    gc_cubin cubin;
    assert_int_equal(gc_cubin_open(open->cubin.bytes, open->cubin.size, &cubin), GPUCHAR_OK);
    const uint64_t words = (open->flow.instructions[call].target - open->flow.instructions[call].pc) / 4;
    set_bits(open, call, 63, 34, cubin.arch >= 90 ? words >> 8 : words); /* one instruction further */
    if (cubin.arch >= 90) set_bits(open, call, 23, 16, words & 0xff);
}
static void spoil_call_form(patient *open) {
    set_opcode(open, find_mnemonic(open, open->first_clock, "CALL", 0), 0x344);
}
/* In the routine: the first instruction of that opcode behind the kernel. */
static uint32_t behind(const patient *open, uint32_t opcode) {
    for (uint32_t i = open->flow.instruction_count; i < open->flow.instruction_count + 200; i++) {
        uint16_t low;
        memcpy(&low, open->code + (size_t)i * 16, sizeof low);
        if ((low & 0xfffu) == opcode) return i;
    }
    fail_msg("no opcode 0x%x behind the kernel", opcode);
    return 0;
}
static void spoil_return(patient *open) {
    set_nop(open, behind(open, 0x950)); /* what follows branches to itself */
}
static void spoil_return_exit(patient *open) {
    set_bits(open, behind(open, 0x950), 11, 0, 0x94d);
}
static void spoil_routine_clock(patient *open) {
    copy_word(open, open->flow.instruction_count + 1, open->second_clock);
}
static void spoil_routine_unknown(patient *open) {
    set_opcode(open, open->flow.instruction_count + 1, 0xfff);
}

typedef struct refusal {
    const char *name;
    const char *kernel;
    void (*spoil)(patient *);
    const char *reason;
} refusal;

static const refusal REFUSALS[] = {
    {"unknown opcode", "chain", spoil_unknown, "an unknown instruction (opcode 0xfff) at 0x"},
    {"first clock gone", "chain", spoil_first_clock, "no clock read comes behind the clock read at 0x"},
    {"clock predicated", "chain", spoil_clock_guard, "is predicated"},
    {"upper half", "chain", spoil_clock_half, "is of the upper half"},
    {"another width", "chain", spoil_clock_width, "are not equally wide"},
    {"a clock in the loop", "called_in_loop", spoil_routine_clock, "a called routine reads the clock at 0x"},
    {"exit", "chain", spoil_exit, "the timed region can be left at 0x"},
    {"no way out", "chain", spoil_endless, "no clock read comes behind"},
    {"two entries", "chain", spoil_two_entries, "a loop that is entered at two places"},
    {"entered from outside", "chain", spoil_entered, "the timed region is entered from outside at 0x"},
    {"read again", "chain", spoil_again, "more than one clock read can come next"},
    {"return address", "called", spoil_return_address, "is not told to come back behind it"},
    {"call into a routine", "called", spoil_call_target, "no routine begins where the call at 0x"},
    {"call by register", "called", spoil_call_form, "the target of the call at 0x"},
    {"no return", "called", spoil_return, "no way leads out of what stands at 0x"},
    {"exit of a routine", "called", spoil_return_exit, "a called routine ends without returning at 0x"},
    {"unknown in a routine", "called", spoil_routine_unknown, "an unknown instruction (opcode 0xfff) at 0x"},
};

static void check_refusal(const refusal *one, const test_cubin *whole, int arch) {
    patient open;
    assert_int_equal(patient_open(whole, one->kernel, &open), 0);
    one->spoil(&open);
    const gc_contents_question question = ask(one->kernel, &FFMA);
    gc_contents found = read_contents(&open.cubin, &question);
    patient_close(&open);
    expect_refused(&found, one->name, arch, one->reason);
}

static void test_refusals(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (size_t r = 0; r < sizeof REFUSALS / sizeof REFUSALS[0] && is_told(NVRTC.archs[i]); r++)
            check_refusal(&REFUSALS[r], samples(i), NVRTC.archs[i]);
}

/* A read in the loop is a read that comes next: what lies between is less. */
static void test_clock_in_loop(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++) {
        patient open;
        if (!is_told(NVRTC.archs[i])) continue;
        assert_int_equal(patient_open(samples(i), "chain", &open), 0);
        spoil_clock_in_loop(&open);
        gc_contents_question question = ask("chain", &FFMA);
        gc_contents found = read_contents(&open.cubin, &question);
        expect_refused(&found, "a way round", NVRTC.archs[i], "the timed region is entered from outside at 0x");
        question.read = 1;
        found = read_contents(&open.cubin, &question);
        expect_refused(&found, "a way round", NVRTC.archs[i], "more than one clock read can come next");
        patient_close(&open);
    }
}

/* The counter is scaffold because the compare asks it; without that it is work of another kind. */
static void test_counter_is_asked(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++) {
        patient open;
        if (!is_told(NVRTC.archs[i])) continue;
        assert_int_equal(patient_open(samples(i), "chain", &open), 0);
        uint32_t compare = find_mnemonic(&open, open.flow.blocks[loop_block(&open, 0)].first, "ISETP", 0);
        if (compare == UINT32_MAX)
            compare = find_mnemonic(&open, open.flow.blocks[loop_block(&open, 0)].first, "UISETP", 0);
        assert_int_not_equal(compare, UINT32_MAX);
        set_bits(&open, compare, 31, 24, 61);
        set_bits(&open, compare, 39, 32, 61);
        const gc_contents_question question = ask("chain", &FFMA);
        gc_contents found = read_contents(&open.cubin, &question);
        expect_told(&found, "counter not asked", NVRTC.archs[i]);
        assert_int_equal(count_in(&found, 0, false, GC_ROLE_LOOP), 2);
        assert_int_equal(count_in(&found, 0, false, GC_ROLE_FOREIGN), 1);
        assert_int_equal(count_in(&found, 0, false, GC_ROLE_INTENDED), 16);
        gc_contents_free(&found);
        patient_close(&open);
    }
}

/* ---- bytes that nobody wrote on purpose */

static const char *const KERNELS[] = {"chain", "nested", "divergent", "called_in_loop", "called_twice_deep", "divided"};
#define KERNEL_COUNT (sizeof KERNELS / sizeof KERNELS[0])

/* Any answer will do, if it is one. */
static void read_anything(const test_cubin *cubin, const char *kernel) {
    const gc_contents_question question = ask(kernel, &FFMA);
    gc_contents found;
    const gpuchar_status status = gc_region_contents(cubin->bytes, cubin->size, &question, &found);
    assert_true(status == GPUCHAR_OK || status == GPUCHAR_E_SASS_FORMAT || status == GPUCHAR_E_SASS_UNKNOWN);
    if (status) assert_int_equal(found.status, status);
    if (found.status) assert_true(!found.rows && !found.loops);
    if (found.status == GPUCHAR_E_NOT_PROVED) assert_true(found.reason[0] != 0);
    gc_contents_free(&found);
}

static void test_random_bits(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (int round = 0; round < 300 && is_told(NVRTC.archs[i]); round++) {
            patient open;
            const char *kernel = KERNELS[(size_t)round % KERNEL_COUNT];
            assert_int_equal(patient_open(samples(i), kernel, &open), 0);
            for (int bit = 0; bit < 1 + round % 5; bit++) {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                /* In the kernel, its routines, and now and then anywhere. */
                const size_t at = (size_t)(open.code - open.cubin.bytes) + seed / 8 % 2048;
                const size_t any = round % 7 ? at % open.cubin.size : (size_t)(seed / 8) % open.cubin.size;
                open.cubin.bytes[any] ^= (uint8_t)(1u << seed % 8);
            }
            read_anything(&open.cubin, kernel);
            patient_close(&open);
        }
}

static void test_cut_short(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    const int last = NVRTC.arch_count - 1;
    const test_cubin *whole = samples(last);
    for (size_t size = 0; size < whole->size; size += 1 + whole->size / 300) {
        test_cubin cut = {malloc(size ? size : 1), size};
        assert_non_null(cut.bytes);
        memcpy(cut.bytes, whole->bytes, size);
        read_anything(&cut, "called");
        free(cut.bytes);
    }
}

/* An older architecture's number in the header: its words have 64 bits. */
static void test_older(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    patient open;
    assert_int_equal(patient_open(samples(NVRTC.arch_count - 1), "chain", &open), 0);
    const size_t flags = 48, abi = 7;
    open.cubin.bytes[flags + (open.cubin.bytes[abi] == 0x41)] = 61;
    const gc_contents_question question = ask("chain", &FFMA);
    gc_contents found;
    assert_int_equal(gc_region_contents(open.cubin.bytes, open.cubin.size, &question, &found), GPUCHAR_E_SASS_UNKNOWN);
    assert_int_equal(found.status, GPUCHAR_E_SASS_UNKNOWN);
    gc_contents_free(&found);
    patient_close(&open);
}

static void expect_invalid(const gc_contents_question *question) {
    gc_contents found;
    const test_cubin *cubin = samples(NVRTC.arch_count - 1);
    assert_int_equal(gc_region_contents(cubin->bytes, cubin->size, question, &found), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(found.status, GPUCHAR_E_INVALID_ARGUMENT);
    assert_true(!found.rows && !found.loops);
}

static void test_questions(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    static const gc_contents_pattern nothing = {.mnemonic = NULL};
    static const gc_contents_pattern never = {.mnemonic = "FFMA", .low_mask = 1, .low_value = 2};
    static const uint64_t turns[2] = {0, 3};
    expect_invalid(NULL);
    gc_contents_question question = ask(NULL, &FFMA);
    expect_invalid(&question);
    question = ask("chain", &nothing);
    expect_invalid(&question);
    question = ask("chain", &never);
    expect_invalid(&question);
    question = ask("chain", NULL);
    expect_invalid(&question);
    question = ask("chain", &FFMA);
    question.turn_count = 1;
    expect_invalid(&question); /* no turns there */
    question.turns = turns;
    expect_invalid(&question); /* 0 turns */
    question.turns = turns + 1;
    question.turn_count = 1;
    question.kernel = "nested";
    expect_invalid(&question); /* of two loops */
    question = ask("absent", &FFMA);
    gc_contents found;
    assert_int_equal(gc_region_contents(samples(0)->bytes, samples(0)->size, &question, &found), GPUCHAR_E_SASS_FORMAT);
}

/* Nothing is meant: nothing is missed. */
static void test_without_intention(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    const gc_contents_question question = {.kernel = "chain"};
    gc_contents found = read_contents(samples(NVRTC.arch_count - 1), &question);
    expect_told(&found, "chain", NVRTC.archs[NVRTC.arch_count - 1]);
    assert_false(found.emulated || found.absent);
    assert_int_equal(found.roles[GC_ROLE_INTENDED], 0);
    assert_non_null(strstr(found.foreign, "FFMA 16"));
    gc_contents_free(&found);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes_are_seen),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_clock_in_loop),
                                       cmocka_unit_test(test_counter_is_asked),
                                       cmocka_unit_test(test_random_bits),
                                       cmocka_unit_test(test_cut_short),
                                       cmocka_unit_test(test_older),
                                       cmocka_unit_test(test_questions),
                                       cmocka_unit_test(test_without_intention)};
    return cmocka_run_group_tests(tests, setup, samples_teardown);
}
