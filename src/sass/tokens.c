#include <core/error.h>
#include <sass/decode64.h>
#include <sass/token_walk.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_MAX 4096 /* targets of one instruction in the attribute */
/* What the walk needs for a function of this many instructions fits into memory and 32-bit numbers. */
#define INSTRUCTIONS_MAX 0x1000000

static bool is_site(const gc_instruction *in) {
    switch (in->kind) {
    case GC_OP_SYNC:
    case GC_OP_BRK:
    case GC_OP_CONT:
    case GC_OP_LONGJMP:
    case GC_OP_RETURN:
    case GC_OP_INDIRECT:
        return true;
    default:
        return false;
    }
}

static gpuchar_status mark(const gc_token_walk *walk, const gc_instruction *in, uint64_t target) {
    const size_t index = gc_code_index(walk->code, target);
    if (index == SIZE_MAX)
        return gc_fail(GPUCHAR_E_SASS_FORMAT, "a target of the instruction at 0x%llx lies outside its function",
                       (unsigned long long)in->pc);
    walk->leaders[index] = 1;
    return GPUCHAR_OK;
}

/* Decodes all and counts pushes and sites. */
static gpuchar_status decode_all(gc_token_walk *walk) {
    const size_t count = walk->count ? walk->count : 1;
    walk->instructions = calloc(count, sizeof *walk->instructions);
    walk->role = calloc(count, sizeof *walk->role);
    walk->leaders = calloc(count, 1);
    if (!walk->instructions || !walk->role || !walk->leaders) return gc_fail_memory(count * sizeof *walk->instructions);
    for (uint32_t i = 0; i < walk->count; i++) {
        gc_instruction *in = &walk->instructions[i];
        gc_decode(walk->code, gc_code_offset(walk->code, i), in);
        walk->tokens->push_count += in->kind == GC_OP_PUSH;
        walk->tokens->site_count += is_site(in);
    }
    return GPUCHAR_OK;
}

static int by_value(const void *a, const void *b) {
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Adds targets to gc_tokens.targets, ascending and without repetitions. */
static gpuchar_status add_targets(gc_tokens *tokens, uint64_t *given, size_t count, uint32_t *first, uint32_t *kept) {
    *first = (uint32_t)tokens->target_count;
    *kept = 0;
    if (!count) return GPUCHAR_OK;
    qsort(given, count, sizeof *given, by_value);
    uint64_t *grown = realloc(tokens->targets, (tokens->target_count + count) * sizeof *grown);
    if (!grown) return gc_fail_memory((tokens->target_count + count) * sizeof *grown);
    tokens->targets = grown;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || given[i] != given[i - 1]) grown[tokens->target_count++] = given[i];
    *kept = (uint32_t)(tokens->target_count - *first);
    return GPUCHAR_OK;
}

static gpuchar_status read_listed(const gc_token_walk *walk, const gc_instruction *in, gc_token_site *site) {
    uint64_t targets[LISTED_MAX];
    const size_t count = gc_code_branch_targets(walk->code, in->pc, targets, LISTED_MAX);
    if (count > LISTED_MAX)
        return gc_fail(GPUCHAR_E_SASS_UNKNOWN, "the instruction at 0x%llx has %zu targets", (unsigned long long)in->pc,
                       count);
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; !status && i < count; i++) {
        targets[i] = gc_behind_control(targets[i]);
        status = mark(walk, in, targets[i]);
    }
    return status ? status : add_targets(walk->tokens, targets, count, &site->listed, &site->listed_count);
}

static void fill_push(const gc_instruction *in, uint32_t index, gc_token_push *push) {
    push->pc = in->pc;
    push->target = in->target;
    push->index = index;
    push->opcode = in->opcode >> 4;
}

static gpuchar_status fill(gc_token_walk *walk) {
    gc_tokens *tokens = walk->tokens;
    tokens->pushes = calloc(tokens->push_count + 1, sizeof *tokens->pushes);
    tokens->sites = calloc(tokens->site_count + 1, sizeof *tokens->sites);
    walk->found_first = malloc((tokens->site_count + 1) * sizeof *walk->found_first);
    if (!tokens->pushes || !tokens->sites || !walk->found_first)
        return gc_fail_memory(tokens->push_count * sizeof *tokens->pushes + tokens->site_count * sizeof *tokens->sites);
    memset(walk->found_first, 0xff, (tokens->site_count + 1) * sizeof *walk->found_first);
    uint32_t push = 0, site = 0;
    gpuchar_status status = GPUCHAR_OK;
    for (uint32_t i = 0; !status && i < walk->count; i++) {
        const gc_instruction *in = &walk->instructions[i];
        const bool marks = in->kind == GC_OP_PUSH || in->kind == GC_OP_BRANCH;
        if (marks && in->target != GC_NO_TARGET) status = mark(walk, in, in->target);
        if (in->kind == GC_OP_JUMP && gc_code_index(walk->code, in->target) != SIZE_MAX)
            status = mark(walk, in, in->target);
        if (in->kind == GC_OP_PUSH) {
            fill_push(in, i, &tokens->pushes[push]);
            walk->role[i] = push++;
        } else if (!status && is_site(in)) {
            tokens->sites[site].index = i;
            status = read_listed(walk, in, &tokens->sites[site]);
            walk->role[i] = site++;
        }
    }
    return status;
}

static gpuchar_status collect(const gc_token_walk *walk) {
    gc_tokens *tokens = walk->tokens;
    uint64_t *targets = malloc((walk->found_count + 1) * sizeof *targets);
    if (!targets) return gc_fail_memory((walk->found_count + 1) * sizeof *targets);
    gpuchar_status status = GPUCHAR_OK;
    for (size_t s = 0; !status && s < tokens->site_count; s++) {
        size_t count = 0;
        for (uint32_t i = walk->found_first[s]; i != UINT32_MAX; i = walk->found[i].next)
            targets[count++] = walk->found[i].target;
        gc_token_site *site = &tokens->sites[s];
        status = add_targets(tokens, targets, count, &site->followed, &site->followed_count);
    }
    free(targets);
    return status;
}

gpuchar_status gc_tokens_read(const gc_code *code, gc_tokens *tokens) {
    memset(tokens, 0, sizeof *tokens);
    if (code->arch >= 70) return gc_fail(GPUCHAR_E_SASS_UNKNOWN, "code for sm_%u has no tokens", code->arch);
    const size_t count = gc_code_count(code);
    if (count > INSTRUCTIONS_MAX) return gc_fail(GPUCHAR_E_SASS_UNKNOWN, "a function of %zu instructions", count);
    tokens->complete = true;
    gc_token_walk walk = {.code = code, .tokens = tokens, .count = (uint32_t)count};
    gpuchar_status status = decode_all(&walk);
    if (!status) status = fill(&walk);
    if (!status) status = gc_token_walk_run(&walk);
    if (!status) status = collect(&walk);
    free(walk.instructions);
    free(walk.role);
    free(walk.leaders);
    free(walk.found_first);
    free(walk.found);
    if (status) gc_tokens_free(tokens);
    return status;
}

void gc_tokens_free(gc_tokens *tokens) {
    free(tokens->pushes);
    free(tokens->sites);
    free(tokens->targets);
    memset(tokens, 0, sizeof *tokens);
}

const gc_token_site *gc_tokens_site(const gc_tokens *tokens, size_t index) {
    size_t begin = 0, end = tokens->site_count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (tokens->sites[middle].index < index)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < tokens->site_count && tokens->sites[begin].index == index ? &tokens->sites[begin] : NULL;
}

const uint64_t *gc_tokens_targets(const gc_tokens *tokens, size_t index, size_t *count) {
    const gc_token_site *site = gc_tokens_site(tokens, index);
    *count = site ? site->followed_count ? site->followed_count : site->listed_count : 0;
    if (!*count) return NULL;
    return tokens->targets + (site->followed_count ? site->followed : site->listed);
}
