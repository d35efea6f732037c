/*
 * One thread of a kernel that spins, run through the machine code with registers of known values. What it does with memory,
 * clocks and the rest of the warp are events, which somebody else answers and judges.
 */
#ifndef GC_PROOF_SPIN_THREAD_H
#define GC_PROOF_SPIN_THREAD_H

#include <proof/spin_words.h>
#include <sass/flow.h>

typedef struct gc_spin_value {
    uint32_t bits;
    bool known;
    bool varies; /* may be another one in other lanes */
} gc_spin_value;

typedef enum gc_spin_kind {
    GC_SPIN_SEES_CLOCK,
    GC_SPIN_SEES_TIMER,
    GC_SPIN_LOADS,
    GC_SPIN_STORES,
    GC_SPIN_SWAPS,
    GC_SPIN_FENCES,
    GC_SPIN_INVALIDATES,
    GC_SPIN_MEETS /* the rest of the warp */
} gc_spin_kind;

typedef struct gc_spin_event {
    gc_spin_kind kind;
    uint32_t at; /* instruction index */
    uint32_t bytes;
    bool strong;
    uint64_t address;
    uint64_t value;    /* stored, or of a swap: what it puts there */
    uint32_t expected; /* of a swap */
    uint64_t answer;   /* read */
} gc_spin_event;

/* False: the event is not what should happen; the reason was told. */
typedef bool (*gc_spin_judge)(void *user, gc_spin_event *event);

/* A function's instructions, and those of its callees behind it, with what each does. `forms`: NULL where a word is not known. */
typedef struct gc_spin_program {
    const gc_code *code;
    const gc_flow *flow; /* of the function alone */
    gc_instruction *instructions;
    const gc_spin_form **forms;
    gc_word *words;
    uint32_t count;
    uint32_t parameter_base;
} gc_spin_program;

/* Uniform registers that a lane wrote, or read, while other lanes may have been elsewhere. */
typedef struct gc_spin_uniforms {
    bool written[256], read[256];
} gc_spin_uniforms;

typedef struct gc_spin_thread {
    const gc_spin_program *program;
    const uint8_t *parameters;
    uint32_t parameter_bytes;
    uint32_t lane;
    bool converged; /* what BRA.CONV and votes find, and what an entry that some chips have finds in UR2 */
    uint32_t votes;
    bool apart; /* lanes took a branch that others may not have taken */
    gc_spin_judge judge;
    void *user;
    gc_spin_uniforms *uniform_use;
    gc_spin_value registers[256], uniforms[256], predicates[8], uniform_predicates[8];
    bool fresh[256];    /* uniform registers written in this block while apart */
    uint64_t armed[16]; /* by barrier: where its lanes meet; 0: free */
    uint32_t next;      /* instruction index; UINT32_MAX: it ended */
    char *reason;       /* of the failure, when it was not the judge's */
    size_t reason_size;
} gc_spin_thread;

/* Decodes all words. gc_spin_close takes a zeroed program too. */
gpuchar_status gc_spin_open(const gc_code *code, const gc_flow *flow, gc_spin_program *program);
void gc_spin_close(gc_spin_program *program);

/* At the kernel's entry; all pointers are set by the caller before. */
void gc_spin_start(gc_spin_thread *thread);
/* One instruction. False: a word that is not known, a value that is not known where it matters, or the judge's word. */
bool gc_spin_step(gc_spin_thread *thread);

#endif
