#include <core/error.h>
#include <proof/chain.h>
#include <proof/stored.h>
#include <proof/walk.h>
#include <sass/evaluate.h>
#include <string.h>

/* Blocks outside loops that one thread may enter: no kernel here comes near. */
#define GC_WALK_BLOCKS_MAX 4096
#define GC_LOW_RED 0x18e /* opcode bits [8:0] */

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
    bool rewritten[256]; /* uniform registers that some thread may write in the region */
    gc_stored stored;    /* when the claim says what is stored */
    bool over;           /* the second clock has been read */
} walker;

#define GC_WALK_NONE UINT32_MAX
#define GC_WALK_DONE UINT32_MAX /* instead of a block */

static unsigned long long pc_of(const gc_instruction *in) {
    return (unsigned long long)in->pc;
}

static uint32_t loop_index(const gc_region *region, uint32_t block) {
    for (uint32_t i = 0; i < region->loop_count; i++)
        if (region->loops[i] == block) return i;
    return UINT32_MAX;
}

static bool claims_sample(const walker *w) {
    return w->claim->sample.form != GC_SAMPLE_NONE;
}

/* Control flow is followed at the end of blocks. */
static bool is_passed(const gc_instruction *in) {
    return in->kind == GC_OP_BRANCH || in->kind == GC_OP_EXIT || in->kind == GC_OP_NOP || in->never;
}

static void run(walker *w, const gc_instruction *in) {
    if (!is_passed(in)) gc_thread_step(&w->thread, w->region->code, in);
}

/* A block outside of loops. */
static bool run_block(walker *w, uint32_t block) {
    const gc_block *here = &w->region->flow->blocks[block];
    const bool inside = w->region->inside[block];
    if (inside) w->outside += here->count;
    for (uint32_t i = 0; i < here->count; i++) {
        const gc_instruction *in = &w->region->flow->instructions[here->first + i];
        if (is_passed(in)) continue;
        if (claims_sample(w) && !gc_stored_see(&w->stored, w->region->code, in, inside)) return false;
        /* A reduction leaves no result: it does not matter that one is not known to be made. */
        if ((in->opcode & 0x1ff) != GC_LOW_RED) gc_thread_step(&w->thread, w->region->code, in);
    }
    return true;
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

static bool only_resets(const gc_instruction *in) {
    const bool moves = in->mnemonic && strcmp(in->mnemonic, "UMOV") == 0;
    return in->kind == GC_OP_BMOV || moves || is_passed(in);
}

/*
 * Before the timed region a branch may hang on what is not known (some compilers reset barriers at the entry): when all it does is to
 * jump over the block that follows, control is the same again behind it.
 */
static bool only_skips(const walker *w, uint32_t block, uint32_t target) {
    const gc_flow *flow = w->region->flow;
    if (w->over || w->region->inside[block] || block + 1 >= flow->block_count || w->region->inside[block + 1])
        return false;
    const gc_block *skipped = &flow->blocks[block + 1];
    for (uint32_t i = 0; i < skipped->count; i++)
        if (!only_resets(&flow->instructions[skipped->first + i])) return false;
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
        if (w->over && in->kind == GC_OP_EXIT) {
            *next = GC_WALK_DONE;
            return true;
        }
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
    if (w->claim->mark_bits && w->region->loop_marks[loop] != node)
        return gc_refuse(w->proof, "path %u takes the loop that is made for node %u, not %u, at 0x%llx", w->path,
                         w->region->loop_marks[loop], node, pc_of(first));
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
        gc_thread_settle_uniforms(&w->thread, true);
    } while (*next == block);
    return turns == expected || gc_refuse(w->proof, "path %u turns %u times, not %u", w->path, turns, expected);
}

/* Goes on behind a block outside of loops; the warp is apart from the end of the region's first block on, and whole around it. */
static bool go_on(walker *w, uint32_t *block) {
    const gc_region *region = w->region;
    const uint32_t here = *block;
    if (!leave(w, here, block)) return false;
    gc_thread_settle_uniforms(&w->thread, region->inside[here]);
    if (region->inside[here]) gc_thread_forget_uniforms(&w->thread, w->rewritten);
    w->over = w->over || here == region->end;
    return true;
}

/* To the second clock read, or, when the claim says what is stored, to the thread's end. */
static bool follow(walker *w) {
    const gc_region *region = w->region;
    uint32_t block = 0, blocks = 0;
    while (block != (claims_sample(w) ? GC_WALK_DONE : region->end)) {
        const uint32_t loop = loop_index(region, block);
        if (++blocks > GC_WALK_BLOCKS_MAX)
            return gc_refuse(w->proof, "path %u does not come to %s", w->path,
                             w->over ? "its end" : "the second clock read");
        const bool goes_on =
            loop != UINT32_MAX ? turn_loop(w, block, loop, &block) : run_block(w, block) && go_on(w, &block);
        if (!goes_on) return false;
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

/* A thread that is told path `path`; all other lanes are told another one. */
static bool walk(walker *w, gc_visit visit) {
    const gc_divergence_claim *claim = w->claim;
    if (!claim->uniform) {
        memset(w->arguments + claim->lanes_offset, (int)((visit.path + 1) % claim->paths), 32);
        w->arguments[claim->lanes_offset + visit.thread % 32] = (uint8_t)visit.path;
    }
    w->path = visit.path;
    w->taken = 0;
    w->outside = 0;
    w->over = false;
    if (gc_thread_start(w->region->code, w->arguments, w->told, claim->argument_bytes, visit.thread, &w->thread) < 0)
        return gc_refuse(w->proof, "%s", gpuchar_last_error()->message);
    if (claims_sample(w)) gc_stored_begin(&w->stored, &w->thread, visit);
    return follow(w) && check_outside(w) && (!claims_sample(w) || gc_stored_end(&w->stored));
}

/* Every path with the turns that the arguments tell. */
static bool walk_all(walker *w, bool mirrored) {
    if (claims_sample(w)) gc_stored_tell(&w->stored, mirrored, w->arguments, w->told);
    for (uint32_t path = 0; path < w->claim->paths; path++)
        if (!walk(w, (gc_visit){.path = path, .thread = mirrored ? 31 - path : path, .moment = path % GC_MOMENTS}))
            return false;
    return true;
}

/* Thread 0, which stores, at all moments and whatever the others do; the same of another block. */
static bool walk_first(walker *w) {
    const bool shares = w->claim->sample.form == GC_SAMPLE_BLOCK;
    for (uint32_t scenario = 0; scenario < (shares ? GC_SCENARIOS : 1); scenario++)
        for (uint32_t moment = 0; moment < 2 * GC_MOMENTS; moment++)
            if (!walk(w, (gc_visit){.path = moment % w->claim->paths,
                                    .moment = moment % GC_MOMENTS,
                                    .scenario = scenario,
                                    .far = moment >= GC_MOMENTS}))
                return false;
    return w->claim->sample.form != GC_SAMPLE_SPANS || walk(w, (gc_visit){.block = 1});
}

/* Threads of other warps, the first of each and another one. */
static bool walk_others(walker *w) {
    const uint32_t threads = w->claim->sample.threads;
    const uint32_t others[] = {32, 33, threads - 32, threads - 1};
    for (uint32_t i = 0; threads > 32 && i < sizeof others / sizeof others[0]; i++)
        for (uint32_t scenario = 0; scenario < (w->claim->sample.form == GC_SAMPLE_BLOCK ? GC_SCENARIOS : 1);
             scenario++)
            if (!walk(w, (gc_visit){.thread = others[i], .moment = i, .scenario = scenario})) return false;
    return true;
}

/* A uniform register belongs to the warp: what one thread knows of it may be overwritten on another one's path. */
static void find_rewritten(walker *w) {
    const gc_flow *flow = w->region->flow;
    gc_thread *thread = &w->thread;
    if (gc_thread_start(w->region->code, w->arguments, w->told, w->claim->argument_bytes, 0, thread) < 0) return;
    for (uint32_t i = 0; i < flow->instruction_count; i++)
        if (w->region->inside[flow->block_of[i]]) run(w, &flow->instructions[i]);
    memcpy(w->rewritten, thread->uniform_fresh, sizeof w->rewritten);
}

static void tell_arguments(walker *w) {
    const gc_divergence_claim *claim = w->claim;
    memcpy(w->arguments, claim->arguments, claim->argument_bytes);
    for (uint32_t node = 0; node < gc_claim_nodes(claim); node++)
        memset(w->told + claim->turns_offset + (size_t)claim->turns_stride * node, 1, sizeof(uint32_t));
    if (!claim->uniform || claim->lanes_offset) memset(w->told + claim->lanes_offset, 1, 32);
    if (!claim->zeros_offset) return;
    memset(w->arguments + claim->zeros_offset, 0, 32);
    memset(w->told + claim->zeros_offset, 1, 32);
}

static void set_turns(walker *w, uint32_t node, uint32_t turns) {
    memcpy(turns_of(w, node), &turns, sizeof turns);
}

bool gc_check_walks(const gc_region *region, const gc_divergence_claim *claim, gc_divergence_proof *proof) {
    walker w = {.region = region, .claim = claim, .proof = proof};
    w.stored.claim = &claim->sample;
    w.stored.proof = proof;
    for (uint32_t i = 0; i < GC_PROOF_LOOPS_MAX; i++) w.loop_of[i] = w.node_of[i] = GC_WALK_NONE;
    tell_arguments(&w);
    find_rewritten(&w);
    if (!walk_all(&w, false)) return false;
    /* Once more from other lanes and with other turns, where it can be each node's own number: the lane map alone
     * decides, and the turns are those told. */
    for (uint32_t node = 0; node < gc_claim_nodes(claim); node++)
        set_turns(&w, node, claim->turns_stride ? node + 1 : 1);
    if (!walk_all(&w, true)) return false;
    proof->followed = true;
    if (!claims_sample(&w)) return true;
    for (uint32_t node = 0; node < gc_claim_nodes(claim); node++) set_turns(&w, node, 1); /* they do not matter here */
    proof->stored = walk_first(&w) && walk_others(&w);
    return proof->stored;
}
