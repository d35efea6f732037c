/* The tree of loops: proved on every architecture, and spoiled in one place each, which the proof must see. */
#include "divergence_samples.h"

#include <sass/evaluate.h>

#define KERNEL "gpuchar_divergence_shapes"
#define NODES 63

/* The arguments of the kernel, as src/kernels/divergence_shapes.cu has them. */
typedef struct shapes_arguments {
    uint64_t samples, sink;
    uint32_t slot, iterations, operand, start;
    uint32_t turns[NODES];
    uint8_t lanes[32], zeros[32];
    uint32_t reserved;
} shapes_arguments;

static shapes_arguments arguments;
static test_cubin made[64];

static int setup_shapes(void **state) {
    for (uint32_t node = 0; node < NODES; node++) arguments.turns[node] = 2 + node % 5;
    return setup(state);
}

static int teardown_shapes(void **state) {
    for (int i = 0; i < 64; i++) free(made[i].bytes);
    return teardown(state);
}

static const test_cubin *shapes(int arch_index) {
    if (!made[arch_index].bytes) {
        char *source = paths_source("divergence_shapes.cu", 1, BODY);
        assert_non_null(source);
        made[arch_index] = nvrtc_compile(&NVRTC, source, NVRTC.archs[arch_index]);
        free(source);
    }
    assert_non_null(made[arch_index].bytes);
    return &made[arch_index];
}

static gc_divergence_claim tree_claim(void) {
    return (gc_divergence_claim){.kernel = KERNEL,
                                 .mnemonics = CHAINED,
                                 .mnemonic_count = 1,
                                 .paths = 32,
                                 .levels = 6,
                                 .body = BODY,
                                 .arguments = &arguments,
                                 .argument_bytes = sizeof arguments,
                                 .turns_offset = offsetof(shapes_arguments, turns),
                                 .turns_stride = sizeof arguments.turns[0],
                                 .lanes_offset = offsetof(shapes_arguments, lanes),
                                 .zeros_offset = offsetof(shapes_arguments, zeros),
                                 .sample = sample_claim(GC_SAMPLE_THREAD, 32),
                                 .mark_shift = 16,
                                 .mark_bits = 8};
}

static void test_every_architecture(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++) {
        if (!is_decoded(NVRTC.archs[i])) continue;
        const gc_divergence_claim claim = tree_claim();
        const gc_divergence_proof proof = prove(shapes(i), &claim);
        expect_proved(&proof, NVRTC.archs[i]);
        assert_string_equal(proof.mnemonic, "FFMA");
        assert_int_equal(proof.loops, NODES);
        assert_int_equal(proof.dispatch_decisions, 31);
        assert_int_equal(proof.intended_total, NODES * BODY);
        assert_true(proof.followed);
        for (int loop = 0; loop < NODES; loop++) {
            assert_int_equal(proof.loop_intended[loop], BODY);
            assert_in_range(proof.loop_instructions[loop], BODY + 3, BODY + 4);
        }
    }
}

/* Another tree, other turns, turns of one number for all. */
static void test_wrong_claims(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    const int last = NVRTC.arch_count - 1, arch = NVRTC.archs[last];
    gc_divergence_claim claim = tree_claim();
    claim.levels = 5;
    claim.paths = 16;
    gc_divergence_proof proof = prove(shapes(last), &claim);
    expect_reason(&proof, arch, "63 loops between the clock reads, not 31");
    claim = tree_claim();
    claim.levels = 1;
    proof = prove(shapes(last), &claim);
    expect_reason(&proof, arch, "leads into another path");
    claim = tree_claim();
    claim.turns_stride = 0;
    proof = prove(shapes(last), &claim);
    expect_reason(&proof, arch, "is not known"); /* the turns of other nodes are not told */
    claim = tree_claim();
    claim.turns_offset += sizeof arguments.turns[0];
    claim.turns_stride = 0;
    proof = prove(shapes(last), &claim);
    expect_reason(&proof, arch, "is not known"); /* the turns of other nodes are not told */
}

/* ---- one place spoiled ---- */

static uint32_t arch_of(const patient *open) {
    gc_cubin cubin;
    assert_int_equal(gc_cubin_open(open->cubin.bytes, open->cubin.size, &cubin), GPUCHAR_OK);
    return cubin.arch;
}

static uint32_t parameter_base(const patient *open) {
    gc_cubin cubin;
    gc_code code;
    static const uint8_t nothing_told[sizeof arguments];
    gc_thread thread;
    assert_int_equal(gc_cubin_open(open->cubin.bytes, open->cubin.size, &cubin), GPUCHAR_OK);
    assert_int_equal(gc_cubin_function(&cubin, KERNEL, &code), GPUCHAR_OK);
    assert_int_equal(gc_thread_start(&code, &arguments, nothing_told, sizeof arguments, 0, &thread), GPUCHAR_OK);
    return thread.parameter_base;
}

static uint64_t low_half(const patient *open, uint32_t instruction) {
    uint64_t half;
    memcpy(&half, open->code + (size_t)instruction * 16, sizeof half);
    return half;
}

/* Where a constant's byte offset stands. */
static uint32_t offset_at(const patient *open, uint32_t instruction) {
    return strcmp(open->flow.instructions[instruction].mnemonic, "LDCU") == 0 ? 37 : 38;
}

static uint64_t turns_at(const patient *open, uint32_t node) {
    return parameter_base(open) + offsetof(shapes_arguments, turns) + 4 * (uint64_t)node;
}

/* The instruction that reads a node's turns, between the clock reads: a load, or a LOP3 with a constant operand. */
static uint32_t reader_of(const patient *open, uint32_t node) {
    static const char *const readers[] = {"LOP3", "ULDC", "LDCU", "LDC", "MOV"};
    for (uint32_t i = open->first_clock; i < open->second_clock; i++) {
        const uint32_t low = offset_at(open, i);
        const uint64_t offset = low_half(open, i) >> low & ((UINT64_C(1) << (54 - low)) - 1);
        for (size_t r = 0; r < sizeof readers / sizeof readers[0] && offset == turns_at(open, node); r++)
            if (strcmp(open->flow.instructions[i].mnemonic, readers[r]) == 0) return i;
    }
    fail_msg("nobody reads the turns of node %u", node);
    return 0;
}

static void set_node(patient *open, uint32_t reader, uint32_t node) {
    set_bits(open, reader, 53, offset_at(open, reader), turns_at(open, node));
}

static void spoil_swapped_turns(patient *open) {
    const uint32_t first = reader_of(open, 40), second = reader_of(open, 46);
    set_node(open, first, 46);
    set_node(open, second, 40);
}

/* An inner node turns as often as its child. */
static void spoil_borrowed_turns(patient *open) {
    set_node(open, reader_of(open, 5), 11);
}

static uint32_t back_edge_of(const patient *open, uint32_t loop) {
    const gc_block *block = &open->flow.blocks[loop_block(open, loop)];
    return block->first + block->count - 1;
}

static void spoil_loop(patient *open) {
    set_nop(open, back_edge_of(open, 30));
}

/* The n-th decision of the dispatch in the order of the code: conditional, and not the back edge of a loop. */
static uint32_t decision(const patient *open, uint32_t n) {
    for (uint32_t i = open->first_clock; i < open->second_clock; i++) {
        const gc_instruction *in = &open->flow.instructions[i];
        const bool decides = in->kind == GC_OP_BRANCH && in->conditional && in->target > in->pc;
        if (decides && n-- == 0) return i;
    }
    fail_msg("no such decision");
    return 0;
}

/* What writes the predicate that a decision asks: a comparison, or a LOP3 that keeps nothing but the predicate. */
static uint32_t decider_of(const patient *open, uint32_t branch) {
    while (--branch > open->first_clock) {
        const gc_instruction *in = &open->flow.instructions[branch];
        const bool predicate_only = (low_half(open, branch) >> 16 & 0xff) == GC_REGISTER_ZERO;
        if (strcmp(in->mnemonic, "ISETP") == 0 || (strcmp(in->mnemonic, "LOP3") == 0 && predicate_only)) return branch;
    }
    fail_msg("nothing decides");
    return 0;
}

static void spoil_decision(patient *open, uint32_t n) {
    const uint32_t at = decider_of(open, decision(open, n));
    if (strcmp(open->flow.instructions[at].mnemonic, "ISETP") == 0)
        set_bits(open, at, 78, 76, 7);
    else
        set_bits(open, at, 79, 72, 0); /* no bit of the result is set */
}

static void spoil_root_decision(patient *open) {
    spoil_decision(open, 0);
}

static void spoil_deep_decision(patient *open) {
    spoil_decision(open, 20);
}

/* Two children change places: each path still takes loops of its own, as many as it should. */
static void spoil_children(patient *open) {
    const uint32_t at = decision(open, 9);
    set_bits(open, at, 15, 15, !open->flow.instructions[at].guard_not);
}

static void set_target(patient *open, uint32_t branch, uint64_t target) {
    int64_t distance = ((int64_t)target - (int64_t)open->flow.instructions[branch].pc - 16) / 4;
    /* Up to sm_89 the whole distance stands at 34; from sm_90 on its low byte stands at 16. */
    if (arch_of(open) >= 90) {
        set_bits(open, branch, 23, 16, (uint64_t)distance & 0xff);
        distance >>= 8;
    }
    set_bits(open, branch, 63, 34, (uint64_t)distance);
    set_bits(open, branch, 81, 64, (uint64_t)(distance >> 30));
}

/* Half of the left subtree hangs below the right one, and the other way round. */
static void spoil_parents(patient *open) {
    const uint32_t left = decision(open, 1), right = decision(open, 16);
    const uint64_t left_target = open->flow.instructions[left].target,
                   right_target = open->flow.instructions[right].target;
    set_target(open, left, right_target);
    set_target(open, right, left_target);
}

/* An inner node's end no longer waits for its chain. */
static void spoil_await(patient *open) {
    const gc_block *loop = &open->flow.blocks[loop_block(open, 3)];
    uint32_t at = loop->first + loop->count;
    while (strcmp(open->flow.instructions[at].mnemonic, "LOP3") != 0 || open->flow.instructions[at].destination == 255)
        at++;
    set_bits(open, at, 31, 24, 200);
    set_bits(open, at, 39, 32, 200);
    set_bits(open, at, 71, 64, 200);
}

/* Nobody goes around a child any more, nor to its sibling. */
static void spoil_no_split(patient *open) {
    set_nop(open, decision(open, 12));
}

static const struct {
    const char *name;
    void (*spoil)(patient *);
    const char *reason;
} MUTATIONS[] = {
    {"a loop dropped", spoil_loop, "outside the paths' loops"},
    {"two leaves' turns swapped", spoil_swapped_turns, "turns"},
    {"an inner node's turns borrowed", spoil_borrowed_turns, "turns"},
    {"the root's decision constant", spoil_root_decision, "takes the loop of another one"},
    {"a deep decision constant", spoil_deep_decision, "takes the loop of another one"},
    {"children in each other's place", spoil_children, "takes the loop that is made for node"},
    {"children under the wrong parent", spoil_parents, "takes the loop that is made for node"},
    {"a decision that is none", spoil_no_split, "not"},
    {"a result not awaited", spoil_await, "ends before its result is there"},
};

static void check_mutation(size_t index, int arch_index) {
    patient open;
    assert_int_equal(patient_open(shapes(arch_index), KERNEL, &open), 0);
    MUTATIONS[index].spoil(&open);
    const gc_divergence_claim claim = tree_claim();
    const gc_divergence_proof proof = prove(&open.cubin, &claim);
    patient_close(&open);
    if (proof.status != GPUCHAR_E_NOT_PROVED || !strstr(proof.reason, MUTATIONS[index].reason))
        fail_msg("%s on sm_%d: expected \"%s\", got %d \"%s\"", MUTATIONS[index].name, NVRTC.archs[arch_index],
                 MUTATIONS[index].reason, proof.status, proof.reason);
}

static void test_mutations_are_caught(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (size_t m = 0; m < sizeof MUTATIONS / sizeof MUTATIONS[0] && is_decoded(NVRTC.archs[i]); m++)
            check_mutation(m, i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_architecture),
        cmocka_unit_test(test_wrong_claims),
        cmocka_unit_test(test_mutations_are_caught),
    };
    return cmocka_run_group_tests(tests, setup_shapes, teardown_shapes);
}
