/* A loop in which threads ask again and again: where it stands, and what in it lets other threads of the warp go on. */
#ifndef GC_PROOF_SPIN_PROOF_H
#define GC_PROOF_SPIN_PROOF_H

#include <gpuchar/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct gc_spin_claim {
    const char *kernel;
    const char *asks; /* base mnemonic of what asks, "LDG" or "ATOMG" */
    bool one_sided;   /* only one side of a divergent branch spins, and the other one stores */
} gc_spin_claim;

/* `status`: GPUCHAR_OK, or E_NOT_PROVED with a reason; the counts are of the spin loop. */
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
    bool spins_first; /* one_sided: the spin loop's code lies before the other side's first store */
} gc_spin_proof;

/*
 * Finds the one loop with `asks` in it, everything that can lead back to it. With one_sided: a branch that can diverge, of
 * whose two ways exactly one leads to the loop, and a store on the other way that the loop does not come to by itself.
 * Errors as gc_prove_divergence.
 */
gpuchar_status gc_prove_spin(const void *cubin, size_t size, const gc_spin_claim *claim, gc_spin_proof *proof);

#endif
