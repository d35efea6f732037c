/* Paths are told apart by their constants: each lane's number leads to the chain that is made for it. Loads are plain ones. */
#include "stored_samples.h"

static uint32_t first_link(const patient *open, int kind, uint32_t path) {
    const char *name = kind == 3 ? "FADD" : CHAINED[kind];
    const uint32_t link = find_mnemonic(open, open->flow.blocks[loop_block(open, path)].first, name, 0);
    assert_int_not_equal(link, UINT32_MAX);
    return link;
}

/* The lowest bit of the path's number in a link's constant. */
static uint32_t mark_at(int kind) {
    return kind == 2 ? 40 + 8 : 32 + 16;
}

static uint32_t decision(const patient *open) {
    for (uint32_t i = open->first_clock; i < open->second_clock; i++) {
        const gc_instruction *in = &open->flow.instructions[i];
        if (in->kind == GC_OP_BRANCH && in->conditional && in->target > in->pc) return i;
    }
    fail_msg("no dispatch");
    return 0;
}

/* Sixteen paths change places with the other sixteen: each lane still has a path of its own, for which all is right. */
static void spoil_mirrored(patient *open, int kind) {
    (void)kind;
    const uint32_t at = decision(open);
    set_bits(open, at, 15, 15, !open->flow.instructions[at].guard_not);
}

/* One link of a path is another one's. */
static void spoil_link(patient *open, int kind) {
    const uint32_t at = first_link(open, kind, 5);
    set_bits(open, at, mark_at(kind), mark_at(kind), !get_bits(open, at, mark_at(kind), mark_at(kind)));
}

/* A whole path is made for a number that no lane has. */
static void spoil_path(patient *open, int kind) {
    const gc_block *loop = &open->flow.blocks[loop_block(open, 9)];
    for (uint32_t i = loop->first; i < loop->first + loop->count; i++)
        if (strcmp(name_of(open, i), kind == 3 ? "FADD" : CHAINED[kind]) == 0)
            set_bits(open, i, mark_at(kind) + 6, mark_at(kind) + 6, 1);
}

static const struct {
    const char *name;
    void (*spoil)(patient *, int kind);
    const char *reason, *reason_of_one; /* where a path has one constant only */
} MUTATIONS[] = {
    {"the dispatch mirrored", spoil_mirrored, "takes the loop that is made for node", NULL},
    {"a link of another path", spoil_link, "does not carry the number of its path", "takes the loop"},
    {"a path of another number", spoil_path, "takes the loop that is made for node", NULL},
};

static void check_mutations(int kind, int arch_index) {
    const gc_divergence_claim claim = sweep_claim(kind, BODY);
    for (size_t m = 0; m < sizeof MUTATIONS / sizeof MUTATIONS[0]; m++) {
        patient open;
        assert_int_equal(patient_open(sweep(kind, arch_index), SWEEP, &open), 0);
        MUTATIONS[m].spoil(&open, kind);
        const gc_divergence_proof proof = prove(&open.cubin, &claim);
        patient_close(&open);
        const bool one = kind == 3 && MUTATIONS[m].reason_of_one;
        const char *reason = one ? MUTATIONS[m].reason_of_one : MUTATIONS[m].reason;
        if (proof.status != GPUCHAR_E_NOT_PROVED || !strstr(proof.reason, reason))
            fail_msg("%s, %s on sm_%d: expected \"%s\", got %d \"%s\"", MUTATIONS[m].name, CHAINED[kind],
                     NVRTC.archs[arch_index], reason, proof.status, proof.reason);
    }
}

static void test_marks(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (int kind = 0; kind < KINDS && is_decoded(NVRTC.archs[i]); kind++) check_mutations(kind, i);
}

/* ---- loads ---- */

static test_cubin compile_load(const char *operator_text, int arch) {
    static const char plain[] = "ld.global.u64";
    char *source = sweep_source(3, BODY), *at = source ? strstr(source, plain) : NULL;
    assert_non_null(at);
    char *changed = malloc(strlen(source) + 64);
    assert_non_null(changed);
    sprintf(changed, "%.*s%s%s", (int)(at - source), source, operator_text, at + strlen(plain));
    test_cubin made = nvrtc_compile(&NVRTC, changed, arch);
    free(changed);
    free(source);
    assert_non_null(made.bytes);
    return made;
}

/* Every other load of global memory that a compiler can be asked for. */
static void test_other_loads(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    static const char *const OPERATORS[] = {"ld.global.ca.u64", "ld.global.cg.u64",         "ld.global.cs.u64",
                                            "ld.global.lu.u64", "ld.global.cv.u64",         "ld.volatile.global.u64",
                                            "ld.global.nc.u64", "ld.relaxed.gpu.global.u64"};
    const gc_divergence_claim claim = sweep_claim(2, BODY);
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (size_t o = 0; o < sizeof OPERATORS / sizeof OPERATORS[0] && is_decoded(NVRTC.archs[i]); o++) {
            test_cubin made = compile_load(OPERATORS[o], NVRTC.archs[i]);
            const gc_divergence_proof proof = prove(&made, &claim);
            free(made.bytes);
            /* Strong loads bring a YIELD into loops up to sm_89, whose blocks are seen first. */
            const bool seen =
                strstr(proof.reason, "has a cache operator") || strstr(proof.reason, "a loop of several blocks");
            if (proof.status != GPUCHAR_E_NOT_PROVED || !seen)
                fail_msg("%s on sm_%d: %d \"%s\"", OPERATORS[o], NVRTC.archs[i], proof.status, proof.reason);
        }
}

/* One bit of one load: address, scope, strength, eviction. */
static void test_changed_loads(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    static const uint32_t BITS[] = {72, 76, 77, 78, 79, 80, 84, 85, 86};
    const gc_divergence_claim claim = sweep_claim(2, BODY);
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (size_t b = 0; b < sizeof BITS / sizeof BITS[0] && is_decoded(NVRTC.archs[i]); b++) {
            patient open;
            assert_int_equal(patient_open(sweep(2, i), SWEEP, &open), 0);
            const uint32_t at = first_link(&open, 2, 17) + 1;
            set_bits(&open, at, BITS[b], BITS[b], !get_bits(&open, at, BITS[b], BITS[b]));
            const gc_divergence_proof proof = prove(&open.cubin, &claim);
            patient_close(&open);
            expect_reason(&proof, NVRTC.archs[i], "has a cache operator");
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_marks), cmocka_unit_test(test_other_loads),
                                       cmocka_unit_test(test_changed_loads)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
