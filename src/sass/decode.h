/*
 * Decoder of SASS: control flow with all fields, scheduling of every instruction and base mnemonics of sm_50 to sm_121; for
 * sm_70 and later also the registers of the instructions that proofs follow.
 */
#ifndef GC_SASS_DECODE_H
#define GC_SASS_DECODE_H

#include <sass/cubin.h>
#include <stdbool.h>

typedef enum gc_op_kind {
    GC_OP_OTHER = 0,
    GC_OP_BRANCH,   /* BRA, conditional when guarded; also CALL.REL.NOINC into the same function */
    GC_OP_INDIRECT, /* BRX, BRXU */
    GC_OP_JUMP,     /* JMP, JMX, JMXU */
    GC_OP_CALL,
    GC_OP_RETURN,
    GC_OP_EXIT, /* EXIT, KILL */
    GC_OP_BSSY,
    GC_OP_BSYNC,
    GC_OP_BREAK,
    GC_OP_BMOV,
    GC_OP_WARPSYNC,
    GC_OP_YIELD,
    GC_OP_NANOSLEEP,
    GC_OP_NOP,
    GC_OP_CLOCK, /* CS2R, CS2UR, S2R or S2UR of the SM clock, either half */
    /* sm_50 to sm_62: a stack of tokens tells where these go */
    GC_OP_PUSH, /* SSY, PBK, PCNT, PRET, PLONGJMP, PEXIT */
    GC_OP_SYNC,
    GC_OP_BRK,
    GC_OP_CONT,
    GC_OP_LONGJMP
} gc_op_kind;

#define GC_NO_TARGET UINT64_MAX
#define GC_PREDICATE_TRUE 7
#define GC_OPCODE_CALL_REL 0x944
/* Values of the register fields beside the numbers 0..254. */
#define GC_REGISTER_ZERO 255
#define GC_REGISTER_NONE 0xffff /* no vector register there, or not decoded */
#define GC_SPECIAL_NONE 0xffff
/* Special register of the SM clock: its low half, or, read wide, all of it. */
#define GC_SPECIAL_CLOCK 0x50
#define GC_SPECIAL_CLOCK_HIGH 0x51

typedef struct gc_instruction {
    uint64_t pc; /* inside the section */
    /*
     * BRA, BSSY, CALL.REL, WARPSYNC.COLLECTIVE, and before sm_70 what pushes: inside the section. JMP and CALL.ABS: an address,
     * which is what it is only after relocation. GC_NO_TARGET: none.
     */
    uint64_t target;
    uint16_t opcode; /* bits [11:0] with bit 91 as bit 12; before sm_70: bits [63:48] */
    uint8_t kind;    /* gc_op_kind */
    uint8_t guard;   /* predicate number, 7: PT */
    uint8_t guard_not;
    uint8_t second; /* second predicate of control flow: branches, EXIT, BREAK ...; 7: PT */
    uint8_t second_not;
    uint8_t condition; /* BRA, BRXU, JMP: 0, 1 .U, 2 .DIV, 3 .CONV; before sm_70: the condition code, 15: true */
    /*
     * BRA, BRX, JMP: 1 .INC, 2 .DEC, 4 .ANY. CALL (and PRET): 1 .NOINC. RET: 1 .ABS, 2 .NODEC. EXIT: 1 .KEEPREFCOUNT, 2 .PREEMPTED,
     * 4 .NO_ATEXIT. WARPSYNC up to sm_89: 2 .EXCLUSIVE, from sm_90 on 1 .EXCLUSIVE, 2 .COLLECTIVE. BPT: bits 86 to 84.
     */
    uint8_t mode;
    uint8_t barrier;       /* BMOV: below 16 */
    uint8_t barrier_class; /* sm_100+: 0 bare, 1 .RELIABLE, 2 .RECONVERGENT */
    uint8_t stall;
    uint8_t yield;
    uint8_t write_barrier;
    uint8_t read_barrier;
    uint8_t wait_mask;
    uint8_t reuse;
    bool conditional;     /* may fall through */
    bool never;           /* guard is !PT: does nothing */
    bool uniform;         /* cannot diverge by its form */
    const char *mnemonic; /* base mnemonic; NULL: unknown opcode */

    /* Vector registers of the common arithmetic, moves and loads; what is not known is GC_REGISTER_NONE. */
    uint16_t destination;
    uint16_t source_a; /* of loads: the address */
    uint16_t source_b; /* of one-operand instructions: the operand */
    uint16_t source_c;
    uint8_t destination_count; /* registers written from `destination` on; 0: none known */
    bool writes_known;         /* destination and destination_count say all that it writes in vector registers */
    bool has_immediate;
    bool immediate_is_b; /* the immediate stands in the place of b, else of c */
    bool zero_b, zero_c; /* b or c is RZ or URZ */
    bool clear;          /* BMOV.CLEAR */
    bool whole_warp;     /* WARPSYNC: waits for all 32 threads */
    bool whole_block;    /* BAR.SYNC: waits for all threads of the block */
    uint32_t immediate;
    uint32_t mask;         /* WARPSYNC: the threads it waits for, when they are written in it; else 0 */
    uint16_t special;      /* CS2R, S2R ...: the special register; else GC_SPECIAL_NONE */
    uint16_t access_bytes; /* loads: bytes per thread; 0: not a load */
    int32_t offset;        /* LDG: bytes added to the address */
    bool plain;            /* LDG: weak, of a 64-bit address in a register pair, with no cache operator */
    uint8_t function;      /* MUFU: which */
    bool wide;             /* CS2R, CS2UR: reads both halves */
} gc_instruction;

/* The operand form: opcode bits [12:9], which say what stands in the places b and c. */
#define GC_FORM(opcode) ((uint16_t)((opcode) >> 9 & 15))

/*
 * Decodes the instruction at byte `offset` of the code, as gc_code_offset gives it. The whole instruction lies in the code; before
 * sm_70 the code begins with a control word.
 */
void gc_decode(const gc_code *code, size_t offset, gc_instruction *instruction);

#endif
