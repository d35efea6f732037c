/* Where divergent threads meet again: barrier intervals, branches, and the rules that match them. */
#ifndef GC_SASS_RECONVERGENCE_H
#define GC_SASS_RECONVERGENCE_H

#include <sass/graph.h>

/* One pass over a function's control flow, in the order of the code. */
typedef struct gc_sweep {
    const gc_graph *graph;
    gpuchar_sass_reconvergence *result; /* its intervals are all there, its branches are being added */
    uint32_t *starts, *ends;            /* by interval: instruction indices; it is around those between them */
    uint32_t *open;                     /* intervals around the point where the pass stands, a stack */
    uint32_t open_count;
    uint32_t next;          /* interval that begins next */
    uint32_t registers[16]; /* open intervals by barrier register */
    uint32_t live;
    uint32_t next_bsync;    /* control index of the next BSYNC behind this point that is reached */
    uint32_t *above;        /* by block: the nearest post-dominator, itself included, that holds a BSYNC */
    const uint8_t *uniform; /* by block: its branch is proved uniform */
    bool crossed;           /* intervals that cross each other were found */
} gc_sweep;

/* In intervals.c: makes the list of intervals. */
gpuchar_status gc_intervals_read(const gc_graph *graph, gpuchar_sass_reconvergence *result, uint32_t **starts,
                                 uint32_t **ends);
/* Goes on to instruction `index`: opens and closes intervals. */
void gc_sweep_to(gc_sweep *sweep, uint32_t index);

/* GPUCHAR_SASS_PLACED_...: where block `join` stands, seen from the branch at the end of `block`. */
uint32_t gc_place(const gc_graph *graph, uint32_t block, uint32_t join);

/* All of it. `result` is zeroed but for its size; freed with gpuchar_sass_reconvergence_free. */
gpuchar_status gc_reconvergence_read(const gc_graph *graph, gpuchar_sass_reconvergence *result);

/* In uniform.c: marks the blocks whose branch goes the same way in all threads of a warp. `uniform` holds block_count bytes. */
gpuchar_status gc_uniform_find(const gc_graph *graph, uint8_t *uniform);

#endif
