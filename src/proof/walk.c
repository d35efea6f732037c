#include <core/error.h>
#include <proof/chain.h>
#include <proof/walk.h>
#include <sass/evaluate.h>
#include <string.h>

/* Blocks outside loops that one thread may enter: no kernel here comes near. */
#define GC_WALK_BLOCKS_MAX 4096

typedef struct walker {
    const gc_region *region;
    const gc_divergence_claim *claim;
    gc_divergence_proof *proof;
    gc_thread thread;
    uint8_t arguments[GC_PROOF_ARGUMENTS_MAX];
    uint8_t told[GC_PROOF_ARGUMENTS_MAX]; /* turns, lanes and zeros; all else may vary from launch to launch */
    uint32_t path;
    uint32_t outside; /* instructions between the clock reads that stood in no loop */
    uint32_t taken;   /* loops so far, of the path's levels */
    /* By node and by loop, over all walks: which loop is which node's. */
    uint32_t loop_of[GC_PROOF_LOOPS_MAX];
    uint32_t node_of[GC_PROOF_LOOPS_MAX];
} walker;

#define GC_WALK_NONE UINT32_MAX

static unsigned long long pc_of(const gc_instruction *in) {
    return (unsigned long long)in->pc;
}

static uint32_t loop_index(const gc_region *region, uint32_t block) {
    for (uint32_t i = 0; i < region->loop_count; i++)
        if (region->loops[i] == block) return i;
    return UINT32_MAX;
}

static void run(walker *w, const gc_instruction *in) {
    if (in->kind == GC_OP_BRANCH || in->kind == GC_OP_NOP || in->never) return;
    gc_thread_step(&w->thread, w->region->code, in);
}

/* What is left of a loop's turn when its chain is left out. */
typedef struct control {
    const gc_instruction *steps[GC_PROOF_LOOP_SCAFFOLD_MAX];
    uint32_t count;
    bool alone; /* the steps are all that matters: they never write what the chain writes, so it stays unknown */
} control;

static control control_of(const walker *w, const gc_block *block) {
    bool chained[GC_REGISTER_ZERO + 8] = {false};
    control found = {.alone = true};
    for (uint32_t i = 0; i < block->count; i++) {
        const gc_instruction *in = &w->region->flow->instructions[block->first + i];
        if (in->kind == GC_OP_NOP || in->kind == GC_OP_BRANCH || in->never) continue;
        if (!gc_is_link(w->claim, in)) {
            if (found.count == GC_PROOF_LOOP_SCAFFOLD_MAX) return (control){.alone = false};
            found.steps[found.count++] = in;
            continue;
        }
        for (uint32_t r = 0; r < in->destination_count && r < 8; r++) chained[in->destination + r] = true;
    }
    for (uint32_t i = 0; i < found.count; i++)
        for (uint32_t r = 0; r < found.steps[i]->destination_count && r < 8; r++)
            if (chained[found.steps[i]->destination + r]) found.alone = false;
    return found;
}

/*
 * Outside the timed region a branch may hang on what is not known (some compilers reset barriers at the entry): when all it does is to
 * jump over the block that follows, control is the same again behind it.
 */
static bool only_skips(const walker *w, uint32_t block, uint32_t target) {
    const gc_flow *flow = w->region->flow;
    if (w->region->inside[block] || block + 1 >= flow->block_count || w->region->inside[block + 1]) return false;
    const gc_block *skipped = &flow->blocks[block + 1];
    return !skipped->leaves && skipped->successor_count == 1 && flow->successors[skipped->successor] == target;
}

/* Where control goes at the block's end; false after gc_refuse. */
static bool leave(walker *w, uint32_t block, uint32_t *next) {
    const gc_flow *flow = w->region->flow;
    const gc_block *here = &flow->blocks[block];
    *next = block + 1;
    /* A long loop ends in a conditional way out and a branch back: two ways in one block. */
    for (uint32_t i = here->count > 1 ? here->count - 2 : 0; i < here->count; i++) {
        const gc_instruction *in = &flow->instructions[here->first + i];
        const bool ends = in->kind == GC_OP_EXIT || in->kind == GC_OP_RETURN || in->kind == GC_OP_JUMP ||
                          in->kind == GC_OP_CALL || in->kind == GC_OP_INDIRECT;
        if (in->kind != GC_OP_BRANCH && !ends) continue;
        const gc_value taken =
            ends ? gc_thread_guard(&w->thread, in) : gc_thread_branches(&w->thread, w->region->code, in);
        const uint32_t target = in->kind == GC_OP_BRANCH ? gc_flow_block_at(flow, in->target) : GC_FLOW_NO_BLOCK;
        if (!taken.known && only_skips(w, block, target)) {
            gc_thread_forget(&w->thread);
            *next = target;
            return true;
        }
        if (!taken.known)
            return gc_refuse(w->proof, "whether path %u takes the %s at 0x%llx is not known", w->path, in->mnemonic,
                             pc_of(in));
        if (!taken.bits) continue;
        if (ends)
            return gc_refuse(w->proof, "path %u does not come back from the %s at 0x%llx", w->path, in->mnemonic,
                             pc_of(in));
        *next = target;
        return true;
    }
    return *next < flow->block_count || gc_refuse(w->proof, "path %u runs out of the function", w->path);
}

static uint32_t levels_of(const gc_divergence_claim *claim) {
    return claim->levels ? claim->levels : 1;
}

/* The node that a path takes on a level: the path's bits are its decisions, the highest first. */
static uint32_t node_at(const gc_divergence_claim *claim, uint32_t path, uint32_t level) {
    if (claim->levels <= 1) return path;
    return (1u << level) - 1 + (path >> (claim->levels - 1 - level));
}

static uint8_t *turns_of(walker *w, uint32_t node) {
    return w->arguments + w->claim->turns_offset + (size_t)w->claim->turns_stride * node;
}

/* The walk came to a loop: of the node whose turn it is, now and in every other walk. */
static bool enter_loop(walker *w, const gc_instruction *first, uint32_t loop, uint32_t *turns) {
    if (w->taken == levels_of(w->claim))
        return gc_refuse(w->proof, "path %u takes more than %u loops, at 0x%llx", w->path, w->taken, pc_of(first));
    const uint32_t node = node_at(w->claim, w->path, w->taken++);
    if (w->loop_of[node] == GC_WALK_NONE && w->node_of[loop] == GC_WALK_NONE) {
        w->loop_of[node] = loop;
        w->node_of[loop] = node;
    }
    if (w->loop_of[node] == GC_WALK_NONE)
        return gc_refuse(w->proof, "path %u takes the loop of another one, at 0x%llx", w->path, pc_of(first));
    if (w->loop_of[node] != loop)
        return gc_refuse(w->proof, "path %u takes another loop from another lane, at 0x%llx", w->path, pc_of(first));
    memcpy(turns, turns_of(w, node), sizeof *turns);
    return true;
}

static bool turn_loop(walker *w, uint32_t block, uint32_t loop, uint32_t *next) {
    const gc_block *body = &w->region->flow->blocks[block];
    const gc_instruction *first = &w->region->flow->instructions[body->first];
    const control turn = control_of(w, body);
    uint32_t expected = 0, turns = 0;
    if (!enter_loop(w, first, loop, &expected)) return false;
    do {
        if (++turns > expected) return gc_refuse(w->proof, "path %u turns more than %u times", w->path, expected);
        /* The first turn makes all of the chain's registers unknown. */
        if (turns == 1 || !turn.alone)
            for (uint32_t i = 0; i < body->count; i++) run(w, first + i);
        else
            for (uint32_t i = 0; i < turn.count; i++) run(w, turn.steps[i]);
        if (!leave(w, block, next)) return false;
    } while (*next == block);
    return turns == expected || gc_refuse(w->proof, "path %u turns %u times, not %u", w->path, turns, expected);
}

static bool follow(walker *w) {
    const gc_region *region = w->region;
    const gc_flow *flow = region->flow;
    uint32_t block = 0, blocks = 0;
    while (block != region->end) {
        const uint32_t loop = loop_index(region, block);
        if (++blocks > GC_WALK_BLOCKS_MAX)
            return gc_refuse(w->proof, "path %u does not come to the second clock read", w->path);
        if (loop != UINT32_MAX) {
            if (!turn_loop(w, block, loop, &block)) return false;
            continue;
        }
        if (region->inside[block]) w->outside += flow->blocks[block].count;
        for (uint32_t i = 0; i < flow->blocks[block].count; i++)
            run(w, &flow->instructions[flow->blocks[block].first + i]);
        const bool inside = region->inside[block];
        if (!leave(w, block, &block)) return false;
        gc_thread_settle_uniforms(&w->thread, inside);
    }
    return w->taken == levels_of(w->claim) ||
           gc_refuse(w->proof, "path %u takes %u loops, not %u", w->path, w->taken, levels_of(w->claim));
}

/* The way to a path's loops and from them: short, and about as long for every path. */
static bool check_outside(walker *w) {
    gc_divergence_proof *proof = w->proof;
    if (proof->outside_max == 0 || w->outside < proof->outside_min) proof->outside_min = w->outside;
    if (w->outside > proof->outside_max) proof->outside_max = w->outside;
    if (proof->outside_max > GC_PROOF_OUTSIDE_MAX + 16 * levels_of(w->claim))
        return gc_refuse(proof, "path %u goes through %u instructions outside of loops", w->path, w->outside);
    return proof->outside_max - proof->outside_min <= GC_PROOF_OUTSIDE_SPREAD ||
           gc_refuse(proof, "path %u goes through %u instructions outside of loops, another one through %u to %u",
                     w->path, w->outside, proof->outside_min, proof->outside_max);
}

/* A thread at lane `lane` that is told path `path`; all other lanes are told another one. */
static bool walk(walker *w, uint32_t path, uint32_t lane) {
    const gc_divergence_claim *claim = w->claim;
    if (!claim->uniform) {
        memset(w->arguments + claim->lanes_offset, (int)((path + 1) % claim->paths), 32);
        w->arguments[claim->lanes_offset + lane] = (uint8_t)path;
    }
    w->path = path;
    w->taken = 0;
    w->outside = 0;
    if (gc_thread_start(w->region->code, w->arguments, w->told, claim->argument_bytes, lane, &w->thread) < 0)
        return gc_refuse(w->proof, "%s", gpuchar_last_error()->message);
    return follow(w) && check_outside(w);
}

/* Every path with the turns that the arguments tell. */
static bool walk_all(walker *w, bool mirrored) {
    for (uint32_t path = 0; path < w->claim->paths; path++)
        if (!walk(w, path, mirrored ? 31 - path : path)) return false;
    return true;
}

bool gc_check_walks(const gc_region *region, const gc_divergence_claim *claim, gc_divergence_proof *proof) {
    walker w = {.region = region, .claim = claim, .proof = proof};
    for (uint32_t i = 0; i < GC_PROOF_LOOPS_MAX; i++) w.loop_of[i] = w.node_of[i] = GC_WALK_NONE;
    memcpy(w.arguments, claim->arguments, claim->argument_bytes);
    for (uint32_t node = 0; node < gc_claim_nodes(claim); node++)
        memset(w.told + claim->turns_offset + (size_t)claim->turns_stride * node, 1, sizeof(uint32_t));
    if (!claim->uniform || claim->lanes_offset) memset(w.told + claim->lanes_offset, 1, 32);
    if (claim->zeros_offset) {
        memset(w.arguments + claim->zeros_offset, 0, 32);
        memset(w.told + claim->zeros_offset, 1, 32);
    }
    if (!walk_all(&w, false)) return false;
    /* Once more from other lanes and with other turns, where it can be each node's own number: the lane map alone
     * decides, and the turns are those told. */
    for (uint32_t node = 0; node < gc_claim_nodes(claim); node++) {
        const uint32_t turns = claim->turns_stride ? node + 1 : 1;
        memcpy(turns_of(&w, node), &turns, sizeof turns);
    }
    proof->followed = walk_all(&w, true);
    return proof->followed;
}
