/* A body: blocks of one function that are entered at one place. The region of a kernel is one, a called routine another. */
#ifndef GC_PROOF_CONTENTS_BODY_H
#define GC_PROOF_CONTENTS_BODY_H

#include <proof/contents.h>
#include <sass/flow.h>

#define GC_CONTENTS_OUT UINT32_MAX /* the block number of "nowhere" */

/* A natural loop: all blocks from which its head can be reached without leaving what the head dominates. */
typedef struct gc_body_loop {
    uint32_t head;   /* block */
    uint32_t parent; /* loop of this body; GC_NO_LOOP */
    uint32_t depth;  /* 1: outermost */
} gc_body_loop;

typedef struct gc_body {
    const gc_code *code;
    const gc_flow *flow;
    uint8_t *inside; /* by block */
    uint32_t entry;  /* block; GC_CONTENTS_OUT: the body is empty */
    uint32_t end;    /* block behind it, the clock read; GC_CONTENTS_OUT: it ends where it returns */
    /* Of gc_body_find_loops: */
    uint32_t *order; /* blocks inside, each before those it leads to, back edges left out */
    uint32_t order_count;
    uint32_t *rank;         /* by block: its place in `order` */
    uint32_t *before;       /* predecessors inside */
    uint32_t *before_first; /* by block, one more than blocks: where its predecessors begin */
    uint32_t *loop_of;      /* by block: the innermost loop */
    gc_body_loop *loops;    /* in the order of their heads in the code */
    uint32_t loop_count;
    /* Of gc_body_find_roles: */
    uint8_t *roles;          /* by instruction, gc_role */
    uint8_t parameters[256]; /* by uniform register */
} gc_body;

/* Refuses with a reason; returns false. The first reason stays. */
bool gc_contents_refuse(gc_contents *contents, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* With code and flow set: inside, entry and end. Verdicts (E_NOT_PROVED) go to `contents`, errors are returned. */
gpuchar_status gc_body_of_region(gc_body *body, uint32_t read, gc_contents *contents);
gpuchar_status gc_body_of_routine(gc_body *body, gc_contents *contents);
/* With those set, too. */
gpuchar_status gc_body_find_loops(gc_body *body, gc_contents *contents);
/* Refuses calls whose targets or return addresses are not known. */
gpuchar_status gc_body_find_roles(gc_body *body, const gc_contents_question *question, gc_contents *contents);
/* Not its code and flow. */
void gc_body_free(gc_body *body);

/* Whether `outer` is `inner` or a loop around it; GC_NO_LOOP is around all. */
bool gc_body_is_around(const gc_body *body, uint32_t outer, uint32_t inner);
/* An edge back to the head of a loop that `from` lies in. */
static inline bool gc_body_is_back(const gc_body *body, uint32_t from, uint32_t to) {
    return body->rank[to] <= body->rank[from];
}
/* Whether the edge leaves a loop that `from` lies in, or the body. */
static inline bool gc_body_leaves_loop(const gc_body *body, uint32_t from, uint32_t to) {
    if (body->loop_of[from] == GC_NO_LOOP) return false;
    return !body->inside[to] || !gc_body_is_around(body, body->loop_of[from], body->loop_of[to]);
}

/* A body with the loops and calls of one place it is called from. */
typedef struct gc_body_use {
    const gc_body *body;
    const uint64_t *turns;   /* of its loops; NULL: what loops hold is left out */
    const gc_span *routines; /* GC_COUNTS for each call, in the order of the code */
    gc_contents_loop *loops; /* its loops' turn, last and straight are written; NULL: not wanted */
    bool called, routine_intended;
} gc_body_use;

/* Least and most along all ways through it. */
gpuchar_status gc_body_measure(const gc_body_use *use, gc_span *sum, bool *straight);

#endif
