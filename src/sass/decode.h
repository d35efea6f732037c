/* Decoder of 128-bit SASS (sm_70 and later): control flow with all fields, scheduling of every instruction, and base mnemonics. */
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
    GC_OP_EXIT,     /* EXIT, KILL */
    GC_OP_BSSY,
    GC_OP_BSYNC,
    GC_OP_BREAK,
    GC_OP_BMOV,
    GC_OP_WARPSYNC,
    GC_OP_YIELD,
    GC_OP_NANOSLEEP,
    GC_OP_NOP,
    GC_OP_CLOCK     /* CS2R (or S2R/S2UR ...) of the SM clock */
} gc_op_kind;

typedef struct gc_instruction {
    uint64_t pc;       /* inside the section */
    uint64_t target;   /* branch, BSSY, WARPSYNC.COLLECTIVE; UINT64_MAX: none */
    uint16_t opcode;   /* bits [11:0] with bit 91 as bit 12 */
    uint8_t kind;      /* gc_op_kind */
    uint8_t guard;     /* predicate number, 7: PT */
    uint8_t guard_not;
    uint8_t second;    /* second predicate of branches, EXIT, BREAK; 7: PT */
    uint8_t second_not;
    uint8_t condition; /* BRA: 0, 1 .U, 2 .DIV, 3 .CONV */
    uint8_t barrier;
    uint8_t barrier_class; /* sm_100+: 0 bare, 1 .RELIABLE, 2 .RECONVERGENT */
    uint8_t stall;
    uint8_t yield;
    uint8_t write_barrier;
    uint8_t read_barrier;
    uint8_t wait_mask;
    uint8_t reuse;
    bool conditional;  /* may fall through */
    bool never;        /* guard is !PT: does nothing */
    bool uniform;      /* cannot diverge by its form */
    const char *mnemonic; /* base mnemonic; NULL: unknown opcode */
} gc_instruction;

/* Decodes the instruction at byte `offset` of the code (a multiple of 16 below code->size). */
void gc_decode(const gc_code *code, size_t offset, gc_instruction *instruction);

#endif
