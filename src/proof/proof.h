/*
 * Proofs about machine code: what stands between the two clock reads of a kernel. A proof never trusts the compiler:
 * counts come from the decoded cubin alone.
 */
#ifndef GC_PROOF_H
#define GC_PROOF_H

#include <gpuchar/stat.h>
#include <stdbool.h>

/* What a kernel with divergent paths claims about itself. */
typedef struct gc_divergence_claim {
    const char *kernel;            /* name of the function in the cubin */
    const char *const *mnemonics;  /* base mnemonics that count as the chained instruction ("FFMA"), any of them */
    uint32_t mnemonic_count;
    uint32_t paths;                /* loops expected in the timed region */
    uint32_t body;                 /* chained instructions expected in each loop */
    uint32_t uniform;              /* 1: no divergent dispatch is expected (a convergent kernel: paths is 1) */
} gc_divergence_claim;

#define GC_PROOF_PATHS_MAX 32

/* What was found. `status` is GPUCHAR_OK, or GPUCHAR_E_NOT_PROVED with `reason` in words ("path 7 holds 127 FFMA, not 128"). */
typedef struct gc_divergence_proof {
    gpuchar_status status;
    char reason[160];
    char mnemonic[32];
    uint32_t paths;                /* loops found between the clock reads */
    uint32_t dispatch_decisions;   /* sum of (successors - 1) over the divergent branches between the clock reads, loops' own back edges left out */
    uint32_t barriers;             /* BSSY intervals inside the region */
    uint32_t loop_instructions[GC_PROOF_PATHS_MAX]; /* all instructions of each loop, padding included */
    uint32_t loop_intended[GC_PROOF_PATHS_MAX];
    uint32_t loop_stall[GC_PROOF_PATHS_MAX];
    uint64_t intended_total;       /* chained instructions in the whole region */
    uint64_t scaffold_total;       /* all others in the region */
    uint64_t region_bytes;
    char scaffold[192];            /* "ISETP 32, IADD3 32, BRA 33, BSSY 1, BSYNC 1, NOP 5": what the scaffold is made of */
} gc_divergence_proof;

/*
 * Proves a divergent kernel: exactly two clock reads that enclose the region; `paths` loops, each one block that
 * branches to itself, entered from the dispatch alone; each holds exactly `body` chained instructions, unguarded, each
 * reading the register that the one before wrote (a single dependent chain), and the same instruction count and the same stall sum; no chained instruction of that
 * kind outside the loops; paths - 1 dispatch decisions, each inside a BSSY interval whose BSYNC is in the region too; no call, no predicated chain instruction, no local memory (spill),
 * no instruction without a known mnemonic, nothing but the listed scaffold. Malformed bytes return E_SASS_FORMAT.
 */
gpuchar_status gc_prove_divergence(const void *cubin, size_t size, const gc_divergence_claim *claim,
                                   gc_divergence_proof *proof);

#endif
