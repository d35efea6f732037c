#include <core/error.h>
#include <proof/contents_calls.h>
#include <proof/tally.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gc_contents_refuse(gc_contents *contents, const char *format, ...) {
    if (contents->status) return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(contents->reason, sizeof contents->reason, format, arguments);
    va_end(arguments);
    contents->status = GPUCHAR_E_NOT_PROVED;
    return false;
}

void gc_contents_free(gc_contents *contents) {
    free(contents->rows);
    free(contents->loops);
    contents->rows = NULL;
    contents->loops = NULL;
    contents->row_count = contents->loop_count = 0;
}

/* ---- the mix */

/* All that is written while rows are added up. */
typedef struct mix {
    gc_contents *contents;
    uint32_t capacity;
    gc_tally scaffold, foreign, in_calls;
} mix;

static bool is_row(const gc_contents_row *row, const char *mnemonic, gc_role role, uint32_t loop, bool called) {
    return row->loop == loop && row->role == role && row->called == called && strcmp(row->mnemonic, mnemonic) == 0;
}

static gpuchar_status add_row(mix *all, const gc_instruction *in, gc_role role, uint32_t loop, bool called) {
    gc_contents *contents = all->contents;
    /* The latest first: neighbours are alike. */
    for (uint32_t i = contents->row_count; i-- > 0;)
        if (is_row(&contents->rows[i], in->mnemonic, role, loop, called)) {
            contents->rows[i].count++;
            return GPUCHAR_OK;
        }
    if (contents->row_count == all->capacity) {
        const uint32_t capacity = all->capacity ? all->capacity * 2 : 64;
        gc_contents_row *grown = realloc(contents->rows, capacity * sizeof *grown);
        if (!grown) return gc_fail_memory(capacity * sizeof *grown);
        contents->rows = grown;
        all->capacity = capacity;
    }
    contents->rows[contents->row_count++] = (gc_contents_row){.mnemonic = in->mnemonic,
                                                              .opcode = in->opcode,
                                                              .role = (uint16_t)role,
                                                              .loop = loop,
                                                              .called = called,
                                                              .count = 1};
    return GPUCHAR_OK;
}

static void add_texts(mix *all, const gc_instruction *in, gc_role role, bool called) {
    if (called)
        gc_tally_add(&all->in_calls, in->mnemonic, 1);
    else if (role == GC_ROLE_FOREIGN)
        gc_tally_add(&all->foreign, in->mnemonic, 1);
    else if (role != GC_ROLE_INTENDED)
        gc_tally_add(&all->scaffold, in->mnemonic, 1);
}

static bool starts_with(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static void add_barriers(const gc_instruction *in, gc_role role, gc_contents_barriers *barriers) {
    switch (in->kind) {
    case GC_OP_BSSY:
        barriers->bssy++;
        break;
    case GC_OP_BSYNC:
        barriers->bsync++;
        break;
    case GC_OP_BREAK:
        barriers->breaks++;
        break;
    case GC_OP_WARPSYNC:
        barriers->warpsync++;
        break;
    case GC_OP_YIELD:
    case GC_OP_NANOSLEEP:
        barriers->yields++;
        break;
    case GC_OP_BMOV:
        barriers->cleared += role == GC_ROLE_DISPATCH;
        barriers->spilled += role != GC_ROLE_DISPATCH;
        break;
    default:
        barriers->bar += strcmp(in->mnemonic, "BAR") == 0;
        barriers->depbar += strcmp(in->mnemonic, "DEPBAR") == 0 || strcmp(in->mnemonic, "LDGDEPBAR") == 0;
        barriers->fences += starts_with(in->mnemonic, "MEMBAR") || strcmp(in->mnemonic, "ERRBAR") == 0 ||
                            strcmp(in->mnemonic, "FENCE") == 0;
        break;
    }
}

/* A block's last branch is that of its successors; a way out by CALL before it decides, too. */
static void add_branch(const gc_body *body, uint32_t block, gc_contents *contents) {
    const gc_flow *flow = body->flow;
    const gc_block *own = &flow->blocks[block];
    const gc_instruction *in = gc_flow_last(flow, own);
    if (in->kind != GC_OP_BRANCH && in->kind != GC_OP_INDIRECT) return;
    if (own->successor_count < 2 || in->never) return;
    if (!in->conditional && in->kind == GC_OP_BRANCH && own->count > 1) in--; /* the way out */
    const bool uniform = in->uniform || in->opcode == 0x1958;                 /* BRXU */
    if (body->roles[in - flow->instructions] == GC_ROLE_LOOP) {
        contents->loop_branches++;
        contents->loop_divergent += !uniform;
        return;
    }
    contents->decisions += own->successor_count - 1;
    contents->divergent += uniform ? 0 : own->successor_count - 1;
}

static gpuchar_status add_instruction(mix *all, const gc_body_place *place, uint32_t block, uint32_t index) {
    const gc_body *body = place->body;
    const gc_instruction *in = &body->flow->instructions[index];
    const gc_role role = (gc_role)body->roles[index];
    const bool called = place->depth > 0;
    gc_contents *contents = all->contents;
    const uint32_t loop = body->loop_of[block] == GC_NO_LOOP ? place->around : place->first_loop + body->loop_of[block];
    (called ? contents->called : contents->roles)[role]++;
    if (!in->never) {
        if (!called && role == GC_ROLE_INTENDED) contents->intended_predicated += in->guard != GC_PREDICATE_TRUE;
        contents->local_loads += strcmp(in->mnemonic, "LDL") == 0;
        contents->local_stores += strcmp(in->mnemonic, "STL") == 0;
        contents->calls += in->kind == GC_OP_CALL;
        add_barriers(in, role, &contents->barriers);
    }
    add_texts(all, in, role, called);
    return add_row(all, in, role, loop, called);
}

static gpuchar_status add_place(mix *all, const gc_body_place *place) {
    const gc_body *body = place->body;
    gpuchar_status status = GPUCHAR_OK;
    for (uint32_t b = 0; b < body->flow->block_count; b++) {
        const gc_block *block = &body->flow->blocks[b];
        if (!body->inside[b]) continue;
        if (place->depth == 0) all->contents->region_bytes += (uint64_t)block->count * 16;
        add_branch(body, b, all->contents);
        for (uint32_t i = block->first; i < block->first + block->count && !status; i++)
            status = add_instruction(all, place, b, i);
    }
    for (uint32_t i = 0; i < place->child_count && !status; i++) status = add_place(all, &place->children[i]);
    return status;
}

static gpuchar_status read_mix(gc_contents *contents, const gc_body_place *place) {
    mix *all = calloc(1, sizeof *all);
    if (!all) return gc_fail_memory(sizeof *all);
    all->contents = contents;
    const gpuchar_status status = add_place(all, place);
    gc_tally_write(&all->scaffold, contents->scaffold, sizeof contents->scaffold);
    gc_tally_write(&all->foreign, contents->foreign, sizeof contents->foreign);
    gc_tally_write(&all->in_calls, contents->in_calls, sizeof contents->in_calls);
    free(all);
    return status;
}

/* ---- the question, and what follows from it */

static gpuchar_status check_question(const gc_contents_question *question) {
    if (!question || !question->kernel) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a question needs a kernel");
    if ((question->intended_count && !question->intended) || (question->extra_count && !question->extra) ||
        (question->turn_count && !question->turns))
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a question counts what it does not hold");
    for (uint32_t i = 0; i < question->intended_count; i++) {
        const gc_contents_pattern *one = &question->intended[i];
        if (!one->mnemonic && !one->opcode && !one->low_mask && !one->high_mask)
            return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "pattern %u asks for nothing", i);
        if ((one->low_value & ~one->low_mask) || (one->high_value & ~one->high_mask))
            return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "pattern %u has a value outside its mask: it never fits", i);
    }
    for (uint32_t i = 0; i < question->turn_count; i++)
        if (question->turns[i] == 0) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "loop %u is told to turn 0 times", i);
    return GPUCHAR_OK;
}

static uint64_t times(uint64_t a, uint64_t b) {
    return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

static gpuchar_status take_turns(const gc_contents_question *question, gc_contents *contents) {
    if (question->turn_count && question->turn_count != contents->loop_count)
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "turns of %u loops, but there are %u", question->turn_count,
                       contents->loop_count);
    for (uint32_t i = 0; i < question->turn_count; i++) contents->loops[i].turns = question->turns[i];
    for (uint32_t i = 0; i < contents->row_count; i++) {
        gc_contents_row *row = &contents->rows[i];
        row->at_most = row->count;
        for (uint32_t loop = row->loop; loop != GC_NO_LOOP; loop = contents->loops[loop].parent)
            row->at_most = times(row->at_most, contents->loops[loop].turns);
    }
    contents->exact = contents->loop_count == question->turn_count;
    return GPUCHAR_OK;
}

static void judge(const gc_contents_question *question, gc_contents *contents) {
    const uint64_t native =
        contents->roles[GC_ROLE_INTENDED] + (question->routine_intended ? contents->called[GC_ROLE_INTENDED] : 0);
    const bool other = contents->roles[GC_ROLE_FOREIGN] || contents->calls;
    contents->emulated = question->intended_count && native == 0 && other;
    contents->absent = question->intended_count && native == 0 && !other;
}

static void add_routines(const gc_contents_reader *reader) {
    reader->contents->routines = reader->routine_count;
    for (uint32_t i = 0; i < reader->routine_count; i++) {
        const gc_body *body = &reader->routines[i]->body;
        for (uint32_t n = 0; n < body->order_count; n++)
            reader->contents->routine_bytes += (uint64_t)body->flow->blocks[body->order[n]].count * 16;
    }
}

static gpuchar_status read_place(gc_contents_reader *reader, const gc_body_place *place) {
    gc_contents *contents = reader->contents;
    bool straight;
    gpuchar_status status = read_mix(contents, place);
    if (!status) status = take_turns(reader->question, contents);
    if (!status) status = gc_place_measure(reader, place, false, contents->outside, &contents->straight);
    if (!status && contents->exact) status = gc_place_measure(reader, place, true, contents->total, &straight);
    if (status) return status;
    add_routines(reader);
    judge(reader->question, contents);
    return GPUCHAR_OK;
}

static gpuchar_status read_region(gc_contents_reader *reader, gc_body *body) {
    gc_body_place place = {.body = NULL};
    gpuchar_status status = gc_body_of_region(body, reader->question->read, reader->contents);
    if (!status) status = gc_body_finish(reader, body);
    if (!status && !reader->contents->status) status = gc_place_open(reader, body, GC_NO_LOOP, 0, &place);
    if (!status && !reader->contents->status) status = read_place(reader, &place);
    gc_place_close(&place);
    gc_routines_free(reader);
    return status;
}

static gpuchar_status read_code(gc_contents_reader *reader) {
    gc_flow flow;
    gpuchar_status status = gc_flow_build(reader->kernel, &flow);
    if (status) return status;
    gc_body body = {.code = reader->kernel, .flow = &flow};
    status = read_region(reader, &body);
    gc_body_free(&body);
    gc_flow_free(&flow);
    return status;
}

gpuchar_status gc_region_contents(const void *cubin, size_t size, const gc_contents_question *question,
                                  gc_contents *contents) {
    memset(contents, 0, sizeof *contents);
    gc_cubin file;
    gc_code code;
    gc_contents_reader reader = {.cubin = &file, .kernel = &code, .question = question, .contents = contents};
    gpuchar_status status = check_question(question);
    if (!status) status = gc_cubin_open(cubin, size, &file);
    if (!status) status = gc_cubin_function(&file, question->kernel, &code);
    if (!status) status = read_code(&reader);
    if (status || contents->status) gc_contents_free(contents);
    if (status) contents->status = status;
    return status;
}
