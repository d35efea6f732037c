/* Where divergent threads meet again: barrier intervals, branches, and the rules that match them. */
#ifndef GC_SASS_RECONVERGENCE_H
#define GC_SASS_RECONVERGENCE_H

#include <sass/graph.h>

typedef struct gc_open gc_open;

/* One pass over a function's control flow, in the order of the code. */
typedef struct gc_sweep {
    const gc_graph *graph;
    gpuchar_sass_reconvergence *result; /* its intervals are all there, its branches are being added */
    uint32_t *starts, *ends;            /* by interval: instruction indices; it is around those between them */
    gc_open *open;                      /* intervals around the point where the pass stands */
    uint32_t *joins; /* instructions where threads meet, and that are reached: BSYNC, or where SYNC goes */
    uint32_t join_count;
    uint32_t next_join;     /* the first of them behind this point */
    uint32_t *above;        /* by block: the nearest post-dominator, itself included, that holds a place to meet */
    const uint8_t *uniform; /* by block: its branch is proved uniform */
    bool crossed;           /* intervals that cross each other were found */
} gc_sweep;

/* In intervals.c: makes the list of intervals. */
gpuchar_status gc_intervals_read(const gc_graph *graph, gpuchar_sass_reconvergence *result, uint32_t **starts,
                                 uint32_t **ends);
/* And of the instructions where threads meet and that are reached, in the order of the code. */
gpuchar_status gc_joins_read(const gc_graph *graph, const gpuchar_sass_reconvergence *result, const uint32_t *ends,
                             uint32_t **joins, uint32_t *count);

/*
 * In open_intervals.c: the intervals around the point where a pass stands, each question answered in logarithmic time however
 * deep they are, and whether they nest or cross.
 */
gpuchar_status gc_open_make(const gc_graph *graph, gpuchar_sass_reconvergence *result, const uint32_t *starts,
                            const uint32_t *ends, gc_open **open);
void gc_open_free(gc_open *open); /* NULL is allowed */
/* Goes on to instruction `index`: opens and closes intervals. */
gpuchar_status gc_open_to(gc_open *open, uint32_t index);
uint32_t gc_open_count(const gc_open *open);
/* At the end: flags the intervals that cross others. */
gpuchar_status gc_open_mark_crossed(gc_open *open);
/* The answers are intervals; GPUCHAR_SASS_NO_BLOCK: there is none. */
uint32_t gc_open_innermost(gc_open *open);
uint32_t gc_open_innermost_of(gc_open *open, uint32_t barrier);
/* The innermost one whose BSYNC post-dominates a block. */
uint32_t gc_open_joined_above(gc_open *open, uint32_t block);
/* How many of them began after an interval; all of them for GPUCHAR_SASS_NO_BLOCK. */
uint32_t gc_open_inside(const gc_open *open, uint32_t interval);
/* Whether the BSYNC of one of them stands in a block. */
bool gc_open_joins_at(const gc_open *open, uint32_t block);

/* GPUCHAR_SASS_PLACED_...: where block `join` stands, seen from the branch at the end of `block`. */
uint32_t gc_place(const gc_graph *graph, uint32_t block, uint32_t join);

/* All of it. `result` is zeroed but for its size; freed with gpuchar_sass_reconvergence_free. */
gpuchar_status gc_reconvergence_read(const gc_graph *graph, gpuchar_sass_reconvergence *result);

/* In uniform.c: marks the blocks whose branch goes the same way in all threads of a warp. `uniform` holds block_count bytes. */
gpuchar_status gc_uniform_find(const gc_graph *graph, uint8_t *uniform);

#endif
