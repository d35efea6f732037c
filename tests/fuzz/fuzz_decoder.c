/* Instructions: any bits, for any architecture. The first byte chooses it, the second where the function begins. */
#include "fuzz_check.h"

#include <sass/decode.h>
#include <string.h>

static const uint32_t ARCHITECTURES[] = {50, 52, 53, 60, 61,  62,  70,  72,  75,  80,  86,
                                         87, 88, 89, 90, 100, 101, 103, 110, 120, 121, 255};

static void check(const gc_code *code, const gc_instruction *in, size_t index) {
    FUZZ_CHECK(in->pc == code->offset + gc_code_offset(code, index));
    FUZZ_CHECK(in->kind <= GC_OP_LONGJMP);
    FUZZ_CHECK(in->guard <= 7 && in->guard_not <= 1 && in->second_not <= 1);
    FUZZ_CHECK(in->barrier <= (in->kind == GC_OP_BMOV ? 63 : 15)); /* BMOV moves other registers too */
    FUZZ_CHECK(in->barrier_class <= 3 && in->stall <= 15 && in->yield <= 1 && in->wait_mask <= 63);
    FUZZ_CHECK(in->write_barrier <= 7 && in->read_barrier <= 7 && in->reuse <= 15);
    FUZZ_CHECK(!in->mnemonic || (strlen(in->mnemonic) > 0 && strlen(in->mnemonic) < 32));
    FUZZ_CHECK(in->kind != GC_OP_BSSY || in->target != GC_NO_TARGET);
}

/*
 * The function behind the two bytes that choose. Before sm_70 it may begin inside a group of four words, whose first one then
 * lies in front of it.
 */
static gc_code choose(const uint8_t *data, size_t size) {
    gc_code code = {.name = "fuzzed", .bytes = data + 2, .size = size - 2};
    code.arch = ARCHITECTURES[data[0] % (sizeof ARCHITECTURES / sizeof *ARCHITECTURES)];
    code.offset = (uint64_t)(data[1] & 63) * 32;
    if (code.arch >= 70) {
        code.size -= code.size % 16;
        return code;
    }
    const size_t inside = (size_t)(data[1] >> 6) * 8;
    code.size -= code.size % 8;
    if (code.size < inside) return (gc_code){0};
    code.offset += inside;
    code.bytes += inside;
    code.size -= inside;
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    const gc_code code = choose(data, size);
#ifndef FUZZ_64_BIT
    if (code.arch < 70) return 0;
#endif
    const size_t count = gc_code_count(&code);
    for (size_t i = 0; i < count; i++) {
        gc_instruction in, again;
        memset(&in, 0x55, sizeof in);
        memset(&again, 0xaa, sizeof again);
        gc_decode(&code, gc_code_offset(&code, i), &in);
        gc_decode(&code, gc_code_offset(&code, i), &again);
        check(&code, &in, i);
        /* Every field is written, whatever the instruction. */
        FUZZ_CHECK(in.opcode == again.opcode && in.kind == again.kind && in.target == again.target);
        FUZZ_CHECK(in.destination == again.destination && in.source_a == again.source_a);
        FUZZ_CHECK(in.source_b == again.source_b && in.source_c == again.source_c);
        FUZZ_CHECK(in.mnemonic == again.mnemonic && in.special == again.special);
    }
    return 0;
}
