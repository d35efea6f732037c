#include <core/error.h>
#include <proof/region.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gc_refuse(gc_divergence_proof *proof, const char *format, ...) {
    if (proof->status == GPUCHAR_E_NOT_PROVED) return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(proof->reason, sizeof proof->reason, format, arguments);
    va_end(arguments);
    proof->status = GPUCHAR_E_NOT_PROVED;
    return false;
}

uint32_t gc_claim_nodes(const gc_divergence_claim *claim) {
    return claim->levels > 1 ? 2 * claim->paths - 1 : claim->paths;
}

gpuchar_status gc_region_open(const gc_code *code, const gc_flow *flow, gc_region *region) {
    memset(region, 0, sizeof *region);
    region->code = code;
    region->flow = flow;
    const size_t count = flow->block_count;
    region->inside = calloc(count, 1);
    region->marks = calloc(count, 1);
    region->stack = calloc(count, sizeof *region->stack);
    region->reach = calloc(count, sizeof *region->reach);
    if (region->inside && region->marks && region->stack && region->reach) return GPUCHAR_OK;
    gc_region_close(region);
    return gc_fail_memory(count * 14);
}

void gc_region_close(gc_region *region) {
    free(region->inside);
    free(region->marks);
    free(region->stack);
    free(region->reach);
    memset(region, 0, sizeof *region);
}

static unsigned long long pc_of(const gc_instruction *in) {
    return (unsigned long long)in->pc;
}

static bool is_clock(const gc_flow *flow, uint32_t block) {
    const gc_instruction *first = &flow->instructions[flow->blocks[block].first];
    return flow->blocks[block].reachable && first->kind == GC_OP_CLOCK && !first->never;
}

static bool find_clocks(gc_region *region, gc_divergence_proof *proof) {
    const gc_flow *flow = region->flow;
    uint32_t found = 0;
    for (uint32_t b = 0; b < flow->block_count; b++) {
        if (!is_clock(flow, b)) continue;
        if (found == 0)
            region->start = b;
        else
            region->end = b;
        found++;
        const gc_instruction *clock = &flow->instructions[flow->blocks[b].first];
        if (!clock->wide || clock->special != GC_SPECIAL_CLOCK)
            return gc_refuse(proof, "the clock read at 0x%llx is not of the 64-bit clock", pc_of(clock));
        if (clock->guard != GC_PREDICATE_TRUE)
            return gc_refuse(proof, "the clock read at 0x%llx is predicated", pc_of(clock));
    }
    return found == 2 || gc_refuse(proof, "%u clock reads, not 2", found);
}

/* No edge may lead into the region, or to its end, but from the first clock read and the region itself. */
static bool check_edge(const gc_region *region, uint32_t from, uint32_t to, gc_divergence_proof *proof) {
    const bool from_inside = region->inside[from] || from == region->start;
    const bool to_inside = region->inside[to] || to == region->end;
    const gc_instruction *last = gc_flow_last(region->flow, &region->flow->blocks[from]);
    if (!from_inside && to_inside)
        return gc_refuse(proof, "the timed region is entered from outside at 0x%llx", pc_of(last));
    if (from_inside && to == region->start)
        return gc_refuse(proof, "the first clock read is repeated from 0x%llx", pc_of(last));
    return true;
}

bool gc_region_find(gc_region *region, gc_divergence_proof *proof) {
    const gc_flow *flow = region->flow;
    if (!find_clocks(region, proof)) return false;
    const gc_block *start = &flow->blocks[region->start];
    for (uint32_t i = 0; i < start->successor_count; i++)
        gc_flow_mark(flow, flow->successors[start->successor + i], region->end, region->inside, region->stack);
    for (uint32_t b = 0; b < flow->block_count; b++) {
        const gc_block *block = &flow->blocks[b];
        if (region->inside[b] && block->leaves)
            return gc_refuse(proof, "the timed region can be left at 0x%llx", pc_of(gc_flow_last(flow, block)));
        for (uint32_t i = 0; block->reachable && i < block->successor_count; i++)
            if (!check_edge(region, b, flow->successors[block->successor + i], proof)) return false;
        if (region->inside[b]) proof->region_bytes += (uint64_t)block->count * 16;
    }
    return true;
}

static bool branches_to_itself(const gc_region *region, uint32_t block) {
    const gc_block *found = &region->flow->blocks[block];
    for (uint32_t i = 0; i < found->successor_count; i++)
        if (region->flow->successors[found->successor + i] == block) return true;
    return false;
}

bool gc_region_is_loop(const gc_region *region, uint32_t block) {
    return region->inside[block] && branches_to_itself(region, block);
}

/* All successors but the block itself are settled (marks == 2) or outside the region. */
static bool settled(const gc_region *region, const gc_block *block, uint32_t self) {
    for (uint32_t i = 0; i < block->successor_count; i++) {
        const uint32_t next = region->flow->successors[block->successor + i];
        if (next != self && region->inside[next] && region->marks[next] != 2) return false;
    }
    return true;
}

static uint64_t reach_of_successors(const gc_region *region, const gc_block *block, uint32_t self) {
    uint64_t reach = 0;
    for (uint32_t i = 0; i < block->successor_count; i++) {
        const uint32_t next = region->flow->successors[block->successor + i];
        if (next != self && region->inside[next]) reach |= region->reach[next];
    }
    return reach;
}

/* Settles blocks from the region's end backwards; what never settles lies on a cycle of several blocks, or before one. */
static bool find_reach(gc_region *region, gc_divergence_proof *proof) {
    const gc_flow *flow = region->flow;
    memset(region->marks, 0, flow->block_count);
    bool progress = true;
    while (progress) {
        progress = false;
        for (uint32_t b = flow->block_count; b-- > 0;) {
            if (!region->inside[b] || region->marks[b] == 2 || !settled(region, &flow->blocks[b], b)) continue;
            region->reach[b] |= reach_of_successors(region, &flow->blocks[b], b);
            region->marks[b] = 2;
            progress = true;
        }
    }
    for (uint32_t b = 0; b < flow->block_count; b++)
        if (region->inside[b] && region->marks[b] != 2)
            return gc_refuse(proof, "a loop of several blocks in the timed region, at or after 0x%llx",
                             pc_of(&flow->instructions[flow->blocks[b].first]));
    return true;
}

bool gc_region_find_loops(gc_region *region, bool nested, gc_divergence_proof *proof) {
    const gc_flow *flow = region->flow;
    for (uint32_t b = 0; b < flow->block_count; b++) {
        if (!gc_region_is_loop(region, b)) continue;
        if (region->loop_count == GC_PROOF_LOOPS_MAX)
            return gc_refuse(proof, "more than %d loops between the clock reads", GC_PROOF_LOOPS_MAX);
        const gc_instruction *last = gc_flow_last(flow, &flow->blocks[b]);
        if (last->kind != GC_OP_BRANCH || flow->blocks[b].successor_count != 2)
            return gc_refuse(proof, "the loop that ends at 0x%llx has no way out or several", pc_of(last));
        region->reach[b] = UINT64_C(1) << region->loop_count;
        region->loops[region->loop_count++] = b;
    }
    proof->loops = region->loop_count;
    if (!find_reach(region, proof)) return false;
    for (uint32_t i = 0; i < region->loop_count && !nested; i++)
        if (region->reach[region->loops[i]] != UINT64_C(1) << i)
            return gc_refuse(proof, "path %u leads into another path", i);
    return true;
}
