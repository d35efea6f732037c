/*
 * Which branches go the same way in all threads of a warp. A value is the same in all threads when all that it was made
 * from is: constants, parameters, block indices. Nothing is the same that was made where only some threads of the warp may have
 * been: between a divergent branch and the place where its ways meet again. So the question is asked backward from
 * each branch, and what is not the same is then told forward to all that depends on it, branches included, until nothing
 * changes. Work and memory are bounded by the code's length: what is not known when the bound is met is taken to differ.
 */
#include <core/error.h>
#include <sass/effects.h>
#include <sass/reconvergence.h>
#include <stdlib.h>
#include <string.h>

/* What a value is made from. */
typedef enum { NODE_MADE, NODE_ENTERS, NODE_BRANCH } node_kind;

typedef struct node {
    uint32_t at;    /* MADE: instruction; ENTERS: block, whose first instruction it is valid at; BRANCH: block */
    uint16_t value; /* of GC_VALUES */
    uint8_t kind;
    bool differs;       /* between threads */
    uint32_t first_use; /* list of nodes that depend on it */
    uint32_t next;      /* in its list */
} node;

/*
 * What may be spent on a function. In the libraries that were seen no kernel needed more than 20000 nodes, the average was half a node and
 * a few steps per instruction.
 */
#define GC_NODES_ANYWAY 65536u
#define GC_NODES_PER_INSTRUCTION 1u
#define GC_STEPS_ANYWAY (UINT64_C(1) << 22)
#define GC_STEPS_PER_INSTRUCTION 128u

/* A list is as long as there are values in these instructions, or at a block's beginning: short, and never over some hundreds. */
#define GC_GROUP 16u

typedef struct use {
    uint32_t node;
    uint32_t next;
} use;

typedef struct analysis {
    const gc_graph *graph;
    gc_effects effects;
    gc_writes *writes; /* by instruction */
    node *nodes;
    use *uses;
    uint32_t *made;   /* by GC_GROUP instructions: list of MADE nodes */
    uint32_t *others; /* by block: list of the other nodes */
    uint8_t *apart;   /* by block: only some threads may be there */
    uint32_t *above;  /* by block that is apart: a post-dominator of it below which all are */
    uint64_t steps;   /* that may still be taken */
    uint32_t *todo;   /* nodes that differ and whose users were not told */
    uint32_t *todo_blocks;
    uint32_t node_count, node_capacity, use_count, use_capacity, todo_count, todo_capacity;
    bool failed; /* out of memory */
} analysis;

static bool grow(void **array, uint32_t *capacity, size_t size) {
    const uint32_t grown = *capacity ? *capacity * 2 : 256;
    void *bigger = realloc(*array, grown * size);
    if (!bigger) return false;
    *array = bigger;
    *capacity = grown;
    return true;
}

/* ---- nodes ---- */

static void differ(analysis *a, uint32_t at) {
    if (a->nodes[at].differs) return;
    if (a->todo_count == a->todo_capacity && !grow((void **)&a->todo, &a->todo_capacity, sizeof *a->todo)) {
        a->failed = true;
        return;
    }
    a->nodes[at].differs = true;
    a->todo[a->todo_count++] = at;
}

static void spend(analysis *a, uint64_t steps) {
    a->steps -= steps < a->steps ? steps : a->steps;
}

/* Where the list of nodes begins in which one stands. */
static uint32_t *list_of(analysis *a, node_kind kind, uint32_t at) {
    return kind == NODE_MADE ? &a->made[at / GC_GROUP] : &a->others[at];
}

/* The node of a value; a new one when it was not asked for before. GC_NO_INDEX: out of memory. */
static uint32_t node_of(analysis *a, node_kind kind, uint32_t at, uint32_t value) {
    uint32_t *list = list_of(a, kind, at);
    for (uint32_t n = *list; n != GC_NO_INDEX; n = a->nodes[n].next) {
        if (a->nodes[n].at == at && a->nodes[n].value == value && a->nodes[n].kind == kind) return n;
        spend(a, 4); /* far apart in memory */
    }
    if (a->node_count == a->node_capacity && !grow((void **)&a->nodes, &a->node_capacity, sizeof *a->nodes))
        a->failed = true;
    if (a->failed) return GC_NO_INDEX;
    const uint32_t made = a->node_count++;
    a->nodes[made] =
        (node){.at = at, .value = (uint16_t)value, .kind = (uint8_t)kind, .first_use = GC_NO_INDEX, .next = *list};
    *list = made;
    if (kind == NODE_MADE && a->apart[gc_graph_block_of(a->graph, at)]) differ(a, made);
    return made;
}

static void depend(analysis *a, uint32_t user, uint32_t on) {
    if (a->failed) return;
    if (a->nodes[on].differs) {
        differ(a, user);
        return;
    }
    if (a->use_count == a->use_capacity && !grow((void **)&a->uses, &a->use_capacity, sizeof *a->uses)) {
        a->failed = true;
        return;
    }
    a->uses[a->use_count] = (use){user, a->nodes[on].first_use};
    a->nodes[on].first_use = a->use_count++;
}

static gc_word word_at(const analysis *a, uint32_t instruction) {
    gc_word word;
    memcpy(&word, a->graph->code->bytes + gc_code_offset(a->graph->code, instruction), sizeof word);
    return word;
}

/* The node of a value as it is before instruction `before` of a block. */
static uint32_t find(analysis *a, uint32_t block, uint32_t before, uint32_t value) {
    const uint32_t first = a->graph->blocks[block].first;
    uint32_t i = before;
    while (i > first && !gc_may_write(a->writes[i - 1], value)) i--;
    spend(a, before - i + 1);
    return i > first ? node_of(a, NODE_MADE, i - 1, value) : node_of(a, NODE_ENTERS, block, value);
}

static void depend_on_value(analysis *a, uint32_t user, uint32_t block, uint32_t before, uint32_t value) {
    const uint32_t on = find(a, block, before, value);
    if (on != GC_NO_INDEX) depend(a, user, on);
}

/* ---- what a node depends on ---- */

static void expand_made(analysis *a, uint32_t at) {
    const uint32_t instruction = a->nodes[at].at, value = a->nodes[at].value;
    const uint32_t block = gc_graph_block_of(a->graph, instruction);
    const gc_word word = word_at(a, instruction);
    const gc_sources sources = gc_effects_sources(&a->effects, word);
    if (!sources.pure) {
        differ(a, at);
        return;
    }
    for (uint32_t i = 0; i < sources.count && !a->nodes[at].differs && !a->failed; i++)
        depend_on_value(a, at, block, instruction, sources.values[i]);
    const uint32_t guard = (uint32_t)gc_bits(word, 14, 12);
    const bool always = guard == GC_PREDICATE_TRUE && !gc_bits(word, 15, 15);
    if (always && gc_effects_replaces(&a->effects, word, value)) return;
    /* The old value may stay. */
    if (guard != GC_PREDICATE_TRUE) depend_on_value(a, at, block, instruction, GC_VALUE_PREDICATE + guard);
    depend_on_value(a, at, block, instruction, value);
}

static void expand_enters(analysis *a, uint32_t at) {
    const gc_graph *graph = a->graph;
    const uint32_t block = a->nodes[at].at, value = a->nodes[at].value;
    if (block == 0) { /* what a caller left */
        differ(a, at);
        return;
    }
    for (uint32_t i = graph->in.first[block]; i < graph->in.first[block + 1] && !a->nodes[at].differs && !a->failed;
         i++) {
        const uint32_t from = graph->in.to[i];
        depend_on_value(a, at, from, graph->blocks[from].first + graph->blocks[from].instructions, value);
    }
}

static void expand_branch(analysis *a, uint32_t at, const gc_control *control) {
    const uint32_t block = a->nodes[at].at;
    const uint32_t guard = control->guard & 7, second = control->second & 7;
    if (guard != GC_PREDICATE_TRUE) depend_on_value(a, at, block, control->index, GC_VALUE_PREDICATE + guard);
    if (second != GC_PREDICATE_TRUE) depend_on_value(a, at, block, control->index, GC_VALUE_PREDICATE + second);
    if (control->kind != GC_OP_INDIRECT) return;
    const uint32_t address = (uint32_t)gc_bits(word_at(a, control->index), 31, 24);
    for (uint32_t i = 0; i < 2; i++)
        if (address + i < GC_REGISTER_ZERO) depend_on_value(a, at, block, control->index, address + i);
}

/* ---- what follows from a difference ---- */

/* The nearest block that is not apart, on the way up the post-dominators. */
static uint32_t skip_apart(analysis *a, uint32_t block) {
    while (a->apart[block]) {
        const uint32_t above = a->above[block];
        if (a->apart[above]) a->above[block] = a->above[above];
        block = above;
    }
    return block;
}

static void mark_apart(analysis *a, uint32_t block) {
    a->apart[block] = 1;
    a->above[block] = a->graph->post_dominators.parent[block];
    const uint32_t first = a->graph->blocks[block].first, last = first + a->graph->blocks[block].instructions - 1;
    for (uint32_t group = first / GC_GROUP; group <= last / GC_GROUP; group++)
        for (uint32_t n = a->made[group]; n != GC_NO_INDEX; n = a->nodes[n].next)
            if (a->nodes[n].at >= first && a->nodes[n].at <= last) differ(a, n);
}

/* Marks the blocks on the post-dominators' way from a block's successors to where they meet: not all threads come there. */
static void set_apart(analysis *a, uint32_t from) {
    const gc_graph *graph = a->graph;
    const gc_tree *tree = &graph->post_dominators;
    uint32_t count = 0;
    a->todo_blocks[count++] = from;
    while (count) {
        const uint32_t block = a->todo_blocks[--count], meet = tree->parent[block];
        if (graph->out.first[block + 1] - graph->out.first[block] < 2) continue;
        for (uint32_t i = graph->out.first[block]; i < graph->out.first[block + 1]; i++) {
            /* All on the way are below `meet`; what is above it may be apart as well, and is not of interest. */
            for (uint32_t b = skip_apart(a, graph->out.to[i]); tree->enter[b] > tree->enter[meet];
                 b = skip_apart(a, b)) {
                mark_apart(a, b);
                a->todo_blocks[count++] = b;
            }
        }
    }
}

static void tell_users(analysis *a) {
    while (a->todo_count && !a->failed) {
        const uint32_t at = a->todo[--a->todo_count];
        if (a->nodes[at].kind == NODE_BRANCH) set_apart(a, a->nodes[at].at);
        for (uint32_t u = a->nodes[at].first_use; u != GC_NO_INDEX; u = a->uses[u].next) differ(a, a->uses[u].node);
    }
}

static bool is_asked(const gc_graph *graph, const gc_control *control, uint32_t *block) {
    if (control->kind != GC_OP_BRANCH && control->kind != GC_OP_INDIRECT) return false;
    if (control->flags & (GC_CONTROL_UNIFORM | GC_CONTROL_NEVER)) return false;
    *block = gc_graph_block_of(graph, control->index);
    return gc_graph_reaches(graph, *block) && graph->blocks[*block].edges >= 2;
}

static bool may_go_on(const analysis *a) {
    const uint64_t most = GC_NODES_ANYWAY + (uint64_t)GC_NODES_PER_INSTRUCTION * a->graph->instruction_count;
    return a->steps && a->node_count < most && a->use_count < 2 * most;
}

static void expand(analysis *a, uint32_t at) {
    if (a->nodes[at].kind == NODE_BRANCH) return;
    if (!may_go_on(a))
        differ(a, at);
    else if (a->nodes[at].kind == NODE_MADE)
        expand_made(a, at);
    else
        expand_enters(a, at);
}

static void run(analysis *a, uint8_t *uniform) {
    const gc_graph *graph = a->graph;
    uint32_t block = 0, expanded = 0;
    for (uint32_t i = 0; i < graph->instruction_count; i++)
        a->writes[i] = gc_effects_writes(&a->effects, word_at(a, i));
    for (uint32_t i = 0; i < graph->control_count && !a->failed; i++) {
        if (!is_asked(graph, &graph->controls[i], &block)) continue;
        uniform[block] = 1;
        const uint32_t at = node_of(a, NODE_BRANCH, block, 0);
        if (at != GC_NO_INDEX && may_go_on(a))
            expand_branch(a, at, &graph->controls[i]);
        else if (at != GC_NO_INDEX)
            differ(a, at);
        for (; expanded < a->node_count && !a->failed; expanded++) {
            tell_users(a);
            if (!a->nodes[expanded].differs) expand(a, expanded);
        }
        tell_users(a);
    }
    for (uint32_t i = 0; i < a->node_count; i++)
        if (a->nodes[i].kind == NODE_BRANCH && a->nodes[i].differs) uniform[a->nodes[i].at] = 0;
}

gpuchar_status gc_uniform_find(const gc_graph *graph, uint8_t *uniform) {
    memset(uniform, 0, graph->block_count);
    if (graph->code->arch < 70) return GPUCHAR_OK;
    const size_t blocks = (size_t)graph->block_count + 1;
    analysis a = {.graph = graph};
    a.steps = GC_STEPS_ANYWAY + (uint64_t)GC_STEPS_PER_INSTRUCTION * graph->instruction_count;
    gc_effects_make(graph->code->arch, &a.effects);
    const size_t groups = graph->instruction_count / GC_GROUP + 1;
    a.made = malloc(groups * sizeof *a.made);
    a.others = malloc(blocks * sizeof *a.others);
    a.apart = calloc(blocks, 1);
    a.above = malloc(blocks * sizeof *a.above);
    a.todo_blocks = malloc(blocks * sizeof *a.todo_blocks);
    a.writes = malloc(graph->instruction_count * sizeof *a.writes);
    a.failed = !a.writes || !a.made || !a.others || !a.apart || !a.above || !a.todo_blocks;
    if (!a.failed) {
        memset(a.made, 0xff, groups * sizeof *a.made);
        memset(a.others, 0xff, blocks * sizeof *a.others);
        run(&a, uniform);
    }
    free(a.writes);
    free(a.nodes);
    free(a.uses);
    free(a.made);
    free(a.others);
    free(a.apart);
    free(a.above);
    free(a.todo);
    free(a.todo_blocks);
    return a.failed ? gc_fail_memory(blocks * sizeof *a.made) : GPUCHAR_OK;
}
