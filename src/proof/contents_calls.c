#include <core/error.h>
#include <proof/contents_calls.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long pc_of(const gc_instruction *in) {
    return (unsigned long long)in->pc;
}

static bool refused(const gc_contents_reader *reader) {
    return reader->contents->status != GPUCHAR_OK;
}

static bool is_call(const gc_instruction *in) {
    return in->kind == GC_OP_CALL && !in->never;
}

static bool check_known(const gc_body *body, gc_contents *contents) {
    for (uint32_t i = 0; i < body->flow->instruction_count; i++) {
        const gc_instruction *in = &body->flow->instructions[i];
        if (body->inside[body->flow->block_of[i]] && !in->mnemonic)
            return gc_contents_refuse(contents, "an unknown instruction (opcode 0x%x) at 0x%llx", in->opcode,
                                      pc_of(in));
    }
    return true;
}

gpuchar_status gc_body_finish(gc_contents_reader *reader, gc_body *body) {
    if (refused(reader) || !check_known(body, reader->contents)) return GPUCHAR_OK;
    const gpuchar_status status = gc_body_find_loops(body, reader->contents);
    return status || refused(reader) ? status : gc_body_find_roles(body, reader->question, reader->contents);
}

static void routine_free(gc_routine *routine) {
    if (!routine) return;
    gc_body_free(&routine->body);
    gc_flow_free(&routine->flow);
    free(routine);
}

void gc_routines_free(gc_contents_reader *reader) {
    for (uint32_t i = 0; i < reader->routine_count; i++) routine_free(reader->routines[i]);
    free(reader->routines);
    reader->routines = NULL;
    reader->routine_count = 0;
}

static gpuchar_status read_routine(gc_contents_reader *reader, gc_routine *routine) {
    gpuchar_status status = gc_flow_build(&routine->code, &routine->flow);
    if (status) return status;
    routine->body.code = &routine->code;
    routine->body.flow = &routine->flow;
    status = gc_body_of_routine(&routine->body, reader->contents);
    return status ? status : gc_body_finish(reader, &routine->body);
}

/* Room for one more; the routine belongs to the reader from then on. */
static bool keep(gc_contents_reader *reader, gc_routine *routine) {
    gc_routine **grown = realloc(reader->routines, (reader->routine_count + 1) * sizeof *grown);
    if (!grown) return false;
    reader->routines = grown;
    grown[reader->routine_count++] = routine;
    return true;
}

/* The routine that a call leads to; NULL after a refusal. */
static gpuchar_status find_routine(gc_contents_reader *reader, const gc_instruction *call, const gc_routine **found) {
    *found = NULL;
    for (uint32_t i = 0; i < reader->routine_count; i++)
        if (reader->routines[i]->code.offset == call->target) *found = reader->routines[i];
    if (*found) return GPUCHAR_OK;
    gc_code code;
    if (call->target == reader->kernel->offset ||
        !gc_cubin_callee(reader->cubin, reader->kernel, call->target, &code)) {
        gc_contents_refuse(reader->contents, "no routine begins where the call at 0x%llx leads to", pc_of(call));
        return GPUCHAR_OK;
    }
    gc_routine *made = calloc(1, sizeof *made);
    if (!made) return gc_fail_memory(sizeof *made);
    made->code = code;
    if (!keep(reader, made)) {
        routine_free(made);
        return gc_fail_memory((reader->routine_count + 1) * sizeof made);
    }
    const gpuchar_status status = read_routine(reader, made);
    if (!status && !refused(reader)) *found = made;
    return status;
}

static bool check_call(const gc_contents_reader *reader, const gc_body *body, uint32_t index, uint32_t depth) {
    const gc_instruction *in = &body->flow->instructions[index];
    for (uint32_t i = 0; i < depth; i++)
        if (reader->stack[i] == in->target)
            return gc_contents_refuse(reader->contents, "the call at 0x%llx is a recursion", pc_of(in));
    return depth < GC_CONTENTS_NEST_MAX ||
           gc_contents_refuse(reader->contents, "calls are nested deeper than %d", GC_CONTENTS_NEST_MAX);
}

static gpuchar_status follow_call(gc_contents_reader *reader, gc_body_place *place, uint32_t index) {
    const gc_body *body = place->body;
    const gc_instruction *in = &body->flow->instructions[index];
    if (!check_call(reader, body, index, place->depth)) return GPUCHAR_OK;
    if (reader->call_count++ == GC_CONTENTS_CALLS_MAX) {
        gc_contents_refuse(reader->contents, "more than %d calls to follow", GC_CONTENTS_CALLS_MAX);
        return GPUCHAR_OK;
    }
    const gc_routine *routine = NULL;
    const gpuchar_status status = find_routine(reader, in, &routine);
    if (status || !routine) return status;
    const uint32_t loop = body->loop_of[body->flow->block_of[index]];
    const uint32_t around = loop == GC_NO_LOOP ? place->around : place->first_loop + loop;
    reader->stack[place->depth] = in->target;
    return gc_place_open(reader, &routine->body, around, place->depth + 1, &place->children[place->child_count++]);
}

static uint32_t count_calls(const gc_body *body) {
    uint32_t calls = 0;
    for (uint32_t i = 0; i < body->flow->instruction_count; i++)
        calls += body->inside[body->flow->block_of[i]] && is_call(&body->flow->instructions[i]);
    return calls;
}

static uint32_t own_instructions(const gc_body *body, uint32_t loop) {
    uint32_t count = 0;
    for (uint32_t n = 0; n < body->order_count; n++)
        if (body->loop_of[body->order[n]] == loop) count += body->flow->blocks[body->order[n]].count;
    return count;
}

static gpuchar_status add_loops(gc_contents *contents, const gc_body_place *place) {
    const gc_body *body = place->body;
    if (body->loop_count == 0) return GPUCHAR_OK;
    if (contents->loop_count + body->loop_count > GC_CONTENTS_LOOPS_MAX) {
        gc_contents_refuse(contents, "more than %d loops", GC_CONTENTS_LOOPS_MAX);
        return GPUCHAR_OK;
    }
    gc_contents_loop *grown =
        realloc(contents->loops, (contents->loop_count + body->loop_count) * sizeof *contents->loops);
    if (!grown) return gc_fail_memory((contents->loop_count + body->loop_count) * sizeof *grown);
    contents->loops = grown;
    const uint32_t depth = place->around == GC_NO_LOOP ? 0 : grown[place->around].depth;
    for (uint32_t loop = 0; loop < body->loop_count; loop++) {
        const gc_body_loop *from = &body->loops[loop];
        gc_contents_loop *to = &grown[contents->loop_count++];
        memset(to, 0, sizeof *to);
        to->pc = body->flow->instructions[body->flow->blocks[from->head].first].pc;
        to->parent = from->parent == GC_NO_LOOP ? place->around : place->first_loop + from->parent;
        to->depth = from->depth + depth;
        to->called = place->depth > 0;
        to->instructions = own_instructions(body, loop);
    }
    return GPUCHAR_OK;
}

gpuchar_status gc_place_open(gc_contents_reader *reader, const gc_body *body, uint32_t around, uint32_t depth,
                             gc_body_place *place) {
    *place =
        (gc_body_place){.body = body, .first_loop = reader->contents->loop_count, .around = around, .depth = depth};
    gpuchar_status status = add_loops(reader->contents, place);
    if (status || refused(reader)) return status;
    reader->bytes += body->code->size;
    if (reader->bytes > GC_CONTENTS_MEMORY_MAX) {
        gc_contents_refuse(reader->contents, "the routines called are too long to be followed");
        return GPUCHAR_OK;
    }
    const uint32_t calls = count_calls(body);
    if (calls == 0) return GPUCHAR_OK;
    place->children = calloc(calls, sizeof *place->children);
    if (!place->children) return gc_fail_memory(calls * sizeof *place->children);
    for (uint32_t i = 0; i < body->flow->instruction_count && !status && !refused(reader); i++)
        if (body->inside[body->flow->block_of[i]] && is_call(&body->flow->instructions[i]))
            status = follow_call(reader, place, i);
    return status;
}

void gc_place_close(gc_body_place *place) {
    for (uint32_t i = 0; i < place->child_count; i++) gc_place_close(&place->children[i]);
    free(place->children);
    memset(place, 0, sizeof *place);
}

gpuchar_status gc_place_measure(const gc_contents_reader *reader, const gc_body_place *place, bool with_turns,
                                gc_span *sum, bool *straight) {
    gpuchar_status status = GPUCHAR_OK;
    gc_span *routines = calloc((size_t)place->child_count + 1, GC_COUNTS * sizeof *routines);
    if (!routines) return gc_fail_memory((size_t)place->child_count * GC_COUNTS * sizeof *routines);
    bool all_straight = true;
    for (uint32_t i = 0; i < place->child_count && !status; i++) {
        bool one = true;
        status = gc_place_measure(reader, &place->children[i], with_turns, routines + (size_t)GC_COUNTS * i, &one);
        all_straight = all_straight && one;
    }
    gc_contents_loop *loops = reader->contents->loops ? reader->contents->loops + place->first_loop : NULL;
    const gc_body_use use = {
        .body = place->body,
        .turns = with_turns && reader->question->turns ? reader->question->turns + place->first_loop : NULL,
        .routines = routines,
        .loops = with_turns ? NULL : loops,
        .called = place->depth > 0,
        .routine_intended = reader->question->routine_intended};
    if (!status) status = gc_body_measure(&use, sum, straight);
    *straight = *straight && all_straight;
    free(routines);
    return status;
}
