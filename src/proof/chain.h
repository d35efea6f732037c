/* What stands in one path's loop: the chain, and the scaffold around it. */
#ifndef GC_PROOF_CHAIN_H
#define GC_PROOF_CHAIN_H

#include <proof/region.h>

/* Whether this is the claimed instruction at work: an IMAD that only moves, shifts or adds is not. */
bool gc_is_intended(const gc_divergence_claim *claim, const gc_instruction *in);
/* Whether the claim names this mnemonic. */
bool gc_claims(const gc_divergence_claim *claim, const char *mnemonic);
/* Fills the proof's loop fields of path `path`; false after gc_refuse. */
bool gc_check_loop(const gc_region *region, const gc_divergence_claim *claim, uint32_t path,
                   gc_divergence_proof *proof);

#endif
