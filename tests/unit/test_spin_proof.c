/*
 * The probes of forward progress are proved on every architecture that NVRTC knows, and spoiled ones are not: one
 * instruction at a time made NOP, or one bit of it turned, wherever that changes what the probe claims.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nvrtc_helper.h"

#include <core/error.h>
#include <core/util.h>
#include <experiments/progress_reduce.h>
#include <proof/spin_proof.h>
#include <sass/flow.h>
#include <sass/patch.h>

#define KERNEL "gpuchar_forward_progress"
enum { LOCK = 1, PRODUCER, PEER, PEER_SWAPPED, PROBES = PEER_SWAPPED };

static nvrtc_helper NVRTC;
static bool HAVE_NVRTC;

/* Kernel arguments, as in forward_progress.cu. */
typedef struct arguments {
    uint64_t samples, sink;
    uint32_t slot, iterations;
    uint64_t state;
    uint32_t spin_limit, reserved;
} arguments;

static const gc_spin_layout LAYOUT = {
    .argument_bytes = sizeof(arguments),
    .samples_argument = offsetof(arguments, samples),
    .sink_argument = offsetof(arguments, sink),
    .slot_argument = offsetof(arguments, slot),
    .turns_argument = offsetof(arguments, iterations),
    .state_argument = offsetof(arguments, state),
    .limit_argument = offsetof(arguments, spin_limit),
    .lock = offsetof(gc_progress_state, lock),
    .counter = offsetof(gc_progress_state, counter),
    .flag = offsetof(gc_progress_state, flag),
    .answer = offsetof(gc_progress_state, answer),
    .turn = offsetof(gc_progress_state, turn),
    .spins = offsetof(gc_progress_state, spins),
};

/* A compiled probe, its code open to be spoiled. */
typedef struct patient {
    int probe, arch;
    test_cubin cubin;
    gc_code code;
    gc_flow flow;
    uint32_t words; /* executed ones at most: what lies behind the last EXIT is not */
} patient;

static test_cubin compile(const char *text, int probe, int arch) {
    char *prelude = read_kernel_text("prelude.cu"), *kernel = text ? NULL : read_kernel_text("forward_progress.cu");
    assert_true(prelude && (text || kernel));
    const char *body = text ? text : kernel;
    const size_t size = strlen(prelude) + strlen(body) + 64;
    char *source = malloc(size);
    assert_non_null(source);
    snprintf(source, size, "#define GPUCHAR_PROBE %d\n%s\n%s", probe, prelude, body);
    const test_cubin made = nvrtc_compile(&NVRTC, source, arch);
    free(prelude);
    free(kernel);
    free(source);
    assert_non_null(made.bytes);
    return made;
}

static gc_spin_proof prove_as(const test_cubin *cubin, int probe) {
    static const uint32_t acts[] = {GC_SPIN_TAKES_LOCK, GC_SPIN_PRODUCES, GC_SPIN_WAITS_FOR_PEER,
                                    GC_SPIN_WAITS_FOR_PEER};
    const gc_spin_claim claim = {KERNEL, acts[probe - 1], &LAYOUT};
    gc_spin_proof proof;
    const gpuchar_status status = gc_prove_spin(cubin->bytes, cubin->size, &claim, &proof);
    if (status) snprintf(proof.reason, sizeof proof.reason, "%s", gpuchar_last_error()->message);
    assert_true(status == GPUCHAR_OK || proof.status == status);
    if (proof.status && !proof.reason[0]) fail_msg("refused without a reason");
    return proof;
}

static patient open_patient(int probe, int arch) {
    patient open = {.probe = probe, .arch = arch, .cubin = compile(NULL, probe, arch)};
    gc_cubin file;
    assert_int_equal(gc_cubin_open(open.cubin.bytes, open.cubin.size, &file), GPUCHAR_OK);
    assert_int_equal(gc_cubin_function(&file, KERNEL, &open.code), GPUCHAR_OK);
    assert_int_equal(gc_flow_build(&open.code, &open.flow), GPUCHAR_OK);
    for (uint32_t i = 0; i < open.flow.instruction_count; ++i)
        if (open.flow.instructions[i].kind == GC_OP_EXIT) open.words = i + 1;
    return open;
}

static void close_patient(patient *open) {
    gc_flow_free(&open->flow);
    free(open->cubin.bytes);
}

static bool is(const gc_instruction *in, const char *mnemonic) {
    return in->mnemonic && strcmp(in->mnemonic, mnemonic) == 0;
}

static uint8_t *word_at(patient *open, uint32_t index) {
    return open->cubin.bytes + (open->code.bytes - open->cubin.bytes) + (size_t)16 * index;
}

/* All but the scheduling. */
static void set_nop(uint8_t *word) {
    const uint64_t low = 0x7918;
    uint64_t high;
    memcpy(&high, word + 8, sizeof high);
    high &= ~UINT64_C(0) << 41;
    memcpy(word, &low, sizeof low);
    memcpy(word + 8, &high, sizeof high);
}

/* ---- true kernels ---- */

static void check_true(int probe, int arch) {
    const test_cubin cubin = compile(NULL, probe, arch);
    const gc_spin_proof proof = prove_as(&cubin, probe);
    if (proof.status) fail_msg("sm_%d, probe %d: %s", arch, probe, proof.reason);
    assert_in_range(proof.instructions, 4, 40);
    assert_true(proof.yields <= 2 && proof.barriers <= 2 && proof.sleeps == 0);
    if (probe == LOCK) assert_int_equal(proof.barriers, 2);
    uint32_t removed = 0;
    assert_int_equal(gc_patch_out(cubin.bytes, cubin.size, KERNEL, GC_OP_YIELD, &removed), GPUCHAR_OK);
    const gc_spin_proof silent = prove_as(&cubin, probe);
    if (silent.status) fail_msg("sm_%d, probe %d without YIELD: %s", arch, probe, silent.reason);
    assert_int_equal(silent.yields, 0);
    assert_int_equal(silent.instructions, proof.instructions);
    assert_int_equal(silent.spins_first, proof.spins_first);
    assert_true(removed >= proof.yields);
    free(cubin.bytes);
}

static void test_true_kernels(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; ++i)
        for (int probe = LOCK; probe <= PROBES && NVRTC.archs[i] >= 70; ++probe) check_true(probe, NVRTC.archs[i]);
}

/* ---- one probe is no other one ---- */

static void test_other_probes(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    const int arch = NVRTC.archs[NVRTC.arch_count - 1];
    for (int probe = LOCK; probe <= PROBES; ++probe) {
        const test_cubin cubin = compile(NULL, probe, arch);
        for (int claimed = LOCK; claimed <= PEER; ++claimed) {
            const bool true_claim = claimed == (probe == PEER_SWAPPED ? PEER : probe);
            assert_true((prove_as(&cubin, claimed).status == GPUCHAR_OK) == true_claim);
        }
        free(cubin.bytes);
    }
}

/* A kernel whose source differs in one place, which no compiler is to blame for. */
static void check_edit(int probe, const char *old, const char *new) {
    char *text = read_kernel_text("forward_progress.cu"), *at = strstr(text, old);
    if (!at) fail_msg("\"%s\" is not in the kernel", old);
    const size_t size = strlen(text) + strlen(new) + 1;
    char *edited = malloc(size);
    assert_non_null(edited);
    snprintf(edited, size, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    const int arch = NVRTC.archs[NVRTC.arch_count - 1];
    const test_cubin cubin = compile(edited, probe, arch);
    const gc_spin_proof proof = prove_as(&cubin, probe);
    if (proof.status != GPUCHAR_E_NOT_PROVED) fail_msg("proved with \"%s\" instead of \"%s\"", new, old);
    free(cubin.bytes);
    free(edited);
    free(text);
}

static void test_edited_sources(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    check_edit(LOCK, "write_now(&state->lock, 0)", "");
    check_edit(LOCK, "write_now(&state->lock, 0)", "write_now(&state->flag, 0)");
    check_edit(LOCK, "write_now(&state->counter, turn)", "write_now(&state->counter, turn + 1)");
    check_edit(LOCK, "            fence();\n", "");
    check_edit(LOCK, "state->turn[lane] = turn", "state->turn[lane ^ 1] = turn");
    check_edit(LOCK, "state->turn[lane] = turn;", "");
    check_edit(LOCK, "spins < args.spin_limit", "spins < args.spin_limit / 2");
    check_edit(LOCK, "spins < args.spin_limit", "spins < 65536");
    check_edit(LOCK, "cas.b32 %0, [%1], 0, 1", "cas.b32 %0, [%1], 0, 2");
    check_edit(PRODUCER, "0x3039", "0x3038");
    check_edit(PRODUCER, "left = args.header.iterations", "left = args.header.iterations / 2 + 1");
    check_edit(PRODUCER, "left = args.header.iterations", "left = 10");
    check_edit(PRODUCER, "write_now(&state->flag, 1)", "state->flag = 1");
    check_edit(PRODUCER, "if (lane == 0) {\n        produce", "if (lane == 1) {\n        produce");
    check_edit(PRODUCER, "if (lane == 0) {\n        produce", "if (lane < 2) {\n        produce");
    check_edit(PEER, "if (lane == 1) write_now", "if (lane == 2) write_now");
    check_edit(PEER, "if (lane == 1) write_now", "if (lane >= 1) write_now");
    check_edit(PEER, "ld.volatile.global", "ld.global");
    check_edit(PEER_SWAPPED, "seen = read_now(address)", "seen = read_now(address + 1)");
    check_edit(PEER_SWAPPED, "sample->cycles = after - before", "sample->cycles = after");
}

/* ---- one instruction made NOP ---- */

/* Words whose absence is seen, whatever the others are: memory, order, clocks, who meets whom, the end. */
static bool is_critical(const gc_instruction *in) {
    static const char *const words[] = {"STG",   "ST",  "LDG",  "ATOMG", "MEMBAR",   "CCTL", "CS2R",
                                        "CS2UR", "S2R", "BSSY", "BSYNC", "WARPSYNC", "EXIT", "CALL"};
    for (size_t i = 0; i < GC_COUNT(words); ++i)
        if (is(in, words[i])) return true;
    return false;
}

/* What only asks or decides: needed but in the producer's work, where fewer turns at once leave the others to another loop. */
static bool decides(const patient *open, const gc_instruction *in) {
    const bool whole = in->condition == 3 || (in->kind == GC_OP_BRANCH && !in->conditional && open->arch < 80);
    const bool entry = open->arch == 87 && in->pc < 0x20; /* whether barriers are reset, which they may always be */
    return open->probe != PRODUCER && !entry && (is(in, "ISETP") || (in->kind == GC_OP_BRANCH && !whole));
}

/* What does nothing that the proof speaks of: see spin_proof.h. Constants may be written twice. */
static bool may_go(const gc_instruction *in) {
    static const char *const words[] = {"NOP",  "YIELD", "ERRBAR", "CGAERRBAR", "LDC",  "LDCU",      "ULDC", "MOV",
                                        "IMAD", "HFMA2", "PLOP3",  "BMOV",      "SHFL", "HFMA2.MMA", "UMOV"};
    for (size_t i = 0; i < GC_COUNT(words); ++i)
        if (is(in, words[i])) return true;
    return false;
}

static void check_without(patient *open, uint32_t index, uint32_t counts[2]) {
    const gc_instruction *in = &open->flow.instructions[index];
    uint8_t *word = word_at(open, index), before[16];
    if (in->kind == GC_OP_NOP || in->never) return;
    /* MEMBAR.ALL.CTA is a part of WARPSYNC.ALL. */
    const bool within_block = is(in, "MEMBAR") && (word[9] & 0x80);
    memcpy(before, word, sizeof before);
    set_nop(word);
    const gc_spin_proof proof = prove_as(&open->cubin, open->probe);
    memcpy(word, before, sizeof before);
    ++counts[proof.status == GPUCHAR_OK];
    if (proof.status) return;
    if ((is_critical(in) && !within_block) || decides(open, in) ||
        (open->probe != PRODUCER && !may_go(in) && !within_block))
        if (in->kind != GC_OP_BRANCH || decides(open, in))
            fail_msg("sm_%d, probe %d: proved without the %s at 0x%llx", open->arch, open->probe, in->mnemonic,
                     (unsigned long long)in->pc);
}

static void test_without_one(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    uint32_t counts[2] = {0};
    for (int i = 0; i < NVRTC.arch_count; ++i) {
        for (int probe = LOCK; probe <= PROBES && NVRTC.archs[i] >= 70; ++probe) {
            patient open = open_patient(probe, NVRTC.archs[i]);
            for (uint32_t index = 0; index < open.words; ++index) check_without(&open, index, counts);
            close_patient(&open);
        }
    }
    print_message("%u instructions made NOP: %u refused, %u without effect on what is claimed\n", counts[0] + counts[1],
                  counts[0], counts[1]);
    assert_true(counts[1] < (counts[0] + counts[1]) / 5);
}

/* ---- one bit turned ---- */

static bool still_proved(patient *open, uint32_t index, uint32_t bit) {
    uint8_t *byte = word_at(open, index) + bit / 8;
    *byte ^= (uint8_t)(1u << bit % 8);
    const gc_spin_proof proof = prove_as(&open->cubin, open->probe);
    *byte ^= (uint8_t)(1u << bit % 8);
    return proof.status == GPUCHAR_OK;
}

/* Bits of a memory access that say what, where by how much, and how. Registers are left out: two may hold the same. */
static bool says_what(const gc_instruction *in, uint32_t bit) {
    const bool opcode = bit < 12, offset = bit >= 40 && bit < 64, modifiers = bit >= 72 && bit < 90;
    return opcode || modifiers || (offset && (is(in, "STG") || is(in, "ST") || is(in, "LDG") || is(in, "ATOMG")));
}

static void check_bits(patient *open, uint32_t index, uint32_t counts[2]) {
    static const char *const words[] = {"STG", "ST", "LDG", "ATOMG", "MEMBAR", "CCTL", "CS2R", "CS2UR", "S2R"};
    const gc_instruction *in = &open->flow.instructions[index];
    bool memory = false;
    for (size_t i = 0; i < GC_COUNT(words); ++i) memory = memory || is(in, words[i]);
    for (uint32_t bit = 0; bit < 105 && memory; ++bit) {
        const bool proved = still_proved(open, index, bit);
        ++counts[proved];
        const bool within_block = is(in, "MEMBAR") && (word_at(open, index)[9] & 0x80);
        if (proved && says_what(in, bit) && !within_block)
            fail_msg("sm_%d, probe %d: proved with bit %u of the %s at 0x%llx turned", open->arch, open->probe, bit,
                     in->mnemonic, (unsigned long long)in->pc);
    }
}

static void test_one_bit(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    uint32_t counts[2] = {0};
    /* Some of each: every word is proved some hundred times. */
    const int oldest = 0, middle = NVRTC.arch_count / 2, newest = NVRTC.arch_count - 1;
    const struct {
        int arch, probe;
    } picked[] = {{middle, LOCK}, {middle, PRODUCER}, {middle, PEER}, {oldest, LOCK}, {newest, PEER_SWAPPED}};
    for (size_t i = 0; i < GC_COUNT(picked); ++i) {
        if (NVRTC.archs[picked[i].arch] < 70) continue;
        patient open = open_patient(picked[i].probe, NVRTC.archs[picked[i].arch]);
        for (uint32_t index = 0; index < open.words; ++index) check_bits(&open, index, counts);
        close_patient(&open);
    }
    print_message("%u bits of memory accesses, fences and clocks turned: %u refused, %u without effect\n",
                  counts[0] + counts[1], counts[0], counts[1]);
    assert_true(counts[1] < (counts[0] + counts[1]) / 50);
}

/* ---- rubbish ---- */

/* Bytes at random in the code: a proof or a refusal, and nothing else. */
static void test_rubbish(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    gc_random random = gc_random_seed(7);
    patient open = open_patient(LOCK, NVRTC.archs[NVRTC.arch_count - 1]);
    for (int round = 0; round < 2000; ++round) {
        const uint32_t count = 1 + gc_random_below(&random, 64);
        uint8_t *code = word_at(&open, 0), *before = malloc(open.code.size);
        assert_non_null(before);
        memcpy(before, code, open.code.size);
        for (uint32_t i = 0; i < count; ++i)
            code[gc_random_below(&random, (uint32_t)open.code.size)] = (uint8_t)gc_random_u64(&random);
        prove_as(&open.cubin, 1 + (int)gc_random_below(&random, PEER));
        memcpy(code, before, open.code.size);
        free(before);
    }
    close_patient(&open);
}

int main(void) {
    HAVE_NVRTC = nvrtc_helper_open(&NVRTC) == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_true_kernels), cmocka_unit_test(test_other_probes), cmocka_unit_test(test_edited_sources),
        cmocka_unit_test(test_without_one),  cmocka_unit_test(test_one_bit),      cmocka_unit_test(test_rubbish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
