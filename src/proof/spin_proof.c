#include <core/error.h>
#include <proof/spin_proof.h>
#include <sass/flow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Marks of all blocks from each block: few blocks, so plain closure. */
typedef struct graph {
    const gc_flow *flow;
    uint8_t *reaches; /* [from][to]: by one step or more */
    uint32_t *stack;
} graph;

static bool reaches(const graph *g, uint32_t from, uint32_t to) {
    return g->reaches[(size_t)from * g->flow->block_count + to] != 0;
}

/* More than any of these kernels has: the closure is quadratic. */
#define GC_SPIN_BLOCKS_MAX 1024

static gpuchar_status open_graph(const gc_flow *flow, graph *g) {
    const size_t count = flow->block_count;
    memset(g, 0, sizeof *g);
    g->flow = flow;
    if (count > GC_SPIN_BLOCKS_MAX) return gc_fail(GPUCHAR_E_LIMIT, "%zu blocks in a kernel that spins", count);
    g->reaches = calloc(count * count, 1);
    g->stack = calloc(count, sizeof *g->stack);
    if (!g->reaches || !g->stack) return gc_fail_memory(count * count);
    for (uint32_t b = 0; b < count; b++) {
        const gc_block *block = &flow->blocks[b];
        for (uint32_t i = 0; i < block->successor_count; i++)
            gc_flow_mark(flow, flow->successors[block->successor + i], GC_FLOW_NO_BLOCK, g->reaches + b * count,
                         g->stack);
    }
    return GPUCHAR_OK;
}

static void close_graph(graph *g) {
    free(g->reaches);
    free(g->stack);
}

static bool refuse(gc_spin_proof *proof, const char *reason, const char *word) {
    snprintf(proof->reason, sizeof proof->reason, reason, word);
    proof->status = GPUCHAR_E_NOT_PROVED;
    return false;
}

static bool is_store(const gc_instruction *in) {
    return !in->never && in->mnemonic && strcmp(in->mnemonic, "STG") == 0;
}

static bool asks(const gc_spin_claim *claim, const gc_instruction *in) {
    return !in->never && in->mnemonic && strcmp(in->mnemonic, claim->asks) == 0;
}

static bool in_loop(const graph *g, uint32_t loop, uint32_t block) {
    return reaches(g, loop, block) && reaches(g, block, loop);
}

/* One block of each loop that asks; false after a refusal. */
static bool find_loops(const graph *g, const gc_spin_claim *claim, uint32_t loops[2], gc_spin_proof *proof) {
    const uint32_t wanted = claim->sides == GC_SPIN_BOTH_SIDES ? 2 : 1;
    uint32_t found = 0;
    for (uint32_t i = 0; i < g->flow->instruction_count; i++) {
        const uint32_t block = g->flow->block_of[i];
        if (!asks(claim, &g->flow->instructions[i]) || !g->flow->blocks[block].reachable || !reaches(g, block, block))
            continue;
        if ((found > 0 && in_loop(g, loops[0], block)) || (found > 1 && in_loop(g, loops[1], block))) continue;
        if (found == wanted) return refuse(proof, "%s stands in more loops than it should", claim->asks);
        loops[found++] = block;
    }
    if (found < wanted) return refuse(proof, "too few loops hold %s", claim->asks);
    if (wanted == 2 && (reaches(g, loops[0], loops[1]) || reaches(g, loops[1], loops[0])))
        return refuse(proof, "one loop with %s leads into the other", claim->asks);
    return true;
}

static void count_loop(const graph *g, const gc_spin_claim *claim, uint32_t loop, gc_spin_proof *proof) {
    for (uint32_t i = 0; i < g->flow->instruction_count; i++) {
        const gc_instruction *in = &g->flow->instructions[i];
        if (!in_loop(g, loop, g->flow->block_of[i])) continue;
        proof->instructions++;
        proof->asks += asks(claim, in);
        proof->yields += in->kind == GC_OP_YIELD;
        proof->barriers += in->kind == GC_OP_BSSY || in->kind == GC_OP_BSYNC;
        proof->breaks += in->kind == GC_OP_BREAK;
        proof->warpsyncs += in->kind == GC_OP_WARPSYNC;
        proof->sleeps += in->kind == GC_OP_NANOSLEEP;
    }
}

/* The two ways of a branch that can diverge, outside of the loop; NULL: it is none. */
static const uint32_t *ways_of(const graph *g, uint32_t block, uint32_t loop) {
    const gc_block *from = &g->flow->blocks[block];
    const gc_instruction *last = gc_flow_last(g->flow, from);
    const bool divides = last->kind == GC_OP_BRANCH && !last->uniform && from->successor_count == 2;
    return divides && from->reachable && !in_loop(g, loop, block) ? &g->flow->successors[from->successor] : NULL;
}

static bool leads(const graph *g, uint32_t from, uint32_t to) {
    return from == to || reaches(g, from, to);
}

/* The first store that `from` leads to and, when `before`, that leads to the loop, else that the loop does not lead to. */
static uint32_t find_store(const graph *g, uint32_t from, uint32_t loop, bool before) {
    for (uint32_t i = 0; i < g->flow->instruction_count; i++) {
        const uint32_t at = g->flow->block_of[i];
        if (!is_store(&g->flow->instructions[i]) || !leads(g, from, at) || in_loop(g, loop, at)) continue;
        if (before ? reaches(g, at, loop) : !reaches(g, loop, at)) return i;
    }
    return UINT32_MAX;
}

static bool check_one_side(const graph *g, uint32_t loop, gc_spin_proof *proof) {
    for (uint32_t b = 0; b < g->flow->block_count; b++) {
        const uint32_t *ways = ways_of(g, b, loop);
        if (!ways || leads(g, ways[0], loop) == leads(g, ways[1], loop)) continue;
        const uint32_t store = find_store(g, ways[leads(g, ways[0], loop) ? 1 : 0], loop, false);
        if (store == UINT32_MAX) continue;
        proof->spins_first = g->flow->blocks[loop].first < store;
        return true;
    }
    return refuse(proof, "no divergent branch has a spin loop on one side and a store on the other%s", "");
}

static bool check_both_sides(const graph *g, const uint32_t loops[2], gc_spin_proof *proof) {
    for (uint32_t b = 0; b < g->flow->block_count; b++) {
        const uint32_t *ways = ways_of(g, b, loops[0]);
        if (!ways) continue;
        const uint32_t first = leads(g, ways[0], loops[0]) ? 0 : 1;
        if (!leads(g, ways[0], loops[first]) || leads(g, ways[0], loops[1 - first]) ||
            !leads(g, ways[1], loops[1 - first]) || leads(g, ways[1], loops[first]))
            continue;
        const bool stores[2] = {find_store(g, ways[first], loops[0], true) != UINT32_MAX,
                                find_store(g, ways[1 - first], loops[1], true) != UINT32_MAX};
        if (stores[0] == stores[1]) continue;
        const uint32_t waits = loops[stores[0] ? 1 : 0], calls = loops[stores[0] ? 0 : 1];
        proof->spins_first = g->flow->blocks[waits].first < g->flow->blocks[calls].first;
        return true;
    }
    return refuse(proof, "no divergent branch has a spin loop on each side, one of them behind a store%s", "");
}

static void check(const graph *g, const gc_spin_claim *claim, gc_spin_proof *proof) {
    uint32_t loops[2] = {GC_FLOW_NO_BLOCK, GC_FLOW_NO_BLOCK};
    if (!find_loops(g, claim, loops, proof)) return;
    count_loop(g, claim, loops[0], proof);
    if (claim->sides == GC_SPIN_ONE_SIDE) check_one_side(g, loops[0], proof);
    if (claim->sides != GC_SPIN_BOTH_SIDES) return;
    count_loop(g, claim, loops[1], proof);
    check_both_sides(g, loops, proof);
}

static gpuchar_status prove_flow(const gc_flow *flow, const gc_spin_claim *claim, gc_spin_proof *proof) {
    graph g;
    gpuchar_status status = open_graph(flow, &g);
    if (!status && g.reaches) check(&g, claim, proof);
    close_graph(&g);
    return status;
}

gpuchar_status gc_prove_spin(const void *cubin, size_t size, const gc_spin_claim *claim, gc_spin_proof *proof) {
    gc_cubin file;
    gc_code code;
    gc_flow flow;
    memset(proof, 0, sizeof *proof);
    gpuchar_status status = gc_cubin_open(cubin, size, &file);
    if (!status) status = gc_cubin_function(&file, claim->kernel, &code);
    if (!status) status = gc_flow_build(&code, &flow);
    if (!status) {
        status = prove_flow(&flow, claim, proof);
        gc_flow_free(&flow);
    }
    if (status) proof->status = status;
    return status;
}
