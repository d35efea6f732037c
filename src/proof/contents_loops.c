/* Order, predecessors and natural loops of a body. */
#include <core/error.h>
#include <proof/contents_body.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t *successors(const gc_body *body, uint32_t block, uint32_t *count) {
    *count = body->flow->blocks[block].successor_count;
    /* Where no block has one there is no list. */
    return *count ? body->flow->successors + body->flow->blocks[block].successor : NULL;
}

static unsigned long long pc_of(const gc_body *body, uint32_t block) {
    return (unsigned long long)body->flow->instructions[body->flow->blocks[block].first].pc;
}

/* Depth first; a block is placed when all behind it are, from the end of `order` on. `next` counts what was gone into. */
static void find_order(gc_body *body, uint32_t *next, uint32_t *stack) {
    const uint32_t blocks = body->flow->block_count;
    uint32_t depth = 0, at = blocks;
    memset(next, 0, blocks * sizeof *next);
    for (uint32_t b = 0; b < blocks; b++) body->rank[b] = GC_CONTENTS_OUT;
    stack[depth++] = body->entry;
    body->rank[body->entry] = 0;
    while (depth) {
        const uint32_t block = stack[depth - 1];
        uint32_t count;
        const uint32_t *to = successors(body, block, &count);
        if (next[block] == count) {
            body->order[--at] = block;
            depth--;
            continue;
        }
        const uint32_t one = to[next[block]++];
        if (!body->inside[one] || body->rank[one] != GC_CONTENTS_OUT) continue;
        body->rank[one] = 0;
        stack[depth++] = one;
    }
    body->order_count = blocks - at;
    memmove(body->order, body->order + at, body->order_count * sizeof *body->order);
    for (uint32_t i = 0; i < body->order_count; i++) body->rank[body->order[i]] = i;
}

/* At first before_first says where a block's predecessors end; filling them in from there makes it their beginning. */
static gpuchar_status find_before(gc_body *body) {
    const uint32_t blocks = body->flow->block_count;
    uint32_t total = 0;
    for (uint32_t i = 0; i < body->order_count; i++) {
        uint32_t count;
        const uint32_t *to = successors(body, body->order[i], &count);
        for (uint32_t s = 0; s < count; s++) {
            if (!body->inside[to[s]]) continue;
            body->before_first[to[s]]++;
            total++;
        }
    }
    for (uint32_t b = 1; b < blocks; b++) body->before_first[b] += body->before_first[b - 1];
    body->before_first[blocks] = total;
    body->before = malloc(((size_t)total + 1) * sizeof *body->before);
    if (!body->before) return gc_fail_memory(total * sizeof *body->before);
    for (uint32_t i = 0; i < body->order_count; i++) {
        uint32_t count;
        const uint32_t *to = successors(body, body->order[i], &count);
        for (uint32_t s = 0; s < count; s++)
            if (body->inside[to[s]]) body->before[--body->before_first[to[s]]] = body->order[i];
    }
    return GPUCHAR_OK;
}

/* By rank: the immediate dominator's rank. */
static void find_dominators(const gc_body *body, uint32_t *dominator) {
    memset(dominator, 0xff, body->order_count * sizeof *dominator);
    dominator[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < body->order_count; i++) {
            const uint32_t block = body->order[i];
            uint32_t found = UINT32_MAX;
            for (uint32_t p = body->before_first[block]; p < body->before_first[block + 1]; p++) {
                uint32_t one = body->rank[body->before[p]];
                if (dominator[one] == UINT32_MAX) continue;
                while (found != UINT32_MAX && found != one)
                    if (one > found)
                        one = dominator[one];
                    else
                        found = dominator[found];
                found = one;
            }
            changed = changed || dominator[i] != found;
            dominator[i] = found;
        }
    }
}

static bool dominates(const uint32_t *dominator, uint32_t one, uint32_t other) {
    while (other > one) other = dominator[other];
    return other == one;
}

static bool find_heads(gc_body *body, const uint32_t *dominator, gc_contents *contents) {
    for (uint32_t block = 0; block < body->flow->block_count; block++) {
        if (!body->inside[block]) continue;
        bool head = false;
        for (uint32_t p = body->before_first[block]; p < body->before_first[block + 1]; p++) {
            const uint32_t from = body->before[p];
            if (!gc_body_is_back(body, from, block)) continue;
            head = true;
            if (!dominates(dominator, body->rank[block], body->rank[from]))
                return gc_contents_refuse(contents, "a loop that is entered at two places, at 0x%llx",
                                          pc_of(body, block));
        }
        if (!head) continue;
        if (body->loop_count == GC_CONTENTS_LOOPS_MAX)
            return gc_contents_refuse(contents, "more than %d loops", GC_CONTENTS_LOOPS_MAX);
        body->loops[body->loop_count++].head = block;
    }
    return true;
}

/* Backwards from the edges to its head. */
static void mark_loop(gc_body *body, uint32_t loop, uint32_t *stack) {
    const uint32_t head = body->loops[loop].head;
    uint32_t depth = 0;
    stack[depth++] = head;
    body->loops[loop].parent = body->loop_of[head];
    body->loops[loop].depth = body->loop_of[head] == GC_NO_LOOP ? 1 : body->loops[body->loop_of[head]].depth + 1;
    body->loop_of[head] = loop;
    while (depth) {
        const uint32_t block = stack[--depth];
        for (uint32_t p = body->before_first[block]; p < body->before_first[block + 1]; p++) {
            const uint32_t from = body->before[p];
            if (block == head && !gc_body_is_back(body, from, head)) continue;
            if (body->loop_of[from] == loop) continue;
            body->loop_of[from] = loop;
            stack[depth++] = from;
        }
    }
}

/* Outer loops first, so that the innermost stays: a head of one comes behind those around it in `order`. */
static void nest_loops(gc_body *body, uint32_t *stack) {
    for (uint32_t i = 0; i < body->order_count; i++)
        for (uint32_t loop = 0; loop < body->loop_count; loop++)
            if (body->loops[loop].head == body->order[i]) mark_loop(body, loop, stack);
}

/* Every block must come to the end: a loop without a way out never does. */
static bool check_ends(const gc_body *body, uint8_t *marks, uint32_t *stack, gc_contents *contents) {
    uint32_t depth = 0;
    memset(marks, 0, body->flow->block_count);
    for (uint32_t i = 0; i < body->order_count; i++) {
        const gc_block *block = &body->flow->blocks[body->order[i]];
        bool ends = body->end == GC_CONTENTS_OUT && block->leaves;
        for (uint32_t s = 0; s < block->successor_count; s++)
            ends = ends || body->flow->successors[block->successor + s] == body->end;
        if (!ends) continue;
        marks[body->order[i]] = 1;
        stack[depth++] = body->order[i];
    }
    while (depth) {
        const uint32_t block = stack[--depth];
        for (uint32_t p = body->before_first[block]; p < body->before_first[block + 1]; p++) {
            if (marks[body->before[p]]) continue;
            marks[body->before[p]] = 1;
            stack[depth++] = body->before[p];
        }
    }
    for (uint32_t i = 0; i < body->order_count; i++)
        if (!marks[body->order[i]])
            return gc_contents_refuse(contents, "no way leads out of what stands at 0x%llx",
                                      pc_of(body, body->order[i]));
    return true;
}

static gpuchar_status find_loops(gc_body *body, uint32_t *scratch, uint32_t *stack, uint8_t *marks,
                                 gc_contents *contents) {
    find_order(body, scratch, stack);
    const gpuchar_status status = find_before(body);
    if (status) return status;
    find_dominators(body, scratch);
    if (find_heads(body, scratch, contents) && check_ends(body, marks, stack, contents)) nest_loops(body, stack);
    return GPUCHAR_OK;
}

gpuchar_status gc_body_find_loops(gc_body *body, gc_contents *contents) {
    const size_t blocks = body->flow->block_count;
    body->order = malloc(blocks * sizeof *body->order);
    body->rank = malloc(blocks * sizeof *body->rank);
    body->before_first = calloc(blocks + 1, sizeof *body->before_first);
    body->loop_of = malloc(blocks * sizeof *body->loop_of);
    body->loops = calloc(GC_CONTENTS_LOOPS_MAX, sizeof *body->loops);
    uint32_t *scratch = malloc(blocks * sizeof *scratch), *stack = malloc(blocks * sizeof *stack);
    uint8_t *marks = malloc(blocks);
    gpuchar_status status = GPUCHAR_OK;
    const bool there =
        body->order && body->rank && body->before_first && body->loop_of && body->loops && scratch && stack && marks;
    if (there)
        memset(body->loop_of, 0xff, blocks * sizeof *body->loop_of);
    else
        status = gc_fail_memory(blocks * 32);
    if (there && body->entry != GC_CONTENTS_OUT) status = find_loops(body, scratch, stack, marks, contents);
    free(scratch);
    free(stack);
    free(marks);
    return status;
}

void gc_body_free(gc_body *body) {
    free(body->inside);
    free(body->order);
    free(body->rank);
    free(body->before);
    free(body->before_first);
    free(body->loop_of);
    free(body->loops);
    free(body->roles);
    memset(body, 0, sizeof *body);
}

bool gc_body_is_around(const gc_body *body, uint32_t outer, uint32_t inner) {
    while (inner != outer && inner != GC_NO_LOOP) inner = body->loops[inner].parent;
    return inner == outer;
}
