/* The timed region of a kernel: the blocks between its two clock reads, its loops and its BSSY intervals. */
#ifndef GC_PROOF_REGION_H
#define GC_PROOF_REGION_H

#include <proof/proof.h>
#include <sass/flow.h>
#include <stdbool.h>

typedef struct gc_region {
    const gc_code *code;
    const gc_flow *flow;
    uint32_t start; /* blocks of the clock reads */
    uint32_t end;
    uint8_t *inside;                    /* by block: 1 between the clock reads */
    uint8_t *marks;                     /* scratch, by block */
    uint32_t *stack;                    /* scratch, by block */
    uint64_t *reach;                    /* by block: bit n: loop n can be reached, itself included */
    uint32_t loops[GC_PROOF_LOOPS_MAX]; /* blocks */
    uint32_t loop_count;
    uint32_t loop_marks[GC_PROOF_LOOPS_MAX]; /* the number in each loop's constants, when the claim tells where */
} gc_region;

/* Refuses the proof with a reason; returns false, so that `return gc_refuse(...)` is the idiom. The first reason stays. */
bool gc_refuse(gc_divergence_proof *proof, const char *format, ...) __attribute__((format(printf, 2, 3)));

gpuchar_status gc_region_open(const gc_code *code, const gc_flow *flow, gc_region *region);
void gc_region_close(gc_region *region);

/* Loops that a claim expects. */
uint32_t gc_claim_nodes(const gc_divergence_claim *claim);

/* Each returns false after gc_refuse. In this order: */
bool gc_region_find(gc_region *region, gc_divergence_proof *proof);
/* `nested`: one loop may lead into another. */
bool gc_region_find_loops(gc_region *region, bool nested, gc_divergence_proof *proof);
/* Decisions of the dispatch, each inside an interval that no thread leaves but through its BSYNC. */
bool gc_region_check_dispatch(gc_region *region, gc_divergence_proof *proof);

bool gc_region_is_loop(const gc_region *region, uint32_t block);

#endif
