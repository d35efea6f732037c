/* Who decides which path a thread takes, and where the threads meet again. */
#include <proof/region.h>
#include <string.h>

/* BMOV from a barrier to a register, opcode bits [8:0]. */
#define GC_LOW_BMOV_OUT 0x155

static unsigned long long pc_of(const gc_instruction *in) {
    return (unsigned long long)in->pc;
}

/* The BSYNC of a BSSY: it stands right before the BSSY's target. NULL: not there, or of another barrier. */
static const gc_instruction *bsync_of(const gc_region *region, const gc_instruction *bssy) {
    const uint32_t index = gc_flow_index(region->flow, bssy->target - 16);
    if (bssy->target < 16 || index == UINT32_MAX) return NULL;
    const gc_instruction *found = &region->flow->instructions[index];
    const bool inside = region->inside[region->flow->block_of[index]];
    return found->kind == GC_OP_BSYNC && found->barrier == bssy->barrier && inside ? found : NULL;
}

static bool is_unguarded(const gc_instruction *in) {
    return in->guard == GC_PREDICATE_TRUE && !in->guard_not;
}

/* A BMOV may clear the barrier that the BSSY behind it sets up (sm_75 does); any other one could let threads go or hold them. */
static bool only_clears(const gc_region *region, uint32_t index) {
    const gc_instruction *in = &region->flow->instructions[index];
    if (index + 1 >= region->flow->instruction_count) return false;
    const gc_instruction *next = in + 1;
    return (in->opcode & 0x1ff) == GC_LOW_BMOV_OUT && in->destination == GC_REGISTER_ZERO && next->kind == GC_OP_BSSY &&
           next->barrier == in->barrier;
}

static bool check_barrier(const gc_region *region, uint32_t index, uint32_t *ends, gc_divergence_proof *proof) {
    const gc_instruction *in = &region->flow->instructions[index];
    switch (in->kind) {
    case GC_OP_BSSY:
    case GC_OP_BSYNC:
        if (!is_unguarded(in)) return gc_refuse(proof, "%s at 0x%llx is predicated", in->mnemonic, pc_of(in));
        *ends += in->kind == GC_OP_BSYNC;
        if (in->kind == GC_OP_BSYNC) return true;
        proof->barriers++;
        return bsync_of(region, in) || gc_refuse(proof, "BSSY at 0x%llx has no BSYNC in the timed region", pc_of(in));
    case GC_OP_BMOV:
        return only_clears(region, index) || gc_refuse(proof, "BMOV at 0x%llx changes a barrier", pc_of(in));
    case GC_OP_WARPSYNC:
        return (in->whole_warp && is_unguarded(in)) ||
               gc_refuse(proof, "WARPSYNC at 0x%llx is not of the whole warp", pc_of(in));
    default:
        return true;
    }
}

static bool check_barriers(const gc_region *region, gc_divergence_proof *proof) {
    uint32_t ends = 0;
    for (uint32_t i = 0; i < region->flow->instruction_count; i++)
        if (region->inside[region->flow->block_of[i]] && !check_barrier(region, i, &ends, proof)) return false;
    return ends == proof->barriers || gc_refuse(proof, "%u BSYNC for %u BSSY", ends, proof->barriers);
}

/* Between a BSSY and its BSYNC no other BSSY may take the same barrier. */
static bool is_kept(gc_region *region, const gc_instruction *bssy, gc_divergence_proof *proof) {
    const gc_flow *flow = region->flow;
    const gc_instruction *bsync = bsync_of(region, bssy);
    const uint32_t from = gc_flow_index(flow, bssy->pc), to = gc_flow_index(flow, bsync->pc);
    const gc_block *block = &flow->blocks[flow->block_of[from]];
    memset(region->marks, 0, flow->block_count);
    for (uint32_t i = 0; i < block->successor_count; i++)
        gc_flow_mark(flow, flow->successors[block->successor + i], flow->block_of[to], region->marks, region->stack);
    for (uint32_t i = 0; i < flow->instruction_count; i++) {
        const gc_instruction *in = &flow->instructions[i];
        const uint32_t at = flow->block_of[i];
        const bool between =
            region->marks[at] || (at == flow->block_of[from] && i > from) || (at == flow->block_of[to] && i < to);
        if (between && i != from && region->inside[at] && in->kind == GC_OP_BSSY && in->barrier == bssy->barrier)
            return gc_refuse(proof, "BSSY at 0x%llx takes a barrier that is in use", pc_of(in));
    }
    return true;
}

static bool check_kept(gc_region *region, gc_divergence_proof *proof) {
    const gc_flow *flow = region->flow;
    for (uint32_t i = 0; i < flow->instruction_count; i++) {
        const gc_instruction *in = &flow->instructions[i];
        if (region->inside[flow->block_of[i]] && in->kind == GC_OP_BSSY && !is_kept(region, in, proof)) return false;
    }
    return true;
}

/* Whether every way from `block` to the second clock read goes through the block of `join`. */
static bool must_pass(gc_region *region, uint32_t block, const gc_instruction *join) {
    const gc_flow *flow = region->flow;
    memset(region->marks, 0, flow->block_count);
    gc_flow_mark(flow, block, gc_flow_block_at(flow, join->pc), region->marks, region->stack);
    return !region->marks[region->end];
}

/* Where the threads that `in`, a branch, sends apart meet again; NULL when this one is no such place. */
static const gc_instruction *join_of(const gc_region *region, const gc_instruction *in,
                                     const gc_instruction *candidate) {
    /* Compilers before CUDA 12.9 leave the outermost interval out on sm_90, where the kernel waits for the whole warp anyway. */
    if (candidate->kind == GC_OP_WARPSYNC && candidate->whole_warp && is_unguarded(candidate) &&
        candidate->second == GC_PREDICATE_TRUE && !candidate->second_not)
        return candidate;
    const bool around = candidate->kind == GC_OP_BSSY && candidate->pc < in->pc && candidate->target - 16 > in->pc;
    return around ? bsync_of(region, candidate) : NULL;
}

/* Whether `in`, the last instruction of `block`, stands before a meeting place that no thread can go around. */
static bool is_joined(gc_region *region, uint32_t block, const gc_instruction *in) {
    const gc_flow *flow = region->flow;
    for (uint32_t i = 0; i < flow->instruction_count; i++) {
        if (!region->inside[flow->block_of[i]]) continue;
        const gc_instruction *join = join_of(region, in, &flow->instructions[i]);
        /* What stands in the branch's own block stands before it. */
        if (join && gc_flow_block_at(flow, join->pc) != block && must_pass(region, block, join)) return true;
    }
    return false;
}

static uint32_t ways_to_paths(const gc_region *region, const gc_block *block) {
    uint32_t ways = 0;
    for (uint32_t i = 0; i < block->successor_count; i++) {
        const uint32_t next = region->flow->successors[block->successor + i];
        ways += region->inside[next] && region->reach[next] != 0;
    }
    return ways;
}

bool gc_region_check_dispatch(gc_region *region, gc_divergence_proof *proof) {
    const gc_flow *flow = region->flow;
    if (!check_barriers(region, proof) || !check_kept(region, proof)) return false;
    for (uint32_t b = 0; b < flow->block_count; b++) {
        if (!region->inside[b] || gc_region_is_loop(region, b)) continue;
        const uint32_t ways = ways_to_paths(region, &flow->blocks[b]);
        if (ways < 2) continue;
        const gc_instruction *branch = gc_flow_last(flow, &flow->blocks[b]);
        proof->dispatch_decisions += ways - 1;
        if (branch->uniform) return gc_refuse(proof, "the dispatch at 0x%llx is a uniform branch", pc_of(branch));
        if (!is_joined(region, b, branch))
            return gc_refuse(proof, "the dispatch at 0x%llx has no BSYNC or WARPSYNC that all its threads meet at",
                             pc_of(branch));
    }
    return true;
}
