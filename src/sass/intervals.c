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

static bool opens(const gc_control *control) {
    return control->kind == GC_OP_BSSY || (control->kind == GC_OP_PUSH && control->flags & GC_CONTROL_MEETS);
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
    *end = bssy->target - 1;
    const gc_control *join = control_at(graph, *end);
    if (join && join->kind == GC_OP_BSYNC && (join->barrier == bssy->barrier || is_restored(bssy, join)))
        interval->flags |= GPUCHAR_SASS_INTERVAL_MATCHED;
}

/* SSY says where SYNC goes, PBK where BRK, PCNT where CONT; `joined`: by instruction, whether one goes there. */
static void read_push(const gc_control *push, const uint8_t *joined, gpuchar_sass_interval *interval, uint32_t *end) {
    *end = push->target;
    if (joined && joined[*end]) interval->flags |= GPUCHAR_SASS_INTERVAL_MATCHED;
}

static void read_one(const gc_graph *graph, const gc_control *control, const uint8_t *joined,
                     gpuchar_sass_interval *interval, uint32_t *end) {
    *interval = (gpuchar_sass_interval){.bssy_bytes = pc_of(graph, control->index),
                                        .bsync_bytes = GPUCHAR_SASS_NO_PC,
                                        .barrier = control->barrier,
                                        .barrier_class = control->barrier_class,
                                        .parent = GPUCHAR_SASS_NO_BLOCK};
    if (gc_graph_reaches(graph, gc_graph_block_of(graph, control->index)))
        interval->flags |= GPUCHAR_SASS_INTERVAL_REACHABLE;
    *end = control->index; /* nothing is inside */
    if (control->target == GC_NO_INDEX || control->target <= control->index + 1) return;
    if (control->kind == GC_OP_BSSY)
        read_bssy(graph, control, interval, end);
    else
        read_push(control, joined, interval, end);
    interval->bsync_bytes = pc_of(graph, *end);
}

/* Before sm_70: marks the instructions where SYNC, BRK and CONT go. */
static gpuchar_status mark_joined(const gc_graph *graph, uint8_t **joined) {
    *joined = NULL;
    if (graph->code->arch >= 70) return GPUCHAR_OK;
    *joined = calloc(graph->instruction_count, 1);
    if (!*joined) return gc_fail_memory(graph->instruction_count);
    for (uint32_t i = 0; i < graph->control_count; i++) {
        size_t count = 0;
        const uint8_t kind = graph->controls[i].kind;
        if (kind != GC_OP_SYNC && kind != GC_OP_BRK && kind != GC_OP_CONT) continue;
        const uint64_t *targets = gc_tokens_targets(&graph->tokens, graph->controls[i].index, &count);
        for (size_t t = 0; t < count; t++) {
            const size_t index = gc_code_index(graph->code, targets[t]);
            if (index != SIZE_MAX) (*joined)[index] = 1;
        }
    }
    return GPUCHAR_OK;
}

gpuchar_status gc_intervals_read(const gc_graph *graph, gpuchar_sass_reconvergence *result, uint32_t **starts,
                                 uint32_t **ends) {
    size_t count = 0;
    uint8_t *joined;
    for (uint32_t i = 0; i < graph->control_count; i++) count += opens(&graph->controls[i]);
    const gpuchar_status status = mark_joined(graph, &joined);
    result->intervals = calloc(count + 1, sizeof *result->intervals);
    *starts = malloc((count + 1) * sizeof **starts);
    *ends = malloc((count + 1) * sizeof **ends);
    if (status || !result->intervals || !*starts || !*ends) {
        free(joined);
        return status ? status : gc_fail_memory((count + 1) * sizeof *result->intervals);
    }
    for (uint32_t i = 0; i < graph->control_count; i++) {
        if (!opens(&graph->controls[i])) continue;
        const size_t at = result->interval_count++;
        (*starts)[at] = graph->controls[i].index;
        read_one(graph, &graph->controls[i], joined, &result->intervals[at], &(*ends)[at]);
        if (!(result->intervals[at].flags & GPUCHAR_SASS_INTERVAL_MATCHED)) result->unmatched++;
    }
    free(joined);
    return GPUCHAR_OK;
}

static int by_index(const void *left, const void *right) {
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

gpuchar_status gc_joins_read(const gc_graph *graph, const gpuchar_sass_reconvergence *result, const uint32_t *ends,
                             uint32_t **joins, uint32_t *count) {
    const size_t most = graph->control_count + result->interval_count + 1;
    uint32_t found = 0;
    *joins = malloc(most * sizeof **joins);
    if (!*joins) return gc_fail_memory(most * sizeof **joins);
    for (uint32_t i = 0; i < graph->control_count; i++)
        if (graph->controls[i].kind == GC_OP_BSYNC) (*joins)[found++] = graph->controls[i].index;
    for (size_t i = 0; i < result->interval_count && graph->code->arch < 70; i++)
        if (result->intervals[i].flags & GPUCHAR_SASS_INTERVAL_MATCHED) (*joins)[found++] = ends[i];
    if (graph->code->arch < 70 && found) qsort(*joins, found, sizeof **joins, by_index);
    *count = 0;
    for (uint32_t i = 0; i < found; i++)
        if (gc_graph_reaches(graph, gc_graph_block_of(graph, (*joins)[i]))) (*joins)[(*count)++] = (*joins)[i];
    return GPUCHAR_OK;
}
