#include <core/error.h>
#include <sass/flow.h>
#include <stdlib.h>
#include <string.h>

#define GC_TARGETS_MAX 4096 /* of one indirect branch, repeats included */

uint32_t gc_flow_index(const gc_flow *flow, uint64_t pc) {
    if (pc < flow->code_offset || (pc - flow->code_offset) % 16) return UINT32_MAX;
    const uint64_t index = (pc - flow->code_offset) / 16;
    return index < flow->instruction_count ? (uint32_t)index : UINT32_MAX;
}

uint32_t gc_flow_block_at(const gc_flow *flow, uint64_t pc) {
    const uint32_t index = gc_flow_index(flow, pc);
    return index == UINT32_MAX ? GC_FLOW_NO_BLOCK : flow->block_of[index];
}

static bool ends_block(const gc_instruction *in) {
    switch (in->kind) {
    case GC_OP_BRANCH:
    case GC_OP_INDIRECT:
    case GC_OP_JUMP:
    case GC_OP_RETURN:
    case GC_OP_EXIT:
        return !in->never;
    case GC_OP_CLOCK:
        return true;
    default:
        return false;
    }
}

/*
 * The end of a long loop as compilers write it for sm_80 to sm_89: a conditional way out by CALL.REL.NOINC, then BRA back. The
 * two are one branch with two targets, so that the loop stays one block.
 */
static bool is_way_out(const gc_flow *flow, uint32_t index) {
    if (index + 1 >= flow->instruction_count) return false;
    const gc_instruction *in = &flow->instructions[index], *next = in + 1;
    return in->kind == GC_OP_BRANCH && in->opcode == GC_OPCODE_CALL_REL && in->conditional && !in->never &&
           next->kind == GC_OP_BRANCH && !next->conditional && !next->never && next->target <= in->pc;
}

static gpuchar_status bad_target(const gc_instruction *in) {
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "the branch at 0x%llx leaves its function", (unsigned long long)in->pc);
}

static gpuchar_status lead(const gc_flow *flow, const gc_instruction *in, uint64_t target, uint8_t *leaders) {
    const uint32_t index = gc_flow_index(flow, target);
    if (index == UINT32_MAX) return bad_target(in);
    leaders[index] = 1;
    return GPUCHAR_OK;
}

static gpuchar_status read_targets(const gc_code *code, const gc_instruction *in, uint64_t *targets, size_t *count) {
    *count = gc_code_branch_targets(code, in->pc, targets, GC_TARGETS_MAX);
    if (*count == 0 || *count > GC_TARGETS_MAX)
        return gc_fail(GPUCHAR_E_SASS_UNKNOWN, "the targets of the indirect branch at 0x%llx are not known",
                       (unsigned long long)in->pc);
    return GPUCHAR_OK;
}

static gpuchar_status mark_leaders(const gc_code *code, const gc_flow *flow, uint64_t *targets, uint8_t *leaders) {
    leaders[0] = 1;
    for (uint32_t i = 0; i < flow->instruction_count; i++) {
        const gc_instruction *in = &flow->instructions[i];
        if (!ends_block(in)) continue;
        if (i + 1 < flow->instruction_count && !is_way_out(flow, i)) leaders[i + 1] = 1;
        gpuchar_status status = GPUCHAR_OK;
        size_t count = 0;
        if (in->kind == GC_OP_CLOCK)
            leaders[i] = 1;
        else if (in->kind == GC_OP_BRANCH)
            status = lead(flow, in, in->target, leaders);
        else if (in->kind == GC_OP_INDIRECT)
            status = read_targets(code, in, targets, &count);
        for (size_t t = 0; !status && t < count; t++) status = lead(flow, in, targets[t], leaders);
        if (status) return status;
    }
    return GPUCHAR_OK;
}

static void make_blocks(gc_flow *flow, const uint8_t *leaders) {
    for (uint32_t i = 0; i < flow->instruction_count; i++) {
        if (leaders[i]) flow->blocks[flow->block_count++].first = i;
        flow->block_of[i] = flow->block_count - 1;
        flow->blocks[flow->block_count - 1].count++;
    }
}

static gpuchar_status add_successor(gc_flow *flow, gc_block *block, uint32_t successor) {
    for (uint32_t i = 0; i < block->successor_count; i++)
        if (flow->successors[block->successor + i] == successor) return GPUCHAR_OK;
    if (flow->successor_count == flow->successor_capacity) {
        const uint32_t capacity = flow->successor_capacity ? flow->successor_capacity * 2 : 256;
        uint32_t *grown = realloc(flow->successors, capacity * sizeof *grown);
        if (!grown) return gc_fail_memory(capacity * sizeof *grown);
        flow->successors = grown;
        flow->successor_capacity = capacity;
    }
    flow->successors[flow->successor_count++] = successor;
    block->successor_count++;
    return GPUCHAR_OK;
}

static gpuchar_status link_block(const gc_code *code, gc_flow *flow, uint64_t *targets, uint32_t index) {
    gc_block *block = &flow->blocks[index];
    block->successor = flow->successor_count;
    const gc_instruction *last = gc_flow_last(flow, block);
    const bool turns = ends_block(last) && last->kind != GC_OP_CLOCK;
    gpuchar_status status = GPUCHAR_OK;
    size_t count = 0;
    if (block->count > 1 && is_way_out(flow, block->first + block->count - 2))
        status = add_successor(flow, block, gc_flow_block_at(flow, last[-1].target));
    if (!status && turns && last->kind == GC_OP_BRANCH)
        status = add_successor(flow, block, gc_flow_block_at(flow, last->target));
    else if (!status && turns && last->kind == GC_OP_INDIRECT)
        status = read_targets(code, last, targets, &count);
    else
        block->leaves = turns;
    for (size_t t = 0; !status && t < count; t++)
        status = add_successor(flow, block, gc_flow_block_at(flow, targets[t]));
    if (!status && (!turns || last->conditional)) {
        if (index + 1 < flow->block_count)
            status = add_successor(flow, block, index + 1);
        else
            block->leaves = true;
    }
    return status;
}

void gc_flow_mark(const gc_flow *flow, uint32_t from, uint32_t without, uint8_t *marks, uint32_t *stack) {
    if (from == without || marks[from]) return;
    uint32_t depth = 0;
    marks[from] = 1;
    stack[depth++] = from;
    while (depth) {
        const gc_block *block = &flow->blocks[stack[--depth]];
        for (uint32_t i = 0; i < block->successor_count; i++) {
            const uint32_t next = flow->successors[block->successor + i];
            if (next == without || marks[next]) continue;
            marks[next] = 1;
            stack[depth++] = next;
        }
    }
}

static gpuchar_status mark_reachable(gc_flow *flow) {
    if (flow->block_count == 0) return GPUCHAR_OK;
    uint8_t *marks = calloc(flow->block_count, 1);
    uint32_t *stack = malloc(flow->block_count * sizeof *stack);
    gpuchar_status status = GPUCHAR_OK;
    if (marks && stack) {
        gc_flow_mark(flow, 0, GC_FLOW_NO_BLOCK, marks, stack);
        for (uint32_t i = 0; i < flow->block_count; i++) flow->blocks[i].reachable = marks[i] != 0;
    } else {
        status = gc_fail_memory(flow->block_count * (sizeof *stack + 1));
    }
    free(marks);
    free(stack);
    return status;
}

static gpuchar_status build(const gc_code *code, gc_flow *flow, uint64_t *targets, uint8_t *leaders) {
    for (uint32_t i = 0; i < flow->instruction_count; i++) gc_decode(code, (size_t)i * 16, &flow->instructions[i]);
    gpuchar_status status = mark_leaders(code, flow, targets, leaders);
    if (status) return status;
    make_blocks(flow, leaders);
    for (uint32_t i = 0; i < flow->block_count && !status; i++) status = link_block(code, flow, targets, i);
    return status ? status : mark_reachable(flow);
}

gpuchar_status gc_flow_build(const gc_code *code, gc_flow *flow) {
    memset(flow, 0, sizeof *flow);
    if (code->arch < 70)
        return gc_fail(GPUCHAR_E_SASS_UNKNOWN, "the 64-bit encoding of sm_%u is not decoded yet", code->arch);
    if (code->size / 16 == 0 || code->size / 16 > UINT32_MAX / 2)
        return gc_fail(GPUCHAR_E_SASS_FORMAT, "the function holds no usable number of instructions");
    const uint32_t count = (uint32_t)(code->size / 16);
    flow->code_offset = code->offset;
    flow->instruction_count = count;
    flow->instructions = malloc(count * sizeof *flow->instructions);
    flow->blocks = calloc(count, sizeof *flow->blocks);
    flow->block_of = calloc(count, sizeof *flow->block_of);
    uint8_t *leaders = calloc(count, 1);
    uint64_t *targets = malloc(GC_TARGETS_MAX * sizeof *targets);
    gpuchar_status status;
    if (flow->instructions && flow->blocks && flow->block_of && leaders && targets)
        status = build(code, flow, targets, leaders);
    else
        status = gc_fail_memory(count * sizeof *flow->instructions);
    free(leaders);
    free(targets);
    if (status) gc_flow_free(flow);
    return status;
}

void gc_flow_free(gc_flow *flow) {
    free(flow->instructions);
    free(flow->blocks);
    free(flow->successors);
    free(flow->block_of);
    memset(flow, 0, sizeof *flow);
}
