#include <core/error.h>
#include <sass/graph.h>
#include <stdlib.h>
#include <string.h>

/* From sm_70 on all of these have opcode bits [8:5] of 0x140; few others do. */
static bool may_control(const gc_code *code, size_t offset) {
    uint64_t word;
    memcpy(&word, code->bytes + offset, sizeof word);
    if (code->arch >= 70) return (word & 0x1e0) == 0x140;
    return (word >> 57) == 0x71 || (word >> 57) == 0x78; /* 0xe2. and 0xe3., SYNC among 0xf0. and 0xf1. */
}

static bool is_needed(uint8_t kind) {
    return kind != GC_OP_OTHER && kind != GC_OP_NOP && kind != GC_OP_CLOCK && kind != GC_OP_NANOSLEEP &&
           kind != GC_OP_YIELD;
}

/* Where JMP and CALL.ABS lead is told by relocations alone. */
static uint32_t target_of(const gc_code *code, const gc_instruction *in, uint8_t *flags) {
    if (in->target == GC_NO_TARGET || in->kind == GC_OP_JUMP || in->kind == GC_OP_CALL) return GC_NO_INDEX;
    const size_t index = gc_code_index(code, in->target);
    if (index != SIZE_MAX) return (uint32_t)index;
    *flags |= GC_CONTROL_OUT;
    return GC_NO_INDEX;
}

/* SSY, PBK and PCNT are neighbours. */
static bool meets(const gc_instruction *in) {
    const uint32_t opcode = in->opcode >> 4;
    return in->kind == GC_OP_PUSH && opcode >= GC_TOKEN_SSY && opcode <= GC_TOKEN_SSY + 2;
}

static gc_control shorten(const gc_code *code, uint32_t index, const gc_instruction *in) {
    uint8_t flags = (uint8_t)((in->conditional ? GC_CONTROL_CONDITIONAL : 0) | (in->never ? GC_CONTROL_NEVER : 0) |
                              (in->uniform ? GC_CONTROL_UNIFORM : 0) | (meets(in) ? GC_CONTROL_MEETS : 0));
    const uint32_t target = target_of(code, in, &flags);
    return (gc_control){.index = index,
                        .target = target,
                        .opcode = in->opcode,
                        .kind = in->kind,
                        .barrier = meets(in) ? (uint8_t)((in->opcode >> 4) - GC_TOKEN_SSY) : in->barrier,
                        .barrier_class = in->barrier_class,
                        .guard = (uint8_t)(in->guard | (in->guard_not ? GC_CONTROL_NOT : 0)),
                        .second = (uint8_t)(in->second | (in->second_not ? GC_CONTROL_NOT : 0)),
                        .flags = flags};
}

gpuchar_status gc_controls_read(const gc_code *code, gc_control **controls, uint32_t *count) {
    const uint32_t instructions = (uint32_t)gc_code_count(code);
    uint32_t capacity = instructions / 8 + 16;
    *count = 0;
    *controls = malloc(capacity * sizeof **controls);
    if (!*controls) return gc_fail_memory(capacity * sizeof **controls);
    for (uint32_t i = 0; i < instructions; i++) {
        const size_t offset = gc_code_offset(code, i);
        if (!may_control(code, offset)) continue;
        gc_instruction in;
        gc_decode(code, offset, &in);
        if (!is_needed(in.kind)) continue;
        if (*count == capacity) {
            capacity *= 2;
            gc_control *grown = realloc(*controls, capacity * sizeof *grown);
            if (!grown) {
                free(*controls);
                *controls = NULL;
                return gc_fail_memory(capacity * sizeof *grown);
            }
            *controls = grown;
        }
        (*controls)[(*count)++] = shorten(code, i, &in);
    }
    return GPUCHAR_OK;
}
