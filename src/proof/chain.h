/* What stands in one path's loop: the chain, and the scaffold around it. */
#ifndef GC_PROOF_CHAIN_H
#define GC_PROOF_CHAIN_H

#include <proof/region.h>

/* Whether this is a multiplication: an IMAD that only moves, shifts or adds is not. */
bool gc_is_multiply_add(const gc_instruction *in);
/* Whether this is the claimed instruction at work: an IMAD that only moves, shifts or adds is not. */
bool gc_is_intended(const gc_divergence_claim *claim, const gc_instruction *in);
/* Whether this is an instruction of the chain: the claimed one, or the link that keeps MUFU's paths apart. */
bool gc_is_link(const gc_divergence_claim *claim, const gc_instruction *in);
/* Fills the proof's loop fields of path `path`; false after gc_refuse. */
bool gc_check_loop(gc_region *region, const gc_divergence_claim *claim, uint32_t path, gc_divergence_proof *proof);

#endif
