/* Least and most along all ways through a body: loops from the innermost outwards, each then a single step of the one around it. */
#include <core/error.h>
#include <proof/contents_body.h>
#include <stdlib.h>
#include <string.h>

typedef struct sums {
    gc_span counts[GC_COUNTS];
    bool reached;
} sums;

typedef struct measure {
    const gc_body_use *use;
    sums *own;     /* by block: what its instructions are */
    sums *through; /* by block: from the entry of its innermost loop, or of the body, to its end */
    sums *arrive;  /* by loop: from the entry of the loop around it to its head */
    sums *turn;    /* by loop: all turns but the last, each */
} measure;

static uint64_t add(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t multiply(uint64_t a, uint64_t b) {
    return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

static void add_times(sums *to, const sums *what, uint64_t times) {
    for (uint32_t k = 0; k < GC_COUNTS; k++) {
        to->counts[k].min = add(to->counts[k].min, multiply(what->counts[k].min, times));
        to->counts[k].max = add(to->counts[k].max, multiply(what->counts[k].max, times));
    }
}

/* One way more. */
static void join(sums *to, const sums *way) {
    for (uint32_t k = 0; k < GC_COUNTS; k++) {
        if (!to->reached || way->counts[k].min < to->counts[k].min) to->counts[k].min = way->counts[k].min;
        if (!to->reached || way->counts[k].max > to->counts[k].max) to->counts[k].max = way->counts[k].max;
    }
    to->reached = true;
}

static void add_one(sums *to, uint32_t count, bool least, bool most) {
    to->counts[count].min += least;
    to->counts[count].max += most;
}

static bool is_guarded(const gc_instruction *in) {
    return in->guard != GC_PREDICATE_TRUE || in->guard_not;
}

static void add_instruction(const gc_body_use *use, uint32_t index, sums *sum) {
    const gc_instruction *in = &use->body->flow->instructions[index];
    const bool intended = use->body->roles[index] == GC_ROLE_INTENDED && (!use->called || use->routine_intended);
    const bool foreign = use->body->roles[index] == GC_ROLE_FOREIGN && !use->called;
    add_one(sum, GC_COUNT_INSTRUCTIONS, true, true);
    add_one(sum, GC_COUNT_INTENDED, intended && !is_guarded(in), intended);
    add_one(sum, GC_COUNT_FOREIGN, foreign, foreign);
    add_one(sum, GC_COUNT_CALLED, use->called, use->called);
    add_one(sum, GC_COUNT_WAITS, in->wait_mask != 0, in->wait_mask != 0);
    for (int i = 0; i < 2; i++) {
        const bool set = (i ? in->read_barrier : in->write_barrier) != 7;
        add_one(sum, GC_COUNT_SETS, set, set);
    }
    sum->counts[GC_COUNT_STALL].min += in->stall;
    sum->counts[GC_COUNT_STALL].max += in->stall;
}

static void add_routine(const gc_instruction *call, const gc_span *routine, sums *sum) {
    for (uint32_t k = 0; k < GC_COUNTS; k++) {
        sum->counts[k].min = add(sum->counts[k].min, is_guarded(call) ? 0 : routine[k].min);
        sum->counts[k].max = add(sum->counts[k].max, routine[k].max);
    }
}

/* Calls are numbered in the order of the code. */
static void sum_blocks(measure *m) {
    const gc_body *body = m->use->body;
    uint32_t call = 0;
    for (uint32_t b = 0; b < body->flow->block_count; b++) {
        const gc_block *block = &body->flow->blocks[b];
        for (uint32_t i = block->first; body->inside[b] && i < block->first + block->count; i++) {
            const gc_instruction *in = &body->flow->instructions[i];
            add_instruction(m->use, i, &m->own[b]);
            if (in->kind == GC_OP_CALL && !in->never)
                add_routine(in, m->use->routines + (size_t)GC_COUNTS * call++, &m->own[b]);
        }
    }
}

/* From the entry of `around` through `block`, which lies in it or in a loop of it, and out of that loop. */
static sums way_out(const measure *m, uint32_t block, uint32_t around) {
    const gc_body *body = m->use->body;
    sums way = m->through[block];
    for (uint32_t loop = body->loop_of[block]; loop != around; loop = body->loops[loop].parent) {
        const uint64_t *turns = m->use->turns;
        if (turns)
            add_times(&way, &m->turn[loop], turns[loop] - 1);
        else
            memset(&way, 0, sizeof way);
        add_times(&way, &m->arrive[loop], 1);
    }
    way.reached = true;
    return way;
}

/* What comes to `block` from the entry of `around`, back edges left out. */
static sums arrive_at(const measure *m, uint32_t block, uint32_t around) {
    const gc_body *body = m->use->body;
    sums all = {.reached = false};
    if (block == body->entry && around == GC_NO_LOOP) all.reached = true;
    if (around != GC_NO_LOOP && block == body->loops[around].head) all.reached = true;
    if (all.reached) return all;
    for (uint32_t p = body->before_first[block]; p < body->before_first[block + 1]; p++) {
        const uint32_t from = body->before[p];
        if (gc_body_is_back(body, from, block)) continue;
        const sums way = way_out(m, from, around);
        join(&all, &way);
    }
    return all;
}

/* The edges that close the loop, and those that leave it. */
static void close_loop(measure *m, uint32_t loop, sums *turn, sums *last) {
    const gc_body *body = m->use->body;
    for (uint32_t n = 0; n < body->order_count; n++) {
        const uint32_t from = body->order[n];
        const gc_block *block = &body->flow->blocks[from];
        if (!gc_body_is_around(body, loop, body->loop_of[from])) continue;
        const sums way = way_out(m, from, loop);
        for (uint32_t s = 0; s < block->successor_count; s++) {
            const uint32_t to = body->flow->successors[block->successor + s];
            if (to == body->loops[loop].head)
                join(turn, &way);
            else if (!body->inside[to] || !gc_body_is_around(body, loop, body->loop_of[to]))
                join(last, &way);
        }
        if (block->leaves) join(last, &way); /* a return out of the loop */
    }
}

/* One level: a loop's own blocks and those loops right inside it, which are measured already. */
static void measure_level(measure *m, uint32_t around) {
    const gc_body *body = m->use->body;
    for (uint32_t n = 0; n < body->order_count; n++) {
        const uint32_t block = body->order[n], loop = body->loop_of[block];
        if (loop == around) {
            m->through[block] = arrive_at(m, block, around);
            add_times(&m->through[block], &m->own[block], 1);
        } else if (loop != GC_NO_LOOP && body->loops[loop].head == block) {
            /* The head of several nested loops is that of the innermost only: natural loops with one head are one. */
            if (body->loops[loop].parent == around) m->arrive[loop] = arrive_at(m, block, around);
        }
    }
}

/* One way only: each block leads to one other, and what leaves the loop does so where it is closed. */
static bool is_straight(const gc_body *body, uint32_t around) {
    uint32_t closings = 0;
    for (uint32_t n = 0; n < body->order_count; n++) {
        const uint32_t from = body->order[n];
        const gc_block *block = &body->flow->blocks[from];
        if (body->loop_of[from] != around) {
            continue;
        }
        uint32_t ahead = 0;
        bool closes = false, leaves = false;
        for (uint32_t s = 0; s < block->successor_count; s++) {
            const uint32_t to = body->flow->successors[block->successor + s];
            const bool head = around != GC_NO_LOOP && to == body->loops[around].head;
            const bool out = around != GC_NO_LOOP && gc_body_leaves_loop(body, from, to);
            closes = closes || head;
            leaves = leaves || out;
            ahead += !head && !out;
        }
        closings += closes;
        if (ahead > 1 || (leaves && !closes) || (closes && ahead)) return false;
        if (block->leaves && block->successor_count) return false;
        for (uint32_t i = block->first; i < block->first + block->count; i++) {
            const gc_instruction *in = &body->flow->instructions[i];
            if (in->kind == GC_OP_CALL && !in->never && is_guarded(in)) return false;
        }
    }
    return closings <= 1;
}

/* Loops right inside `around` lead on to one block of it. */
static bool lead_on_straight(const gc_body *body, uint32_t around) {
    for (uint32_t loop = 0; loop < body->loop_count; loop++) {
        uint32_t found = GC_CONTENTS_OUT;
        if (body->loops[loop].parent != around) continue;
        for (uint32_t n = 0; n < body->order_count; n++) {
            const uint32_t from = body->order[n];
            const gc_block *block = &body->flow->blocks[from];
            if (!gc_body_is_around(body, loop, body->loop_of[from])) continue;
            if (block->leaves) return false;
            for (uint32_t s = 0; s < block->successor_count; s++) {
                const uint32_t to = body->flow->successors[block->successor + s];
                if (body->inside[to] && gc_body_is_around(body, loop, body->loop_of[to])) continue;
                if (found != GC_CONTENTS_OUT && found != to) return false;
                if (around != GC_NO_LOOP && to == body->loops[around].head) return false;
                if (around != GC_NO_LOOP && (!body->inside[to] || !gc_body_is_around(body, around, body->loop_of[to])))
                    return false;
                found = to;
            }
        }
    }
    return true;
}

static bool goes_straight(const gc_body *body, uint32_t around) {
    return is_straight(body, around) && lead_on_straight(body, around);
}

static void measure_loop(measure *m, uint32_t loop) {
    sums last = {.reached = false};
    measure_level(m, loop);
    close_loop(m, loop, &m->turn[loop], &last);
    if (!m->use->loops) return;
    gc_contents_loop *told = &m->use->loops[loop];
    memcpy(told->turn, m->turn[loop].counts, sizeof told->turn);
    memcpy(told->last, last.counts, sizeof told->last);
    told->straight = goes_straight(m->use->body, loop);
}

static void measure_all(measure *m, gc_span *sum, bool *straight) {
    const gc_body *body = m->use->body;
    uint32_t deepest = 0;
    for (uint32_t loop = 0; loop < body->loop_count; loop++)
        if (body->loops[loop].depth > deepest) deepest = body->loops[loop].depth;
    sum_blocks(m);
    for (uint32_t depth = deepest; depth > 0; depth--)
        for (uint32_t loop = 0; loop < body->loop_count; loop++)
            if (body->loops[loop].depth == depth) measure_loop(m, loop);
    measure_level(m, GC_NO_LOOP);
    sums all = {.reached = false};
    for (uint32_t n = 0; n < body->order_count; n++) {
        const gc_block *block = &body->flow->blocks[body->order[n]];
        bool ends = body->end == GC_CONTENTS_OUT && block->leaves;
        for (uint32_t s = 0; s < block->successor_count; s++)
            ends = ends || body->flow->successors[block->successor + s] == body->end;
        if (!ends) continue;
        const sums way = way_out(m, body->order[n], GC_NO_LOOP);
        join(&all, &way);
    }
    memcpy(sum, all.counts, sizeof all.counts);
    *straight = goes_straight(body, GC_NO_LOOP);
}

gpuchar_status gc_body_measure(const gc_body_use *use, gc_span *sum, bool *straight) {
    const size_t blocks = use->body->flow->block_count, loops = use->body->loop_count;
    memset(sum, 0, GC_COUNTS * sizeof *sum);
    *straight = true;
    if (use->body->order_count == 0) return GPUCHAR_OK;
    measure m = {use, calloc(blocks, sizeof *m.own), calloc(blocks, sizeof *m.through),
                 calloc(loops + 1, sizeof *m.arrive), calloc(loops + 1, sizeof *m.turn)};
    gpuchar_status status = GPUCHAR_OK;
    if (m.own && m.through && m.arrive && m.turn)
        measure_all(&m, sum, straight);
    else
        status = gc_fail_memory((blocks + loops) * 2 * sizeof *m.own);
    free(m.own);
    free(m.through);
    free(m.arrive);
    free(m.turn);
    return status;
}
