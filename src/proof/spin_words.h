/*
 * The instructions of kernels that spin, each known bit by bit: what a word does is only said of words all of whose bits
 * are known to matter or not. So a proof by these cannot take one modifier for another.
 */
#ifndef GC_PROOF_SPIN_WORDS_H
#define GC_PROOF_SPIN_WORDS_H

#include <sass/operands.h>

typedef enum gc_spin_action {
    GC_SPIN_NOTHING, /* nothing that a thread's registers or memory see */
    GC_SPIN_MOVE,    /* d = b */
    GC_SPIN_MOVE_PAIR,
    GC_SPIN_HALVES, /* HFMA2 as a move: d = the immediate */
    GC_SPIN_ADD2,   /* d = a + b */
    GC_SPIN_ADD2_PAIR,
    GC_SPIN_ADD3,     /* d = a + b + c, with carries */
    GC_SPIN_MAD,      /* d = a * b + c, with a carry in */
    GC_SPIN_MAD_PAIR, /* 64 bits of a * b, plus a pair */
    GC_SPIN_COMPARE,
    GC_SPIN_LOGIC, /* LOP3 that only sets a predicate */
    GC_SPIN_TRUE,  /* PLOP3 of constants */
    GC_SPIN_FALSE,
    GC_SPIN_CLOCK,
    GC_SPIN_TIMER,
    GC_SPIN_LANE, /* threadIdx.x */
    GC_SPIN_VOTE, /* which lanes are here */
    GC_SPIN_CONSTANT,
    GC_SPIN_CONSTANT_PAIR,
    GC_SPIN_LOAD, /* of 32 bits, strong */
    GC_SPIN_STORE,
    GC_SPIN_SWAP, /* compare and swap */
    GC_SPIN_FENCE,
    GC_SPIN_INVALIDATE,
    GC_SPIN_BRANCH,
    GC_SPIN_CALL,
    GC_SPIN_RETURN,
    GC_SPIN_EXIT,
    GC_SPIN_ARM, /* BSSY */
    GC_SPIN_JOIN,
    GC_SPIN_CLEAR, /* BMOV.CLEAR to RZ: the barrier is free again */
    GC_SPIN_RESET, /* BMOV between barriers: at the entry of some kernels */
    GC_SPIN_WARP
} gc_spin_action;

/* How an address is made. */
enum {
    GC_SPIN_BY_REGISTER,   /* a pair */
    GC_SPIN_BY_DESCRIPTOR, /* a pair; a pair of uniform registers holds the memory's descriptor */
    GC_SPIN_BY_UNIFORM,    /* a pair of uniform registers */
    GC_SPIN_BY_BOTH        /* such a pair plus 32 bits of a register */
};

typedef struct gc_spin_form {
    uint16_t opcode;
    uint8_t action; /* GC_SPIN_... */
    uint8_t address;
    uint8_t bytes;                   /* of memory */
    bool strong;                     /* volatile: seen by others, and in order */
    bool uniform;                    /* registers and predicates of the uniform datapath */
    uint8_t first_arch, last_arch;   /* 0: any */
    uint64_t low_fields, low_rest;   /* bits [63:16] that may vary, and what the others are */
    uint64_t high_fields, high_rest; /* bits [104:64] */
} gc_spin_form;

/* NULL: a word that is not known. */
const gc_spin_form *gc_spin_form_of(uint32_t arch, uint16_t opcode, gc_word word);

#endif
