#include <sass/flow.h>
#include <sass/mnemonics.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Words as nvdisasm shows them, low half first. */
typedef struct word {
    uint64_t low, high;
} word;

static gc_instruction decode_at(uint32_t arch, word given, size_t index) {
    static word code_words[64];
    memset(code_words, 0, sizeof code_words);
    code_words[index] = given;
    const gc_code code = {
        .name = "kernel", .bytes = (const uint8_t *)code_words, .size = sizeof code_words, .arch = arch};
    gc_instruction in;
    gc_decode(&code, index * 16, &in);
    return in;
}

static void test_branch_before_sm_90(void **state) {
    (void)state;
    /* @P0 BRA at 0xd0: offset in [81:34], in units of 4 bytes. */
    const uint64_t back = (uint64_t)(-0x40 / 4);
    const word given = {0x0947 | back << 34, (back >> 30 & 0x3ffff) | (uint64_t)7 << 23 | (uint64_t)5 << 41};
    const gc_instruction in = decode_at(80, given, 13);
    assert_int_equal(in.kind, GC_OP_BRANCH);
    assert_string_equal(in.mnemonic, "BRA");
    assert_int_equal(in.target, 0xd0 + 16 - 0x40);
    assert_int_equal(in.guard, 0);
    assert_true(in.conditional);
    assert_false(in.uniform);
    assert_int_equal(in.stall, 5);
}

static void test_branch_from_sm_90(void **state) {
    (void)state;
    /* Of a kernel for sm_90, at 0xe0: the offset's low 8 bits stand apart. */
    const word forward = {0x0000004c00740947, 0x000fea0003800000};
    gc_instruction in = decode_at(90, forward, 14);
    assert_int_equal(in.target, 0xf0 + 4 * (0x13 << 8 | 0x74));
    assert_int_equal(in.guard, 0);
    assert_int_equal(in.stall, 5);
    assert_int_equal(in.read_barrier, 7);
    assert_int_equal(in.write_barrier, 7);
    /* The same bits with .U, .DIV and .CONV. */
    for (uint64_t condition = 1; condition < 4; condition++) {
        const word with = {forward.low | condition << 32, forward.high};
        in = decode_at(90, with, 14);
        assert_int_equal(in.condition, condition);
        assert_true(in.uniform);
        assert_true(in.conditional);
    }
}

static void test_guards(void **state) {
    (void)state;
    const uint64_t nop = 0x0000000000000918;
    gc_instruction in = decode_at(90, (word){nop | 7 << 12, 0}, 0);
    assert_false(in.never);
    assert_int_equal(in.guard, GC_PREDICATE_TRUE);
    in = decode_at(90, (word){nop | 15 << 12, 0}, 0);
    assert_true(in.never);
    in = decode_at(90, (word){nop | 10 << 12, 0}, 0);
    assert_false(in.never);
    assert_int_equal(in.guard, 2);
    assert_int_equal(in.guard_not, 1);
    assert_int_equal(in.kind, GC_OP_NOP);
    /* EXIT with a second predicate falls through too. */
    in = decode_at(90, (word){0x794d, (uint64_t)7 << 23}, 0);
    assert_int_equal(in.kind, GC_OP_EXIT);
    assert_false(in.conditional);
    in = decode_at(90, (word){0x794d, (uint64_t)3 << 23}, 0);
    assert_true(in.conditional);
    assert_int_equal(in.second, 3);
}

static void test_barriers(void **state) {
    (void)state;
    /* BSSY B0 of an sm_90 kernel at 0xd0: 0x00009b9000007945 0x000fd80003800000. */
    gc_instruction in = decode_at(90, (word){0x00009b9000007945, 0x000fd80003800000}, 13);
    assert_int_equal(in.kind, GC_OP_BSSY);
    assert_int_equal(in.barrier, 0);
    assert_int_equal(in.barrier_class, 0);
    assert_int_equal(in.target, 0xe0 + 0x9b90);
    assert_int_equal(in.stall, 12);
    assert_true(in.guard == GC_PREDICATE_TRUE);
    in = decode_at(100, (word){0x0000000000057941, (uint64_t)2 << 8}, 0);
    assert_int_equal(in.kind, GC_OP_BSYNC);
    assert_int_equal(in.barrier, 5);
    assert_int_equal(in.barrier_class, 2);
    in = decode_at(100, (word){0x0000000000057942, (uint64_t)1 << 8}, 0);
    assert_int_equal(in.kind, GC_OP_BREAK);
    assert_int_equal(in.barrier_class, 1);
}

static void test_call_that_is_a_branch(void **state) {
    (void)state;
    /* CALL.REL.NOINC to a label inside the function, and without NOINC: a call. */
    const word branch = {(uint64_t)0x7944 | (uint64_t)(0x20 / 4) << 34, (uint64_t)1 << 22};
    gc_instruction in = decode_at(80, branch, 1);
    assert_int_equal(in.kind, GC_OP_BRANCH);
    assert_int_equal(in.target, 0x40);
    in = decode_at(80, (word){branch.low, 0}, 1);
    assert_int_equal(in.kind, GC_OP_CALL);
    const word far = {(uint64_t)0x7944 | (uint64_t)(0x20000 / 4) << 34, (uint64_t)1 << 22};
    in = decode_at(80, far, 1);
    assert_int_equal(in.kind, GC_OP_CALL);
}

static void test_clock_reads(void **state) {
    (void)state;
    gc_instruction in = decode_at(90, (word){0x0000000000027805, 0x001fe40000015000}, 0);
    assert_int_equal(in.kind, GC_OP_CLOCK);
    assert_string_equal(in.mnemonic, "CS2R");
    assert_int_equal(in.destination, 2);
    assert_int_equal(in.destination_count, 2);
    in = decode_at(90, (word){0x0000000000047805, 0x000fe40000015200}, 0); /* SR_GLOBALTIMERLO */
    assert_int_equal(in.kind, GC_OP_OTHER);
    assert_int_equal(in.special, 0x52);
    in = decode_at(120, (word){0x00000000000878cb, 0x5000}, 0);
    assert_int_equal(in.kind, GC_OP_CLOCK);
    assert_string_equal(in.mnemonic, "CS2UR");
    in = decode_at(90, (word){0x0000000000067919, 0x000e2e0000002100}, 0); /* S2R R6, SR_TID.X */
    assert_int_equal(in.kind, GC_OP_OTHER);
    assert_int_equal(in.destination, 6);
    in = decode_at(90, (word){0x0000000000067919, 0x5000}, 0);
    assert_int_equal(in.kind, GC_OP_CLOCK);
}

/* Bits of an arithmetic instruction: form, Rd, Ra, [39:32], [71:64]. */
static word arithmetic(uint64_t opcode, uint64_t d, uint64_t a, uint64_t at32, uint64_t at64) {
    return (word){(opcode & 0xfff) | 7 << 12 | d << 16 | a << 24 | at32 << 32, at64 | (opcode >> 12) << 27};
}

static void check_registers(uint32_t arch, word given, uint16_t d, uint16_t a, uint16_t b, uint16_t c) {
    const gc_instruction in = decode_at(arch, given, 0);
    assert_int_equal(in.destination, d);
    assert_int_equal(in.source_a, a);
    assert_int_equal(in.source_b, b);
    assert_int_equal(in.source_c, c);
}

static void test_operands(void **state) {
    (void)state;
    const uint16_t none = GC_REGISTER_NONE;
    check_registers(90, arithmetic(0x223, 10, 7, 9, 4), 10, 7, 9, 4);                /* FFMA R10, R7, R9, R4 */
    check_registers(90, arithmetic(0x423, 10, 7, 0x3f, 9), 10, 7, 9, none);          /* FFMA R10, R7, R9, immediate */
    check_registers(75, arithmetic(0x623, 10, 7, 0, 9), 10, 7, 9, none);             /* FFMA R10, R7, R9, constant */
    check_registers(90, arithmetic(0x823, 10, 7, 0x3f, 9), 10, 7, none, 9);          /* FFMA R10, R7, immediate, R9 */
    check_registers(90, arithmetic(0x1c23, 10, 7, 5, 9), 10, 7, none, 9);            /* FFMA R10, R7, UR5, R9 */
    check_registers(90, arithmetic(0x1e23, 10, 7, 5, 9), 10, 7, 9, none);            /* FFMA R10, R7, R9, UR5 */
    check_registers(90, arithmetic(0x308, 3, 0, 8, 0), 3, none, 8, none);            /* MUFU R3, R8 */
    check_registers(120, arithmetic(0x1d08, 3, 0, 4, 0), 3, none, none, none);       /* MUFU R3, UR4 */
    check_registers(90, arithmetic(0x221, 3, 8, 9, 0), 3, 8, 9, none);               /* FADD R3, R8, R9 */
    check_registers(90, arithmetic(0x421, 3, 8, 9, 0), 3, 8, none, none);            /* FADD R3, R8, immediate */
    const gc_instruction move = decode_at(80, arithmetic(0x624, 3, 255, 0, 255), 0); /* IMAD.MOV.U32 R3, RZ, RZ, c[] */
    assert_int_equal(move.source_a, GC_REGISTER_ZERO);
    assert_true(move.zero_b);
    const gc_instruction shift = decode_at(80, arithmetic(0x824, 3, 9, 4, 255), 0); /* IMAD.SHL.U32 R3, R9, 0x4, RZ */
    assert_true(shift.has_immediate && shift.immediate_is_b && shift.zero_c);
    assert_int_equal(shift.immediate, 4);
}

static void test_loads(void **state) {
    (void)state;
    /* LDG.E.64 R8, desc[UR6][R6.64] */
    word load = arithmetic(0x1981, 8, 6, 0, 0);
    load.high |= 5 << 9;
    gc_instruction in = decode_at(90, load, 0);
    assert_string_equal(in.mnemonic, "LDG");
    assert_int_equal(in.destination, 8);
    assert_int_equal(in.source_a, 6);
    assert_int_equal(in.access_bytes, 8);
    assert_int_equal(in.destination_count, 2);
    load.high ^= (5 ^ 4) << 9;
    in = decode_at(90, load, 0);
    assert_int_equal(in.access_bytes, 4);
    assert_int_equal(in.destination_count, 1);
}

static void test_scheduling(void **state) {
    (void)state;
    const word all = {0x7918, (uint64_t)11 << 41 | (uint64_t)1 << 45 | (uint64_t)2 << 46 | (uint64_t)3 << 49 |
                                  (uint64_t)0x2a << 52 | (uint64_t)5 << 58};
    const gc_instruction in = decode_at(90, all, 0);
    assert_int_equal(in.stall, 11);
    assert_int_equal(in.yield, 1);
    assert_int_equal(in.write_barrier, 2);
    assert_int_equal(in.read_barrier, 3);
    assert_int_equal(in.wait_mask, 0x2a);
    assert_int_equal(in.reuse, 5);
}

static void test_mnemonics(void **state) {
    (void)state;
    static const struct {
        uint32_t arch;
        uint16_t opcode;
        const char *name;
    } known[] = {
        {75, 0x223, "FFMA"},  {121, 0x1c23, "FFMA"}, {80, 0x224, "IMAD"},      {90, 0x308, "MUFU"},
        {90, 0x1981, "LDG"},  {75, 0x381, "LDG"},    {90, 0xab9, "ULDC"},      {120, 0x17ac, "LDCU"},
        {90, 0xb82, "LDC"},   {90, 0x919, "S2R"},    {90, 0x9c3, "S2UR"},      {90, 0x1890, "UIADD3"},
        {90, 0x810, "IADD3"}, {90, 0x80c, "ISETP"},  {90, 0x1c02, "MOV"},      {100, 0x128c, "UISETP"},
        {90, 0x882, "UMOV"},  {80, 0x435, "HFMA2"},  {120, 0x1c35, "IADD"},    {90, 0x836, "VIADD"},
        {80, 0x817, "IMNMX"}, {90, 0x848, "VIMNMX"}, {90, 0x446, "VIADDMNMX"}, {120, 0x8cb, "CS2UR"},
        {90, 0x2ca, "R2UR"},  {75, 0x98e, "RED"},    {90, 0x98e, "REDG"},      {120, 0x1454, "UFADD"},
        {90, 0x1986, "STG"},  {90, 0x983, "LDL"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *found = gc_mnemonic(known[i].arch, known[i].opcode);
        assert_non_null(found);
        assert_string_equal(found, known[i].name);
    }
    assert_null(gc_mnemonic(90, 0xfff));
    assert_null(gc_mnemonic(90, 0x000));
    assert_null(gc_mnemonic(90, 0x8cb)); /* CS2UR is not yet there */
    assert_null(gc_mnemonic(60, 0x223)); /* another encoding */
    const gc_instruction in = decode_at(90, (word){0xfff, 0}, 0);
    assert_null(in.mnemonic);
    assert_false(in.writes_known);
}

/* Fields that only control flow has, and where they stand. */
static void test_control_fields(void **state) {
    (void)state;
    /* BMOV.32 B6, R16, and BMOV.32.CLEAR R18, B0, with bits where others have a second predicate. */
    gc_instruction in = decode_at(86, (word){0x0000001006007356, 0}, 0);
    assert_int_equal(in.kind, GC_OP_BMOV);
    assert_int_equal(in.barrier, 6);
    assert_int_equal(in.second, GC_PREDICATE_TRUE);
    in = decode_at(86, (word){0x0000000000127355, (uint64_t)1 << 20}, 0);
    assert_true(in.clear);
    assert_int_equal(in.barrier, 0);
    assert_int_equal(in.destination, 18);
    in = decode_at(86, (word){0x000000ff00007948, (uint64_t)7 << 23}, 0); /* WARPSYNC 0xff */
    assert_int_equal(in.mask, 0xff);
    assert_false(in.whole_warp);
    in = decode_at(90, (word){0x7948, (uint64_t)7 << 23}, 0); /* WARPSYNC.ALL */
    assert_int_equal(in.mask, 0xffffffff);
    assert_true(in.whole_warp);
    in = decode_at(90, (word){0x794d, (uint64_t)7 << 23 | (uint64_t)1 << 20}, 0); /* EXIT.KEEPREFCOUNT */
    assert_int_equal(in.mode, 1);
    in = decode_at(86, (word){0x794a | (uint64_t)(0x1230 / 4) << 34, (uint64_t)7 << 23}, 2); /* JMP 0x1230 */
    assert_int_equal(in.kind, GC_OP_JUMP);
    assert_int_equal(in.target, 0x1230);
    in = decode_at(90, (word){0x7950, (uint64_t)7 << 23 | (uint64_t)2 << 21}, 0); /* RET.REL.NODEC */
    assert_int_equal(in.kind, GC_OP_RETURN);
    assert_int_equal(in.mode, 2);
    assert_string_equal(decode_at(100, (word){0x75ea, (uint64_t)3 << 8 | (uint64_t)1 << 27}, 0).mnemonic, "UTCQMMA");
}

/* From sm_100 on, bit 81 makes an FFMA another instruction. */
static void test_mixed_precision_is_no_ffma(void **state) {
    (void)state;
    word given = arithmetic(0x223, 10, 7, 9, 4);
    given.high |= 1 << 17;
    assert_string_equal(decode_at(100, given, 0).mnemonic, "FHFMA");
    assert_string_equal(decode_at(90, given, 0).mnemonic, "FFMA");
    given = arithmetic(0x221, 10, 7, 9, 4);
    given.high |= 1 << 17;
    assert_string_equal(decode_at(120, given, 0).mnemonic, "FHADD");
}

static void test_flow(void **state) {
    (void)state;
    /* 0: @P0 BRA 3; 1: NOP; 2: BRA 0 (backwards); 3: @P1 EXIT; 4: BRA 4 */
    word words[5] = {{0, 0}};
    const uint64_t always = (uint64_t)7 << 23;
    const uint64_t minus_3 = (uint64_t)(-0x30 / 4), minus_1 = (uint64_t)(-0x10 / 4);
    words[0] = (word){0x0947 | (uint64_t)(0x20 / 4) << 34, always};
    words[1] = (word){0x7918, 0};
    words[2] = (word){0x7947 | minus_3 << 34, always | (minus_3 >> 30 & 0x3ffff)};
    words[3] = (word){0x194d, always};
    words[4] = (word){0x7947 | minus_1 << 34, always | (minus_1 >> 30 & 0x3ffff)};
    gc_code code = {.name = "kernel", .bytes = (const uint8_t *)words, .size = sizeof words, .arch = 80};
    gc_flow flow;
    assert_int_equal(gc_flow_build(&code, &flow), GPUCHAR_OK);
    assert_int_equal(flow.block_count, 4);
    assert_int_equal(flow.blocks[0].successor_count, 2);
    assert_int_equal(flow.blocks[1].successor_count, 1);
    assert_int_equal(flow.successors[flow.blocks[1].successor], 0);
    assert_true(flow.blocks[2].leaves);
    assert_int_equal(flow.blocks[2].successor_count, 1);
    assert_true(flow.blocks[3].reachable);
    assert_int_equal(gc_flow_block_at(&flow, 0x20), 1);
    assert_int_equal(gc_flow_block_at(&flow, 0x50), GC_FLOW_NO_BLOCK);
    gc_flow_free(&flow);
    code.size = 48; /* now the first branch leaves the function */
    assert_int_equal(gc_flow_build(&code, &flow), GPUCHAR_E_SASS_FORMAT);
    code.arch = 61;
    assert_int_equal(gc_flow_build(&code, &flow), GPUCHAR_E_SASS_UNKNOWN);
    words[0] = (word){0x7949, always}; /* BRX without a list of targets */
    code.arch = 80;
    assert_int_equal(gc_flow_build(&code, &flow), GPUCHAR_E_SASS_UNKNOWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_branch_before_sm_90),
        cmocka_unit_test(test_branch_from_sm_90),
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_call_that_is_a_branch),
        cmocka_unit_test(test_clock_reads),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_scheduling),
        cmocka_unit_test(test_mnemonics),
        cmocka_unit_test(test_mixed_precision_is_no_ffma),
        cmocka_unit_test(test_control_fields),
        cmocka_unit_test(test_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
