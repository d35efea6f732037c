/* 64-bit words: their fields, and where tokens lead. The words are from kernels for sm_61, as nvdisasm shows them. */
#include <sass/decode64.h>
#include <sass/tokens.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SLOTS 96
#define NOP UINT64_C(0x50b0000000070f00)
#define EXIT UINT64_C(0xe30000000007000f)
#define SYNC UINT64_C(0xf0f800000007000f)
#define BRK UINT64_C(0xe34000000007000f)
#define CONT UINT64_C(0xe35000000007000f)
#define RET UINT64_C(0xe32000000007000f)
#define BRA UINT64_C(0xe24000000007000f)
#define SSY UINT64_C(0xe290000000000000)
#define PBK UINT64_C(0xe2a0000000000000)
#define PCNT UINT64_C(0xe2b0000000000000)
#define PRET UINT64_C(0xe270000000000040)
#define BRX UINT64_C(0xe25000000007000f)

static uint64_t words[SLOTS / 3 * 4];
static gc_code code;

static uint64_t pc_of(size_t index) {
    return index / 3 * 32 + 8 + index % 3 * 8;
}

static void clear(size_t count) {
    memset(words, 0, sizeof words);
    code = (gc_code){.name = "kernel", .bytes = (const uint8_t *)words, .size = count / 3 * 32, .arch = 61};
    for (size_t i = 0; i < count; i++) words[pc_of(i) / 8] = NOP;
}

static void put(size_t index, uint64_t word) {
    words[pc_of(index) / 8] = word;
}

/* To the control word where there is one in front, as compilers do for loops and joins. */
static void put_to(size_t index, uint64_t word, size_t target) {
    const uint64_t to = target % 3 ? pc_of(target) : pc_of(target) - 8;
    put(index, word | ((to - pc_of(index) - 8) & 0xffffff) << 20);
}

static uint64_t under(uint64_t word, uint64_t guard) {
    return (word & ~UINT64_C(0x70000)) | guard << 16;
}

static gc_instruction decode(size_t index) {
    gc_instruction in;
    gc_decode(&code, gc_code_offset(&code, index), &in);
    return in;
}

static void test_fields(void **state) {
    (void)state;
    clear(12);
    put_to(4, under(BRA, 9), 9);
    gc_instruction in = decode(4);
    assert_int_equal(in.kind, GC_OP_BRANCH);
    assert_string_equal(in.mnemonic, "BRA");
    assert_int_equal(in.pc, 0x30);
    assert_int_equal(in.target, pc_of(9));
    assert_int_equal(in.guard, 1);
    assert_int_equal(in.guard_not, 1);
    assert_int_equal(in.condition, GC_CONDITION_TRUE);
    assert_true(in.conditional);
    assert_false(in.uniform);
    put_to(5, BRA | 0x80, 1);
    in = decode(5);
    assert_true(in.uniform);
    assert_false(in.conditional);
    assert_int_equal(in.target, pc_of(1));
    put(6, (BRA & ~UINT64_C(0x1f)) | 4); /* BRA CC.GT */
    in = decode(6);
    assert_int_equal(in.condition, 4);
    assert_true(in.conditional);
    put(6, BRA | 0x20); /* target in a constant bank */
    in = decode(6);
    assert_int_equal(in.kind, GC_OP_INDIRECT);
    assert_int_equal(in.target, GC_NO_TARGET);
    put_to(7, SSY, 9);
    in = decode(7);
    assert_int_equal(in.kind, GC_OP_PUSH);
    assert_string_equal(in.mnemonic, "SSY");
    assert_int_equal(in.guard, GC_PREDICATE_TRUE);
    assert_int_equal(in.target, pc_of(9));
    put(8, UINT64_C(0xe2a00fffff000000)); /* PBK */
    assert_string_equal(decode(8).mnemonic, "PBK");
    put(8, UINT64_C(0xe210000123000000) | 0x7000f); /* JMP 0x1230 */
    in = decode(8);
    assert_int_equal(in.kind, GC_OP_JUMP);
    assert_int_equal(in.target, 0x1230);
    put(8, under(EXIT, 15));
    assert_true(decode(8).never);
    put(8, EXIT & ~UINT64_C(15)); /* EXIT CC.F */
    assert_true(decode(8).never);
    put(8, UINT64_C(0xf0c8000005070005)); /* S2R R5, SR_CLOCKLO */
    assert_int_equal(decode(8).kind, GC_OP_CLOCK);
    put(8, UINT64_C(0xf0c8000002170005)); /* SR_TID.X */
    assert_int_equal(decode(8).kind, GC_OP_OTHER);
    assert_string_equal(decode(0).mnemonic, "NOP");
    put(8, UINT64_C(0x0000000000000000));
    assert_null(decode(8).mnemonic);
}

static void test_schedule(void **state) {
    (void)state;
    clear(6);
    words[4] = (uint64_t)(11 | 1 << 4 | 2 << 5 | 3 << 8 | 0x2a << 11 | 9 << 17) << 21;
    const gc_instruction in = decode(4);
    assert_int_equal(in.stall, 11);
    assert_int_equal(in.yield, 1);
    assert_int_equal(in.write_barrier, 2);
    assert_int_equal(in.read_barrier, 3);
    assert_int_equal(in.wait_mask, 0x2a);
    assert_int_equal(in.reuse, 9);
    assert_int_equal(decode(3).stall, 0);
    assert_int_equal(decode(5).stall, 0);
}

static void check_targets(const gc_tokens *tokens, size_t index, size_t count, size_t first, size_t second) {
    size_t found = 99;
    const uint64_t *targets = gc_tokens_targets(tokens, index, &found);
    assert_int_equal(found, count);
    if (count > 0) assert_int_equal(targets[0], pc_of(first));
    if (count > 1) assert_int_equal(targets[1], pc_of(second));
}

/* A loop in PBK and PCNT, with an SSY inside that BRK and CONT leave. */
static void test_tokens(void **state) {
    (void)state;
    clear(30);
    put_to(0, PBK, 21);
    put_to(1, PCNT, 1);
    put_to(2, SSY, 12);
    put_to(3, under(BRA, 0), 9);
    put(5, under(BRK, 1));
    put(6, SYNC);
    put(9, under(CONT, 2));
    put(10, SYNC);
    put(12, CONT);
    put(21, EXIT);
    gc_tokens tokens;
    assert_int_equal(gc_tokens_read(&code, &tokens), GPUCHAR_OK);
    assert_true(tokens.complete);
    assert_int_equal(tokens.push_count, 3);
    assert_int_equal(tokens.site_count, 5);
    check_targets(&tokens, 5, 1, 21, 0);
    check_targets(&tokens, 6, 1, 12, 0);
    check_targets(&tokens, 9, 1, 1, 0);
    check_targets(&tokens, 10, 1, 12, 0);
    check_targets(&tokens, 12, 1, 1, 0);
    check_targets(&tokens, 3, 0, 0, 0);
    assert_int_equal(tokens.pushes[2].pc, pc_of(2));
    assert_int_equal(tokens.pushes[2].target, pc_of(12));
    assert_int_equal(tokens.pushes[2].depth, 3);
    assert_int_equal(tokens.pushes[2].ssy_depth, 1);
    assert_int_equal(tokens.pushes[0].ssy_depth, 0);
    gc_tokens_free(&tokens);
    gc_tokens_free(&tokens);
}

/* One SYNC of two SSY; RET without PRET leaves; a SYNC that nobody reaches. */
static void test_several(void **state) {
    (void)state;
    clear(30);
    put_to(0, under(BRA, 0), 6);
    put_to(1, SSY, 15);
    put_to(2, BRA, 9);
    put_to(6, SSY, 18);
    put(9, SYNC);
    put(15, RET);
    put(18, EXIT);
    put(20, SYNC);
    gc_tokens tokens;
    assert_int_equal(gc_tokens_read(&code, &tokens), GPUCHAR_OK);
    check_targets(&tokens, 9, 2, 15, 18);
    assert_true(gc_tokens_site(&tokens, 15)->outside);
    assert_true(gc_tokens_site(&tokens, 9)->reached);
    assert_false(gc_tokens_site(&tokens, 20)->reached);
    check_targets(&tokens, 20, 0, 0, 0);
    gc_tokens_free(&tokens);
}

/* The attribute's answer where the stack has none, and the call by PRET and BRX. */
static void test_listed(void **state) {
    (void)state;
    clear(30);
    put(2, BRX);
    put_to(6, PRET, 9);
    put(7, BRX);
    put(9, EXIT);
    put(12, EXIT);
    gc_tokens tokens;
    assert_int_equal(gc_tokens_read(&code, &tokens), GPUCHAR_OK);
    assert_false(tokens.complete);
    gc_tokens_free(&tokens);
    const uint32_t info[] = {0x04 | 0x34 << 8 | 24 << 16, (uint32_t)pc_of(2), 0, 3, (uint32_t)pc_of(12) - 8,
                             (uint32_t)pc_of(6) - 8,      (uint32_t)pc_of(12)};
    code.info = (const uint8_t *)info;
    code.info_size = sizeof info;
    assert_int_equal(gc_tokens_read(&code, &tokens), GPUCHAR_OK);
    assert_true(tokens.complete);
    check_targets(&tokens, 2, 2, 6, 12);
    assert_true(gc_tokens_site(&tokens, 7)->call);
    gc_tokens_free(&tokens);
}

static void test_malformed(void **state) {
    (void)state;
    gc_tokens tokens;
    clear(12);
    put_to(0, SSY, 30);
    assert_int_equal(gc_tokens_read(&code, &tokens), GPUCHAR_E_SASS_FORMAT);
    clear(12); /* pushes in a loop without end */
    put_to(0, SSY, 9);
    put_to(1, BRA, 0);
    assert_int_equal(gc_tokens_read(&code, &tokens), GPUCHAR_E_SASS_FORMAT);
    clear(SLOTS); /* each of 40 SSY is pushed or not: more stacks than can be followed */
    for (size_t i = 0; i < 40; i++) {
        put_to(2 * i, under(BRA, 0), 2 * i + 2);
        put_to(2 * i + 1, SSY, 90);
    }
    assert_int_equal(gc_tokens_read(&code, &tokens), GPUCHAR_E_SASS_UNKNOWN);
    code.arch = 70;
    assert_int_equal(gc_tokens_read(&code, &tokens), GPUCHAR_E_SASS_UNKNOWN);
    assert_null(tokens.sites);
    clear(0);
    assert_int_equal(gc_tokens_read(&code, &tokens), GPUCHAR_OK);
    gc_tokens_free(&tokens);
}

/* Random control flow: every answer is allowed, but it comes, and targets are instructions. */
static void test_random(void **state) {
    (void)state;
    static const uint64_t KINDS[] = {NOP, EXIT, SYNC, BRK, CONT, RET, BRA, SSY, PBK, PCNT, PRET, BRX};
    uint64_t seed = 1;
    size_t read = 0;
    for (int round = 0; round < 3000; round++) {
        clear(SLOTS);
        for (size_t i = 0; i < SLOTS; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const uint64_t kind = KINDS[(seed >> 33) % (sizeof KINDS / sizeof KINDS[0])];
            put_to(i, kind >> 56 == 0xe2 ? kind : under(kind, seed >> 40 & 7), (seed >> 48) % SLOTS);
        }
        gc_tokens tokens;
        if (gc_tokens_read(&code, &tokens)) continue;
        read++;
        for (size_t i = 0; i < tokens.target_count; i++) assert_true(gc_code_index(&code, tokens.targets[i]) < SLOTS);
        gc_tokens_free(&tokens);
    }
    assert_true(read > 100);
}

/* A function may end inside a group. */
static void test_partial_group(void **state) {
    (void)state;
    clear(6);
    code.size = 32 + 16;
    assert_int_equal(gc_code_count(&code), 4);
    assert_int_equal(gc_code_index(&code, 0x28), 3);
    assert_int_equal(gc_code_index(&code, 0x30), SIZE_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),  cmocka_unit_test(test_schedule),      cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_several), cmocka_unit_test(test_listed),        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_random),  cmocka_unit_test(test_partial_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
