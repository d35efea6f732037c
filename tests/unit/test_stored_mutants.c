/* What kernels store as their sample, spoiled in one place each: the proof must see that it is not the region's time. */
#include "stored_samples.h"

#define OCCUPANCY "gpuchar_divergence_occupancy"

/* The arguments of the occupancy's kernel, as src/kernels has them. */
typedef struct occupancy_arguments {
    uint64_t samples, sink;
    uint32_t slot, iterations;
    uint64_t spans;
    uint32_t sm_count, operand, start, reserved;
    uint8_t lanes[32];
} occupancy_arguments;
static const occupancy_arguments OCCUPIED = {.iterations = TURNS};

static uint32_t second_of(const patient *open) {
    return open->flow.instructions[open->second_clock].destination;
}

/* ---- the number ---- */

/* A register pair in place of the difference, which is not made. */
static void store_instead(patient *open, uint32_t pair) {
    const uint32_t low = maker_of_half(open, 0, 0), high = maker_of_half(open, 0, 1);
    set_nop(open, low);
    if (high != low) set_nop(open, high);
    set_bits(open, sample_store(open, 0), 39, 32, pair);
}

/* The first read itself; where it is in uniform registers, the timer's difference. */
static void spoil_first(patient *open) {
    const gc_instruction *first = &open->flow.instructions[open->first_clock];
    const uint32_t other = data_of(open, sample_store(open, 1));
    store_instead(open, first->destination_count ? first->destination : other);
}

static void spoil_second(patient *open) {
    store_instead(open, second_of(open));
}

/* The signs of a and b stand at 72 and 63. */
static void flip_signs(patient *open, bool both) {
    const uint32_t makers[] = {maker_of_half(open, 0, 0), maker_of_half(open, 0, 1)};
    for (uint32_t half = 0; half < (makers[0] == makers[1] ? 1 : 2); half++) {
        const uint32_t a = get_bits(open, makers[half], 72, 72), b = get_bits(open, makers[half], 63, 63);
        set_bits(open, makers[half], 72, 72, both ? !a : 0);
        set_bits(open, makers[half], 63, 63, both ? !b : 0);
    }
}

static void spoil_sum(patient *open) {
    flip_signs(open, false);
}

static void spoil_reversed(patient *open) {
    flip_signs(open, true);
}

static void spoil_no_high(patient *open) {
    const uint32_t store = sample_store(open, 0);
    if (is_one_sum(open))
        set_bits(open, maker_of_half(open, 0, 0), 73, 73, 0);
    else
        put_zero(open, maker_of_half(open, 0, 1), data_of(open, store) + 1);
}

/* The upper halves without what the lower ones borrow. */
static void spoil_borrow(patient *open) {
    if (is_one_sum(open))
        spoil_no_high(open);
    else
        set_bits(open, maker_of_half(open, 0, 1), 90, 87, 7);
}

static void spoil_half_store(patient *open) {
    set_bits(open, sample_store(open, 0), 75, 73, 4);
}

static void spoil_added(patient *open) {
    put_add(open, free_place(open), second_of(open), second_of(open), 1);
}

static void spoil_added_high(patient *open) {
    put_add(open, free_place(open), second_of(open) + 1, second_of(open) + 1, 1);
}

static void spoil_shifted(patient *open) {
    put_shift(open, free_place(open), second_of(open), second_of(open));
}

/* The second read of the other clock. */
static void spoil_other(patient *open) {
    const uint32_t timer = open->second_clock + 1;
    assert_int_equal(open->flow.instructions[timer].special, 0x52);
    put_copy(open, free_place(open), second_of(open), open->flow.instructions[timer].destination);
}

/* Lower and upper half of the second read change places. */
static void spoil_halves(patient *open) {
    put_copy(open, free_place(open), second_of(open), second_of(open) + 1);
}

static void spoil_moved_clock(patient *open) {
    set_bits(open, open->second_clock, 23, 16, 200);
}

static void spoil_moved_first(patient *open) {
    const uint32_t to = get_bits(open, open->first_clock, 23, 16);
    set_bits(open, open->first_clock, 23, 16, to ^ 16);
}

/* Of an instruction that compilers never put there. */
static void spoil_unfollowed(patient *open) {
    set_opcode(open, maker_of_half(open, 0, 0), 0x309); /* POPC */
}

/* ---- the place ---- */

static void spoil_swapped(patient *open) {
    const uint32_t cycles = sample_store(open, 0), nanoseconds = sample_store(open, 1);
    const uint32_t data = data_of(open, cycles);
    set_bits(open, cycles, 39, 32, data_of(open, nanoseconds));
    set_bits(open, nanoseconds, 39, 32, data);
}

static void spoil_offset(patient *open) {
    set_bits(open, sample_store(open, 0), 63, 40, 16);
}

static void spoil_offset_inside(patient *open) {
    set_bits(open, sample_store(open, 0), 63, 40, 4);
}

static void spoil_same_place(patient *open) {
    set_bits(open, sample_store(open, 1), 63, 40, 0);
}

static bool has_uniform_address(const patient *open) {
    return get_bits(open, sample_store(open, 0), 31, 24) == GC_REGISTER_ZERO;
}

static void spoil_address(patient *open) {
    const uint32_t low = has_uniform_address(open) ? 64 : 24, store = sample_store(open, 0);
    set_bits(open, store, low + 5, low, get_bits(open, store, low + 5, low) ^ 2);
}

/* The slot's or the stride's register is another one: the instruction that makes the address multiplies something else. */
static void spoil_product(patient *open) {
    const uint32_t store = sample_store(open, 0);
    uint32_t product = store;
    if (has_uniform_address(open))
        while (strcmp(name_of(open, product), "UIMAD") != 0) product--;
    else
        product = maker_of(open, get_bits(open, store, 31, 24), store);
    set_bits(open, product, 24, 24, !get_bits(open, product, 24, 24));
}

static void spoil_scope(patient *open) {
    const uint32_t store = sample_store(open, 0);
    set_bits(open, store, 79, 79, !get_bits(open, store, 79, 79));
}

static void spoil_result_address(patient *open) {
    set_bits(open, free_place(open), 63, 40, 0x100000);
}

/* ---- who ---- */

static void spoil_never(patient *open) {
    set_bits(open, sample_store(open, 0), 15, 12, 15);
}

static void spoil_predicated(patient *open) {
    set_bits(open, sample_store(open, 0), 15, 12, 6);
}

static void spoil_timer_dropped(patient *open) {
    set_nop(open, sample_store(open, 1));
}

static uint32_t exit_of_others(const patient *open) {
    uint32_t at = open->second_clock;
    while (strcmp(name_of(open, at), "EXIT") != 0 || !open->flow.instructions[at].conditional) at++;
    return at;
}

static void spoil_everybody(patient *open) {
    for (uint32_t at = open->second_clock; at < sample_store(open, 0); at++)
        if (strcmp(name_of(open, at), "EXIT") == 0) set_nop(open, at);
}

static void spoil_somebody_else(patient *open) {
    const uint32_t at = exit_of_others(open);
    set_bits(open, at, 15, 15, !open->flow.instructions[at].guard_not);
}

static void spoil_nobody(patient *open) {
    set_bits(open, exit_of_others(open), 15, 12, 7);
}

/* ---- the spans ---- */

static uint32_t reduction(const patient *open, uint32_t n) {
    for (uint32_t i = open->second_clock; i < open->flow.instruction_count; i++) {
        const char *name = name_of(open, i);
        if ((strncmp(name, "RED", 3) == 0 || strcmp(name, "ATOMG") == 0) && n-- == 0) return i;
    }
    fail_msg("no reduction");
    return 0;
}

static void spoil_span_start(patient *open) {
    set_bits(open, reduction(open, 0), 39, 32, data_of(open, reduction(open, 1)));
}

static void spoil_span_end(patient *open) {
    set_bits(open, reduction(open, 1), 39, 32, data_of(open, reduction(open, 0)));
}

static void spoil_span_place(patient *open) {
    set_bits(open, reduction(open, 1), 63, 40, 0);
}

static void spoil_span_operation(patient *open) {
    set_bits(open, reduction(open, 0), 89, 87, 1); /* the smaller one */
}

static void spoil_span_dropped(patient *open) {
    set_nop(open, reduction(open, 1));
}

typedef struct mutation {
    const char *name;
    void (*spoil)(patient *);
    const char *reason;
} mutation;

static const mutation MUTATIONS[] = {
    {"the first read", spoil_first, "cycles at 0x"},
    {"the second read", spoil_second, "cycles at 0x"},
    {"the sum", spoil_sum, "is not the second read minus the first"},
    {"the first minus the second", spoil_reversed, "is not the second read minus the first"},
    {"no upper half", spoil_no_high, "cycles at 0x"},
    {"nothing borrowed", spoil_borrow, "cycles at 0x"},
    {"half of it stored", spoil_half_store, "does not store its cycles"},
    {"one added", spoil_added, "is not the second read minus the first"},
    {"one added to the upper half", spoil_added_high, "is not the second read minus the first"},
    {"shifted", spoil_shifted, "is not the second read minus the first"},
    {"of another clock", spoil_other, "is not the second read minus the first"},
    {"of the upper half", spoil_halves, "is not the second read minus the first"},
    {"the second read put elsewhere", spoil_moved_clock, "cycles at 0x"},
    {"the first read put elsewhere", spoil_moved_first, ""},
    {"not followed", spoil_unfollowed, "cycles at 0x"},
    {"cycles and nanoseconds swapped", spoil_swapped, "is not the second read minus the first"},
    {"another sample", spoil_offset, "writes to another place"},
    {"between the two times", spoil_offset_inside, "the sample's"},
    {"both at one place", spoil_same_place, "the sample's cycles"},
    {"another address", spoil_address, " at 0x"},
    {"another slot", spoil_product, " at 0x"},
    {"another scope", spoil_scope, "of a form that is not followed"},
    {"the result elsewhere", spoil_result_address, "writes to another place"},
    {"never stored", spoil_never, "does not store its cycles"},
    {"stored by an unknown predicate", spoil_predicated, " at 0x"},
    {"no nanoseconds", spoil_timer_dropped, "does not store its nanoseconds"},
    {"stored by everybody", spoil_everybody, "stores the sample"},
    {"stored by others", spoil_somebody_else, ""},
    {"stored by nobody", spoil_nobody, "does not store its cycles"},
};

static const mutation SPAN_MUTATIONS[] = {
    {"a span from its end", spoil_span_start, "is not its times"},
    {"a span to its start", spoil_span_end, "is not its times"},
    {"a span's two times at one place", spoil_span_place, "is not its times"},
    {"a span from the last start", spoil_span_operation, "of a form that is not followed"},
    {"a span without end", spoil_span_dropped, "does not tell its times"},
};

static uint32_t tried, missed;

static void check(const test_cubin *made, const char *kernel, const gc_divergence_claim *claim, const mutation *spoiled,
                  int arch) {
    patient open;
    assert_int_equal(patient_open(made, kernel, &open), 0);
    spoiled->spoil(&open);
    const gc_divergence_proof proof = prove(&open.cubin, claim);
    patient_close(&open);
    tried++;
    /* A clock read is told to the span first. */
    const bool expected =
        strstr(proof.reason, spoiled->reason) || strstr(proof.reason, "tells of a block is not its times");
    if (proof.status == GPUCHAR_E_NOT_PROVED && !proof.stored && expected) return;
    missed++;
    print_error("%s in %s on sm_%d: expected \"%s\", got %d \"%s\"\n", spoiled->name, kernel, arch, spoiled->reason,
                proof.status, proof.reason);
}

static void test_sweep(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (int kind = 0; kind < KINDS && is_decoded(NVRTC.archs[i]); kind++) {
            const gc_divergence_claim claim = sweep_claim(kind, BODY);
            const gc_divergence_proof proof = prove(sweep(kind, i), &claim);
            expect_proved(&proof, NVRTC.archs[i]);
            assert_true(proof.stored);
            for (size_t m = 0; m < sizeof MUTATIONS / sizeof MUTATIONS[0]; m++)
                check(sweep(kind, i), SWEEP, &claim, &MUTATIONS[m], NVRTC.archs[i]);
        }
    print_message("%u mutants\n", tried);
    assert_int_equal(missed, 0);
}

static gc_divergence_claim occupancy_claim(void) {
    gc_divergence_claim claim = sweep_claim(0, BODY);
    claim.kernel = OCCUPANCY;
    claim.arguments = &OCCUPIED;
    claim.argument_bytes = sizeof OCCUPIED;
    claim.lanes_offset = offsetof(occupancy_arguments, lanes);
    claim.sample = sample_claim(GC_SAMPLE_SPANS, 128);
    claim.sample.spans_offset = offsetof(occupancy_arguments, spans);
    claim.sample.sms_offset = offsetof(occupancy_arguments, sm_count);
    return claim;
}

static test_cubin compile_occupancy(int arch) {
    char *source = paths_source("divergence_occupancy.cu", 1, BODY);
    assert_non_null(source);
    char *whole = malloc(strlen(source) + 64);
    assert_non_null(whole);
    sprintf(whole, "#define GPUCHAR_BLOCK_WARPS 4\n%s", source);
    test_cubin made = nvrtc_compile(&NVRTC, whole, arch);
    free(whole);
    free(source);
    assert_non_null(made.bytes);
    return made;
}

static void test_occupancy(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++) {
        if (!is_decoded(NVRTC.archs[i])) continue;
        test_cubin made = compile_occupancy(NVRTC.archs[i]);
        const gc_divergence_claim claim = occupancy_claim();
        const gc_divergence_proof proof = prove(&made, &claim);
        expect_proved(&proof, NVRTC.archs[i]);
        assert_true(proof.stored);
        for (size_t m = 0; m < sizeof MUTATIONS / sizeof MUTATIONS[0]; m++)
            check(&made, OCCUPANCY, &claim, &MUTATIONS[m], NVRTC.archs[i]);
        for (size_t m = 0; m < sizeof SPAN_MUTATIONS / sizeof SPAN_MUTATIONS[0]; m++)
            check(&made, OCCUPANCY, &claim, &SPAN_MUTATIONS[m], NVRTC.archs[i]);
        free(made.bytes);
    }
    print_message("%u mutants\n", tried);
    assert_int_equal(missed, 0);
}

/* A good kernel, and a claim that is not about it. */
static void test_wrong_claims(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    const int last = NVRTC.arch_count - 1, arch = NVRTC.archs[last];
    gc_divergence_claim claim = sweep_claim(0, BODY);
    claim.sample.bytes = 24;
    gc_divergence_proof proof = prove(sweep(0, last), &claim);
    expect_reason(&proof, arch, "writes to another place");
    claim = sweep_claim(0, BODY);
    claim.sample.cycles_offset = 8;
    claim.sample.nanoseconds_offset = 0;
    proof = prove(sweep(0, last), &claim);
    expect_reason(&proof, arch, "is not the second read minus the first");
    claim = sweep_claim(0, BODY);
    claim.sample.form = GC_SAMPLE_BLOCK;
    proof = prove(sweep(0, last), &claim);
    expect_reason(&proof, arch, "before it has met the others");
    claim.sample.form = GC_SAMPLE_SPANS;
    claim.sample.spans_offset = offsetof(sweep_arguments, table);
    claim.sample.sms_offset = offsetof(sweep_arguments, operand);
    proof = prove(sweep(0, last), &claim);
    expect_reason(&proof, arch, "does not tell its times");
    claim.sample.slot_offset = claim.argument_bytes - 2;
    assert_int_equal(gc_prove_divergence(NULL, 0, &claim, &proof), GPUCHAR_E_INVALID_ARGUMENT);
    claim = sweep_claim(0, BODY);
    claim.sample.threads = 0;
    assert_int_equal(gc_prove_divergence(NULL, 0, &claim, &proof), GPUCHAR_E_INVALID_ARGUMENT);
    claim = sweep_claim(0, BODY);
    claim.mark_shift = 32;
    assert_int_equal(gc_prove_divergence(NULL, 0, &claim, &proof), GPUCHAR_E_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sweep), cmocka_unit_test(test_occupancy),
                                       cmocka_unit_test(test_wrong_claims)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
