/* What the lanes of a kernel that spins do: each of them followed through the machine code, with others who answer or do not. */
#ifndef GC_PROOF_SPIN_WALK_H
#define GC_PROOF_SPIN_WALK_H

#include <proof/spin_proof.h>
#include <sass/flow.h>

/* What the walks found, as instruction indices. */
typedef struct gc_spin_found {
    uint32_t asks_first; /* what lane 0 asks with; UINT32_MAX: it does not ask */
    uint32_t asks_others;
    uint32_t tells; /* lane 0's strong store of the flag; UINT32_MAX: none */
} gc_spin_found;

/*
 * Follows every lane from the kernel's entry to its end. False with a reason and E_NOT_PROVED in `proof`, or, with `status`
 * below 0, a failure.
 */
bool gc_check_spins(const gc_code *code, const gc_flow *flow, const gc_spin_claim *claim, gc_spin_found *found,
                    gc_spin_proof *proof, gpuchar_status *status);

#endif
