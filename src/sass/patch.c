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

static gpuchar_status open_code(const void *cubin, size_t size, const char *kernel, gc_code *code) {
    gc_cubin file;
    gpuchar_status status = gc_cubin_open(cubin, size, &file);
    if (!status) status = gc_cubin_function(&file, kernel, code);
    if (!status && code->arch < 70) return gc_fail(GPUCHAR_E_SASS_UNKNOWN, "sm_%u has another encoding", code->arch);
    return status;
}

/* The same bytes as the caller's own, which may be written. */
static uint8_t *writable(void *cubin, const gc_code *code, size_t offset) {
    return (uint8_t *)cubin + (code->bytes - (const uint8_t *)cubin) + offset;
}

gpuchar_status gc_patch_out(void *cubin, size_t size, const char *kernel, gc_op_kind kind, uint32_t *count) {
    gc_code code;
    *count = 0;
    gpuchar_status status = open_code(cubin, size, kernel, &code);
    for (size_t offset = 0; !status && offset + 16 <= code.size; offset += 16) {
        gc_instruction in;
        gc_decode(&code, offset, &in);
        if (in.kind != kind) continue;
        write_nop(writable(cubin, &code, offset));
        gc_decode(&code, offset, &in);
        if (in.kind != GC_OP_NOP) return gc_fail(GPUCHAR_E_INTERNAL, "a patched instruction is no NOP");
        ++*count;
    }
    return status;
}

/* ---- the class of barriers */

/* Bits [73:72]: of the ninth byte. */
#define GC_CLASS_BYTE 9
#define GC_CLASS_MASK 3u

uint32_t gc_class_kind(const gc_instruction *in) {
    switch (in->kind) {
    case GC_OP_BSSY:
        return GC_CLASS_BSSY;
    case GC_OP_BSYNC:
        return GC_CLASS_BSYNC;
    case GC_OP_BREAK:
        return GC_CLASS_BREAK;
    default:
        return GC_CLASS_KINDS;
    }
}

uint32_t gc_class_at(const gc_code *code, size_t offset) {
    return code->bytes[offset + GC_CLASS_BYTE] & GC_CLASS_MASK;
}

/* What the instruction at `offset` gets; GC_CLASS_KEEP: nothing. */
static uint32_t class_for(const gc_code *code, size_t offset, const gc_class_edit *edit) {
    gc_instruction in;
    gc_decode(code, offset, &in);
    const uint32_t kind = gc_class_kind(&in);
    return kind == GC_CLASS_KINDS ? GC_CLASS_KEEP : edit->to[kind];
}

gpuchar_status gc_patch_classes(void *cubin, size_t size, const char *kernel, const gc_class_edit *edit,
                                gc_class_count *count) {
    gc_code code;
    *count = (gc_class_count){0};
    gpuchar_status status = open_code(cubin, size, kernel, &code);
    for (size_t offset = 0; !status && offset + 16 <= code.size; offset += 16) {
        const uint32_t class = class_for(&code, offset, edit);
        if (class >= GC_CLASSES) continue;
        uint8_t *byte = writable(cubin, &code, offset + GC_CLASS_BYTE);
        const uint8_t wanted = (uint8_t)((*byte & ~GC_CLASS_MASK) | class);
        count->edited++;
        count->changed += wanted != *byte;
        *byte = wanted;
    }
    return status;
}

/* Padding between members may differ: field by field, as far as an instruction with the field has them. */
static bool reads_alike(const gc_instruction *a, const gc_instruction *b) {
    return a->pc == b->pc && a->target == b->target && a->opcode == b->opcode && a->kind == b->kind &&
           a->guard == b->guard && a->guard_not == b->guard_not && a->second == b->second &&
           a->second_not == b->second_not && a->barrier == b->barrier && a->stall == b->stall && a->yield == b->yield &&
           a->write_barrier == b->write_barrier && a->read_barrier == b->read_barrier && a->wait_mask == b->wait_mask &&
           a->reuse == b->reuse && a->conditional == b->conditional && a->never == b->never;
}

static gpuchar_status check_word(const gc_code *original, const gc_code *patched, size_t offset,
                                 const gc_class_edit *edit) {
    gc_instruction before, after;
    uint8_t expected[16];
    memcpy(expected, original->bytes + offset, sizeof expected);
    gc_decode(original, offset, &before);
    gc_decode(patched, offset, &after);
    const uint32_t kind = gc_class_kind(&before);
    const uint32_t class = kind == GC_CLASS_KINDS ? GC_CLASS_KEEP : edit->to[kind];
    if (class < GC_CLASSES) expected[GC_CLASS_BYTE] = (uint8_t)((expected[GC_CLASS_BYTE] & ~GC_CLASS_MASK) | class);
    const bool same = memcmp(expected, patched->bytes + offset, sizeof expected) == 0;
    /* The decoder says what the word is now, which is another witness than the bytes just compared. */
    const bool read = class == GC_CLASS_KEEP || after.barrier_class == class;
    if (same && read && reads_alike(&before, &after)) return GPUCHAR_OK;
    return gc_fail(GPUCHAR_E_INTERNAL, "the instruction at %#zx has changed in more than its class", offset);
}

gpuchar_status gc_patch_check_classes(const void *original, const void *patched, size_t size, const char *kernel,
                                      const gc_class_edit *edit) {
    gc_code before, after;
    gpuchar_status status = open_code(original, size, kernel, &before);
    if (!status) status = open_code(patched, size, kernel, &after);
    if (status) return status;
    const size_t at = (size_t)(before.bytes - (const uint8_t *)original), words = before.size / 16 * 16;
    const size_t behind = at + words;
    if ((size_t)(after.bytes - (const uint8_t *)patched) != at || after.size != before.size ||
        memcmp(original, patched, at) != 0 ||
        memcmp((const uint8_t *)original + behind, (const uint8_t *)patched + behind, size - behind) != 0)
        return gc_fail(GPUCHAR_E_INTERNAL, "a patched cubin differs outside of its kernel's code");
    for (size_t offset = 0; offset < words && !status; offset += 16) status = check_word(&before, &after, offset, edit);
    return status;
}

/* ---- stores */

/* Bits [15:12]: the guard and its negation; of the second byte. */
#define GC_GUARD_BYTE 1
#define GC_GUARD_NEVER 0xf0u
/* Bits [75:73] of a store: 4 bytes, 8, 16; other values are narrower. */
#define GC_STORE_SIZE(byte) ((byte) >> 1 & 7u)

static uint32_t stored_bytes(const gc_code *code, size_t offset, const gc_instruction *in) {
    static const uint32_t sizes[8] = {1, 1, 2, 2, 4, 8, 16, 0};
    if (!in->mnemonic || strcmp(in->mnemonic, "STG") != 0) return 0;
    return sizes[GC_STORE_SIZE(code->bytes[offset + 9])];
}

gpuchar_status gc_patch_stores(void *cubin, size_t size, const char *kernel, uint32_t bytes, uint32_t *count) {
    gc_code code;
    *count = 0;
    gpuchar_status status = open_code(cubin, size, kernel, &code);
    for (size_t offset = 0; !status && offset + 16 <= code.size; offset += 16) {
        gc_instruction in, after;
        gc_decode(&code, offset, &in);
        if (stored_bytes(&code, offset, &in) != bytes) continue;
        uint8_t *byte = writable(cubin, &code, offset + GC_GUARD_BYTE);
        *byte = (uint8_t)((*byte & 0x0fu) | GC_GUARD_NEVER);
        gc_decode(&code, offset, &after);
        const bool kept = after.opcode == in.opcode && stored_bytes(&code, offset, &after) == bytes;
        if (!kept || !after.never) return gc_fail(GPUCHAR_E_INTERNAL, "a disabled store is not what it should be");
        ++*count;
    }
    return status;
}
