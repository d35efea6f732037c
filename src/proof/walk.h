/* Who takes which path and how often it turns: single threads followed through the machine code. */
#ifndef GC_PROOF_WALK_H
#define GC_PROOF_WALK_H

#include <proof/region.h>

/*
 * Follows, for every path, a thread with that path's number from the kernel's entry to the second clock read; after the
 * loops were found. Fills proof->followed; false after gc_refuse.
 */
bool gc_check_walks(const gc_region *region, const gc_divergence_claim *claim, gc_divergence_proof *proof);

#endif
