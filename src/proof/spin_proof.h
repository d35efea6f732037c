/* A loop in which threads ask again and again: where it stands, and what in it lets other threads of the warp go on. */
#ifndef GC_PROOF_SPIN_PROOF_H
#define GC_PROOF_SPIN_PROOF_H

#include <gpuchar/status.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    GC_SPIN_ANYWHERE,  /* one loop asks */
    GC_SPIN_ONE_SIDE,  /* one side of a divergent branch asks in a loop, the other one stores */
    GC_SPIN_BOTH_SIDES /* each side asks in a loop of its own, one of them after a store */
};

typedef struct gc_spin_claim {
    const char *kernel;
    const char *asks; /* base mnemonic of what asks, "LDG" or "ATOMG" */
    uint32_t sides;   /* GC_SPIN_... */
} gc_spin_claim;

/* `status`: GPUCHAR_OK, or E_NOT_PROVED with a reason; the counts are of the spin loops together. */
typedef struct gc_spin_proof {
    gpuchar_status status;
    char reason[160];
    uint32_t instructions; /* padding included */
    uint32_t asks;
    uint32_t yields;
    uint32_t barriers; /* BSSY and BSYNC */
    uint32_t breaks;
    uint32_t warpsyncs;
    uint32_t sleeps;
    bool spins_first; /* ONE_SIDE: the loop lies before the other side's store; BOTH_SIDES: the loop without a store
                         before it lies before the other one */
} gc_spin_proof;

/*
 * Finds the loops with `asks` in them, everything that can lead back to each: one, or two for BOTH_SIDES. With sides: a branch that
 * can diverge, of whose ways each leads to its own part of it. Errors as gc_prove_divergence.
 */
gpuchar_status gc_prove_spin(const void *cubin, size_t size, const gc_spin_claim *claim, gc_spin_proof *proof);

#endif
