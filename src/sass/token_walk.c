#include <core/error.h>
#include <sass/token_walk.h>
#include <stdlib.h>

#define NONE UINT32_MAX
/* Compilers' code has one stack at each place. */
#define STATES_PER_INSTRUCTION 4
#define STEPS_PER_INSTRUCTION 64
#define ALLOWANCE 4096

/* A stack is its top token and the stack beneath; equal stacks are one. Number 0 is the empty one. */
typedef struct stack_node {
    uint32_t beneath;
    uint32_t push; /* among gc_tokens.pushes */
    uint16_t depth;
    uint16_t ssy_depth;
} stack_node;

typedef struct state {
    uint32_t index; /* of the instruction */
    uint32_t stack;
} state;

typedef struct walk_memory {
    gc_token_walk *walk;
    stack_node *nodes;
    state *states;        /* seen ones, in the order found: those behind `done` wait */
    uint32_t *node_slots; /* hash tables of numbers, counted from 1; 0: free */
    uint32_t *state_slots;
    uint32_t node_count;
    uint32_t state_count;
    uint32_t done;
    uint32_t limit; /* of nodes and of states */
    uint32_t mask;  /* of both tables, which have at least twice as many places */
    uint32_t reserved;
    uint64_t steps;
} walk_memory;

static uint32_t slot_of(uint32_t a, uint32_t b, uint32_t mask) {
    const uint64_t mixed = ((uint64_t)a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32) & mask;
}

static gpuchar_status too_many(void) {
    return gc_fail(GPUCHAR_E_SASS_UNKNOWN, "the function's token stacks are too many to follow");
}

static gpuchar_status push_token(walk_memory *memory, uint32_t push, uint32_t *stack) {
    uint32_t slot = slot_of(*stack, push, memory->mask);
    for (; memory->node_slots[slot]; slot = (slot + 1) & memory->mask) {
        const uint32_t number = memory->node_slots[slot] - 1;
        if (memory->nodes[number].beneath != *stack || memory->nodes[number].push != push) continue;
        *stack = number;
        return GPUCHAR_OK;
    }
    gc_token_push *token = &memory->walk->tokens->pushes[push];
    const stack_node *under = &memory->nodes[*stack];
    if (under->depth == GC_TOKENS_DEPTH_MAX)
        return gc_fail(GPUCHAR_E_SASS_FORMAT, "the code at 0x%llx pushes more than %d tokens",
                       (unsigned long long)token->pc, GC_TOKENS_DEPTH_MAX);
    if (memory->node_count == memory->limit) return too_many();
    const stack_node node = {.beneath = *stack,
                             .push = push,
                             .depth = (uint16_t)(under->depth + 1),
                             .ssy_depth = (uint16_t)(under->ssy_depth + (token->opcode == GC_TOKEN_SSY))};
    if (node.depth > token->depth) token->depth = node.depth;
    if (node.ssy_depth > token->ssy_depth) token->ssy_depth = node.ssy_depth;
    memory->nodes[memory->node_count] = node;
    *stack = memory->node_count++;
    memory->node_slots[slot] = memory->node_count;
    return GPUCHAR_OK;
}

/* Comes to an instruction with a stack; one seen before is not walked again. */
static gpuchar_status visit(walk_memory *memory, uint32_t index, uint32_t stack) {
    uint32_t slot = slot_of(index, stack, memory->mask);
    for (; memory->state_slots[slot]; slot = (slot + 1) & memory->mask) {
        const state *seen = &memory->states[memory->state_slots[slot] - 1];
        if (seen->index == index && seen->stack == stack) return GPUCHAR_OK;
    }
    if (memory->state_count == memory->limit) return too_many();
    memory->states[memory->state_count++] = (state){index, stack};
    memory->state_slots[slot] = memory->state_count;
    return GPUCHAR_OK;
}

static gpuchar_status visit_pc(walk_memory *memory, uint64_t pc, uint32_t stack) {
    return visit(memory, (uint32_t)gc_code_index(memory->walk->code, pc), stack);
}

static gpuchar_status note_target(gc_token_walk *walk, uint32_t site, uint64_t target) {
    for (uint32_t i = walk->found_first[site]; i != NONE; i = walk->found[i].next)
        if (walk->found[i].target == target) return GPUCHAR_OK;
    if (walk->found_count == walk->found_capacity) {
        const uint32_t capacity = walk->found_capacity ? 2 * walk->found_capacity : 64;
        gc_token_found *grown = realloc(walk->found, capacity * sizeof *grown);
        if (!grown) return gc_fail_memory(capacity * sizeof *grown);
        walk->found = grown;
        walk->found_capacity = capacity;
    }
    walk->found[walk->found_count] = (gc_token_found){target, site, walk->found_first[site]};
    walk->found_first[site] = walk->found_count++;
    return GPUCHAR_OK;
}

static uint16_t token_for(uint8_t kind) {
    switch (kind) {
    case GC_OP_SYNC:
        return GC_TOKEN_SSY;
    case GC_OP_BRK:
        return 0xe2a; /* PBK */
    case GC_OP_CONT:
        return 0xe2b; /* PCNT */
    case GC_OP_LONGJMP:
        return 0xe28; /* PLONGJMP */
    default:
        return GC_TOKEN_PRET;
    }
}

/* The targets of the attribute, with the stack as it is. */
static gpuchar_status visit_listed(walk_memory *memory, const gc_token_site *site, uint32_t stack) {
    gpuchar_status status = GPUCHAR_OK;
    for (uint32_t i = 0; !status && i < site->listed_count; i++)
        status = visit_pc(memory, memory->walk->tokens->targets[site->listed + i], stack);
    return status;
}

static gpuchar_status take_token(walk_memory *memory, const gc_instruction *in, uint32_t site_number, uint32_t stack) {
    gc_tokens *tokens = memory->walk->tokens;
    gc_token_site *site = &tokens->sites[site_number];
    const uint16_t wanted = token_for(in->kind);
    while (stack && tokens->pushes[memory->nodes[stack].push].opcode != wanted) stack = memory->nodes[stack].beneath;
    site->reached = true;
    if (!stack) {
        site->outside = true;
        return visit_listed(memory, site, stack);
    }
    const uint64_t target = tokens->pushes[memory->nodes[stack].push].target;
    if (target == GC_NO_TARGET) { /* of a constant bank */
        tokens->complete = tokens->complete && site->listed_count;
        return visit_listed(memory, site, memory->nodes[stack].beneath);
    }
    const gpuchar_status status = note_target(memory->walk, site_number, target);
    return status ? status : visit_pc(memory, target, memory->nodes[stack].beneath);
}

static gpuchar_status take_indirect(walk_memory *memory, uint32_t site_number, uint32_t stack) {
    gc_tokens *tokens = memory->walk->tokens;
    gc_token_site *site = &tokens->sites[site_number];
    site->reached = true;
    if (site->listed_count) return visit_listed(memory, site, stack);
    const gc_token_push *top = stack ? &tokens->pushes[memory->nodes[stack].push] : NULL;
    if (!top || top->opcode != GC_TOKEN_PRET || top->target == GC_NO_TARGET) {
        tokens->complete = false;
        return GPUCHAR_OK;
    }
    site->call = true;
    const gpuchar_status status = note_target(memory->walk, site_number, top->target);
    return status ? status : visit_pc(memory, top->target, memory->nodes[stack].beneath);
}

static gpuchar_status take_branch(walk_memory *memory, const gc_instruction *in, uint32_t stack) {
    if (in->target != GC_NO_TARGET && gc_code_index(memory->walk->code, in->target) != SIZE_MAX)
        return visit_pc(memory, in->target, stack);
    if (in->kind == GC_OP_BRANCH)
        return gc_fail(GPUCHAR_E_SASS_FORMAT, "the branch at 0x%llx leaves its function", (unsigned long long)in->pc);
    memory->walk->tokens->complete = false; /* a jump elsewhere */
    return GPUCHAR_OK;
}

/* One instruction. `on`: the next one follows. */
static gpuchar_status step(walk_memory *memory, uint32_t index, uint32_t *stack, bool *on) {
    const gc_instruction *in = &memory->walk->instructions[index];
    const uint32_t role = memory->walk->role[index];
    *on = true;
    if (in->never) return GPUCHAR_OK;
    if (in->kind == GC_OP_PUSH) return push_token(memory, role, stack);
    switch (in->kind) {
    case GC_OP_BRANCH:
    case GC_OP_JUMP:
        *on = in->conditional;
        return take_branch(memory, in, *stack);
    case GC_OP_INDIRECT:
        *on = in->conditional;
        return take_indirect(memory, role, *stack);
    case GC_OP_EXIT:
        *on = in->conditional;
        return GPUCHAR_OK;
    case GC_OP_SYNC:
    case GC_OP_BRK:
    case GC_OP_CONT:
    case GC_OP_RETURN:
    case GC_OP_LONGJMP:
        *on = in->conditional;
        return take_token(memory, in, role, *stack);
    default:
        return GPUCHAR_OK;
    }
}

static gpuchar_status follow(walk_memory *memory, state at) {
    const gc_token_walk *walk = memory->walk;
    for (bool on = true; on && at.index < walk->count; at.index++) {
        if (memory->steps-- == 0) return too_many();
        gpuchar_status status = step(memory, at.index, &at.stack, &on);
        if (!status && on && at.index + 1 < walk->count && walk->leaders[at.index + 1]) {
            status = visit(memory, at.index + 1, at.stack);
            on = false;
        }
        if (status) return status;
    }
    return GPUCHAR_OK;
}

static gpuchar_status reserve(walk_memory *memory) {
    const size_t places = (size_t)memory->mask + 1;
    const size_t bytes =
        2 * places * sizeof(uint32_t) + memory->limit * (sizeof *memory->nodes + sizeof *memory->states);
    memory->node_slots = calloc(places, sizeof *memory->node_slots);
    memory->state_slots = calloc(places, sizeof *memory->state_slots);
    memory->nodes = calloc(memory->limit, sizeof *memory->nodes);
    memory->states = calloc(memory->limit, sizeof *memory->states);
    if (!memory->node_slots || !memory->state_slots || !memory->nodes || !memory->states) return gc_fail_memory(bytes);
    memory->node_count = 1; /* the empty stack */
    return GPUCHAR_OK;
}

gpuchar_status gc_token_walk_run(gc_token_walk *walk) {
    walk_memory memory = {.walk = walk,
                          .limit = STATES_PER_INSTRUCTION * walk->count + ALLOWANCE,
                          .mask = 8191,
                          .steps = (uint64_t)STEPS_PER_INSTRUCTION * walk->count + ALLOWANCE};
    while (memory.mask + 1 < 2 * memory.limit) memory.mask = 2 * memory.mask + 1;
    gpuchar_status status = reserve(&memory);
    if (!status && walk->count) status = visit(&memory, 0, 0);
    while (!status && memory.done < memory.state_count) status = follow(&memory, memory.states[memory.done++]);
    free(memory.nodes);
    free(memory.states);
    free(memory.node_slots);
    free(memory.state_slots);
    return status;
}
