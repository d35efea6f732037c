#include <core/error.h>
#include <sass/reconvergence.h>
#include <stdlib.h>
#include <string.h>

/* An interval in one list of the cover, or in none. */
typedef struct link {
    uint32_t interval;
    uint32_t below;
} link;

struct gc_open {
    const gc_graph *graph;
    gpuchar_sass_reconvergence *result;
    const uint32_t *starts, *ends;
    uint32_t total, next, closed, count, live;
    uint64_t *by_end;       /* end and number of each interval, in the order of ends */
    uint8_t *is_open;       /* by interval */
    bool crossed;           /* some interval overlaps another without being inside */
    uint32_t *below;        /* by interval: the newest that was open when it began */
    uint32_t *below_same;   /* the same among those of its barrier register */
    uint32_t *sums;         /* how many are open, as a Fenwick tree over intervals */
    uint32_t *joins;        /* by block: open intervals whose BSYNC stands there */
    uint32_t newest;        /* may be closed by now; then what is below it counts */
    uint32_t newest_of[16]; /* by barrier register, the same */
    uint32_t registers[16]; /* open intervals by barrier register */
    /* Segment tree over the post-dominators' tree: which intervals' BSYNCs post-dominate a range of it, newest first. */
    uint32_t *cover;
    uint32_t cover_size;
    link *links;
    uint32_t link_count, link_capacity;
};

static int compare(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

gpuchar_status gc_open_make(const gc_graph *graph, gpuchar_sass_reconvergence *result, const uint32_t *starts,
                            const uint32_t *ends, gc_open **open) {
    const size_t total = result->interval_count, part = total + 1, nodes = (size_t)graph->block_count + 2;
    gc_open *made = *open = calloc(1, sizeof *made);
    if (!made) return gc_fail_memory(sizeof *made);
    made->graph = graph;
    made->result = result;
    made->starts = starts;
    made->ends = ends;
    made->total = (uint32_t)total;
    made->newest = GPUCHAR_SASS_NO_BLOCK;
    memset(made->newest_of, 0xff, sizeof made->newest_of);
    if (!total) return GPUCHAR_OK;
    made->cover_size = (uint32_t)nodes;
    made->by_end = malloc(part * sizeof *made->by_end);
    made->is_open = calloc(part, 1);
    made->below = malloc(part * 2 * sizeof *made->below);
    made->sums = calloc(part, sizeof *made->sums);
    made->joins = calloc(nodes, sizeof *made->joins);
    made->cover = malloc(nodes * 2 * sizeof *made->cover);
    if (!made->by_end || !made->is_open || !made->below || !made->sums || !made->joins || !made->cover)
        return gc_fail_memory((part * 6 + nodes * 3) * sizeof *made->sums);
    made->below_same = made->below + part;
    memset(made->cover, 0xff, nodes * 2 * sizeof *made->cover);
    for (uint32_t i = 0; i < made->total; i++) made->by_end[i] = (uint64_t)ends[i] << 32 | i;
    qsort(made->by_end, total, sizeof *made->by_end, compare);
    return GPUCHAR_OK;
}

void gc_open_free(gc_open *open) {
    if (!open) return;
    free(open->by_end);
    free(open->is_open);
    free(open->below);
    free(open->sums);
    free(open->joins);
    free(open->cover);
    free(open->links);
    free(open);
}

/* ---- opening and closing ---- */

/* The block of an interval's BSYNC; GC_NO_NODE: it has none. */
static uint32_t join_of(const gc_open *open, uint32_t interval) {
    const bool matched = (open->result->intervals[interval].flags & GPUCHAR_SASS_INTERVAL_MATCHED) != 0;
    return matched ? gc_graph_block_of(open->graph, open->ends[interval]) : GC_NO_NODE;
}

static void add_to_sums(gc_open *open, uint32_t interval, uint32_t more) {
    for (uint32_t i = interval + 1; i <= open->total; i += i & (0 - i)) open->sums[i] += more;
}

static gpuchar_status link_at(gc_open *open, uint32_t node, uint32_t interval) {
    if (open->link_count == open->link_capacity) {
        const uint32_t capacity = open->link_capacity ? open->link_capacity * 2 : 64;
        link *grown = realloc(open->links, capacity * sizeof *grown);
        if (!grown) return gc_fail_memory(capacity * sizeof *grown);
        open->links = grown;
        open->link_capacity = capacity;
    }
    open->links[open->link_count] = (link){interval, open->cover[node]};
    open->cover[node] = open->link_count++;
    return GPUCHAR_OK;
}

static gpuchar_status cover_join(gc_open *open, uint32_t interval, uint32_t join) {
    const gc_tree *tree = &open->graph->post_dominators;
    uint32_t first = tree->enter[join] + open->cover_size, end = tree->leave[join] + open->cover_size;
    gpuchar_status status = GPUCHAR_OK;
    for (; first < end && !status; first /= 2, end /= 2) {
        if (first % 2) status = link_at(open, first++, interval);
        if (end % 2 && !status) status = link_at(open, --end, interval);
    }
    return status;
}

static void note_nesting(gc_open *open, uint32_t at) {
    gpuchar_sass_reconvergence *result = open->result;
    gpuchar_sass_interval *interval = &result->intervals[at];
    interval->parent = open->below[at];
    if (interval->parent != GPUCHAR_SASS_NO_BLOCK && open->ends[interval->parent] < open->ends[at])
        open->crossed = true;
    interval->depth = open->count;
    if (!(interval->flags & GPUCHAR_SASS_INTERVAL_REACHABLE)) return;
    if (open->count > result->depth) result->depth = open->count;
    if (open->live > result->live_barriers) result->live_barriers = open->live;
}

static gpuchar_status open_next(gc_open *open) {
    const uint32_t at = open->next++, barrier = open->result->intervals[at].barrier & 15, join = join_of(open, at);
    open->below[at] = gc_open_innermost(open);
    open->below_same[at] = gc_open_innermost_of(open, barrier);
    open->newest = open->newest_of[barrier] = at;
    open->is_open[at] = 1;
    open->count++;
    if (open->registers[barrier]++ == 0) open->live++;
    add_to_sums(open, at, 1);
    note_nesting(open, at);
    if (join == GC_NO_NODE) return GPUCHAR_OK;
    open->joins[join]++;
    return cover_join(open, at, join);
}

static void close_one(gc_open *open, uint32_t at) {
    const uint32_t barrier = open->result->intervals[at].barrier & 15, join = join_of(open, at);
    open->is_open[at] = 0;
    open->count--;
    if (--open->registers[barrier] == 0) open->live--;
    add_to_sums(open, at, UINT32_MAX);
    if (join != GC_NO_NODE) open->joins[join]--;
}

/* An interval without an inside ends before it begins: it opens, so that it is counted, and closes at once. */
static void close_ended(gc_open *open, uint32_t index) {
    while (open->closed < open->total && open->by_end[open->closed] >> 32 <= index) {
        const uint32_t at = (uint32_t)open->by_end[open->closed];
        if (at >= open->next) return;
        close_one(open, at);
        open->closed++;
    }
}

gpuchar_status gc_open_to(gc_open *open, uint32_t index) {
    gpuchar_status status = GPUCHAR_OK;
    while (open->next < open->total && open->starts[open->next] <= index && !status) {
        close_ended(open, open->starts[open->next]);
        status = open_next(open);
    }
    close_ended(open, index);
    return status;
}

/* ---- crossings: machine code has none, but bytes may ---- */

/* Largest of values[first] up to, not including, values[end], by a segment tree over them in tree[count] and on. */
static uint32_t largest(const uint32_t *tree, uint32_t count, uint32_t first, uint32_t end) {
    uint32_t found = 0;
    for (first += count, end += count; first < end; first /= 2, end /= 2) {
        if (first % 2 && tree[first++] > found) found = tree[first - 1];
        if (end % 2 && tree[--end] > found) found = tree[end];
    }
    return found;
}

static void grow_tree(uint32_t *tree, uint32_t count) {
    for (uint32_t i = count; i-- > 1;) tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
}

/* How many elements lie below a limit. */
static uint32_t below_start(const gc_open *open, uint32_t limit) {
    uint32_t first = 0, end = open->total;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (open->starts[middle] < limit)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static uint32_t below_end(const gc_open *open, uint32_t limit) {
    uint32_t first = 0, end = open->total;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (open->by_end[middle] >> 32 < limit)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* One that begins inside this interval ends behind it; or one that ends inside it began before. */
gpuchar_status gc_open_mark_crossed(gc_open *open) {
    const uint32_t count = open->total;
    if (!open->crossed) return GPUCHAR_OK;
    uint32_t *ends = malloc((size_t)count * 4 * sizeof *ends), *starts = ends + (size_t)count * 2;
    if (!ends) return gc_fail_memory((size_t)count * 4 * sizeof *ends);
    for (uint32_t i = 0; i < count; i++) {
        ends[count + i] = open->ends[i];
        starts[count + i] = UINT32_MAX - open->starts[(uint32_t)open->by_end[i]]; /* the earliest is the largest */
    }
    grow_tree(ends, count);
    grow_tree(starts, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t start = open->starts[i], end = open->ends[i];
        if (end <= start) continue;
        const uint32_t last = below_start(open, end), first = below_end(open, start + 1);
        if ((last > i + 1 && largest(ends, count, i + 1, last) > end) ||
            largest(starts, count, first, below_end(open, end)) > UINT32_MAX - start)
            open->result->intervals[i].flags |= GPUCHAR_SASS_INTERVAL_CROSSED;
    }
    free(ends);
    return GPUCHAR_OK;
}

/* ---- questions ---- */

uint32_t gc_open_count(const gc_open *open) {
    return open->count;
}

uint32_t gc_open_innermost(gc_open *open) {
    while (open->newest != GPUCHAR_SASS_NO_BLOCK && !open->is_open[open->newest])
        open->newest = open->below[open->newest];
    return open->newest;
}

uint32_t gc_open_innermost_of(gc_open *open, uint32_t barrier) {
    uint32_t *newest = &open->newest_of[barrier & 15];
    while (*newest != GPUCHAR_SASS_NO_BLOCK && !open->is_open[*newest]) *newest = open->below_same[*newest];
    return *newest;
}

uint32_t gc_open_joined_above(gc_open *open, uint32_t block) {
    uint32_t best = GPUCHAR_SASS_NO_BLOCK;
    if (!open->count) return best;
    for (uint32_t node = open->graph->post_dominators.enter[block] + open->cover_size; node; node /= 2) {
        uint32_t *top = &open->cover[node];
        while (*top != GC_NO_INDEX && !open->is_open[open->links[*top].interval]) *top = open->links[*top].below;
        if (*top == GC_NO_INDEX) continue;
        const uint32_t found = open->links[*top].interval;
        if (best == GPUCHAR_SASS_NO_BLOCK || found > best) best = found;
    }
    return best;
}

uint32_t gc_open_inside(const gc_open *open, uint32_t interval) {
    uint32_t before = 0;
    if (interval == GPUCHAR_SASS_NO_BLOCK) return open->count;
    for (uint32_t i = interval + 1; i; i -= i & (0 - i)) before += open->sums[i];
    return open->count - before;
}

bool gc_open_joins_at(const gc_open *open, uint32_t block) {
    return open->count && block < open->graph->block_count && open->joins[block];
}
