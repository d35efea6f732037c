/* Control flow of one function: basic blocks and their successors. */
#ifndef GC_SASS_FLOW_H
#define GC_SASS_FLOW_H

#include <sass/decode.h>

#define GC_FLOW_NO_BLOCK UINT32_MAX

/*
 * A clock read is always a block of its own, so that a timed region is a set of blocks. A conditional CALL.REL.NOINC with a BRA
 * back behind it ends one block, not two. `leaves`: the function can end
 * here (EXIT, RET, a jump out), guarded or not.
 */
typedef struct gc_block {
    uint32_t first; /* instruction index */
    uint32_t count;
    uint32_t successor; /* index into gc_flow.successors; distinct, the block that follows in layout last */
    uint32_t successor_count;
    bool leaves;
    bool reachable; /* from the function's entry */
} gc_block;

typedef struct gc_flow {
    gc_instruction *instructions;
    uint32_t instruction_count;
    uint32_t block_count;
    gc_block *blocks; /* in layout order; block 0 is the entry */
    uint32_t *successors;
    uint32_t *block_of; /* by instruction index */
    uint32_t successor_count;
    uint32_t successor_capacity;
    uint64_t code_offset;
} gc_flow;

/*
 * Decodes the function and splits it into blocks. E_SASS_UNKNOWN: a 64-bit encoding (before sm_70), or a branch whose
 * targets are not known; E_SASS_FORMAT: a branch out of the function. gc_flow_free takes a zeroed flow too.
 */
gpuchar_status gc_flow_build(const gc_code *code, gc_flow *flow);
void gc_flow_free(gc_flow *flow);

/* The block that holds the instruction at `pc`; GC_FLOW_NO_BLOCK outside the function. */
uint32_t gc_flow_block_at(const gc_flow *flow, uint64_t pc);
/* Instruction index of `pc`; UINT32_MAX outside the function. */
uint32_t gc_flow_index(const gc_flow *flow, uint64_t pc);
static inline const gc_instruction *gc_flow_last(const gc_flow *flow, const gc_block *block) {
    return &flow->instructions[block->first + block->count - 1];
}

/*
 * Marks (1) the blocks reachable from `from` without entering `without` (GC_FLOW_NO_BLOCK: none); `from` itself is
 * marked unless it is `without`. `marks` and `stack` hold block_count elements; marks already set are not walked again.
 */
void gc_flow_mark(const gc_flow *flow, uint32_t from, uint32_t without, uint8_t *marks, uint32_t *stack);

#endif
