/* Good kernels spoiled in one place each: every proof must see it, and say what it saw. */
#include "divergence_samples.h"

/* A chained instruction in the middle of path `path`, and what it reads. */
static uint32_t middle_link(const patient *open, int kind, uint32_t path) {
    const uint32_t block = loop_block(open, path);
    assert_int_not_equal(block, GC_FLOW_NO_BLOCK);
    const uint32_t link = find_mnemonic(open, open->flow.blocks[block].first, CHAINED[kind], BODY / 2);
    assert_int_not_equal(link, UINT32_MAX);
    return link;
}

static void spoil_nop(patient *open, int kind) {
    set_nop(open, middle_link(open, kind, 7));
}

static void spoil_guard(patient *open, int kind) {
    set_bits(open, middle_link(open, kind, 31), 15, 12, 0);
}

static void spoil_guard_negated_true(patient *open, int kind) {
    set_bits(open, middle_link(open, kind, 3), 15, 12, 15); /* @!PT: padding, does nothing */
}

static void spoil_source(patient *open, int kind) {
    const uint32_t link = middle_link(open, kind, 12);
    const gc_instruction *in = &open->flow.instructions[link], *before = in - 1;
    assert_string_equal(before->mnemonic, CHAINED[kind]);
    if (in->source_a == before->destination)
        set_bits(open, link, 31, 24, 200);
    else
        set_bits(open, link, kind == 3 ? 39 : 71, kind == 3 ? 32 : 64, 200);
}

/* The first link reads its own result of the turn before no more: the loop-carried part is gone. */
static void spoil_carried(patient *open, int kind) {
    const uint32_t block = loop_block(open, 20);
    uint32_t link = open->flow.blocks[block].first;
    const char *first = kind == 3 ? "FADD" : CHAINED[kind];
    while (strcmp(open->flow.instructions[link].mnemonic, first) != 0) link++;
    set_bits(open, link, 31, 24, 200);
    if (kind < 2) set_bits(open, link, 71, 64, 200);
}

static void spoil_stall(patient *open, int kind) {
    const uint32_t link = middle_link(open, kind, 31);
    set_bits(open, link, 108, 105, open->flow.instructions[link].stall ^ 1u);
}

static uint32_t counter_of(const patient *open, uint32_t path) {
    const gc_block *block = &open->flow.blocks[loop_block(open, path)];
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const char *name = open->flow.instructions[i].mnemonic;
        if (strcmp(name, "IADD3") == 0 || strcmp(name, "VIADD") == 0 || strcmp(name, "IADD") == 0) return i;
    }
    fail_msg("path %u counts by something else", path);
    return 0;
}

static void spoil_unexpected(patient *open, int kind) {
    (void)kind;
    set_opcode(open, counter_of(open, 9), 0x309); /* POPC */
}

static void spoil_unknown(patient *open, int kind) {
    (void)kind;
    set_opcode(open, counter_of(open, 9), 0xfff);
}

static void spoil_overwrite(patient *open, int kind) {
    const uint32_t counter = counter_of(open, 15), block = loop_block(open, 15);
    uint32_t live = 255;
    for (uint32_t i = open->flow.blocks[block].first;
         i < open->flow.blocks[block].first + open->flow.blocks[block].count; i++)
        if (strcmp(open->flow.instructions[i].mnemonic, CHAINED[kind]) == 0 && (i < counter || live == 255))
            live = open->flow.instructions[i].destination;
    const gc_instruction *first = &open->flow.instructions[open->flow.blocks[block].first];
    if (&open->flow.instructions[counter] == first)
        live = gc_flow_last(&open->flow, &open->flow.blocks[block])[-1].destination;
    set_bits(open, counter, 23, 16, live);
}

static void spoil_first_clock(patient *open, int kind) {
    (void)kind;
    set_nop(open, open->first_clock);
}

static void spoil_second_clock(patient *open, int kind) {
    (void)kind;
    set_nop(open, open->second_clock);
}

static void spoil_clock_guard(patient *open, int kind) {
    (void)kind;
    set_bits(open, open->second_clock, 15, 12, 2);
}

/* The second read right behind the first: all the work lies outside. */
static void spoil_order(patient *open, int kind) {
    (void)kind;
    copy_word(open, open->first_clock + 1, open->second_clock);
    set_nop(open, open->second_clock);
}

static void spoil_third_clock(patient *open, int kind) {
    copy_word(open, middle_link(open, kind, 2), open->second_clock);
}

/* The branch before the n-th path: a divergent one that two paths hang on. */
static uint32_t dispatch_branch(const patient *open) {
    for (uint32_t i = open->first_clock; i < open->second_clock; i++) {
        const gc_instruction *in = &open->flow.instructions[i];
        if (in->kind == GC_OP_BRANCH && in->conditional && !in->uniform) return i;
    }
    fail_msg("no dispatch");
    return 0;
}

static void spoil_dispatch(patient *open, int kind) {
    (void)kind;
    set_nop(open, dispatch_branch(open));
}

static void spoil_uniform(patient *open, int kind) {
    (void)kind;
    set_bits(open, dispatch_branch(open), 33, 32, 1);
}

static void spoil_bsync(patient *open, int kind) {
    (void)kind;
    uint32_t last = UINT32_MAX, n = 0;
    for (uint32_t at; (at = find_mnemonic(open, open->first_clock, "BSYNC", n)) != UINT32_MAX; n++) last = at;
    set_nop(open, last);
}

static void spoil_all_barriers(patient *open, int kind) {
    (void)kind;
    for (uint32_t i = open->first_clock; i < open->second_clock; i++) switch (open->flow.instructions[i].kind) {
        case GC_OP_BSSY:
        case GC_OP_BSYNC:
        case GC_OP_WARPSYNC:
        case GC_OP_BMOV:
            set_nop(open, i);
            break;
        default:
            break;
        }
}

static void spoil_exit(patient *open, int kind) {
    (void)kind;
    const uint32_t at = dispatch_branch(open) - 1;
    set_nop(open, at);
    set_bits(open, at, 15, 0, 0x094d); /* @P0 EXIT */
    set_bits(open, at, 90, 87, 7);
}

static void spoil_await(patient *open, int kind) {
    (void)kind;
    const gc_block *loop = &open->flow.blocks[loop_block(open, 13)];
    const uint32_t at = find_mnemonic(open, loop->first + loop->count, "LOP3", 0);
    assert_int_not_equal(at, UINT32_MAX);
    set_bits(open, at, 31, 24, 200);
    set_bits(open, at, 39, 32, 200);
    set_bits(open, at, 71, 64, 200);
}

/* Between the loops and the second clock read: what the closing __syncwarp is made of. */
static uint32_t spare_place(const patient *open) {
    uint32_t at = find_mnemonic(open, open->first_clock, "NOP", 0);
    if (at == UINT32_MAX) at = find_mnemonic(open, open->first_clock, "WARPSYNC", 0);
    assert_int_not_equal(at, UINT32_MAX);
    return at;
}

static void spoil_outside(patient *open, int kind) {
    copy_word(open, spare_place(open), middle_link(open, kind, 0));
}

static void spoil_spill(patient *open, int kind) {
    (void)kind;
    set_opcode(open, spare_place(open), 0x983); /* LDL */
}

/* The end of one path leads into the loop of another. */
static void spoil_two_in_a_row(patient *open, int kind) {
    (void)kind;
    const gc_block *from = &open->flow.blocks[loop_block(open, 1)];
    const uint32_t next = from->first + from->count;
    const gc_block *to = &open->flow.blocks[loop_block(open, 2)];
    const uint32_t branch = dispatch_branch(open);
    copy_word(open, next, branch);
    set_bits(open, next, 15, 12, 7);
    set_bits(open, next, 90, 87, 7);
    const uint64_t distance = (to->first - next - 1) * (uint64_t)4;
    set_bits(open, next, 63, 34, 0);
    set_bits(open, next, 81, 64, 0);
    set_bits(open, next, 23, 16, 0);
    /* Up to sm_89 the whole offset stands at 34; from sm_90 on its low byte stands at 16. */
    gc_cubin cubin;
    assert_int_equal(gc_cubin_open(open->cubin.bytes, open->cubin.size, &cubin), GPUCHAR_OK);
    if (cubin.arch >= 90) {
        set_bits(open, next, 63, 34, distance >> 8);
        set_bits(open, next, 23, 16, distance & 0xff);
    } else {
        set_bits(open, next, 63, 34, distance);
    }
}

/* The mutants below leave every count and every edge as it was: only following the threads finds them. */

static uint32_t compare_of(const patient *open, uint32_t path) {
    const uint32_t at = find_mnemonic(open, open->flow.blocks[loop_block(open, path)].first, "ISETP", 0);
    assert_int_not_equal(at, UINT32_MAX);
    return at;
}

/* The branch that goes back; where a branch out stands before it, that one decides. */
static uint32_t back_edge_of(const patient *open, uint32_t path) {
    const gc_block *loop = &open->flow.blocks[loop_block(open, path)];
    const uint32_t last = loop->first + loop->count - 1;
    return open->flow.instructions[last].conditional ? last : last - 1;
}

static void spoil_step(patient *open, int kind) {
    (void)kind;
    set_bits(open, counter_of(open, 11), 63, 32, (uint32_t)-16);
}

static void spoil_compare(patient *open, int kind) {
    (void)kind;
    set_bits(open, compare_of(open, 4), 78, 76, 0); /* never */
}

static void spoil_compare_always(patient *open, int kind) {
    (void)kind;
    set_bits(open, compare_of(open, 4), 78, 76, 7);
}

static void spoil_compare_signed(patient *open, int kind) {
    (void)kind;
    set_bits(open, compare_of(open, 8), 78, 76, 6); /* at least 0 */
    set_bits(open, compare_of(open, 8), 73, 73, 1);
}

static void spoil_back_edge(patient *open, int kind) {
    (void)kind;
    const uint32_t at = back_edge_of(open, 21);
    set_bits(open, at, 15, 15, !open->flow.instructions[at].guard_not);
}

static void spoil_back_guard(patient *open, int kind) {
    (void)kind;
    set_bits(open, back_edge_of(open, 21), 14, 12, 6);
}

static void spoil_back_second(patient *open, int kind) {
    (void)kind;
    set_bits(open, back_edge_of(open, 21), 89, 87, 5);
}

/* The compare in front of some dispatch: a LOP3 or ISETP that writes the predicate of its branch. */
static uint32_t decider_of(const patient *open, uint32_t branch) {
    uint32_t at = branch;
    while (--at > open->first_clock) {
        const char *name = open->flow.instructions[at].mnemonic;
        if (strcmp(name, "ISETP") == 0 || strcmp(name, "LOP3") == 0) return at;
    }
    fail_msg("nothing decides");
    return 0;
}

static void spoil_decider(patient *open, int kind) {
    (void)kind;
    uint32_t second = dispatch_branch(open) + 1;
    while (!open->flow.instructions[second].conditional || open->flow.instructions[second].kind != GC_OP_BRANCH)
        second++;
    const uint32_t at = decider_of(open, second);
    if (strcmp(open->flow.instructions[at].mnemonic, "ISETP") == 0)
        set_bits(open, at, 78, 76, 7);
    else
        set_bits(open, at, 79, 72, 0); /* no bit of the result is set */
}

/* The dispatch by the number of the lane, not by what the lane was told. */
static void spoil_map(patient *open, int kind) {
    (void)kind;
    const uint32_t at = find_mnemonic(open, 0, "LDC", 0), from = find_mnemonic(open, 0, "S2R", 0);
    uint32_t map = at;
    while (open->flow.instructions[map].mnemonic && (strcmp(open->flow.instructions[map].mnemonic, "LDC") != 0 ||
                                                     open->flow.instructions[map].source_a == GC_REGISTER_ZERO))
        map++;
    const uint32_t to = open->flow.instructions[map].destination;
    copy_word(open, map, from);
    set_bits(open, map, 23, 16, to);
}

/* The registers are right, but the next link is issued before its operand is there. */
static void spoil_wait(patient *open, int kind) {
    const uint32_t link = middle_link(open, kind, 18);
    if (kind < 2)
        set_bits(open, link, 108, 105, 1);
    else
        for (uint32_t i = link + 1; i < link + 4; i++) set_bits(open, i, 121, 116, 0);
}

static void spoil_clock_half(patient *open, int kind) {
    (void)kind;
    set_bits(open, open->second_clock, 79, 72, 0x51);
}

static void spoil_clock_narrow(patient *open, int kind) {
    (void)kind;
    set_bits(open, open->first_clock, 80, 80, 0);
}

/* All intervals on one barrier: the inner ones take it from the outer one. */
static void spoil_barriers_shared(patient *open, int kind) {
    (void)kind;
    for (uint32_t i = open->first_clock; i < open->second_clock; i++) {
        const uint8_t what = open->flow.instructions[i].kind;
        if (what == GC_OP_BSSY || what == GC_OP_BSYNC) set_bits(open, i, 19, 16, 0);
    }
}

/* The barrier of an interval is written behind its BSSY. */
static void spoil_barrier_moved(patient *open, int kind) {
    (void)kind;
    const uint32_t bssy = find_mnemonic(open, open->first_clock, "BSSY", 0);
    assert_int_not_equal(bssy, UINT32_MAX);
    const uint32_t at = spare_place(open);
    set_nop(open, at);
    set_bits(open, at, 31, 0, 0xff007356 | (uint64_t)open->flow.instructions[bssy].barrier << 16);
}

static void spoil_function(patient *open, int kind) {
    if (kind == 3)
        set_bits(open, middle_link(open, kind, 22), 77, 74, 2);
    else
        spoil_nop(open, kind);
}

typedef struct mutation {
    const char *name;
    void (*spoil)(patient *, int kind);
    const char *reason; /* %s: the chained mnemonic */
} mutation;

static const mutation MUTATIONS[] = {
    {"chain shortened", spoil_nop, "path 7 holds 63 %s, not 64"},
    {"link switched off", spoil_guard_negated_true, "path 3 holds 63 %s, not 64"},
    {"link predicated", spoil_guard, "%s of path 31 at 0x"},
    {"chain broken", spoil_source, "the chain of path 12 is broken: %s"},
    {"chain not carried", spoil_carried, "the chain of path 20 is broken"},
    {"chain overwritten", spoil_overwrite, "the chain of path 15 is broken"},
    {"stall changed", spoil_stall, "path 31 stalls"},
    {"unexpected instruction", spoil_unexpected, "path 9 holds an unexpected POPC"},
    {"unknown instruction", spoil_unknown, "path 9 holds an unknown instruction (opcode 0xfff)"},
    {"first clock gone", spoil_first_clock, "1 clock reads, not 2"},
    {"second clock gone", spoil_second_clock, "1 clock reads, not 2"},
    {"clock predicated", spoil_clock_guard, "clock read at 0x"},
    {"clock too early", spoil_order, "0 loops between the clock reads, not 32"},
    {"clock in a loop", spoil_third_clock, "3 clock reads, not 2"},
    {"paths dropped", spoil_dispatch, "loops between the clock reads, not 32"},
    {"uniform dispatch", spoil_uniform, "is a uniform branch"},
    {"no BSYNC", spoil_bsync, "has no BSYNC in the timed region"},
    {"no barriers", spoil_all_barriers, "has no BSYNC or WARPSYNC"},
    {"early exit", spoil_exit, "the timed region can be left"},
    {"work outside", spoil_outside, "outside the paths' loops"},
    {"spill", spoil_spill, "registers are spilled"},
    {"paths in a row", spoil_two_in_a_row, "leads into another path"},
    {"result not awaited", spoil_await, "ends before its result is there"},
    {"counts by 16", spoil_step, "turns more than 5 times"},
    {"turns once", spoil_compare, "turns 1 times, not 5"},
    {"turns for ever", spoil_compare_always, "turns more than 5 times"},
    {"turns once more", spoil_compare_signed, "turns more than 5 times"},
    {"back edge negated", spoil_back_edge, "turns 1 times, not 5"},
    {"back edge by what is not set", spoil_back_guard, "is not known"},
    {"back edge by two predicates", spoil_back_second, "is not known"},
    {"constant dispatch", spoil_decider, "takes the loop"},
    {"dispatch by lane", spoil_map, "takes another loop from another lane"},
    {"operand not waited for", spoil_wait, "does not wait for the one before"},
    {"half a clock", spoil_clock_half, "not of the 64-bit clock"},
    {"32-bit clock", spoil_clock_narrow, "not of the 64-bit clock"},
    {"one barrier for all", spoil_barriers_shared, " at 0x"}, /* where BMOV clears barriers, that is seen first */
    {"barrier overwritten", spoil_barrier_moved, "changes a barrier"},
    {"another function", spoil_function, ""},
};

static void check_mutation(const mutation *spoiled, int kind, int arch_index) {
    patient open;
    char reason[128];
    assert_int_equal(patient_open(sweep(kind, arch_index), SWEEP, &open), 0);
    spoiled->spoil(&open, kind);
    /* NVRTC 12.0 needs one barrier only on sm_90: there is nothing to share. */
    const test_cubin *whole = sweep(kind, arch_index);
    if (whole->bytes && memcmp(open.cubin.bytes, whole->bytes, whole->size) == 0) {
        patient_close(&open);
        return;
    }
    const gc_divergence_claim claim = sweep_claim(kind, BODY);
    const gc_divergence_proof proof = prove(&open.cubin, &claim);
    const char *at = strstr(spoiled->reason, "%s");
    if (at)
        snprintf(reason, sizeof reason, "%.*s%s%s", (int)(at - spoiled->reason), spoiled->reason, CHAINED[kind],
                 at + 2);
    else
        snprintf(reason, sizeof reason, "%s", spoiled->reason);
    patient_close(&open);
    if (proof.status != GPUCHAR_E_NOT_PROVED || !strstr(proof.reason, reason))
        fail_msg("%s, %s on sm_%d: expected \"%s\", got %d \"%s\"", spoiled->name, CHAINED[kind],
                 NVRTC.archs[arch_index], reason, proof.status, proof.reason);
}

static void test_mutations_are_caught(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (int kind = 0; kind < KINDS && is_decoded(NVRTC.archs[i]); kind++)
            for (size_t m = 0; m < sizeof MUTATIONS / sizeof MUTATIONS[0]; m++) check_mutation(&MUTATIONS[m], kind, i);
}

/* What differs from launch to launch is not known to the proof: here the turns hang on the multiplier's bits. */
static void test_varying_arguments(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    static const char plain[] = "setp.ne.u32 more, %1, 0;", varying[] = "setp.ne.u32 more, %1, %2;";
    char *source = sweep_source(1, BODY), *at = source ? strstr(source, plain) : NULL;
    assert_non_null(at);
    char *changed = malloc(strlen(source) + 8);
    assert_non_null(changed);
    sprintf(changed, "%.*s%s%s", (int)(at - source), source, varying, at + strlen(plain));
    for (int i = 0; i < NVRTC.arch_count; i++) {
        if (!is_decoded(NVRTC.archs[i])) continue;
        test_cubin made = nvrtc_compile(&NVRTC, changed, NVRTC.archs[i]);
        const gc_divergence_claim claim = sweep_claim(0, BODY);
        const gc_divergence_proof proof = prove(&made, &claim);
        expect_reason(&proof, NVRTC.archs[i], "is not known");
        free(made.bytes);
    }
    free(changed);
    free(source);
}

/* Work before the loops: as much for each path, and for some paths only. */
static void test_work_outside(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    static const char loop[] = "again:\\n\\t\" GPUCHAR_WALK(digits)";
    char *source = sweep_source(1, BODY), *at = source ? strstr(source, loop) : NULL;
    assert_non_null(at);
    char *changed = malloc(strlen(source) + 8192), *end = changed;
    assert_non_null(changed);
    end += sprintf(end, "%.*s", (int)(at - source), source);
    for (int i = 0; i < 80; i++) end += sprintf(end, "mad.lo.u32 %%0, %%0, %%2, 0x1\" digits \"1%02x;\\n\\t", i);
    strcpy(end, at);
    for (int i = 0; i < NVRTC.arch_count; i++) {
        if (!is_decoded(NVRTC.archs[i])) continue;
        test_cubin made = nvrtc_compile(&NVRTC, changed, NVRTC.archs[i]);
        const gc_divergence_claim claim = sweep_claim(0, BODY);
        const gc_divergence_proof proof = prove(&made, &claim);
        expect_reason(&proof, NVRTC.archs[i], "instructions outside of loops");
        free(made.bytes);
    }
    free(changed);
    free(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations_are_caught),
                                       cmocka_unit_test(test_varying_arguments), cmocka_unit_test(test_work_outside)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
