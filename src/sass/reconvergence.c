#include <core/error.h>
#include <sass/operands.h>
#include <sass/reconvergence.h>
#include <stdlib.h>
#include <string.h>

#define GC_BRA_UNIFORM_PREDICATE 0x1547
#define GC_BRXU 0x1958
#define GC_UISETP 0x08c

uint32_t gc_place(const gc_graph *graph, uint32_t block, uint32_t join) {
    const gc_tree *tree = &graph->post_dominators;
    const uint32_t meet = tree->parent[block];
    if (join == meet) return GPUCHAR_SASS_PLACED_AT;
    if (gc_tree_dominates(tree, meet, join)) return GPUCHAR_SASS_PLACED_BEFORE;
    return gc_tree_dominates(tree, join, meet) ? GPUCHAR_SASS_PLACED_AFTER : GPUCHAR_SASS_PLACED_ASIDE;
}

/* The block of an interval's BSYNC; GC_NO_NODE: it has none. */
static uint32_t join_of(const gc_sweep *sweep, uint32_t interval) {
    const bool matched = (sweep->result->intervals[interval].flags & GPUCHAR_SASS_INTERVAL_MATCHED) != 0;
    return matched ? gc_graph_block_of(sweep->graph, sweep->ends[interval]) : GC_NO_NODE;
}

static uint32_t place_join(const gc_graph *graph, uint32_t block, uint32_t join) {
    return join == GC_NO_NODE ? GPUCHAR_SASS_PLACED_NONE : gc_place(graph, block, join);
}

/* ---- the rules ---- */

static void match_primary(const gc_sweep *sweep, gpuchar_sass_branch *branch) {
    branch->match = gc_open_joined_above(sweep->open, branch->block);
    branch->partial_joins = gc_open_inside(sweep->open, branch->match);
    if (branch->match == GPUCHAR_SASS_NO_BLOCK) return;
    branch->bsync_bytes = sweep->result->intervals[branch->match].bsync_bytes;
    branch->placement[GPUCHAR_SASS_RULE_PRIMARY] = gc_place(sweep->graph, branch->block, join_of(sweep, branch->match));
}

static void match(const gc_sweep *sweep, gpuchar_sass_branch *branch) {
    const gc_graph *graph = sweep->graph;
    const uint32_t meet = graph->post_dominators.parent[branch->block];
    match_primary(sweep, branch);
    if (branch->interval != GPUCHAR_SASS_NO_BLOCK)
        branch->placement[GPUCHAR_SASS_RULE_INNERMOST] =
            place_join(graph, branch->block, join_of(sweep, branch->interval));
    branch->placement[GPUCHAR_SASS_RULE_ANY_ACTIVE] = gc_open_joins_at(sweep->open, meet)
                                                          ? (uint32_t)GPUCHAR_SASS_PLACED_AT
                                                          : branch->placement[GPUCHAR_SASS_RULE_INNERMOST];
    branch->placement[GPUCHAR_SASS_RULE_FIRST_ABOVE] = place_join(graph, branch->block, sweep->above[meet]);
    if (sweep->next_join < sweep->join_count) {
        const uint32_t join = gc_graph_block_of(graph, sweep->joins[sweep->next_join]);
        branch->placement[GPUCHAR_SASS_RULE_NEXT_IN_CODE] = gc_place(graph, branch->block, join);
    }
}

/* By post-dominator: the nearest one, itself included, where threads meet. */
static void find_above(const gc_sweep *sweep) {
    const gc_graph *graph = sweep->graph;
    uint32_t *above = sweep->above;
    memset(above, 0xff, ((size_t)graph->block_count + 1) * sizeof *above);
    for (uint32_t i = 0; i < sweep->join_count; i++) {
        const uint32_t block = gc_graph_block_of(graph, sweep->joins[i]);
        above[block] = block;
    }
    const gc_tree *tree = &graph->post_dominators;
    for (uint32_t i = 1; i < tree->reached; i++) {
        const uint32_t block = tree->order[i];
        if (above[block] == GC_NO_NODE) above[block] = above[tree->parent[block]];
    }
}

/* ---- one branch ---- */

/* A UISETP of the branch's block makes the uniform predicate that it goes by. */
static bool follows_compare(const gc_graph *graph, const gc_control *control, uint32_t block) {
    if (control->opcode != GC_BRA_UNIFORM_PREDICATE) return false;
    const gc_code *code = graph->code;
    gc_word word;
    memcpy(&word, code->bytes + gc_code_offset(code, control->index), sizeof word);
    const uint64_t predicate = gc_bits(word, 26, 24);
    for (uint32_t i = control->index; i-- > graph->blocks[block].first;) {
        memcpy(&word, code->bytes + gc_code_offset(code, i), sizeof word);
        if ((word.low & 0x1ff) != GC_UISETP) continue;
        if (gc_bits(word, 83, 81) == predicate || gc_bits(word, 86, 84) == predicate) return true;
    }
    return false;
}

static bool closes_loop(const gc_graph *graph, uint32_t block) {
    const gpuchar_sass_block *b = &graph->blocks[block];
    for (uint32_t e = 0; e < b->edges; e++)
        if (gc_tree_dominates(&graph->dominators, graph->edges[b->first_edge + e], block)) return true;
    return false;
}

static uint32_t flags_of(const gc_sweep *sweep, const gc_control *control, uint32_t block) {
    const gc_graph *graph = sweep->graph;
    uint32_t flags = 0;
    if (control->flags & GC_CONTROL_UNIFORM || control->opcode == GC_BRXU)
        flags |= GPUCHAR_SASS_BRANCH_UNIFORM_FORM;
    else if (sweep->uniform[block])
        flags |= GPUCHAR_SASS_BRANCH_UNIFORM_DATA;
    else
        flags |= GPUCHAR_SASS_BRANCH_DIVERGENT;
    if (closes_loop(graph, block)) flags |= GPUCHAR_SASS_BRANCH_BACK;
    if (control->kind == GC_OP_INDIRECT) flags |= GPUCHAR_SASS_BRANCH_INDIRECT;
    if (graph->code->arch >= 70 && control->opcode == GC_OPCODE_CALL_REL) flags |= GPUCHAR_SASS_BRANCH_CALL;
    if (follows_compare(graph, control, block)) flags |= GPUCHAR_SASS_BRANCH_UNIFORM_COMPARE;
    return flags;
}

static void count(gpuchar_sass_reconvergence *result, const gpuchar_sass_branch *branch) {
    if (!(branch->flags & GPUCHAR_SASS_BRANCH_DIVERGENT)) return;
    const bool back = (branch->flags & GPUCHAR_SASS_BRANCH_BACK) != 0;
    result->divergent++;
    uint64_t *placed = back ? result->placed_back : result->placed;
    for (uint32_t rule = 0; rule < GPUCHAR_SASS_RULES; rule++)
        placed[GPUCHAR_SASS_PLACED(rule, branch->placement[rule])]++;
    if (back) return;
    if (branch->interval != GPUCHAR_SASS_NO_BLOCK)
        result->intervals[branch->interval].innermost[branch->placement[GPUCHAR_SASS_RULE_INNERMOST]]++;
    if (branch->match != GPUCHAR_SASS_NO_BLOCK)
        result->intervals[branch->match].primary[branch->placement[GPUCHAR_SASS_RULE_PRIMARY]]++;
}

static void add_branch(gc_sweep *sweep, const gc_control *control, uint32_t block) {
    const gc_graph *graph = sweep->graph;
    gpuchar_sass_branch *branch = &sweep->result->branches[sweep->result->branch_count++];
    const uint32_t meet = graph->blocks[block].post_dominator;
    *branch = (gpuchar_sass_branch){.pc_bytes = graph->code->offset + gc_code_offset(graph->code, control->index),
                                    .meet_bytes = meet == GPUCHAR_SASS_NO_BLOCK ? GPUCHAR_SASS_NO_PC
                                                                                : graph->blocks[meet].pc_bytes,
                                    .bsync_bytes = GPUCHAR_SASS_NO_PC,
                                    .instruction = control->index,
                                    .block = block,
                                    .opcode = control->opcode,
                                    .flags = flags_of(sweep, control, block),
                                    .interval = gc_open_innermost(sweep->open),
                                    .match = GPUCHAR_SASS_NO_BLOCK};
    branch->depth = gc_open_count(sweep->open);
    if (branch->interval == GPUCHAR_SASS_NO_BLOCK) branch->flags |= GPUCHAR_SASS_BRANCH_OUTSIDE;
    match(sweep, branch);
}

/* SYNC, BRK and CONT under a predicate split a warp like a branch. */
static bool is_branch(const gc_graph *graph, const gc_control *control, uint32_t *block) {
    if (control->flags & GC_CONTROL_NEVER) return false;
    switch (control->kind) {
    case GC_OP_BRANCH:
    case GC_OP_INDIRECT:
    case GC_OP_SYNC:
    case GC_OP_BRK:
    case GC_OP_CONT:
        break;
    default:
        return false;
    }
    *block = gc_graph_block_of(graph, control->index);
    return gc_graph_reaches(graph, *block) && graph->blocks[*block].edges >= 2;
}

/* A BREAK belongs to the innermost interval around it of its barrier. */
static void take_break(const gc_sweep *sweep, const gc_control *control) {
    const uint32_t interval = gc_open_innermost_of(sweep->open, control->barrier);
    if (interval != GPUCHAR_SASS_NO_BLOCK) sweep->result->intervals[interval].breaks++;
}

static gpuchar_status sweep_all(gc_sweep *sweep) {
    const gc_graph *graph = sweep->graph;
    gpuchar_sass_reconvergence *result = sweep->result;
    for (uint32_t i = 0; i < graph->control_count; i++) {
        const gc_control *control = &graph->controls[i];
        uint32_t block = 0;
        const gpuchar_status status = gc_open_to(sweep->open, control->index);
        if (status) return status;
        while (sweep->next_join < sweep->join_count && sweep->joins[sweep->next_join] <= control->index)
            sweep->next_join++;
        if (control->kind == GC_OP_BREAK) take_break(sweep, control);
        if (is_branch(graph, control, &block)) add_branch(sweep, control, block);
    }
    for (size_t i = 0; i < result->branch_count; i++) {
        gpuchar_sass_branch *branch = &result->branches[i];
        if (branch->match != GPUCHAR_SASS_NO_BLOCK && result->intervals[branch->match].breaks)
            branch->flags |= GPUCHAR_SASS_BRANCH_BROKEN;
        count(result, branch);
    }
    return gc_open_mark_crossed(sweep->open);
}

static size_t count_branches(const gc_graph *graph) {
    size_t found = 0;
    uint32_t block = 0;
    for (uint32_t i = 0; i < graph->control_count; i++) found += is_branch(graph, &graph->controls[i], &block);
    return found;
}

gpuchar_status gc_reconvergence_read(const gc_graph *graph, gpuchar_sass_reconvergence *result) {
    gc_sweep sweep = {.graph = graph, .result = result};
    gpuchar_status status = gc_intervals_read(graph, result, &sweep.starts, &sweep.ends);
    const size_t branches = count_branches(graph), blocks = (size_t)graph->block_count + 1;
    uint8_t *uniform = calloc(blocks, 1);
    if (!status) {
        sweep.above = malloc(blocks * sizeof *sweep.above);
        result->branches = malloc((branches + 1) * sizeof *result->branches);
        sweep.uniform = uniform;
        if (!sweep.above || !result->branches || !uniform)
            status = gc_fail_memory((branches + 1) * sizeof *result->branches);
    }
    if (!status) status = gc_joins_read(graph, result, sweep.ends, &sweep.joins, &sweep.join_count);
    if (!status) status = gc_uniform_find(graph, uniform);
    if (!status) status = gc_open_make(graph, result, sweep.starts, sweep.ends, &sweep.open);
    if (!status) {
        find_above(&sweep);
        status = sweep_all(&sweep);
    }
    free(uniform);
    free(sweep.starts);
    free(sweep.ends);
    free(sweep.joins);
    gc_open_free(sweep.open);
    free(sweep.above);
    if (status) gpuchar_sass_reconvergence_free(result);
    return status;
}
