#include <core/error.h>
#include <proof/spin_proof.h>
#include <proof/spin_walk.h>
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

static bool refuse(gc_spin_proof *proof, const char *reason) {
    snprintf(proof->reason, sizeof proof->reason, "%s", reason);
    proof->status = GPUCHAR_E_NOT_PROVED;
    return false;
}

static bool in_loop(const graph *g, uint32_t loop, uint32_t block) {
    return reaches(g, loop, block) && reaches(g, block, loop);
}

static void count_loop(const graph *g, uint32_t loop, gc_spin_proof *proof) {
    for (uint32_t i = 0; i < g->flow->instruction_count; i++) {
        const gc_instruction *in = &g->flow->instructions[i];
        if (!in_loop(g, loop, g->flow->block_of[i])) continue;
        proof->instructions++;
        proof->yields += in->kind == GC_OP_YIELD;
        proof->barriers += in->kind == GC_OP_BSSY || in->kind == GC_OP_BSYNC;
        proof->breaks += in->kind == GC_OP_BREAK;
        proof->warpsyncs += in->kind == GC_OP_WARPSYNC;
        proof->sleeps += in->kind == GC_OP_NANOSLEEP;
    }
}

/* The loops that lanes were seen to ask in: one, or two that do not lead into each other. */
static bool check_loops(const graph *g, const gc_spin_claim *claim, const gc_spin_found *found, gc_spin_proof *proof) {
    const uint32_t others = g->flow->block_of[found->asks_others];
    if (!reaches(g, others, others)) return refuse(proof, "what the lanes ask with stands in no loop");
    count_loop(g, others, proof);
    if (claim->act != GC_SPIN_WAITS_FOR_PEER) return true;
    const uint32_t first = g->flow->block_of[found->asks_first];
    if (!reaches(g, first, first)) return refuse(proof, "what lane 0 asks with stands in no loop");
    if (reaches(g, first, others) || reaches(g, others, first))
        return refuse(proof, "the loop of one side leads into the other's");
    count_loop(g, first, proof);
    return true;
}

/* Where lane 0 does what the others wait for: its flag's store, or, where it asks, its loop. */
static bool is_before(const graph *g, const gc_spin_claim *claim, const gc_spin_found *found) {
    const gc_block *others = &g->flow->blocks[g->flow->block_of[found->asks_others]];
    if (claim->act == GC_SPIN_PRODUCES) return others->first < found->tells;
    return claim->act == GC_SPIN_WAITS_FOR_PEER &&
           others->first < g->flow->blocks[g->flow->block_of[found->asks_first]].first;
}

static gpuchar_status prove_flow(const gc_code *code, const gc_flow *flow, const gc_spin_claim *claim,
                                 gc_spin_proof *proof) {
    graph g;
    gc_spin_found found;
    gpuchar_status status = GPUCHAR_OK;
    if (!gc_check_spins(code, flow, claim, &found, proof, &status)) return status;
    status = open_graph(flow, &g);
    if (!status && g.reaches && check_loops(&g, claim, &found, proof))
        proof->spins_first = is_before(&g, claim, &found);
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
        status = prove_flow(&code, &flow, claim, proof);
        gc_flow_free(&flow);
    }
    if (status) proof->status = status;
    return status;
}
