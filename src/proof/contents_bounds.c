/* Where a region begins and ends, and where a routine does. */
#include <core/error.h>
#include <proof/contents_body.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long pc_of(const gc_instruction *in) {
    return (unsigned long long)in->pc;
}

static const gc_instruction *first_of(const gc_flow *flow, uint32_t block) {
    return &flow->instructions[flow->blocks[block].first];
}

static bool is_read(const gc_flow *flow, uint32_t block) {
    const gc_instruction *in = first_of(flow, block);
    return flow->blocks[block].reachable && in->kind == GC_OP_CLOCK && !in->never;
}

/* The block of read `number`, and how many there are. */
static uint32_t find_read(const gc_flow *flow, uint32_t number, uint32_t *reads) {
    uint32_t found = GC_CONTENTS_OUT;
    *reads = 0;
    for (uint32_t b = 0; b < flow->block_count; b++) {
        if (!is_read(flow, b)) continue;
        if (*reads == number) found = b;
        ++*reads;
    }
    return found;
}

/* Marks what is reached from `from` until the next clock reads, which are returned: one, or GC_CONTENTS_OUT for none or several. */
static uint32_t mark_until_read(const gc_flow *flow, uint32_t from, uint8_t *inside, uint32_t *stack, uint32_t *met) {
    uint32_t depth = 0, end = GC_CONTENTS_OUT;
    *met = 0;
    stack[depth++] = from;
    while (depth) {
        const gc_block *block = &flow->blocks[stack[--depth]];
        for (uint32_t s = 0; s < block->successor_count; s++) {
            const uint32_t to = flow->successors[block->successor + s];
            if (is_read(flow, to)) {
                *met += to != end;
                end = to;
            } else if (!inside[to]) {
                inside[to] = 1;
                stack[depth++] = to;
            }
        }
    }
    return *met == 1 ? end : GC_CONTENTS_OUT;
}

/* CS2R and CS2UR say how wide they read; S2R and S2UR read half a clock. */
static bool check_read(const gc_instruction *in, gc_contents *contents) {
    if (in->special != GC_SPECIAL_CLOCK)
        return gc_contents_refuse(contents, "the clock read at 0x%llx is of the upper half", pc_of(in));
    if (in->guard != GC_PREDICATE_TRUE)
        return gc_contents_refuse(contents, "the clock read at 0x%llx is predicated", pc_of(in));
    return true;
}

static bool check_reads(const gc_flow *flow, uint32_t start, uint32_t end, gc_contents *contents) {
    const gc_instruction *first = first_of(flow, start), *second = first_of(flow, end);
    contents->start_pc = first->pc;
    contents->end_pc = second->pc;
    contents->clock_bits = first->wide ? 64 : 32;
    contents->start_stall = first->stall;
    if (!check_read(first, contents) || !check_read(second, contents)) return false;
    return first->wide == second->wide ||
           gc_contents_refuse(contents, "the clock reads at 0x%llx and 0x%llx are not equally wide", pc_of(first),
                              pc_of(second));
}

/* Nobody comes into the region, or to its end, but from its start. */
static bool check_edges(const gc_body *body, uint32_t start, gc_contents *contents) {
    const gc_flow *flow = body->flow;
    for (uint32_t b = 0; b < flow->block_count; b++) {
        const gc_block *block = &flow->blocks[b];
        if (!block->reachable) continue;
        if (body->inside[b] && block->leaves)
            return gc_contents_refuse(contents, "the timed region can be left at 0x%llx",
                                      pc_of(gc_flow_last(flow, block)));
        for (uint32_t s = 0; s < block->successor_count; s++) {
            const uint32_t to = flow->successors[block->successor + s];
            const bool into = body->inside[to] || to == body->end;
            if (into && !body->inside[b] && b != start)
                return gc_contents_refuse(contents, "the timed region is entered from outside at 0x%llx",
                                          pc_of(gc_flow_last(flow, block)));
        }
    }
    return true;
}

static bool find_region(gc_body *body, uint32_t number, uint32_t *stack, gc_contents *contents) {
    const gc_flow *flow = body->flow;
    uint32_t met = 0;
    const uint32_t start = find_read(flow, number, &contents->reads);
    if (start == GC_CONTENTS_OUT)
        return gc_contents_refuse(contents, "%u clock reads: there is no number %u", contents->reads, number);
    contents->start_pc = first_of(flow, start)->pc;
    body->end = mark_until_read(flow, start, body->inside, stack, &met);
    if (body->end == GC_CONTENTS_OUT)
        return gc_contents_refuse(contents, "%s behind the clock read at 0x%llx",
                                  met ? "more than one clock read can come next" : "no clock read comes",
                                  pc_of(first_of(flow, start)));
    if (body->end == start)
        return gc_contents_refuse(contents, "the clock read at 0x%llx comes next behind itself",
                                  pc_of(first_of(flow, start)));
    if (!check_reads(flow, start, body->end, contents) || !check_edges(body, start, contents)) return false;
    const gc_block *block = &flow->blocks[start]; /* of one instruction that goes on */
    const uint32_t next = flow->successors[block->successor];
    body->entry = next == body->end ? GC_CONTENTS_OUT : next;
    return true;
}

gpuchar_status gc_body_of_region(gc_body *body, uint32_t number, gc_contents *contents) {
    const uint32_t blocks = body->flow->block_count;
    uint32_t *stack = malloc(blocks * sizeof *stack);
    body->inside = calloc(blocks, 1);
    gpuchar_status status = GPUCHAR_OK;
    if (stack && body->inside)
        find_region(body, number, stack, contents);
    else
        status = gc_fail_memory(blocks * sizeof *stack);
    free(stack);
    return status;
}

static bool check_routine(const gc_body *body, gc_contents *contents) {
    const gc_flow *flow = body->flow;
    for (uint32_t b = 0; b < flow->block_count; b++) {
        const gc_instruction *last = gc_flow_last(flow, &flow->blocks[b]);
        if (!body->inside[b]) continue;
        if (is_read(flow, b))
            return gc_contents_refuse(contents, "a called routine reads the clock at 0x%llx", pc_of(last));
        if (flow->blocks[b].leaves && last->kind != GC_OP_RETURN)
            return gc_contents_refuse(contents, "a called routine ends without returning at 0x%llx", pc_of(last));
        for (uint32_t i = 0; i < flow->blocks[b].count; i++) {
            const gc_instruction *in = &flow->instructions[flow->blocks[b].first + i];
            /* The decoder takes a call of this form inside its own function for a branch. */
            if (in->opcode == GC_OPCODE_CALL_REL && !in->never && in->target == flow->code_offset)
                return gc_contents_refuse(contents, "a called routine calls itself at 0x%llx", pc_of(in));
        }
    }
    return true;
}

gpuchar_status gc_body_of_routine(gc_body *body, gc_contents *contents) {
    const uint32_t blocks = body->flow->block_count;
    body->inside = calloc(blocks, 1);
    if (!body->inside) return gc_fail_memory(blocks);
    for (uint32_t b = 0; b < blocks; b++) body->inside[b] = body->flow->blocks[b].reachable;
    body->entry = 0;
    body->end = GC_CONTENTS_OUT;
    check_routine(body, contents);
    return GPUCHAR_OK;
}
