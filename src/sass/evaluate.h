/*
 * One thread's control state, followed through machine code: integer registers and predicates, each with a known value
 * or none. It evaluates what compilers use to count turns and to choose ways (moves, additions, bit logic, compares,
 * kernel parameters); whatever it does not evaluate makes what that writes unknown. So it never guesses: what it says
 * is known is what the hardware holds.
 */
#ifndef GC_SASS_EVALUATE_H
#define GC_SASS_EVALUATE_H

#include <sass/decode.h>

typedef struct gc_value {
    uint32_t bits;
    bool known;
} gc_value;

typedef struct gc_thread {
    gc_value registers[256]; /* the last one is RZ; so with the others */
    gc_value uniforms[256];
    gc_value predicates[8];
    gc_value uniform_predicates[8];
    uint32_t index; /* threadIdx.x */
    uint32_t arch;
    bool uniform_fresh[256];   /* written since the last gc_thread_settle_uniforms */
    const uint8_t *parameters; /* the kernel's arguments */
    const uint8_t *told;       /* by byte: 1 where they are the same in every launch; the others are unknown */
    uint32_t parameter_bytes;
    uint32_t parameter_base; /* where they lie in constant bank 0 */
    uint32_t uniform_zero;   /* number of URZ on this architecture */
} gc_thread;

/* A thread at the kernel's entry. E_SASS_FORMAT: the code does not tell where its parameters lie. */
gpuchar_status gc_thread_start(const gc_code *code, const void *parameters, const uint8_t *told, size_t bytes,
                               uint32_t index, gc_thread *thread);

/* Whether the guard lets the instruction work; unknown when its predicate is. */
gc_value gc_thread_guard(const gc_thread *thread, const gc_instruction *in);
/* Whether a branch is taken. */
gc_value gc_thread_branches(const gc_thread *thread, const gc_code *code, const gc_instruction *in);
/*
 * Uniform registers belong to the warp. `apart`: other threads of it may have run meanwhile, and what was written since the
 * last call is unknown; else the warp is whole and what was written stays.
 */
void gc_thread_settle_uniforms(gc_thread *thread, bool apart);
/* Nothing is known any more. */
void gc_thread_forget(gc_thread *thread);
/* What the instruction does to the thread; nothing for control flow. */
void gc_thread_step(gc_thread *thread, const gc_code *code, const gc_instruction *in);

#endif
