#include <proof/chain.h>
#include <string.h>

static unsigned long long pc_of(const gc_instruction *in) {
    return (unsigned long long)in->pc;
}

static bool is_one_of(const char *name, const char *const *list) {
    for (; *list; list++)
        if (strcmp(name, *list) == 0) return true;
    return false;
}

static bool claims(const gc_divergence_claim *claim, const char *mnemonic) {
    for (uint32_t i = 0; i < claim->mnemonic_count; i++)
        if (mnemonic && strcmp(mnemonic, claim->mnemonics[i]) == 0) return true;
    return false;
}

#define GC_LOW_IMAD 0x024 /* opcode bits [8:0] of the 32-bit low product; .WIDE and .HI are others */

bool gc_is_multiply_add(const gc_instruction *in) {
    if ((in->opcode & 0x1ff) != GC_LOW_IMAD || in->source_a == GC_REGISTER_ZERO || in->zero_b || in->zero_c)
        return false;
    /* A factor of 0, 1 or another power of two is a move, an addition or a shift in disguise. */
    const bool plain = in->has_immediate && in->immediate_is_b && (in->immediate & (in->immediate - 1)) == 0;
    return !plain;
}

bool gc_is_intended(const gc_divergence_claim *claim, const gc_instruction *in) {
    if (in->never || !claims(claim, in->mnemonic)) return false;
    return strcmp(in->mnemonic, "IMAD") != 0 || gc_is_multiply_add(in);
}

/* MUFU takes no immediate that could keep paths apart: one addition or multiplication per loop does it. */
static bool is_marker(const gc_divergence_claim *claim, const gc_instruction *in) {
    static const char *const MARKERS[] = {"FADD", "FMUL", NULL};
    return !in->never && claims(claim, "MUFU") && !claims(claim, in->mnemonic) && is_one_of(in->mnemonic, MARKERS);
}

bool gc_is_link(const gc_divergence_claim *claim, const gc_instruction *in) {
    return gc_is_intended(claim, in) || is_marker(claim, in);
}

static bool is_move(const gc_instruction *in) {
    return strcmp(in->mnemonic, "IMAD") == 0 && (in->opcode & 0x1ff) == GC_LOW_IMAD && in->source_a == GC_REGISTER_ZERO;
}

static bool is_loop_scaffold(const gc_instruction *in) {
    static const char *const ALLOWED[] = {"IADD3",  "IADD", "VIADD", "UIADD3", "UVIADD", "ISETP",
                                          "UISETP", "BRA",  "NOP",   "MOV",    "UMOV",   NULL};
    return in->never || in->kind == GC_OP_BRANCH || is_one_of(in->mnemonic, ALLOWED) || is_move(in);
}

/* The register that carries a chain, and its width; unknown before the first link of the first turn. */
typedef struct value {
    uint16_t first;
    uint8_t count;
    uint8_t scoreboard; /* that tells when a load or MUFU is done */
    bool variable;      /* made by such a one: stall counts do not wait for it */
    bool arrived;       /* something has waited for that scoreboard */
    uint32_t stalled;   /* cycles since the link that made it was issued */
    uint32_t links;
} value;

/* All chains of a loop. */
typedef struct chains {
    value live[GC_PROOF_CHAINS_MAX];
    uint32_t count;   /* claimed */
    uint32_t started; /* found so far */
} chains;

static bool writes_into(const gc_instruction *in, value live) {
    return live.count && in->destination_count && in->destination < live.first + live.count &&
           live.first < in->destination + in->destination_count;
}

/* Whether the link reads the live value where its result depends on it at full latency: a factor, operand or address. */
static bool reads(const gc_instruction *in, value live) {
    if (in->access_bytes) return in->source_a == live.first && live.count == in->destination_count;
    return live.count == 1 && (in->source_a == live.first || in->source_b == live.first);
}

static bool check_link(const gc_divergence_claim *claim, const gc_instruction *in, uint32_t path,
                       gc_divergence_proof *proof) {
    if (in->guard != GC_PREDICATE_TRUE)
        return gc_refuse(proof, "%s of path %u at 0x%llx is predicated", in->mnemonic, path, pc_of(in));
    if (!in->writes_known || in->destination_count == 0)
        return gc_refuse(proof, "%s of path %u at 0x%llx writes no known register", in->mnemonic, path, pc_of(in));
    if (strcmp(in->mnemonic, "MUFU") == 0 && in->function != claim->function)
        return gc_refuse(proof, "MUFU of path %u at 0x%llx is function %u, not %u", path, pc_of(in), in->function,
                         claim->function);
    if (in->access_bytes && !in->plain)
        return gc_refuse(proof, "%s of path %u at 0x%llx has a cache operator, a scope or another kind of address",
                         in->mnemonic, path, pc_of(in));
    if (in->access_bytes && in->access_bytes != 8)
        return gc_refuse(proof, "%s of path %u at 0x%llx loads %u bytes, not an address", in->mnemonic, path, pc_of(in),
                         in->access_bytes);
    return true;
}

/* The chain that a link goes on, or starts; NULL: it belongs to none. */
static value *chain_of(chains *all, const gc_instruction *in) {
    for (uint32_t i = 0; i < all->started; i++)
        if (reads(in, all->live[i])) return &all->live[i];
    return all->started < all->count ? &all->live[all->started++] : NULL;
}

/* The chain that `in` writes into, other than `own`. */
static const value *overwritten(const chains *all, const value *own, const gc_instruction *in) {
    for (uint32_t i = 0; i < all->started; i++)
        if (&all->live[i] != own && writes_into(in, all->live[i])) return &all->live[i];
    return NULL;
}

/* What an instruction waits for before it is issued. */
static void wait_for(chains *all, const gc_instruction *in) {
    for (uint32_t i = 0; i < all->started; i++) {
        value *live = &all->live[i];
        if (live->scoreboard < 6 && in->wait_mask >> live->scoreboard & 1) live->arrived = true;
    }
}

static void pass_time(chains *all, const gc_instruction *in) {
    for (uint32_t i = 0; i < all->started; i++) all->live[i].stalled += in->stall;
}

static bool is_there(const value *live) {
    return live->count == 0 || (live->variable ? live->arrived : live->stalled >= GC_PROOF_STALL_MIN);
}

/* A link takes its chain's value and makes the next one. */
static bool take_link(const gc_divergence_claim *claim, const gc_instruction *in, value *own) {
    const bool there = is_there(own);
    own->first = in->destination;
    own->count = in->destination_count;
    own->variable = in->access_bytes != 0 || strcmp(in->mnemonic, "MUFU") == 0;
    own->scoreboard = in->write_barrier;
    own->arrived = false;
    own->stalled = 0;
    own->links += gc_is_intended(claim, in);
    return there;
}

static bool follow_link(const gc_divergence_claim *claim, const gc_instruction *in, uint32_t path, chains *all,
                        gc_divergence_proof *proof) {
    value *own = gc_is_link(claim, in) ? chain_of(all, in) : NULL;
    if (gc_is_link(claim, in) && !own)
        return gc_refuse(proof, "the chain of path %u is broken: %s at 0x%llx does not read the one before", path,
                         in->mnemonic, pc_of(in));
    if (own && !take_link(claim, in, own))
        return gc_refuse(proof, "the chain of path %u is broken: %s at 0x%llx does not wait for the one before", path,
                         in->mnemonic, pc_of(in));
    return !overwritten(all, own, in) || gc_refuse(proof, "the chain of path %u is broken: %s at 0x%llx overwrites it",
                                                   path, in->mnemonic, pc_of(in));
}

/* One turn of the loop. The chains come in as the turn before left them and go out as this one leaves them. */
static bool follow_chains(const gc_flow *flow, const gc_block *block, const gc_divergence_claim *claim, uint32_t path,
                          chains *all, gc_divergence_proof *proof) {
    for (uint32_t i = 0; i < block->count; i++) {
        const gc_instruction *in = &flow->instructions[block->first + i];
        wait_for(all, in);
        if (!in->never && !follow_link(claim, in, path, all, proof)) return false;
        pass_time(all, in);
    }
    return true;
}

/* Twice around: the second turn begins with what the first one left. */
static bool check_chains(const gc_flow *flow, const gc_block *block, const gc_divergence_claim *claim, uint32_t path,
                         chains *all, gc_divergence_proof *proof) {
    memset(all, 0, sizeof *all);
    all->count = claim->chains ? claim->chains : 1;
    for (uint32_t turn = 0; turn < 2; turn++)
        if (!follow_chains(flow, block, claim, path, all, proof)) return false;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->live[i].links != 2 * claim->body / all->count)
            return gc_refuse(proof, "chain %u of path %u has %u links, not %u", i, path, all->live[i].links / 2,
                             claim->body / all->count);
    return true;
}

/*
 * Whether the loop's own code behind it waits for a chain's last value: `block` and what follows it, as long as nobody gets there
 * but through this loop.
 */
static bool awaits(gc_region *region, uint32_t loop, uint32_t block, value live) {
    const gc_flow *flow = region->flow;
    memset(region->marks, 0, flow->block_count);
    region->marks[region->end] = 1;
    for (uint32_t other = 0; other < region->loop_count; other++)
        if (region->loops[other] != loop) gc_flow_mark(flow, region->loops[other], loop, region->marks, region->stack);
    while (!region->marks[block]) {
        const gc_block *own = &flow->blocks[block];
        for (uint32_t i = 0; i < own->count; i++) {
            const gc_instruction *in = &flow->instructions[own->first + i];
            const bool reads_it =
                in->source_a == live.first || in->source_b == live.first || in->source_c == live.first;
            if (reads_it && in->guard == GC_PREDICATE_TRUE && !in->guard_not) return true;
            if (writes_into(in, live)) return false;
        }
        if (own->successor_count != 1) return false;
        region->marks[block] = 1; /* not twice */
        block = flow->successors[own->successor];
    }
    return false;
}

static bool check_end(gc_region *region, uint32_t path, const chains *all, gc_divergence_proof *proof) {
    const uint32_t loop = region->loops[path];
    const gc_block *block = &region->flow->blocks[loop];
    const uint32_t *next = &region->flow->successors[block->successor];
    for (uint32_t i = 0; i < all->count; i++)
        if (!awaits(region, loop, next[0] == loop ? next[1] : next[0], all->live[i]))
            return gc_refuse(proof, "path %u ends before its result is there", path);
    return true;
}

/* Loads and MUFU wait by their scoreboards; what is stalled beside that is small. */
static bool check_stalls(const gc_divergence_claim *claim, const chains *all, uint32_t path, uint32_t stall,
                         gc_divergence_proof *proof) {
    const uint32_t links = claim->body / all->count;
    return all->live[0].variable || stall <= links * GC_PROOF_STALL_MAX + GC_PROOF_LOOP_STALL_MAX ||
           gc_refuse(proof, "path %u stalls for %u cycles a turn, more than %u links one after the other need", path,
                     stall, links);
}

typedef struct content {
    uint32_t intended, markers, scaffold, stall;
} content;

static bool check_instruction(const gc_divergence_claim *claim, const gc_instruction *in, uint32_t path, content *sum,
                              gc_divergence_proof *proof) {
    sum->stall += in->stall;
    if (!in->mnemonic)
        return gc_refuse(proof, "path %u holds an unknown instruction (opcode 0x%x) at 0x%llx", path, in->opcode,
                         pc_of(in));
    if (gc_is_intended(claim, in)) {
        sum->intended++;
        return check_link(claim, in, path, proof);
    }
    if (is_marker(claim, in)) {
        sum->markers++;
        return check_link(claim, in, path, proof);
    }
    const bool may_write = !in->never && in->kind != GC_OP_BRANCH && !in->writes_known;
    if (!is_loop_scaffold(in) || may_write)
        return gc_refuse(proof, "path %u holds an unexpected %s at 0x%llx", path, in->mnemonic, pc_of(in));
    sum->scaffold += in->kind != GC_OP_NOP && !in->never;
    return true;
}

/* The number in a link's constant; false: it has none. */
static bool read_mark(const gc_divergence_claim *claim, const gc_instruction *in, uint32_t *mark) {
    const uint32_t constant = in->access_bytes ? (uint32_t)in->offset : in->immediate;
    *mark = constant >> claim->mark_shift & ((1u << claim->mark_bits) - 1);
    return in->access_bytes || in->has_immediate;
}

/* All links of a loop carry one number; MUFU, which has no constant, leaves that to the link beside it. */
static bool check_marks(gc_region *region, const gc_divergence_claim *claim, uint32_t path,
                        gc_divergence_proof *proof) {
    const gc_block *block = &region->flow->blocks[region->loops[path]];
    uint32_t marked = 0, mark = 0;
    for (uint32_t i = 0; i < block->count && claim->mark_bits; i++) {
        const gc_instruction *in = &region->flow->instructions[block->first + i];
        if (!gc_is_link(claim, in) || strcmp(in->mnemonic, "MUFU") == 0) continue;
        if (!read_mark(claim, in, &mark) || (marked++ && mark != region->loop_marks[path]))
            return gc_refuse(proof, "%s of path %u at 0x%llx does not carry the number of its path", in->mnemonic, path,
                             pc_of(in));
        region->loop_marks[path] = mark;
    }
    return marked || !claim->mark_bits || gc_refuse(proof, "path %u carries no number", path);
}

static const char *claimed_name(const gc_divergence_claim *claim, const gc_divergence_proof *proof) {
    return proof->mnemonic[0] ? proof->mnemonic : claim->mnemonics[0];
}

bool gc_check_loop(gc_region *region, const gc_divergence_claim *claim, uint32_t path, gc_divergence_proof *proof) {
    const gc_flow *flow = region->flow;
    const gc_block *block = &flow->blocks[region->loops[path]];
    content sum = {0};
    bool good = true;
    for (uint32_t i = 0; i < block->count; i++)
        good = check_instruction(claim, &flow->instructions[block->first + i], path, &sum, proof) && good;
    proof->loop_instructions[path] = block->count;
    proof->loop_intended[path] = sum.intended;
    proof->loop_stall[path] = sum.stall;
    if (!good) return false;
    if (sum.intended != claim->body)
        return gc_refuse(proof, "path %u holds %u %s, not %u", path, sum.intended, claimed_name(claim, proof),
                         claim->body);
    if (sum.markers > 1 || sum.scaffold > GC_PROOF_LOOP_SCAFFOLD_MAX)
        return gc_refuse(proof, "path %u holds too much scaffold: %u instructions and %u markers", path, sum.scaffold,
                         sum.markers);
    chains all;
    return check_chains(flow, block, claim, path, &all, proof) && check_stalls(claim, &all, path, sum.stall, proof) &&
           check_end(region, path, &all, proof) && check_marks(region, claim, path, proof);
}
