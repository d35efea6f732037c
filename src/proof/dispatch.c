/* Who decides which path a thread takes, and where the threads meet again. */
#include <proof/region.h>
#include <string.h>

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

static bool check_barriers(const gc_region *region, gc_divergence_proof *proof) {
    const gc_flow *flow = region->flow;
    uint32_t ends = 0;
    for (uint32_t i = 0; i < flow->instruction_count; i++) {
        const gc_instruction *in = &flow->instructions[i];
        if (!region->inside[flow->block_of[i]] || (in->kind != GC_OP_BSSY && in->kind != GC_OP_BSYNC)) continue;
        if (!is_unguarded(in)) return gc_refuse(proof, "%s at 0x%llx is predicated", in->mnemonic, pc_of(in));
        if (in->kind == GC_OP_BSYNC) {
            ends++;
            continue;
        }
        if (!bsync_of(region, in))
            return gc_refuse(proof, "BSSY at 0x%llx has no BSYNC in the timed region", pc_of(in));
        proof->barriers++;
    }
    return ends == proof->barriers || gc_refuse(proof, "%u BSYNC for %u BSSY", ends, proof->barriers);
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
    if (!check_barriers(region, proof)) return false;
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
