/* A block's time, told in shared memory and stored as a difference: spoiled in one place each, and the proof must see it. */
#include "comparison_samples.h"
#include "stored_samples.h"

/* ---- what warps tell each other ---- */

static uint32_t swap_at(const patient *open, uint32_t n) {
    return find_behind(open, "ATOMS", n);
}

/* The load that a swap goes on from. */
static uint32_t load_at(const patient *open, uint32_t n) {
    uint32_t at = swap_at(open, n);
    while (strcmp(name_of(open, at), "LDS") != 0) at--;
    return at;
}

/* One word is written at another one's place, and looked at there. */
static void move_word(patient *open, uint32_t n, uint32_t distance) {
    set_bits(open, load_at(open, n), 63, 40, get_bits(open, load_at(open, n), 63, 40) + distance);
    set_bits(open, swap_at(open, n), 63, 40, get_bits(open, swap_at(open, n), 63, 40) + distance);
}

static void spoil_place(patient *open) {
    move_word(open, 0, 32);
}

static void spoil_shared_place(patient *open) {
    move_word(open, 0, 8);
}

static void spoil_loaded_elsewhere(patient *open) {
    set_bits(open, load_at(open, 1), 63, 40, get_bits(open, load_at(open, 1), 63, 40) + 64);
}

static void spoil_told(patient *open) {
    set_bits(open, swap_at(open, 1), 71, 64, get_bits(open, swap_at(open, 1), 71, 64) ^ 2);
}

static void spoil_expected(patient *open) {
    set_bits(open, swap_at(open, 1), 39, 32, get_bits(open, swap_at(open, 1), 39, 32) ^ 2);
}

static void spoil_swap_dropped(patient *open) {
    set_nop(open, swap_at(open, 1));
}

static void spoil_swap_form(patient *open) {
    set_bits(open, swap_at(open, 0), 88, 87, 1);
}

/* The compare in front of a swap; it is the last one that decides. */
static uint32_t compare_at(const patient *open, uint32_t n) {
    uint32_t at = swap_at(open, n);
    while (strcmp(name_of(open, at), "ISETP") != 0) at--;
    return at;
}

static void spoil_smaller(patient *open) {
    set_bits(open, compare_at(open, 0), 78, 76, 6);
}

static void spoil_signed(patient *open) {
    set_bits(open, compare_at(open, 0), 73, 73, 1);
}

/* A warp that finds another one there first does not look again. */
static void spoil_no_retry(patient *open) {
    uint32_t at = swap_at(open, 0);
    while (open->flow.instructions[at].kind != GC_OP_BRANCH) at++;
    set_nop(open, at);
}

static uint32_t inversion(const patient *open) {
    for (uint32_t i = open->second_clock; i < swap_at(open, 0); i++) {
        const bool inverts = strstr(name_of(open, i), "LOP3") && get_bits(open, i, 79, 72) == 0x33;
        if (inverts) return i;
    }
    fail_msg("nothing is inverted");
    return 0;
}

static void spoil_inverted(patient *open) {
    set_bits(open, inversion(open), 79, 72, 0xcc);
}

static void spoil_clock(patient *open) {
    set_bits(open, open->second_clock, 23, 16, 200);
}

/* ---- where they start, and when they are read ---- */

static void spoil_cleared(patient *open) {
    uint32_t at = 0;
    while (strcmp(name_of(open, at), "STS") != 0) at++;
    set_nop(open, at);
    if (strcmp(name_of(open, at + 1), "STS") == 0) set_nop(open, at + 1);
}

static uint32_t barrier_before(const patient *open) {
    uint32_t at = open->first_clock;
    while (strcmp(name_of(open, at), "BAR") != 0) at--;
    return at;
}

static void spoil_first_barrier(patient *open) {
    set_nop(open, barrier_before(open));
}

static void spoil_last_barrier(patient *open) {
    set_nop(open, find_behind(open, "BAR", 0));
}

/* Another mode: it arrives and goes on. */
static void spoil_barrier_mode(patient *open) {
    set_bits(open, find_behind(open, "BAR", 0), 79, 77, 1);
}

/* ---- what is stored ---- */

static uint32_t last_load(const patient *open, uint32_t n) {
    uint32_t at = sample_store(open, 0);
    for (; strcmp(name_of(open, at), "LDS") != 0 || n-- > 0; at--)
        if (at == open->second_clock) fail_msg("nothing is loaded");
    return at;
}

static void spoil_last_place(patient *open) {
    set_bits(open, last_load(open, 0), 63, 40, get_bits(open, last_load(open, 0), 63, 40) ^ 16);
}

static void spoil_last_first(patient *open) {
    set_bits(open, last_load(open, 1), 63, 40, get_bits(open, last_load(open, 1), 63, 40) ^ 16);
}

static void spoil_difference(patient *open) {
    const uint32_t at = maker_of_half(open, 0, 0);
    set_bits(open, at, 72, 72, !get_bits(open, at, 72, 72));
}

static void spoil_upper(patient *open) {
    const uint32_t low = maker_of_half(open, 0, 0), high = maker_of_half(open, 0, 1);
    if (low == high)
        set_bits(open, low, 73, 73, 0);
    else
        set_bits(open, high, 74, 74, 0);
}

static void spoil_swapped(patient *open) {
    const uint32_t cycles = sample_store(open, 0), nanoseconds = sample_store(open, 1);
    const uint32_t data = data_of(open, cycles);
    set_bits(open, cycles, 39, 32, data_of(open, nanoseconds));
    set_bits(open, nanoseconds, 39, 32, data);
}

static void spoil_offset(patient *open) {
    set_bits(open, sample_store(open, 0), 63, 40, 16);
}

static void spoil_never(patient *open) {
    set_bits(open, sample_store(open, 0), 15, 12, 15);
}

static void spoil_everybody(patient *open) {
    for (uint32_t at = open->second_clock; at < sample_store(open, 0); at++)
        if (strcmp(name_of(open, at), "EXIT") == 0) set_nop(open, at);
}

/* All lanes tell their times, which is no other block's time, but none that this proof knows. */
static void spoil_all_lanes(patient *open) {
    uint32_t at = open->second_clock;
    while (open->flow.instructions[at].kind != GC_OP_BRANCH) at++;
    set_nop(open, at);
}

static const struct {
    const char *name;
    void (*spoil)(patient *);
    const char *reason;
} MUTATIONS[] = {
    {"a word at another place", spoil_place, "clear the words"},
    {"a word at the next one's place", spoil_shared_place, "of a block"},
    {"a word looked at elsewhere", spoil_loaded_elsewhere, ""},
    {"another register told", spoil_told, ""},
    {"another register expected", spoil_expected, ""},
    {"nothing told", spoil_swap_dropped, ""},
    {"another operation", spoil_swap_form, ""},
    {"the smaller one", spoil_smaller, ""},
    {"compared with sign", spoil_signed, ""},
    {"not tried again", spoil_no_retry, ""},
    {"not inverted", spoil_inverted, ""},
    {"the second read put elsewhere", spoil_clock, ""},
    {"words not cleared", spoil_cleared, "clear the words"},
    {"no first barrier", spoil_first_barrier, ""},
    {"no last barrier", spoil_last_barrier, ""},
    {"a last barrier that does not wait", spoil_barrier_mode, "does not wait for the whole block"},
    {"another word subtracted", spoil_last_place, "is not the second read minus the first"},
    {"another word's end", spoil_last_first, ""},
    {"another difference", spoil_difference, ""},
    {"no upper half", spoil_upper, ""},
    {"cycles and nanoseconds swapped", spoil_swapped, "is not the second read minus the first"},
    {"another sample", spoil_offset, "writes to another place"},
    {"never stored", spoil_never, "does not store its cycles"},
    {"stored by everybody", spoil_everybody, "stores the sample"},
    {"told by all lanes", spoil_all_lanes, "that are not its own to tell"},
};

static uint32_t tried, missed;

static void check_form(int form, int arch) {
    test_cubin made = compile_form(form, BODY, arch);
    const gc_divergence_claim claim = comparison_claim(form, BODY);
    gc_divergence_proof proof = prove(&made, &claim);
    expect_proved(&proof, arch);
    assert_true(proof.stored);
    for (size_t m = 0; m < sizeof MUTATIONS / sizeof MUTATIONS[0]; m++) {
        patient open;
        assert_int_equal(patient_open(&made, COMPARE, &open), 0);
        MUTATIONS[m].spoil(&open);
        proof = prove(&open.cubin, &claim);
        patient_close(&open);
        tried++;
        if (proof.status == GPUCHAR_E_NOT_PROVED && !proof.stored && strstr(proof.reason, MUTATIONS[m].reason))
            continue;
        missed++;
        print_error("%s, form %d on sm_%d: expected \"%s\", got %d \"%s\"\n", MUTATIONS[m].name, form, arch,
                    MUTATIONS[m].reason, proof.status, proof.reason);
    }
    free(made.bytes);
}

static void test_mutations_are_caught(void **state) {
    (void)state;
    if (!HAVE_NVRTC) skip();
    for (int i = 0; i < NVRTC.arch_count; i++)
        for (int form = BRANCH; form <= PREDICATED && is_decoded(NVRTC.archs[i]); form++)
            check_form(form, NVRTC.archs[i]);
    print_message("%u mutants\n", tried);
    assert_int_equal(missed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations_are_caught)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
