#include <core/error.h>
#include <sass/patch.h>
#include <string.h>

#define GC_NOP_LOW UINT64_C(0x7918)
/* Bits [125:105], from the stall count to the reuse flags. */
#define GC_SCHEDULING (((UINT64_C(1) << 21) - 1) << 41)

static void write_nop(uint8_t *at) {
    uint64_t high;
    const uint64_t low = GC_NOP_LOW;
    memcpy(&high, at + 8, sizeof high);
    high &= GC_SCHEDULING;
    memcpy(at, &low, sizeof low);
    memcpy(at + 8, &high, sizeof high);
}

gpuchar_status gc_patch_out(void *cubin, size_t size, const char *kernel, gc_op_kind kind, uint32_t *count) {
    gc_cubin file;
    gc_code code;
    *count = 0;
    gpuchar_status status = gc_cubin_open(cubin, size, &file);
    if (!status) status = gc_cubin_function(&file, kernel, &code);
    if (!status && code.arch < 70) return gc_fail(GPUCHAR_E_SASS_UNKNOWN, "sm_%u has another encoding", code.arch);
    for (size_t offset = 0; !status && offset + 16 <= code.size; offset += 16) {
        gc_instruction in;
        gc_decode(&code, offset, &in);
        if (in.kind != kind) continue;
        write_nop((uint8_t *)cubin + (code.bytes - (const uint8_t *)cubin) + offset);
        gc_decode(&code, offset, &in);
        if (in.kind != GC_OP_NOP) return gc_fail(GPUCHAR_E_INTERNAL, "a patched instruction is no NOP");
        ++*count;
    }
    return status;
}
