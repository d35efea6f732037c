/*
 * Proofs about machine code: what stands between the two clock reads of a kernel. A proof never trusts the compiler:
 * counts come from the decoded cubin alone.
 */
#ifndef GC_PROOF_H
#define GC_PROOF_H

#include <gpuchar/stat.h>
#include <stdbool.h>
#include <stddef.h>

/* Which numbers are stored as a sample. */
enum {
    GC_SAMPLE_NONE,   /* nothing is said about it */
    GC_SAMPLE_THREAD, /* thread 0 stores the difference of its two clock reads */
    GC_SAMPLE_SPANS,  /* thread 0 of block 0 does, and the first lane of each warp raises its SM's span */
    GC_SAMPLE_BLOCK /* the first lane of each warp raises words in shared memory, and thread 0 stores their difference */
};

/*
 * Where the arguments say that a sample goes: the address of samples, the number of one, and the address of a 32-bit word
 * for each thread. A span, [sample's number][SM], is three 64-bit words: the largest inverted first read, the largest second
 * one, the number of blocks.
 */
typedef struct gc_sample_claim {
    uint32_t form; /* GC_SAMPLE_... */
    uint32_t samples_offset, slot_offset, sink_offset;
    uint32_t bytes;                             /* of a sample: 64 at most */
    uint32_t cycles_offset, nanoseconds_offset; /* in a sample: 64-bit numbers */
    uint32_t spans_offset, sms_offset;          /* GC_SAMPLE_SPANS: the spans' address, how many to a sample */
    uint32_t threads;                           /* of a block */
} gc_sample_claim;

/* What a kernel with divergent paths claims about itself. */
typedef struct gc_divergence_claim {
    const char *kernel;           /* name of the function in the cubin */
    const char *const *mnemonics; /* base mnemonics that count as the chained instruction ("FFMA"), any of them */
    uint32_t mnemonic_count;
    uint32_t function; /* of MUFU: its number in the machine code, 5 is the reciprocal square root */
    uint32_t paths;    /* ways through the timed region */
    uint32_t levels;  /* 0, 1: a loop for each path. n: a binary tree of decisions (paths = 2^(n-1)) with a loop at each
                         of its nodes; each path takes n of them, the root's first. Node 0 is the root, the children of
                         n are 2n + 1 and 2n + 2 */
    uint32_t body;    /* chained instructions expected in each loop */
    uint32_t chains;  /* independent chains of equal length that the body consists of; 0: one */
    uint32_t uniform; /* 1: no divergent dispatch is expected (a convergent kernel: paths is 1) */
    /* How the kernel is launched: its arguments, and where in them the turns of the loops (32-bit numbers) and the path of
     * each lane (32 bytes) stand. NULL: nothing is said about turns and about who takes which path. */
    const void *arguments;
    uint32_t argument_bytes;
    uint32_t turns_offset;
    uint32_t turns_stride; /* from a node's turns to those of the next; 0: one number for all loops */
    uint32_t lanes_offset; /* when `uniform`: 0: there are none; else as in the arguments */
    uint32_t zeros_offset; /* 32 bytes that are zero in every launch; 0: there are none */
    gc_sample_claim sample;
    /* The constants tell the paths apart: these bits of each link's immediate or address offset are its node's number. */
    uint32_t mark_shift;
    uint32_t mark_bits; /* 0: nothing is said about it */
} gc_divergence_claim;

#define GC_PROOF_PATHS_MAX 32
#define GC_PROOF_LOOPS_MAX 63
#define GC_PROOF_CHAINS_MAX 8
#define GC_PROOF_ARGUMENTS_MAX 512
#define GC_PROOF_LOOP_SCAFFOLD_MAX 8
/* No architecture from sm_70 on has a result of FFMA or IMAD, or of an addition, in fewer cycles. */
#define GC_PROOF_STALL_MIN 4
/* What a turn may stall for each link of a chain, all chains side by side, and for loop control beside that. */
#define GC_PROOF_STALL_MAX 5
#define GC_PROOF_LOOP_STALL_MAX 48
/* Instructions between the clock reads outside of loops: of one path, and how far two paths may be apart. */
#define GC_PROOF_OUTSIDE_MAX 48 /* and 16 for each level */
#define GC_PROOF_OUTSIDE_SPREAD 8

/*
 * What was found. `status` is GPUCHAR_OK, or GPUCHAR_E_NOT_PROVED with `reason` in words ("path 7 holds 127 FFMA, not
 * 128"); the other fields then say what was seen until the proof failed. Loops are numbered in the order of their code.
 */
typedef struct gc_divergence_proof {
    gpuchar_status status;
    char reason[160];
    char mnemonic[32];
    uint32_t loops;              /* found between the clock reads */
    uint32_t dispatch_decisions; /* sum of (successors that lead to a path - 1) over the branches of the region */
    uint32_t barriers;           /* BSSY intervals inside the region */
    uint32_t loop_instructions[GC_PROOF_LOOPS_MAX]; /* all instructions of each loop, padding included */
    uint32_t loop_intended[GC_PROOF_LOOPS_MAX];
    uint32_t loop_stall[GC_PROOF_LOOPS_MAX];
    uint32_t outside_min; /* instructions outside of loops that a path goes through, by following it */
    uint32_t outside_max;
    bool followed;           /* threads of all paths took their loops and turned as often as the arguments say */
    bool stored;             /* and what is stored as a sample is what the claim says */
    uint64_t intended_total; /* chained instructions in the whole region */
    uint64_t scaffold_total; /* all others in the region */
    uint64_t region_bytes;
    char scaffold[192]; /* "ISETP 32, IADD3 32, BRA 33, BSSY 1, BSYNC 1, NOP 5": what the scaffold is made of */
} gc_divergence_proof;

/*
 * Proves a divergent kernel, from the decoded machine code alone:
 * - exactly two clock reads, both of the 64-bit SM clock, and a region between them that is entered and left through them only;
 * - a loop for each path, or for each node of the tree, and no other cycle: each one block that branches to itself; but in a
 *   tree no loop is reached from another;
 * - in each loop exactly `body` chained instructions, none predicated, each reading as a factor, operand or address what
 *   the one before (of its chain) wrote, the first one what the last one wrote; nothing else writes the chain's registers. Loads are
 *   weak ones of global memory without cache operator. With MUFU one
 *   FADD or FMUL per loop may be a link of the chain (not counted). Each link waits for the one before: by stall counts of at
 *   least GC_PROOF_STALL_MIN together, or, after a load or MUFU, by the scoreboard that the one before sets;
 * - beside them in each loop only counter, compare, branches, moves and NOP, at most GC_PROOF_LOOP_SCAFFOLD_MAX without the NOPs;
 * - the same number of instructions and the same stall sum in all loops; and no longer one than the links of one chain take: chains
 *   run side by side, and no link waits for what is there already;
 * - behind each loop, on its path's own code, an instruction that needs the chain's result: a path ends when that is there;
 * - with arguments, following a thread of every path through the machine code: it takes the loops of its path and no other,
 *   the same ones from another lane, and turns as often as told. All arguments but turns, lanes, zeros and where a sample goes are unknown to it. On its
 *   way outside of loops it goes through at most GC_PROOF_OUTSIDE_MAX instructions, and paths differ in that by at most
 *   GC_PROOF_OUTSIDE_SPREAD;
 * - with marks, every link of a loop carries one number in its constant, and lane maps lead to the loop of their number: the
 *   dispatch is the identity that the source means, not only one path for each number;
 * - with a sample, following the same threads on to their end, and thread 0 once more with each of several pairs of clock values
 *   (with borrows and without, around the end of 64 bits): what thread 0 stores at samples + slot * bytes is the second clock
 *   read minus the first, all 64 bits, and the same of the timer, which is read once before and once behind the region; each
 *   of these bytes once, by a plain store whose address and value are known. Nobody else followed stores there, and nothing
 *   else is written but a 32-bit result of each thread. With spans, the first lane of each warp raises its SM's span by the
 *   inverted first and the second read, and only block 0 stores a sample. With a block's words in shared memory, those start
 *   from 0 before a barrier of the block, the first lane of each warp raises them by its own reads, inverted or not, behind the
 *   region, whether others were there before, come later or come in between, and what is stored after the next barrier is
 *   the difference of these words. Followed are threads 0 to 31 and, of larger blocks, the first two of the second warp
 *   and the first and last of the last one;
 * - no chained instruction outside the loops (IMAD that only moves, shifts or adds, and IMAD.WIDE, are scaffold);
 * - paths - 1 dispatch decisions, none uniform by its form, each with a place where its threads meet again (the BSYNC of a
 *   BSSY interval around it, or a WARPSYNC of the whole warp) that cannot be gone around before the second clock read; with
 *   `uniform` none;
 * - no barrier register written but by its BSSY (or cleared right before it), none used twice at a time, no WARPSYNC of a part of the
 *   warp;
 * - no call, local memory, store, YIELD, BREAK or unknown instruction in the region: nothing but the listed scaffold.
 *
 * Returns GPUCHAR_OK whenever there is a verdict, which is proof->status. Errors: E_INVALID_ARGUMENT (a claim without kernel or
 * mnemonics, more than GC_PROOF_PATHS_MAX paths), E_SASS_FORMAT (malformed bytes, no such kernel), E_SASS_UNKNOWN (sm_61 and
 * older, a branch whose targets are not known), E_OUT_OF_MEMORY; then proof->status is the same error.
 */
gpuchar_status gc_prove_divergence(const void *cubin, size_t size, const gc_divergence_claim *claim,
                                   gc_divergence_proof *proof);

#endif
