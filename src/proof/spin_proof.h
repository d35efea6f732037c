/* Lanes that ask again and again: what they do, where their loops stand, and what in them lets other threads go on. */
#ifndef GC_PROOF_SPIN_PROOF_H
#define GC_PROOF_SPIN_PROOF_H

#include <gpuchar/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the lanes of one warp do, see forward_progress.cu. */
enum {
    GC_SPIN_TAKES_LOCK,    /* each wants the lock, counts, and gives it back */
    GC_SPIN_PRODUCES,      /* lane 0 works and tells, the others ask */
    GC_SPIN_WAITS_FOR_PEER /* lane 0 tells and asks, the others ask, and lane 1 answers */
};

/* Offsets: of the kernel's arguments, and in State. */
typedef struct gc_spin_layout {
    uint32_t argument_bytes; /* at most 128 */
    uint32_t samples_argument, sink_argument, slot_argument, turns_argument, state_argument, limit_argument;
    uint32_t lock, counter, flag, answer, turn, spins;
} gc_spin_layout;

typedef struct gc_spin_claim {
    const char *kernel;
    uint32_t act; /* GC_SPIN_... */
    const gc_spin_layout *layout;
} gc_spin_claim;

/* The producer's turns are followed to their end up to this number. */
#define GC_SPIN_TURNS_FOLLOWED 1000

/* `status`: GPUCHAR_OK, or E_NOT_PROVED with a reason; the counts are of the spin loops together. */
typedef struct gc_spin_proof {
    gpuchar_status status;
    char reason[200];
    uint32_t instructions; /* padding included */
    uint32_t yields;
    uint32_t barriers; /* BSSY and BSYNC */
    uint32_t breaks;
    uint32_t warpsyncs;
    uint32_t sleeps;
    bool spins_first; /* the loop of the lanes that only ask lies before what lane 0 does */
} gc_spin_proof;

/*
 * Follows each lane from the kernel's entry to its end, instruction by instruction, with others who answer at once, later or
 * never: it asks with the right instruction at the right address, as often as it must and at most as often as the argument
 * tells; every store, fence and swap that the source has comes in its order, to its address, with its value, and no other
 * one; the clocks are read around it, the second after the warp met, and their difference is what is written. The producer
 * turns as often as the argument tells: up to GC_SPIN_TURNS_FOLLOWED turns to its end, of more turns the beginning.
 *
 * Then the loops are found that hold what was asked with, one for each side. Each word that is executed must be known
 * bit by bit but for its scheduling (stall counts, scoreboards), which is the assembler's business. Not proved: what the
 * scheduler of the hardware makes of it, which is what the probes are for; words that no lane comes to; YIELD, which is
 * counted; ERRBAR.
 *
 * Errors as gc_prove_divergence.
 */
gpuchar_status gc_prove_spin(const void *cubin, size_t size, const gc_spin_claim *claim, gc_spin_proof *proof);

#endif
