/* What each instruction of a body is there for. */
#include <core/error.h>
#include <proof/chain.h>
#include <proof/contents_scaffold.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *name, const char *const *list, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (list[i] && strcmp(name, list[i]) == 0) return true;
    return false;
}
#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof(list)[0])

/* ---- what the caller means */

/* IMAD and HFMA2 serve as moves: a factor of RZ. IMAD adds and shifts, too. */
static bool only_moves(const gc_body *body, const gc_instruction *in) {
    if (strcmp(in->mnemonic, "IMAD") == 0) return !gc_is_multiply_add(in);
    if (strcmp(in->mnemonic, "HFMA2") == 0) return gc_bits(gc_body_word(body, in), 31, 24) == GC_REGISTER_ZERO;
    return false;
}

static bool matches(const gc_contents_pattern *pattern, const gc_body *body, const gc_instruction *in) {
    const gc_word word = gc_body_word(body, in);
    const bool alone = !pattern->opcode && !pattern->low_mask && !pattern->high_mask;
    if (pattern->mnemonic && strcmp(pattern->mnemonic, in->mnemonic) != 0) return false;
    if (pattern->opcode && pattern->opcode != in->opcode) return false;
    if ((word.low & pattern->low_mask) != pattern->low_value) return false;
    if ((word.high & pattern->high_mask) != pattern->high_value) return false;
    return !alone || !only_moves(body, in);
}

static bool is_intended(const gc_contents_question *question, const gc_body *body, const gc_instruction *in) {
    for (uint32_t i = 0; i < question->intended_count; i++)
        if (matches(&question->intended[i], body, in)) return true;
    return false;
}

/* ---- scaffold by its kind */

static gc_role role_by_kind(const gc_instruction *in) {
    switch (in->kind) {
    case GC_OP_NOP:
        return GC_ROLE_PADDING;
    case GC_OP_BRANCH:
    case GC_OP_INDIRECT:
    case GC_OP_BSSY:
    case GC_OP_BSYNC:
    case GC_OP_BREAK:
    case GC_OP_WARPSYNC:
        return GC_ROLE_DISPATCH;
    case GC_OP_BMOV: /* out of a barrier, into nowhere */
        return in->clear && (in->opcode & 0x1ff) == 0x155 && in->destination == GC_REGISTER_ZERO ? GC_ROLE_DISPATCH
                                                                                                 : GC_ROLE_FOREIGN;
    case GC_OP_CALL:
    case GC_OP_RETURN:
        return GC_ROLE_CALL;
    default:
        return GC_ROLE_FOREIGN;
    }
}

/* ---- control: a branch, the compare that it asks, the counter that this asks */

/* A predicate, of a thread or of the warp. */
typedef struct condition {
    uint32_t number;
    bool uniform;
} condition;

/* Compares and predicate logic write two predicates, here; what else writes one writes it at the first of these places. */
static bool writes_predicate(const gc_body *body, const gc_instruction *in, condition asked) {
    static const char *const VECTOR[] = {"ISETP", "PLOP3",  "FSETP",   "DSETP",     "HSETP2", "IADD3", "IADD",  "LOP3",
                                         "LEA",   "VOTE",   "FCHK",    "SHFL",      "MATCH",  "IMAD",  "ELECT", "LDG",
                                         "IMNMX", "VIMNMX", "VIMNMX3", "VIADDMNMX", "VHMNMX", "ATOM",  "ATOMG", "ATOMS",
                                         "QSPC",  "SYNCS",  "TEX",     "TLD",       "TLD4",   "TXD",   "SULD"};
    static const char *const UNIFORM[] = {"UISETP", "UPLOP3", "UIADD3", "ULOP3",  "ULEA",
                                          "VOTEU",  "UFSETP", "UIMAD",  "UVIMNMX"};
    if (in->never) return false;
    if (strcmp(in->mnemonic, "R2P") == 0) return !asked.uniform; /* any of them */
    if (asked.uniform ? !IS_ONE_OF(in->mnemonic, UNIFORM) : !IS_ONE_OF(in->mnemonic, VECTOR)) return false;
    const gc_word word = gc_body_word(body, in);
    return gc_bits(word, 83, 81) == asked.number || gc_bits(word, 86, 84) == asked.number;
}

static bool is_compare(const gc_instruction *in) {
    static const char *const COMPARES[] = {"ISETP", "UISETP", "PLOP3", "UPLOP3"};
    return IS_ONE_OF(in->mnemonic, COMPARES);
}

/* The one instruction of `blocks` that writes it, or the last one of the branch's block; UINT32_MAX: not told apart. */
static uint32_t writer_of(const gc_body *body, uint32_t branch, uint32_t loop, condition asked) {
    const gc_flow *flow = body->flow;
    const uint32_t block = flow->block_of[branch];
    for (uint32_t i = branch; i-- > flow->blocks[block].first;)
        if (writes_predicate(body, &flow->instructions[i], asked))
            return flow->instructions[i].guard == GC_PREDICATE_TRUE ? i : UINT32_MAX;
    uint32_t found = UINT32_MAX;
    for (uint32_t n = 0; n < body->order_count; n++) {
        const gc_block *one = &flow->blocks[body->order[n]];
        if (!gc_body_is_around(body, loop, body->loop_of[body->order[n]])) continue;
        for (uint32_t i = one->first; i < one->first + one->count; i++) {
            if (!writes_predicate(body, &flow->instructions[i], asked)) continue;
            if (found != UINT32_MAX) return UINT32_MAX;
            found = i;
        }
    }
    return found;
}

static bool is_uniform_mnemonic(const gc_instruction *in) {
    return in->mnemonic[0] == 'U';
}

/* An addition that writes a register it reads. */
static bool counts(const gc_body *body, const gc_instruction *in, uint32_t counter, bool uniform) {
    static const char *const ADDS[] = {"IADD3", "IADD", "VIADD", "UIADD3", "UVIADD"};
    const gc_word word = gc_body_word(body, in);
    const bool adds = IS_ONE_OF(in->mnemonic, ADDS) || ((in->opcode & 0x1ff) == 0x024 && !gc_is_multiply_add(in) &&
                                                        in->source_a != GC_REGISTER_ZERO); /* IMAD.IADD */
    if (!adds || in->never || is_uniform_mnemonic(in) != uniform || gc_bits(word, 23, 16) != counter) return false;
    const uint64_t a = gc_bits(word, 31, 24), b = gc_bits(word, 39, 32), c = gc_bits(word, 71, 64);
    return a == counter || (GC_FORM(in->opcode) == 1 && (b == counter || c == counter));
}

/* The additions of the loop that make the compared registers go round; none or one is usual. */
static void take_counters(gc_body *body, uint32_t loop, const gc_instruction *compare) {
    const gc_flow *flow = body->flow;
    const gc_word word = gc_body_word(body, compare);
    const bool uniform = is_uniform_mnemonic(compare);
    const bool has_b = GC_FORM(compare->opcode) == 1 || GC_FORM(compare->opcode) == 14;
    const uint64_t zero = GC_REGISTER_ZERO, a = gc_bits(word, 31, 24), b = has_b ? gc_bits(word, 39, 32) : zero;
    for (uint32_t n = 0; n < body->order_count; n++) {
        const gc_block *block = &flow->blocks[body->order[n]];
        if (body->loop_of[body->order[n]] != loop) continue;
        for (uint32_t i = block->first; i < block->first + block->count; i++) {
            const gc_instruction *in = &flow->instructions[i];
            /* In the form with a uniform operand, only b is one. */
            const bool b_uniform = uniform || GC_FORM(compare->opcode) == 14;
            if ((a != zero && counts(body, in, (uint32_t)a, uniform)) ||
                (b != zero && counts(body, in, (uint32_t)b, b_uniform)))
                body->roles[i] = GC_ROLE_LOOP;
        }
    }
}

static void take_condition(gc_body *body, uint32_t branch, uint32_t loop, gc_role role, condition asked) {
    if (asked.number == GC_PREDICATE_TRUE) return;
    const uint32_t writer = writer_of(body, branch, loop, asked);
    if (writer == UINT32_MAX || !is_compare(&body->flow->instructions[writer])) return;
    if (body->roles[writer] != GC_ROLE_LOOP) body->roles[writer] = (uint8_t)role;
    if (role == GC_ROLE_LOOP) take_counters(body, loop, &body->flow->instructions[writer]);
}

/* Closes a loop, or is one of several ways out. */
static bool is_loop_control(const gc_body *body, uint32_t branch) {
    const gc_instruction *in = &body->flow->instructions[branch];
    const uint32_t block = body->flow->block_of[branch];
    const gc_block *own = &body->flow->blocks[block];
    if (in->kind != GC_OP_BRANCH || body->loop_of[block] == GC_NO_LOOP) return false;
    for (uint32_t s = 0; s < own->successor_count; s++) {
        const uint32_t to = body->flow->successors[own->successor + s];
        if (gc_body_leaves_loop(body, block, to) || gc_body_is_back(body, block, to)) return true;
    }
    return false;
}

static void take_branch(gc_body *body, uint32_t branch) {
    const gc_instruction *in = &body->flow->instructions[branch];
    const gc_role role = is_loop_control(body, branch) ? GC_ROLE_LOOP : GC_ROLE_DISPATCH;
    const uint32_t loop = body->loop_of[body->flow->block_of[branch]];
    body->roles[branch] = (uint8_t)role;
    take_condition(body, branch, loop, role, (condition){in->guard, false});
    take_condition(body, branch, loop, role, (condition){in->second, false});
    if (in->opcode == 0x1547)
        take_condition(body, branch, loop, role, (condition){(uint32_t)gc_bits(gc_body_word(body, in), 26, 24), true});
}

/* Whether `in` puts the address `next` into a register. */
static bool sets_address(const gc_body *body, const gc_instruction *in, uint32_t next) {
    static const char *const SETTERS[] = {"MOV", "IMAD", "HFMA2", "UMOV"};
    if (!in->mnemonic || in->never || in->guard != GC_PREDICATE_TRUE || !IS_ONE_OF(in->mnemonic, SETTERS)) return false;
    if (GC_FORM(in->opcode) != 2 && GC_FORM(in->opcode) != 4) return false; /* an immediate */
    return (uint32_t)gc_bits(gc_body_word(body, in), 63, 32) == next;
}

/* Whether every way to the call goes through the block of `setter`. */
static bool comes_before(const gc_flow *flow, uint32_t setter, uint32_t call, uint8_t *marks, uint32_t *stack) {
    memset(marks, 0, flow->block_count);
    gc_flow_mark(flow, 0, flow->block_of[setter], marks, stack);
    return flow->blocks[flow->block_of[setter]].reachable && !marks[flow->block_of[call]];
}

/*
 * What sets the return address of a call: usually right before it, but it may be moved to before a loop or a clock read.
 * UINT32_MAX: nothing that every way to the call goes through.
 */
static uint32_t address_setter(const gc_body *body, uint32_t call, uint8_t *marks, uint32_t *stack) {
    const gc_flow *flow = body->flow;
    const uint32_t next = (uint32_t)(flow->instructions[call].pc + 16);
    for (uint32_t i = call; i-- > flow->blocks[flow->block_of[call]].first;)
        if (sets_address(body, &flow->instructions[i], next)) return i;
    for (uint32_t i = 0; i < flow->instruction_count; i++)
        if (flow->block_of[i] != flow->block_of[call] && sets_address(body, &flow->instructions[i], next) &&
            comes_before(flow, i, call, marks, stack))
            return i;
    return UINT32_MAX;
}

static void take_by_itself(gc_body *body, const gc_contents_question *question, uint32_t index) {
    const gc_instruction *in = &body->flow->instructions[index];
    gc_role role = in->never ? GC_ROLE_PADDING : role_by_kind(in);
    if (role == GC_ROLE_FOREIGN && is_intended(question, body, in)) role = GC_ROLE_INTENDED;
    if (role == GC_ROLE_FOREIGN) role = gc_scaffold_role(body, in);
    if (role == GC_ROLE_FOREIGN && is_one_of(in->mnemonic, question->extra, question->extra_count))
        role = GC_ROLE_EXTRA;
    body->roles[index] = (uint8_t)role;
}

/* First each instruction by itself; then control, which is told by who asks whom, takes its own away from the others. */
static void find_roles(gc_body *body, const gc_contents_question *question) {
    const gc_flow *flow = body->flow;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t n = 0; n < body->order_count; n++) {
            const gc_block *block = &flow->blocks[body->order[n]];
            for (uint32_t i = block->first; i < block->first + block->count; i++) {
                const gc_instruction *in = &flow->instructions[i];
                const bool branches = (in->kind == GC_OP_BRANCH || in->kind == GC_OP_INDIRECT) && !in->never;
                if (pass == 0)
                    take_by_itself(body, question, i);
                else if (branches)
                    take_branch(body, i);
            }
        }
}

static bool take_address(gc_body *body, uint32_t call, uint8_t *marks, uint32_t *stack, gc_contents *contents) {
    const uint32_t setter = address_setter(body, call, marks, stack);
    if (setter == UINT32_MAX)
        return gc_contents_refuse(contents, "the call at 0x%llx is not told to come back behind it",
                                  (unsigned long long)body->flow->instructions[call].pc);
    if (body->inside[body->flow->block_of[setter]]) body->roles[setter] = GC_ROLE_CALL;
    return true;
}

static bool take_addresses(gc_body *body, uint8_t *marks, uint32_t *stack, gc_contents *contents) {
    for (uint32_t i = 0; i < body->flow->instruction_count; i++) {
        const gc_instruction *in = &body->flow->instructions[i];
        if (!body->inside[body->flow->block_of[i]] || in->kind != GC_OP_CALL || in->never) continue;
        if (in->opcode != GC_OPCODE_CALL_REL)
            return gc_contents_refuse(contents, "the target of the call at 0x%llx is not known",
                                      (unsigned long long)in->pc);
        if (!take_address(body, i, marks, stack, contents)) return false;
    }
    return true;
}

gpuchar_status gc_body_find_roles(gc_body *body, const gc_contents_question *question, gc_contents *contents) {
    const size_t blocks = body->flow->block_count;
    body->roles = calloc(body->flow->instruction_count, 1);
    uint8_t *marks = malloc(blocks);
    uint32_t *stack = malloc(blocks * sizeof *stack);
    gpuchar_status status = GPUCHAR_OK;
    if (body->roles && marks && stack) {
        gc_body_find_parameters(body);
        find_roles(body, question);
        take_addresses(body, marks, stack, contents);
    } else {
        status = gc_fail_memory(body->flow->instruction_count + blocks * 5);
    }
    free(marks);
    free(stack);
    return status;
}
