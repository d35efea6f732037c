#include <core/error.h>
#include <proof/spin_values.h>
#include <sass/evaluate.h>
#include <stdlib.h>
#include <string.h>

/* ---- the program ---- */

void gc_spin_close(gc_spin_program *program) {
    free(program->instructions);
    free(program->forms);
    free(program->words);
    memset(program, 0, sizeof *program);
}

static gpuchar_status find_parameters(const gc_code *code, uint32_t *base) {
    gc_thread *entry = calloc(1, sizeof *entry);
    if (!entry) return gc_fail_memory(sizeof *entry);
    const gpuchar_status status = gc_thread_start(code, NULL, NULL, 0, 0, entry);
    *base = entry->parameter_base;
    free(entry);
    return status;
}

static void decode(const gc_code *code, gc_spin_program *program) {
    gc_code all = *code;
    all.size = (size_t)program->count * 16;
    for (uint32_t i = 0; i < program->count; i++) {
        gc_word *word = &program->words[i];
        memcpy(&word->low, all.bytes + (size_t)16 * i, sizeof word->low);
        memcpy(&word->high, all.bytes + (size_t)16 * i + 8, sizeof word->high);
        gc_decode(&all, (size_t)16 * i, &program->instructions[i]);
        program->forms[i] = gc_spin_form_of(code->arch, program->instructions[i].opcode, *word);
    }
}

gpuchar_status gc_spin_open(const gc_code *code, const gc_flow *flow, gc_spin_program *program) {
    const size_t count = (code->size + code->behind) / 16;
    *program = (gc_spin_program){.code = code, .flow = flow, .count = (uint32_t)count};
    program->instructions = calloc(count + 1, sizeof *program->instructions);
    program->forms = calloc(count + 1, sizeof *program->forms);
    program->words = calloc(count + 1, sizeof *program->words);
    if (!program->instructions || !program->forms || !program->words) {
        gc_spin_close(program);
        return gc_fail_memory(count * sizeof *program->instructions);
    }
    decode(code, program);
    const gpuchar_status status = find_parameters(code, &program->parameter_base);
    if (status) gc_spin_close(program);
    return status;
}

/* ---- memory and clocks ---- */

static bool tell(const doing *d, gc_spin_event *event) {
    event->at = d->index;
    return d->thread->judge(d->thread->user, event);
}

static bool not_known(const doing *d, const char *what) {
    return fail(d->thread, "%s of the %s at 0x%llx is not known", what, d->in->mnemonic, pc_of(d));
}

static bool read_address(const doing *d, uint32_t uniform_at, uint64_t *address) {
    const uint32_t base = field(d, 31, 24), uniform = field(d, uniform_at + 7, uniform_at);
    const bool by_register = d->form->address <= GC_SPIN_BY_DESCRIPTOR;
    gc_spin_value low = by_register ? read_register(d, base) : read_uniform(d, uniform);
    gc_spin_value high = by_register ? read_register(d, base + 1) : read_uniform(d, uniform + 1);
    *address = ((uint64_t)high.bits << 32 | low.bits) + gc_sign_extend(gc_bits(d->word, 63, 40), 24);
    if (base == GC_REGISTER_ZERO && by_register) return not_known(d, "the address");
    if (d->form->address == GC_SPIN_BY_BOTH) {
        const gc_spin_value more = read_register(d, base);
        *address += more.bits;
        low.known = low.known && more.known;
    }
    if (!low.known || !high.known) return not_known(d, "the address");
    if (d->form->address != GC_SPIN_BY_DESCRIPTOR) return true;
    const uint32_t place = descriptor_place(d->thread->program->code->arch);
    const gc_spin_value descriptor[2] = {read_uniform(d, uniform), read_uniform(d, uniform + 1)};
    const bool right = descriptor[0].known && descriptor[0].bits == (GC_SPIN_DESCRIPTOR | place) &&
                       descriptor[1].known && descriptor[1].bits == (GC_SPIN_DESCRIPTOR | (place + 4));
    return right || not_known(d, "the descriptor");
}

static bool do_load(const doing *d) {
    gc_spin_event event = {.kind = GC_SPIN_LOADS, .bytes = d->form->bytes, .strong = d->form->strong};
    if (!read_address(d, 32, &event.address) || !tell(d, &event)) return false;
    write_result(d, (gc_spin_value){(uint32_t)event.answer, true, true});
    return true;
}

static bool do_store(const doing *d) {
    gc_spin_event event = {.kind = GC_SPIN_STORES, .bytes = d->form->bytes, .strong = d->form->strong};
    const uint32_t from = field(d, 39, 32);
    const gc_spin_value low = read_register(d, from);
    const gc_spin_value high = event.bytes == 8 && from != GC_REGISTER_ZERO ? read_register(d, from + 1) : same(0);
    if (!read_address(d, 64, &event.address)) return false;
    if (!low.known || !high.known) return not_known(d, "the value");
    event.value = (uint64_t)high.bits << 32 | low.bits;
    return tell(d, &event);
}

static bool do_swap(const doing *d) {
    gc_spin_event event = {.kind = GC_SPIN_SWAPS, .bytes = d->form->bytes, .strong = d->form->strong};
    const gc_spin_value expected = read_register(d, field(d, 39, 32)), wanted = read_register(d, field(d, 71, 64));
    if (!read_address(d, 64, &event.address)) return false;
    if (!expected.known || !wanted.known) return not_known(d, "a value");
    event.expected = expected.bits;
    event.value = wanted.bits;
    if (!tell(d, &event)) return false;
    write_result(d, (gc_spin_value){(uint32_t)event.answer, true, true});
    return true;
}

static bool do_clock(const doing *d, gc_spin_kind kind) {
    gc_spin_event event = {.kind = kind};
    if (!tell(d, &event)) return false;
    write_pair(d, (gc_spin_value){(uint32_t)event.answer, true, true},
               (gc_spin_value){(uint32_t)(event.answer >> 32), true, true});
    return true;
}

/* Who is here; the same for all who are. Where lanes are not together, every second uniform vote finds one more than the vector vote before. */
static void do_vote(const doing *d) {
    gc_spin_thread *thread = d->thread;
    const bool more = !thread->converged && d->form->uniform && thread->votes++ % 2 == 0;
    write_result(d, same(1u << thread->lane | (more ? 1u << (thread->lane ^ 1) : 0)));
}

static bool do_event(const doing *d, gc_spin_kind kind) {
    gc_spin_event event = {.kind = kind};
    return tell(d, &event);
}

/* ---- control ---- */

static bool go_to(const doing *d, uint64_t pc) {
    const gc_spin_program *program = d->thread->program;
    const uint64_t place = pc - program->code->offset;
    if (place % 16 || place / 16 >= program->count)
        return fail(d->thread, "the %s at 0x%llx leaves the function", d->in->mnemonic, pc_of(d));
    d->thread->next = (uint32_t)(place / 16);
    return true;
}

static bool do_branch(const doing *d, gc_spin_value guard) {
    gc_spin_thread *thread = d->thread;
    const gc_spin_value other = read_predicate(thread->predicates, d->in->second, d->in->second_not);
    gc_spin_value taken = made(guard.bits & other.bits, guard, other, other);
    /* One that is known to be false decides alone. */
    if ((guard.known && !guard.bits) || (other.known && !other.bits))
        taken = (gc_spin_value){0, true, guard.varies || other.varies};
    if (d->in->opcode == 0x1547) {
        const gc_spin_value uniform = read_predicate(thread->uniform_predicates, field(d, 26, 24), field(d, 27, 27));
        taken = made(taken.bits & uniform.bits, taken, uniform, uniform);
    }
    if (!taken.known) return not_known(d, "the condition");
    if (d->in->condition == 3) {
        taken.bits &= thread->converged;
        gc_spin_event event = {.kind = GC_SPIN_MEETS};
        if (taken.bits && !tell(d, &event)) return false;
    } else if (d->in->condition == 2) {
        return fail(thread, "does not know the BRA.DIV at 0x%llx", pc_of(d));
    } else if (taken.varies && (d->in->condition == 1 || d->in->opcode != 0x947)) {
        return fail(thread, "the branch of the whole warp at 0x%llx hangs on its lanes", pc_of(d));
    } else if (taken.varies) {
        thread->apart = true;
    }
    return !taken.bits || go_to(d, d->in->target);
}

static bool do_return(const doing *d) {
    const uint32_t from = field(d, 31, 24);
    const gc_spin_value low = read_register(d, from), high = read_register(d, from + 1);
    const uint64_t base = d->in->pc + 16 + gc_sign_extend(gc_bits(d->word, 81, 32), 50);
    if (!low.known || !high.known) return not_known(d, "the way back");
    return go_to(d, base + ((uint64_t)high.bits << 32 | low.bits));
}

/* Lanes that go different ways meet where the barrier says, each of them once. */
static bool do_barrier(const doing *d) {
    uint64_t *armed = d->thread->armed;
    uint64_t *one = &armed[d->in->barrier & 15];
    if (d->form->action == GC_SPIN_ARM) {
        if (*one) return fail(d->thread, "the BSSY at 0x%llx takes a barrier that is in use", pc_of(d));
        *one = d->in->target;
        return true;
    }
    if (d->form->action == GC_SPIN_JOIN) {
        if (*one != d->in->pc + 16) return fail(d->thread, "the BSYNC at 0x%llx is not where its lanes meet", pc_of(d));
        *one = 0;
        return true;
    }
    if (d->form->action == GC_SPIN_CLEAR) one = &armed[field(d, 31, 24) & 15];
    for (uint32_t i = 0; i < 16; i++)
        if (armed[i] && (d->form->action == GC_SPIN_RESET || &armed[i] == one))
            return fail(d->thread, "the BMOV at 0x%llx takes a barrier that is in use", pc_of(d));
    return true;
}

static bool do_exit(const doing *d) {
    for (uint32_t i = 0; i < 16; i++)
        if (d->thread->armed[i]) return fail(d->thread, "it ends at 0x%llx while others wait for it", pc_of(d));
    d->thread->next = UINT32_MAX;
    return true;
}

/* ---- all of them ---- */

static bool do_word(const doing *d, gc_spin_value guard) {
    switch ((gc_spin_action)d->form->action) {
    case GC_SPIN_NOTHING:
        return true;
    case GC_SPIN_MOVE:
        return write_result(d, flexible(d, 0)), true;
    case GC_SPIN_MOVE_PAIR:
        return gc_spin_move_pair(d), true;
    case GC_SPIN_HALVES:
        return gc_spin_halves(d), true;
    case GC_SPIN_ADD2:
        return gc_spin_add2(d), true;
    case GC_SPIN_ADD2_PAIR:
        return gc_spin_add2_pair(d), true;
    case GC_SPIN_ADD3:
        return gc_spin_add3(d), true;
    case GC_SPIN_MAD:
        return gc_spin_mad(d), true;
    case GC_SPIN_MAD_PAIR:
        return gc_spin_mad_pair(d), true;
    case GC_SPIN_COMPARE:
        return gc_spin_compare(d), true;
    case GC_SPIN_LOGIC:
        return gc_spin_logic(d), true;
    case GC_SPIN_TRUE:
    case GC_SPIN_FALSE:
        return write_predicate(d, field(d, 83, 81), same(d->form->action == GC_SPIN_TRUE)), true;
    case GC_SPIN_CLOCK:
        return do_clock(d, GC_SPIN_SEES_CLOCK);
    case GC_SPIN_TIMER:
        return do_clock(d, GC_SPIN_SEES_TIMER);
    case GC_SPIN_LANE:
        return write_result(d, (gc_spin_value){d->thread->lane, true, true}), true;
    case GC_SPIN_VOTE:
        return do_vote(d), true;
    case GC_SPIN_CONSTANT:
    case GC_SPIN_CONSTANT_PAIR:
        return gc_spin_constant(d, d->form->action == GC_SPIN_CONSTANT_PAIR), true;
    case GC_SPIN_LOAD:
        return do_load(d);
    case GC_SPIN_STORE:
        return do_store(d);
    case GC_SPIN_SWAP:
        return do_swap(d);
    case GC_SPIN_FENCE:
        return do_event(d, GC_SPIN_FENCES);
    case GC_SPIN_INVALIDATE:
        return do_event(d, GC_SPIN_INVALIDATES);
    case GC_SPIN_BRANCH:
        return do_branch(d, guard);
    case GC_SPIN_CALL:
        return go_to(d, d->in->target);
    case GC_SPIN_RETURN:
        return do_return(d);
    case GC_SPIN_EXIT:
        return do_exit(d);
    case GC_SPIN_ARM:
    case GC_SPIN_JOIN:
    case GC_SPIN_CLEAR:
    case GC_SPIN_RESET:
        return do_barrier(d);
    case GC_SPIN_WARP:
        return do_event(d, GC_SPIN_MEETS);
    }
    return false;
}

/* What is written in some lanes only is not the same in all of them, whether this one wrote it or not. */
static void vary(const doing *d) {
    const uint32_t to = field(d, 23, 16);
    for (uint32_t i = to; i <= to + 1 && i < GC_REGISTER_ZERO; i++) d->thread->registers[i].varies = true;
    d->thread->predicates[field(d, 83, 81)].varies = field(d, 83, 81) != GC_PREDICATE_TRUE;
}

/*
 * Uniform registers are the warp's: what was written while lanes were apart lasts until others may have run. That is,
 * as compilers take it, behind a branch on which lanes part, a YIELD, a barrier or a call, and nowhere else.
 */
static void settle(gc_spin_thread *thread) {
    for (uint32_t i = 0; i < 256; i++)
        if (thread->fresh[i]) thread->uniforms[i] = UNKNOWN;
    memset(thread->fresh, 0, sizeof thread->fresh);
}

static bool lets_others_run(const doing *d, gc_spin_value guard) {
    switch ((gc_spin_action)d->form->action) {
    case GC_SPIN_BRANCH:
        return d->in->condition == 3 || guard.varies ||
               read_predicate(d->thread->predicates, d->in->second, false).varies;
    case GC_SPIN_ARM:
    case GC_SPIN_JOIN:
    case GC_SPIN_CLEAR:
    case GC_SPIN_RESET:
    case GC_SPIN_WARP:
    case GC_SPIN_CALL:
    case GC_SPIN_RETURN:
        return true;
    default:
        return d->in->kind == GC_OP_YIELD;
    }
}

void gc_spin_start(gc_spin_thread *thread) {
    for (uint32_t i = 0; i < 256; i++) thread->registers[i] = thread->uniforms[i] = UNKNOWN;
    for (uint32_t i = 0; i < 8; i++) thread->predicates[i] = thread->uniform_predicates[i] = UNKNOWN;
    thread->predicates[GC_PREDICATE_TRUE] = thread->uniform_predicates[GC_PREDICATE_TRUE] = same(1);
    /* sm_87 finds in UR2 whether its barriers were ever reset. */
    if (thread->program->code->arch == 87) thread->uniforms[2] = same(thread->converged);
    memset(thread->fresh, 0, sizeof thread->fresh);
    memset(thread->armed, 0, sizeof thread->armed);
    thread->apart = false;
    thread->votes = 0;
    thread->next = 0;
}

bool gc_spin_step(gc_spin_thread *thread) {
    const gc_spin_program *program = thread->program;
    const uint32_t index = thread->next;
    if (index >= program->count) return fail(thread, "it runs out of the function");
    const doing d = {thread, &program->instructions[index], program->forms[index], program->words[index], index};
    const gc_spin_value guard = read_predicate(thread->predicates, d.in->guard, d.in->guard_not);
    thread->next = index + 1;
    if (d.in->never) return true;
    if (!d.form)
        return fail(thread, "the %s at 0x%llx is no word that is known", d.in->mnemonic ? d.in->mnemonic : "one",
                    pc_of(&d));
    const bool branch = d.form->action == GC_SPIN_BRANCH;
    if (d.form->uniform && (d.in->guard != GC_PREDICATE_TRUE || d.in->guard_not)) return not_known(&d, "the guard");
    if (!branch && !guard.known) return not_known(&d, "the guard");
    if (d.form->action == GC_SPIN_EXIT && guard.varies) thread->apart = true;
    if ((branch || guard.bits) && !do_word(&d, guard)) return false;
    if (!branch && guard.varies) vary(&d);
    if (lets_others_run(&d, guard)) settle(thread);
    return true;
}
