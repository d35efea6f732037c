#include <core/error.h>
#include <sass/reconvergence.h>
#include <stdlib.h>

static uint64_t pc_of(const gc_graph *graph, uint32_t instruction) {
    return graph->code->offset + gc_code_offset(graph->code, instruction);
}

/* The control-flow instruction at an index; NULL: there is none. */
static const gc_control *control_at(const gc_graph *graph, uint32_t instruction) {
    uint32_t begin = 0, end = graph->control_count;
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (graph->controls[middle].index < instruction)
            begin = middle + 1;
        else
            end = middle;
    }
    const bool found = begin < graph->control_count && graph->controls[begin].index == instruction;
    return found ? &graph->controls[begin] : NULL;
}

#define GC_BMOV_OUT 0x155 /* opcode bits [8:0] */
#define GC_RESTORE_MAX 32 /* control-flow instructions between a BMOV and the BSYNC that it is for */

/*
 * Where sixteen registers are too few, a barrier waits in a vector register meanwhile, and comes back in another barrier
 * register: a BMOV into it stands before the BSYNC.
 */
static bool is_restored(const gc_control *bssy, const gc_control *join) {
    const gc_control *before = join - 1;
    for (uint32_t i = 0; i < GC_RESTORE_MAX && before > bssy; i++, before--) {
        if (before->barrier != join->barrier) continue;
        if (before->kind == GC_OP_BMOV) return (before->opcode & 0x1ff) != GC_BMOV_OUT;
        if (before->kind == GC_OP_BSSY || before->kind == GC_OP_BSYNC) return false;
    }
    return false;
}

/* BSSY says where to go on behind the BSYNC, which stands right before. */
static void read_bssy(const gc_graph *graph, const gc_control *bssy, gpuchar_sass_interval *interval, uint32_t *end) {
    *interval = (gpuchar_sass_interval){.bssy_bytes = pc_of(graph, bssy->index),
                                        .bsync_bytes = GPUCHAR_SASS_NO_PC,
                                        .barrier = bssy->barrier,
                                        .barrier_class = bssy->barrier_class,
                                        .parent = GPUCHAR_SASS_NO_BLOCK};
    if (gc_graph_reaches(graph, gc_graph_block_of(graph, bssy->index)))
        interval->flags |= GPUCHAR_SASS_INTERVAL_REACHABLE;
    *end = bssy->index; /* nothing is inside */
    if (bssy->target == GC_NO_INDEX || bssy->target <= bssy->index + 1) return;
    *end = bssy->target - 1;
    interval->bsync_bytes = pc_of(graph, *end);
    const gc_control *join = control_at(graph, *end);
    if (join && join->kind == GC_OP_BSYNC && (join->barrier == bssy->barrier || is_restored(bssy, join)))
        interval->flags |= GPUCHAR_SASS_INTERVAL_MATCHED;
}

gpuchar_status gc_intervals_read(const gc_graph *graph, gpuchar_sass_reconvergence *result, uint32_t **starts,
                                 uint32_t **ends) {
    size_t count = 0;
    for (uint32_t i = 0; i < graph->control_count; i++) count += graph->controls[i].kind == GC_OP_BSSY;
    result->intervals = calloc(count + 1, sizeof *result->intervals);
    *starts = malloc((count + 1) * sizeof **starts);
    *ends = malloc((count + 1) * sizeof **ends);
    if (!result->intervals || !*starts || !*ends) return gc_fail_memory((count + 1) * sizeof *result->intervals);
    for (uint32_t i = 0; i < graph->control_count; i++) {
        if (graph->controls[i].kind != GC_OP_BSSY) continue;
        const size_t at = result->interval_count++;
        (*starts)[at] = graph->controls[i].index;
        read_bssy(graph, &graph->controls[i], &result->intervals[at], &(*ends)[at]);
        if (!(result->intervals[at].flags & GPUCHAR_SASS_INTERVAL_MATCHED)) result->unmatched++;
    }
    return GPUCHAR_OK;
}

static void close_one(gc_sweep *sweep, uint32_t interval) {
    const uint32_t barrier = sweep->result->intervals[interval].barrier & 15;
    if (--sweep->registers[barrier] == 0) sweep->live--;
}

static void close_ended(gc_sweep *sweep, uint32_t index) {
    while (sweep->open_count && sweep->ends[sweep->open[sweep->open_count - 1]] <= index)
        close_one(sweep, sweep->open[--sweep->open_count]);
    if (!sweep->crossed) return;
    /* What crosses others may end below them. */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sweep->open_count; i++) {
        const uint32_t interval = sweep->open[i];
        if (sweep->ends[interval] > index)
            sweep->open[kept++] = interval;
        else
            close_one(sweep, interval);
    }
    sweep->open_count = kept;
}

/* Those around its beginning that end before it does. */
static void find_crossed(gc_sweep *sweep, uint32_t at) {
    gpuchar_sass_interval *intervals = sweep->result->intervals;
    const bool nested = !sweep->crossed; /* then the inner ones end first */
    for (uint32_t i = sweep->open_count; i-- > 0;) {
        const uint32_t other = sweep->open[i];
        if (sweep->ends[other] < sweep->ends[at]) {
            intervals[at].flags |= GPUCHAR_SASS_INTERVAL_CROSSED;
            intervals[other].flags |= GPUCHAR_SASS_INTERVAL_CROSSED;
            sweep->crossed = true;
        } else if (nested) {
            return;
        }
    }
}

static void open_next(gc_sweep *sweep) {
    const uint32_t at = sweep->next++;
    gpuchar_sass_reconvergence *result = sweep->result;
    gpuchar_sass_interval *interval = &result->intervals[at];
    if (sweep->open_count) interval->parent = sweep->open[sweep->open_count - 1];
    find_crossed(sweep, at);
    sweep->open[sweep->open_count++] = at;
    if (sweep->registers[interval->barrier & 15]++ == 0) sweep->live++;
    interval->depth = sweep->open_count;
    if (!(interval->flags & GPUCHAR_SASS_INTERVAL_REACHABLE)) return;
    if (sweep->open_count > result->depth) result->depth = sweep->open_count;
    if (sweep->live > result->live_barriers) result->live_barriers = sweep->live;
}

void gc_sweep_to(gc_sweep *sweep, uint32_t index) {
    while (sweep->next < sweep->result->interval_count && sweep->starts[sweep->next] <= index) {
        close_ended(sweep, sweep->starts[sweep->next]);
        open_next(sweep);
    }
    close_ended(sweep, index);
}
