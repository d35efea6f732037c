/* The comparison's kernels are proved on every architecture, spoiled ones are not, and short arms are read as they are. */
#include "comparison_samples.h"

#include <proof/choice.h>

/* ---- proved ---- */

static void check_form(int form, int body, int arch) {
    test_cubin made = compile_form(form, body, arch);
    const gc_divergence_claim claim = comparison_claim(form, (uint32_t)body);
    const gc_divergence_proof proof = prove(&made, &claim);
    free(made.bytes);
    if (proof.status) fail_msg("sm_%d, form %d, body %d: %s", arch, form, body, proof.reason);
    assert_true(proof.followed);
    assert_int_equal(proof.loops, form == BRANCH ? 2 : 1);
    assert_int_equal(proof.dispatch_decisions, form == BRANCH ? 1 : 0);
    assert_int_equal(proof.intended_total, 2 * body);
    assert_in_range(proof.loop_instructions[0], claim.body + 3, claim.body + 6);
    if (form == PREDICATED) assert_non_null(strstr(proof.scaffold, "SEL 1"));
    /* The second chain hides the latency of the first: four cycles a link with one chain, two with two. */
    const double stall = (double)proof.loop_stall[0] / claim.body;
    assert_true(stall > (form == BRANCH ? 3.9 : 1.9) && stall < (form == BRANCH ? 4.2 : 2.1));
}

static void test_every_form_is_proved(void **state) {
    (void)state;
    static const int BODIES[] = {64, 112, 128, 176};
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (size_t b = 0; b < sizeof BODIES / sizeof BODIES[0] && is_decoded(NVRTC.archs[i]); b++) {
            check_form(BRANCH, BODIES[b], NVRTC.archs[i]);
            check_form(PREDICATED, BODIES[b], NVRTC.archs[i]);
        }
}

/* ---- two bodies */

/* Where the loops of a kernel begin, in instructions, and how long they are. */
typedef struct loops {
    uint32_t first[2], count[2];
} loops;

static loops loops_of(int form, int body, int arch) {
    test_cubin made = compile_form(form, body, arch);
    loops found = {{0}, {0}};
    patient open;
    assert_int_equal(patient_open(&made, COMPARE, &open), 0);
    for (uint32_t i = 0; i < (form == BRANCH ? 2 : 1); i++) {
        const uint32_t block = loop_block(&open, i);
        assert_int_not_equal(block, GC_FLOW_NO_BLOCK);
        found.first[i] = open.flow.blocks[block].first;
        found.count[i] = open.flow.blocks[block].count;
    }
    patient_close(&open);
    free(made.bytes);
    return found;
}

static void check_alike(int form, int body, int arch) {
    const loops few = loops_of(form, body, arch), many = loops_of(form, body + 48, arch);
    for (int loop = 0; loop < (form == BRANCH ? 2 : 1); loop++) {
        assert_int_equal(many.first[loop] % 8, few.first[loop] % 8);
        assert_int_equal(many.count[loop], few.count[loop] + (form == BRANCH ? 48 : 96));
    }
}

/*
 * What a loop costs beside its links depends on its place in the lines of the instruction cache, 128 bytes, eight
 * instructions. It cancels between two bodies whose loops begin at the same place of a line, and end at the same.
 */
static void test_bodies_lie_alike(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (int form = BRANCH; form <= PREDICATED && is_decoded(NVRTC.archs[i]); form++) {
            check_alike(form, 64, NVRTC.archs[i]);
            check_alike(form, 128, NVRTC.archs[i]);
        }
}

/* One form is no proof of the other, and two chains are no single one. */
static void test_wrong_claims(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    const int arch = NVRTC.archs[NVRTC.arch_count - 1];
    test_cubin branch = compile_form(BRANCH, BODY, arch), predicated = compile_form(PREDICATED, BODY, arch);
    gc_divergence_claim claim = comparison_claim(PREDICATED, BODY);
    gc_divergence_proof proof = prove(&branch, &claim);
    expect_reason(&proof, arch, "path 0 holds 64 FFMA, not 128");
    claim = comparison_claim(BRANCH, BODY);
    claim.uniform = 1;
    proof = prove(&branch, &claim);
    expect_reason(&proof, arch, "1 dispatch decisions, not 0");
    claim = comparison_claim(BRANCH, BODY);
    proof = prove(&predicated, &claim);
    expect_reason(&proof, arch, "path 0 holds 128 FFMA, not 64");
    claim = comparison_claim(PREDICATED, BODY);
    claim.chains = 1;
    proof = prove(&predicated, &claim);
    expect_reason(&proof, arch, "the chain of path 0 is broken");
    free(branch.bytes);
    free(predicated.bytes);
}

/* ---- spoiled ---- */

static uint32_t link_at(const patient *open, uint32_t loop, uint32_t n) {
    const uint32_t block = loop_block(open, loop);
    assert_int_not_equal(block, GC_FLOW_NO_BLOCK);
    const uint32_t link = find_mnemonic(open, open->flow.blocks[block].first, CHAINED[0], n);
    assert_int_not_equal(link, UINT32_MAX);
    return link;
}

static uint32_t behind(const patient *open, uint32_t loop, const char *mnemonic) {
    const gc_block *block = &open->flow.blocks[loop_block(open, loop)];
    const uint32_t at = find_mnemonic(open, block->first + block->count, mnemonic, 0);
    assert_int_not_equal(at, UINT32_MAX);
    return at;
}

/* What the closing __syncwarp is made of. */
static uint32_t spare_place(const patient *open) {
    uint32_t at = find_mnemonic(open, open->first_clock, "NOP", 0);
    if (at == UINT32_MAX) at = find_mnemonic(open, open->first_clock, "WARPSYNC", 0);
    assert_int_not_equal(at, UINT32_MAX);
    return at;
}

static void spoil_nop(patient *open) {
    set_nop(open, link_at(open, 0, 30));
}

static void spoil_guard(patient *open) {
    set_bits(open, link_at(open, 0, 30), 15, 12, 0);
}

/* The register of the other chain: what the next link of that one writes. */
static uint32_t other_chain(const patient *open, uint32_t link) {
    const gc_instruction *in = &open->flow.instructions[link];
    uint32_t other = link + 1;
    while (strcmp(open->flow.instructions[other].mnemonic, CHAINED[0]) != 0 ||
           open->flow.instructions[other].destination == in->destination)
        other++;
    assert_true(other < open->second_clock);
    return open->flow.instructions[other].destination;
}

static void set_stall(patient *open, uint32_t at, uint32_t cycles) {
    set_bits(open, at, 108, 105, cycles);
}

/* The links of one chain, then those of the other: each still reads what the one before it wrote. */
static void spoil_side_by_side(patient *open) {
    const gc_block *block = &open->flow.blocks[loop_block(open, 0)];
    uint8_t words[2][2 * BODY][16];
    uint32_t places[2 * BODY], counts[2] = {0}, count = 0;
    uint16_t last = UINT16_MAX; /* what the first chain wrote */
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const gc_instruction *in = &open->flow.instructions[i];
        if (strcmp(in->mnemonic, CHAINED[0]) != 0) continue;
        const int chain = count == 0 || in->source_a == last || in->source_b == last ? 0 : 1;
        if (chain == 0) last = in->destination;
        memcpy(words[chain][counts[chain]++], open->code + (size_t)i * 16, 16);
        places[count++] = i;
    }
    assert_true(counts[0] == BODY && counts[1] == BODY);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(open->code + (size_t)places[i] * 16, words[i / BODY][i % BODY], 16);
        set_stall(open, places[i], 4);
    }
}

/* Every link waits longer than its operand takes. */
static void spoil_stalls(patient *open) {
    const gc_flow *flow = &open->flow;
    for (uint32_t i = open->first_clock; i < open->second_clock; i++)
        if (strcmp(flow->instructions[i].mnemonic, CHAINED[0]) == 0) set_stall(open, i, 15);
}

/* A link of one chain goes on with the other one. */
static void spoil_crossed(patient *open) {
    const uint32_t link = link_at(open, 0, 30);
    const gc_instruction *in = &open->flow.instructions[link];
    if (in->source_a == in->destination)
        set_bits(open, link, 31, 24, other_chain(open, link));
    else
        set_bits(open, link, 71, 64, other_chain(open, link));
}

/* Both arms write one register: the one result is lost. */
static void spoil_overwritten(patient *open) {
    const uint32_t link = link_at(open, 0, 30);
    set_bits(open, link, 23, 16, other_chain(open, link));
}

static void spoil_select(patient *open) {
    set_nop(open, behind(open, 0, "SEL"));
}

/* The select takes one arm's result for every lane. */
static void spoil_one_sided(patient *open) {
    const uint32_t at = behind(open, 0, "SEL");
    set_bits(open, at, 39, 32, open->flow.instructions[at].source_a);
}

static void spoil_await(patient *open) {
    const uint32_t at = behind(open, 1, "LOP3");
    set_bits(open, at, 31, 24, 200);
    set_bits(open, at, 39, 32, 200);
    set_bits(open, at, 71, 64, 200);
}

static uint32_t decision(const patient *open) {
    for (uint32_t i = open->first_clock; i < open->second_clock; i++) {
        const gc_instruction *in = &open->flow.instructions[i];
        if (in->kind == GC_OP_BRANCH && in->conditional) return i;
    }
    fail_msg("no decision");
    return 0;
}

static void spoil_decision(patient *open) {
    set_nop(open, decision(open));
}

static void spoil_uniform(patient *open) {
    set_bits(open, decision(open), 33, 32, 1);
}

static void spoil_second_clock(patient *open) {
    copy_word(open, spare_place(open), open->second_clock); /* the clock is read before the others are there */
}

static void spoil_outside(patient *open) {
    copy_word(open, spare_place(open), link_at(open, 0, 30));
}

static uint32_t compare_of(const patient *open) {
    const uint32_t at = find_mnemonic(open, open->flow.blocks[loop_block(open, 0)].first, "ISETP", 0);
    assert_int_not_equal(at, UINT32_MAX);
    return at;
}

static void spoil_turns(patient *open) {
    set_bits(open, compare_of(open), 78, 76, 0); /* never */
}

static const struct {
    const char *name;
    int forms; /* bit by form */
    void (*spoil)(patient *);
    const char *reason;
} MUTATIONS[] = {
#define BOTH (1 << BRANCH | 1 << PREDICATED)
    {"chain shortened", BOTH, spoil_nop, "FFMA, not"},
    {"link predicated", BOTH, spoil_guard, "is predicated"},
    {"chains crossed", 1 << PREDICATED, spoil_crossed, "is broken"},
    {"chain overwritten", 1 << PREDICATED, spoil_overwritten, "overwrites it"},
    {"nothing selected", 1 << PREDICATED, spoil_select, "ends before its result is there"},
    {"one arm selected", 1 << PREDICATED, spoil_one_sided, "ends before its result is there"},
    {"result not awaited", 1 << BRANCH, spoil_await, "ends before its result is there"},
    {"no decision", 1 << BRANCH, spoil_decision, "loops between the clock reads, not 2"},
    {"uniform decision", 1 << BRANCH, spoil_uniform, "is a uniform branch"},
    {"three clocks", BOTH, spoil_second_clock, "3 clock reads, not 2"},
    {"one after the other", 1 << PREDICATED, spoil_side_by_side, "links one after the other need"},
    {"long stalls", BOTH, spoil_stalls, "links one after the other need"},
    {"work outside", BOTH, spoil_outside, "outside the paths' loops"},
    {"turns once", BOTH, spoil_turns, "turns 1 times, not 5"},
#undef BOTH
};

static void check_mutations(int form, int arch) {
    test_cubin made = compile_form(form, BODY, arch);
    const gc_divergence_claim claim = comparison_claim(form, BODY);
    for (size_t m = 0; m < sizeof MUTATIONS / sizeof MUTATIONS[0]; m++) {
        patient open;
        if (!(MUTATIONS[m].forms & 1 << form)) continue;
        assert_int_equal(patient_open(&made, COMPARE, &open), 0);
        MUTATIONS[m].spoil(&open);
        const gc_divergence_proof proof = prove(&open.cubin, &claim);
        patient_close(&open);
        if (proof.status != GPUCHAR_E_NOT_PROVED || !strstr(proof.reason, MUTATIONS[m].reason))
            fail_msg("%s, form %d on sm_%d: expected \"%s\", got %d \"%s\"", MUTATIONS[m].name, form, arch,
                     MUTATIONS[m].reason, proof.status, proof.reason);
    }
    free(made.bytes);
}

static void test_mutations_are_caught(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (int form = BRANCH; form <= PREDICATED && is_decoded(NVRTC.archs[i]); form++)
            check_mutations(form, NVRTC.archs[i]);
}

/* ---- what compilers make of short arms ---- */

static gc_choice read_kernel(const test_cubin *cubin, const char *kernel) {
    gc_choice choice;
    assert_int_equal(gc_read_choice(cubin->bytes, cubin->size, kernel, "FFMA", &choice), GPUCHAR_OK);
    return choice;
}

static gc_choice read_length(const test_cubin *cubin, uint32_t length) {
    char kernel[64];
    snprintf(kernel, sizeof kernel, "gpuchar_predication_length_%u", length);
    return read_kernel(cubin, kernel);
}

/* Both arms are there at every length: short ones under predicates, long ones behind a branch. */
static void check_lengths(int arch) {
    test_cubin made = compile_kernel("", "predication_lengths.cu", arch);
    const gc_choice none = read_length(&made, 0);
    uint32_t branching = 0;
    assert_int_equal(none.works, 0);
    for (uint32_t length = 1; length <= 32; length++) {
        const gc_choice found = read_length(&made, length);
        const bool branches = found.branches > none.branches;
        if (found.works != 2 * length) fail_msg("sm_%d: %u FFMA at length %u", arch, found.works, length);
        if (branches && !branching) branching = length;
        if (branches == (branching == 0)) fail_msg("sm_%d branches up to length %u only", arch, length);
        if (!branches)
            assert_in_range(found.predicated, none.predicated + 2 * length, none.predicated + 2 * length + 3);
        if (branches) assert_int_equal(found.predicated, none.predicated);
        assert_int_equal(found.selects, 0);
    }
    assert_in_range(branching, 4, 16);
    free(made.bytes);
}

static void test_lengths_on_every_architecture(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        if (is_decoded(NVRTC.archs[i])) check_lengths(NVRTC.archs[i]);
}

/* Kernels that leave the compiler no choice. */
static const char CHOICES[] =
    "extern \"C\" __global__ void plain(float *x, float a, float b) { x[threadIdx.x] = a * x[threadIdx.x] + b; }\n"
    "#define SELECT(y, a, b) asm volatile(\"{.reg .pred p; setp.eq.u32 p, %3, 0; selp.f32 %0, %1, %2, p;}\"\\\n"
    " : \"=f\"(y) : \"f\"(a), \"f\"(b), \"r\"(threadIdx.x))\n"
    /* Both values are wanted elsewhere, too. */
    "extern \"C\" __global__ void selected(float *x) {\n"
    "  float y, a = x[1], b = x[2]; SELECT(y, a, b);\n"
    "  x[threadIdx.x] = y; x[threadIdx.x + 1024] = a; x[threadIdx.x + 2048] = b; }\n"
    "#define STORE(to) asm volatile(\"{.reg .pred p; setp.eq.u32 p, %1, 0; @p st.global.u32 [%0], %1;}\"\\\n"
    " :: \"l\"(to), \"r\"(threadIdx.x))\n"
    "extern \"C\" __global__ void predicated(float *x) { STORE(x); x[threadIdx.x + 1] = 1; }\n"
    /* A predicated end, and nothing behind it. */
    "extern \"C\" __global__ void ended(float *x) { STORE(x); }\n"
    "extern \"C\" __global__ void branched(float *x, float a, float b) {\n"
    "  float y = x[threadIdx.x];\n"
    "#pragma unroll 1\n"
    "  for (unsigned i = 0; i < threadIdx.x; ++i) y = y * a + b;\n"
    "  x[threadIdx.x] = y; }\n";

static void test_choices(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++) {
        if (!is_decoded(NVRTC.archs[i])) continue;
        test_cubin made = nvrtc_compile(&NVRTC, CHOICES, NVRTC.archs[i]);
        assert_non_null(made.bytes);
        const gc_choice plain = read_kernel(&made, "plain"), selected = read_kernel(&made, "selected"),
                        predicated = read_kernel(&made, "predicated"), branched = read_kernel(&made, "branched"),
                        ended = read_kernel(&made, "ended");
        free(made.bytes);
        assert_int_equal(plain.works, 1);
        assert_int_equal(plain.selects, 0);
        assert_int_equal(selected.works, 0);
        assert_int_equal(selected.selects, 1);
        assert_int_equal(selected.branches, plain.branches);
        assert_int_equal(selected.predicated, plain.predicated);
        assert_in_range(predicated.predicated, plain.predicated + 1, plain.predicated + 3); /* the address, too */
        assert_int_equal(predicated.branches, plain.branches);
        assert_int_equal(predicated.selects, 0);
        assert_int_equal(ended.predicated, plain.predicated);
        assert_int_equal(ended.branches, plain.branches);
        assert_true(branched.branches > plain.branches);
        assert_int_equal(branched.works, 1);
    }
}

static void test_choice_errors(void **state) {
    (void)state;
    gc_choice choice;
    assert_int_equal(gc_read_choice("nothing", 7, "kernel", "FFMA", &choice), GPUCHAR_E_SASS_FORMAT);
    assert_int_equal(choice.branches + choice.predicated + choice.selects + choice.works, 0);
    if (!HAVE_NVRTC) skip();
    test_cubin made = compile_form(BRANCH, BODY, NVRTC.archs[NVRTC.arch_count - 1]);
    assert_int_equal(gc_read_choice(made.bytes, made.size, "nothing", "FFMA", &choice), GPUCHAR_E_SASS_FORMAT);
    free(made.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies_lie_alike), cmocka_unit_test(test_every_form_is_proved),
        cmocka_unit_test(test_wrong_claims),     cmocka_unit_test(test_mutations_are_caught),
        cmocka_unit_test(test_choices),          cmocka_unit_test(test_lengths_on_every_architecture),
        cmocka_unit_test(test_choice_errors),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
