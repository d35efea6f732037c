/* What calls of a region, and calls of its routines, lead to. */
#ifndef GC_PROOF_CONTENTS_CALLS_H
#define GC_PROOF_CONTENTS_CALLS_H

#include <proof/contents_body.h>

typedef struct gc_routine {
    gc_code code;
    gc_flow flow;
    gc_body body;
} gc_routine;

typedef struct gc_contents_reader {
    const gc_cubin *cubin;
    const gc_code *kernel;
    const gc_contents_question *question;
    gc_contents *contents;
    gc_routine **routines; /* each once */
    uint32_t routine_count;
    uint32_t call_count;                  /* followed so far */
    uint64_t bytes;                       /* gone through so far */
    uint64_t stack[GC_CONTENTS_NEST_MAX]; /* where the routines begin that are being followed */
} gc_contents_reader;

/* A body at one place: its loops are those from `first_loop` on of contents->loops. */
typedef struct gc_body_place {
    const gc_body *body;
    uint32_t first_loop;
    uint32_t around; /* the loop of contents->loops that it is called in; GC_NO_LOOP */
    uint32_t depth;  /* 0: the region itself */
    uint32_t child_count;
    struct gc_body_place *children; /* called routines, in the order of the code */
} gc_body_place;

/* Each returns errors; verdicts go to reader->contents. */
gpuchar_status gc_place_open(gc_contents_reader *reader, const gc_body *body, uint32_t around, uint32_t depth,
                             gc_body_place *place);
gpuchar_status gc_place_measure(const gc_contents_reader *reader, const gc_body_place *place, bool with_turns,
                                gc_span *sum, bool *straight);
void gc_place_close(gc_body_place *place);
/* Loops and roles of a body whose bounds are found. */
gpuchar_status gc_body_finish(gc_contents_reader *reader, gc_body *body);
void gc_routines_free(gc_contents_reader *reader);

#endif
