/*
 * The control-flow graph of one function, with dominators, post-dominators and loops. Cost and memory are linear in the
 * code: only control flow is decoded.
 */
#ifndef GC_SASS_GRAPH_H
#define GC_SASS_GRAPH_H

#include <gpuchar/sass.h>
#include <sass/decode.h>
#include <sass/dominators.h>
#include <sass/tokens.h>

#define GC_NO_INDEX UINT32_MAX

/* An instruction that control flow needs, in short. */
typedef struct gc_control {
    uint32_t index;  /* of the instruction */
    uint32_t target; /* instruction index; GC_NO_INDEX: none inside the function */
    uint16_t opcode;
    uint8_t kind; /* gc_op_kind */
    uint8_t barrier;
    uint8_t barrier_class;
    uint8_t guard; /* with GC_CONTROL_NOT */
    uint8_t second;
    uint8_t flags; /* GC_CONTROL_... */
} gc_control;

#define GC_CONTROL_NOT 8u
enum {
    GC_CONTROL_CONDITIONAL = 1u << 0,
    GC_CONTROL_NEVER = 1u << 1,
    GC_CONTROL_UNIFORM = 1u << 2,
    GC_CONTROL_OUT = 1u << 3,  /* it has a target, outside the function */
    GC_CONTROL_MEETS = 1u << 4 /* SSY, PBK, PCNT: threads meet at its target. `barrier` is 0, 1, 2 */
};

typedef struct gc_graph {
    const gc_code *code;
    uint32_t instruction_count;
    uint32_t control_count;
    gc_control *controls; /* in the order of the code */
    gpuchar_sass_block *blocks;
    uint32_t *edges;
    gpuchar_sass_loop *loops;
    uint32_t block_count;
    uint32_t edge_count;
    uint32_t loop_count;
    uint32_t irreducible;
    gc_tokens tokens; /* before sm_70 */
    uint64_t *leads;  /* bit by instruction: a block begins there */
    uint32_t *before; /* by 64 instructions: blocks that begin before them */
    /* Edges with the virtual exit, which is node block_count; those from unreachable blocks are left out. */
    gc_edges out, in;
    gc_tree dominators, post_dominators;
} gc_graph;

/* gc_graph_free takes a zeroed one too. Errors: see gpuchar_sass_graph_get. */
gpuchar_status gc_graph_build(const gc_code *code, gc_graph *graph);
void gc_graph_free(gc_graph *graph);

/* The block that holds an instruction. */
static inline uint32_t gc_graph_block_of(const gc_graph *graph, uint32_t instruction) {
    const uint64_t upto = graph->leads[instruction / 64] & (UINT64_MAX >> (63 - instruction % 64));
    return graph->before[instruction / 64] + (uint32_t)__builtin_popcountll(upto) - 1;
}
static inline bool gc_graph_reaches(const gc_graph *graph, uint32_t block) {
    return (graph->blocks[block].flags & GPUCHAR_SASS_BLOCK_REACHABLE) != 0;
}

/* In loops.c: fills the loops of a graph that has its dominators. */
gpuchar_status gc_graph_find_loops(gc_graph *graph);

/* In controls.c: the instructions that control flow needs. */
gpuchar_status gc_controls_read(const gc_code *code, gc_control **controls, uint32_t *count);

#endif
