/*
 * One thread's control state, followed through machine code: integer registers and predicates, each with a known value
 * or none. It evaluates what compilers use to count turns, to choose ways and to make differences and addresses (moves, sums,
 * products, bit logic, compares, kernel parameters, shared memory); whatever it does not evaluate makes what that writes
 * unknown. So it never guesses: what it says is known is what the hardware holds.
 */
#ifndef GC_SASS_EVALUATE_H
#define GC_SASS_EVALUATE_H

#include <sass/decode.h>

typedef struct gc_value {
    uint32_t bits;
    bool known;
} gc_value;

/* A special register that is known: what the next reads of it give. */
typedef struct gc_special {
    uint64_t value; /* of 32-bit registers: below 2^32 */
    uint16_t number;
    uint16_t reserved[3];
} gc_special;

#define GC_SPECIAL_BLOCK 0x25           /* blockIdx.x */
#define GC_SPECIAL_MULTIPROCESSOR 0x43  /* the SM's number */
#define GC_SPECIAL_TIMER 0x52           /* nanoseconds: its low half, or, read wide, all of it */
#define GC_SPECIAL_RANK_IN_CLUSTER 0x88 /* from sm_90 on part of addresses in shared memory */
#define GC_THREAD_SPECIALS_MAX 8
#define GC_THREAD_SHARED_WORDS 512

typedef struct gc_thread {
    gc_value registers[256]; /* the last one is RZ; so with the others */
    gc_value uniforms[256];
    gc_value predicates[8];
    gc_value uniform_predicates[8];
    gc_value *shared; /* the block's shared memory, GC_THREAD_SHARED_WORDS words; NULL: nothing is known of it */
    gc_special specials[GC_THREAD_SPECIALS_MAX];
    uint32_t special_count;
    uint32_t index; /* threadIdx.x */
    uint32_t arch;
    bool uniform_fresh[256]; /* written since the last gc_thread_settle_uniforms */
    bool any_fresh;
    const uint8_t *parameters; /* the kernel's arguments */
    const uint8_t *told;       /* by byte: 1 where they are the same in every launch; the others are unknown */
    uint32_t parameter_bytes;
    uint32_t parameter_base; /* where they lie in constant bank 0 */
    uint32_t uniform_zero;   /* number of URZ on this architecture */
    bool second_carry; /* a sum of three numbers that carries once tells it in its second predicate, not in its first */
    bool contended;    /* the next compare-and-swap in shared memory finds that another thread was there first */
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
/* Those of them that are marked are unknown. */
void gc_thread_forget_uniforms(gc_thread *thread, const bool marks[256]);
/* The special register reads as `value` from now on. */
void gc_thread_tell(gc_thread *thread, uint16_t special, uint64_t value);
/* Nothing is known any more. */
void gc_thread_forget(gc_thread *thread);
/* What the instruction does to the thread; nothing for control flow. */
void gc_thread_step(gc_thread *thread, const gc_code *code, const gc_instruction *in);

#endif
