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
    if (count > GC_SPIN_BLOCKS_MAX) return gc_fail(GPUCHAR_E_LIMIT, "%zu blocks in a kernel that spins", count);
    g->flow = flow;
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

static void refuse(gc_spin_proof *proof, const char *reason, const char *word) {
    snprintf(proof->reason, sizeof proof->reason, reason, word);
    proof->status = GPUCHAR_E_NOT_PROVED;
}

static bool is_store(const gc_instruction *in) {
    return !in->never && in->mnemonic && strcmp(in->mnemonic, "STG") == 0;
}

static bool asks(const gc_spin_claim *claim, const gc_instruction *in) {
    return !in->never && in->mnemonic && strcmp(in->mnemonic, claim->asks) == 0;
}

/* The block of the loop that asks; GC_FLOW_NO_BLOCK after a refusal. */
static uint32_t find_loop(const graph *g, const gc_spin_claim *claim, gc_spin_proof *proof) {
    uint32_t found = GC_FLOW_NO_BLOCK;
    for (uint32_t i = 0; i < g->flow->instruction_count; i++) {
        const uint32_t block = g->flow->block_of[i];
        if (!asks(claim, &g->flow->instructions[i]) || !g->flow->blocks[block].reachable || !reaches(g, block, block))
            continue;
        if (found != GC_FLOW_NO_BLOCK && !(reaches(g, found, block) && reaches(g, block, found))) {
            refuse(proof, "%s stands in more than one loop", claim->asks);
            return GC_FLOW_NO_BLOCK;
        }
        found = block;
    }
    if (found == GC_FLOW_NO_BLOCK) refuse(proof, "no loop holds %s", claim->asks);
    return found;
}

static bool in_loop(const graph *g, uint32_t loop, uint32_t block) {
    return reaches(g, loop, block) && reaches(g, block, loop);
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

/* The first store that is reached from `block`, itself included, and not from the loop; UINT32_MAX: none. */
static uint32_t own_store(const graph *g, uint32_t loop, uint32_t block) {
    for (uint32_t i = 0; i < g->flow->instruction_count; i++) {
        const uint32_t at = g->flow->block_of[i];
        if (is_store(&g->flow->instructions[i]) && (at == block || reaches(g, block, at)) && !reaches(g, loop, at))
            return i;
    }
    return UINT32_MAX;
}

/* A branch whose one way spins and whose other way stores. */
static bool divides(const graph *g, uint32_t loop, uint32_t block, uint32_t *store) {
    const gc_block *from = &g->flow->blocks[block];
    const gc_instruction *last = gc_flow_last(g->flow, from);
    if (last->kind != GC_OP_BRANCH || last->uniform || from->successor_count != 2 || in_loop(g, loop, block))
        return false;
    const uint32_t *ways = &g->flow->successors[from->successor];
    const bool spins[2] = {ways[0] == loop || reaches(g, ways[0], loop), ways[1] == loop || reaches(g, ways[1], loop)};
    if (spins[0] == spins[1]) return false;
    *store = own_store(g, loop, ways[spins[0] ? 1 : 0]);
    return *store != UINT32_MAX;
}

static void check_sides(const graph *g, uint32_t loop, gc_spin_proof *proof) {
    uint32_t store = UINT32_MAX;
    for (uint32_t b = 0; b < g->flow->block_count; b++) {
        if (!g->flow->blocks[b].reachable || !divides(g, loop, b, &store)) continue;
        proof->spins_first = g->flow->blocks[loop].first < store;
        return;
    }
    refuse(proof, "no divergent branch has a spin loop on one side and a store on the other%s", "");
}

static gpuchar_status prove_flow(const gc_flow *flow, const gc_spin_claim *claim, gc_spin_proof *proof) {
    graph g;
    gpuchar_status status = open_graph(flow, &g);
    if (!status) {
        const uint32_t loop = find_loop(&g, claim, proof);
        if (loop != GC_FLOW_NO_BLOCK) {
            count_loop(&g, claim, loop, proof);
            if (claim->one_sided) check_sides(&g, loop, proof);
        }
    }
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
