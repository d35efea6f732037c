/*
 * What stands between two clock reads of any kernel: every instruction with its role, loops, branches, barriers, local memory,
 * called routines, stall counts. Nothing is expected of the kernel's form but that its ways can be followed.
 */
#ifndef GC_PROOF_CONTENTS_H
#define GC_PROOF_CONTENTS_H

#include <gpuchar/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Matches an instruction when all that is given fits: what is NULL or 0 is not asked for. */
typedef struct gc_contents_pattern {
    const char *mnemonic; /* base mnemonic. Alone, "IMAD" and "HFMA2" do not match forms that only move a value */
    uint16_t opcode;      /* bits [11:0] with bit 91 as bit 12 */
    uint64_t low_mask, low_value; /* bits [63:0]: word & mask == value */
    uint64_t high_mask, high_value;
} gc_contents_pattern;

typedef struct gc_contents_question {
    const char *kernel;
    const gc_contents_pattern *intended; /* any of them is what the caller means to measure: the native instruction */
    uint32_t intended_count;             /* 0: nothing is meant, and nothing called emulated or absent */
    uint32_t read;            /* the region begins at this clock read: 0 is the first in the order of the code */
    const char *const *extra; /* base mnemonics allowed as scaffold beside the default ones */
    uint32_t extra_count;
    bool routine_intended; /* the caller's own routines hold the work: what is called counts as native */
    const uint64_t
        *turns; /* how often a loop's first block is gone through each time that the loop is entered, by loop */
    uint32_t turn_count; /* 0: not told */
} gc_contents_question;

/* Each instruction has one. */
typedef enum gc_role {
    GC_ROLE_INTENDED,
    GC_ROLE_PADDING,   /* NOP, and whatever never executes (@!PT) */
    GC_ROLE_PARAMETER, /* LDC, ULDC, LDCU; a move of a constant, or of a uniform register that only these write */
    GC_ROLE_ZEROING,   /* such a move of zero; CS2R of SRZ */
    GC_ROLE_LOOP,      /* a branch that leaves or closes a loop, the compare that it asks, the counter that this asks */
    GC_ROLE_DISPATCH,  /* other branches, the compare that they ask, BSSY, BSYNC, BREAK, WARPSYNC, BMOV.CLEAR */
    GC_ROLE_EXTRA,     /* the question allows it */
    GC_ROLE_CALL,      /* CALL, what sets its return address, and RET in a called routine */
    GC_ROLE_FOREIGN,   /* all others */
    GC_ROLES
} gc_role;

/* Things that are added up along ways. */
enum {
    GC_COUNT_INSTRUCTIONS, /* all, padding included; the clock reads are not */
    GC_COUNT_INTENDED,     /* at least: without those under a predicate; with routine_intended those in routines too */
    GC_COUNT_FOREIGN,
    GC_COUNT_CALLED, /* in called routines, of any role */
    GC_COUNT_STALL,  /* cycles: the stall counts */
    GC_COUNT_WAITS,  /* instructions that wait for a scoreboard */
    GC_COUNT_SETS,   /* scoreboards set: write and read barriers */
    GC_COUNTS
};

/* Over all ways: equal when no way differs. */
typedef struct gc_span {
    uint64_t min, max;
} gc_span;

#define GC_NO_LOOP UINT32_MAX

typedef struct gc_contents_loop {
    uint64_t pc;           /* of the block that it is entered by */
    uint32_t parent;       /* GC_NO_LOOP: none around it */
    uint32_t depth;        /* 1: outermost */
    bool called;           /* in a called routine */
    bool straight;         /* one way through each turn, and out at its end only */
    uint32_t instructions; /* own ones: without inner loops and routines */
    uint64_t turns;        /* as told; 0: not told */
    /* Without what inner loops hold; with called routines, but not their loops. */
    gc_span turn[GC_COUNTS]; /* from its first instruction round to it */
    gc_span last[GC_COUNTS]; /* from its first instruction out of it */
} gc_contents_loop;

/* Instructions of one kind at one place. */
typedef struct gc_contents_row {
    const char *mnemonic;
    uint16_t opcode; /* of the first one */
    uint16_t role;
    uint32_t loop;    /* innermost; GC_NO_LOOP: in none */
    bool called;      /* in a called routine, once for each call in the code */
    uint64_t count;   /* in the code */
    uint64_t at_most; /* executed: count times the turns of all loops around it; 0 when a loop's turns are not told */
} gc_contents_row;

/* Instructions in the code of the region, called routines included. */
typedef struct gc_contents_barriers {
    uint32_t bssy, bsync, breaks, warpsync, bar;
    uint32_t depbar;  /* DEPBAR and LDGDEPBAR */
    uint32_t fences;  /* MEMBAR, ERRBAR, FENCE */
    uint32_t yields;  /* YIELD, NANOSLEEP */
    uint32_t cleared; /* BMOV.CLEAR into RZ: an empty barrier */
    uint32_t spilled; /* other BMOV: a barrier moved to or from a register */
} gc_contents_barriers;

/*
 * `status` is GPUCHAR_OK, or GPUCHAR_E_NOT_PROVED with `reason` in words; then nothing else but the program counters is meant
 * to be read.
 */
typedef struct gc_contents {
    gpuchar_status status;
    char reason[160];
    uint64_t start_pc, end_pc; /* of the two clock reads */
    uint32_t reads;            /* clock reads of the kernel */
    uint32_t clock_bits;       /* 32 or 64, of both */
    uint32_t start_stall;      /* of the first read: passes before the region's first instruction, and is in no sum */

    uint64_t roles[GC_ROLES];     /* by role, in the code, routines left out */
    uint64_t called[GC_ROLES];    /* in routines, once for each call in the code */
    uint64_t intended_predicated; /* of roles[GC_ROLE_INTENDED]: those under a predicate */
    gc_contents_row *rows;
    uint32_t row_count;
    /* The region's own loops in the order of their code; then, call by call in the order of the code, those of routines. */
    gc_contents_loop *loops;
    uint32_t loop_count;
    bool straight;              /* one way through all that stands outside of loops */
    bool exact;                 /* total is filled: the turns of all loops are told */
    gc_span outside[GC_COUNTS]; /* without loops; with called routines, but not their loops */
    gc_span total[GC_COUNTS];

    uint32_t decisions;                     /* sum of (successors - 1) over the branches that are no loop control */
    uint32_t divergent;                     /* of those, by the branches that are not uniform by their form */
    uint32_t loop_branches, loop_divergent; /* conditional branches of loop control; those not uniform by form */
    gc_contents_barriers barriers;
    uint32_t local_loads, local_stores; /* LDL, STL: registers spilled, or arrays of a thread */
    uint32_t calls;                     /* in the code; each is followed */
    uint32_t routines;                  /* different ones */
    uint64_t region_bytes;              /* of the blocks between the reads */
    uint64_t routine_bytes;             /* of what can be reached in the routines, each once */

    bool emulated;      /* no intended instruction but other work or a routine in its place: see gc_region_contents */
    bool absent;        /* no intended instruction, and no other work */
    char scaffold[192]; /* "NOP 5, BRA 1": what is neither intended nor foreign nor called */
    char foreign[192];  /* routines left out */
    char in_calls[192]; /* all of the routines, once for each call in the code */
} gc_contents;

#define GC_CONTENTS_LOOPS_MAX 256
#define GC_CONTENTS_CALLS_MAX 4096                 /* followed in all */
#define GC_CONTENTS_NEST_MAX 8                     /* routines that call routines */
#define GC_CONTENTS_MEMORY_MAX (UINT64_C(1) << 31) /* code gone through: bytes, over all calls */

/*
 * Reads the region from the decoded machine code alone. Accepted is a region that
 * - begins at the clock read that the question names, from which all ways come to one and the same next clock read, both unpredicated
 *   and both of the 64-bit clock or both of its low half;
 * - is entered and left through these two only: no EXIT, RET or jump out, no edge into it, no loop without a way out;
 * - holds no unknown opcode, no loop entered at two places (256 loops at most), no call but CALL.REL to the first instruction of a
 *   function of the same section, with the address of the next instruction put into a register before it on every way.
 *   Routines are followed likewise: they end by RET, read no clock, do not come back to themselves. That a routine returns
 *   to the address it was given is not followed.
 *
 * `emulated` is a rule, not a guess: the question's patterns are the native instruction, the region's own code holds none
 * (with routine_intended: nor do its routines), and there is a foreign instruction or a call. A native instruction beside others
 * is told by the counts. Memory of a thread reached by generic loads and stores is not seen as local.
 *
 * Returns GPUCHAR_OK whenever there is a verdict, which is contents->status. Errors: E_INVALID_ARGUMENT (a question without
 * kernel, a pattern that asks for nothing, turns of more or fewer loops than there are), E_SASS_FORMAT (malformed bytes, no such
 * kernel), E_SASS_UNKNOWN (before sm_70, a branch whose targets are not known), E_OUT_OF_MEMORY; then contents->status is
 * the same error. gc_contents_free takes zeroed and refused contents too.
 */
gpuchar_status gc_region_contents(const void *cubin, size_t size, const gc_contents_question *question,
                                  gc_contents *contents);
void gc_contents_free(gc_contents *contents);

#endif
