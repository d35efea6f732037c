#include <core/error.h>
#include <experiments/barrier_class_code.h>
#include <sass/flow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(GC_CLASS_KEEP == GPUCHAR_BARRIER_AS_COMPILED, "one number for both");

/* ---- where the barriers stand */

typedef struct region {
    const gc_flow *flow;
    uint8_t *marks;
    uint32_t *stack;
    uint32_t first, last; /* blocks of the two clock reads */
} region;

static bool reaches(const region *r, uint32_t from, uint32_t to, uint32_t without) {
    memset(r->marks, 0, r->flow->block_count);
    gc_flow_mark(r->flow, from, without, r->marks, r->stack);
    return r->marks[to] != 0;
}

/* Whether the block is come to again after it, without a clock read. */
static bool is_in_cycle(const region *r, uint32_t block) {
    const gc_block *at = &r->flow->blocks[block];
    memset(r->marks, 0, r->flow->block_count);
    for (uint32_t i = 0; i < at->successor_count; ++i) {
        gc_flow_mark(r->flow, r->flow->successors[at->successor + i], r->last, r->marks, r->stack);
    }
    return r->marks[block] && !r->marks[r->first];
}

static bool is_timed_loop(const region *r, uint32_t block) {
    return reaches(r, r->first, block, r->last) && reaches(r, block, r->last, r->first) && is_in_cycle(r, block);
}

static const char *find_clocks(region *r) {
    uint32_t found = 0, clocks[2] = {0};
    for (uint32_t i = 0; i < r->flow->block_count; ++i) {
        const gc_block *block = &r->flow->blocks[i];
        if (!block->reachable || r->flow->instructions[block->first].kind != GC_OP_CLOCK) continue;
        if (found < 2) clocks[found] = i;
        ++found;
    }
    if (found != 2) return "it does not read the clock twice";
    const bool turned = reaches(r, clocks[1], clocks[0], GC_FLOW_NO_BLOCK);
    r->first = clocks[turned];
    r->last = clocks[!turned];
    if (!reaches(r, r->first, r->last, GC_FLOW_NO_BLOCK)) return "one clock read does not follow the other";
    return reaches(r, r->last, r->first, GC_FLOW_NO_BLOCK) ? "the clock is read in a loop" : NULL;
}

static void count_looped(const region *r, gpuchar_barrier_kernel *kernel) {
    uint32_t *const looped[GC_CLASS_KINDS] = {&kernel->bssy_in_loops, &kernel->bsync_in_loops,
                                              &kernel->breaks_in_loops};
    for (uint32_t i = 0; i < r->flow->instruction_count; ++i) {
        const uint32_t kind = gc_class_kind(&r->flow->instructions[i]);
        if (kind == GC_CLASS_KINDS || r->flow->instructions[i].never) continue;
        *looped[kind] += is_timed_loop(r, r->flow->block_of[i]);
    }
}

/* NULL, or what is missing. */
static const char *find_missing(const gpuchar_barrier_kernel *kernel) {
    if (!kernel->bssy_in_loops) return "it holds no BSSY in a loop between its clock reads";
    if (!kernel->bsync_in_loops) return "it holds no BSYNC in a loop between its clock reads";
    if (kernel->probe == GPUCHAR_BARRIER_PROBE_EXIT && !kernel->breaks_in_loops)
        return "it holds no BREAK in a loop between its clock reads";
    return NULL;
}

/* ---- the code as it is */

static void count_classes(const gc_code *code, gpuchar_barrier_kernel *kernel) {
    uint32_t *const counts[GC_CLASS_KINDS] = {kernel->bssy, kernel->bsync, kernel->breaks};
    for (size_t offset = 0; offset + 16 <= code->size; offset += 16) {
        gc_instruction in;
        gc_decode(code, offset, &in);
        const uint32_t kind = gc_class_kind(&in);
        if (kind < GC_CLASS_KINDS) ++counts[kind][gc_class_at(code, offset)];
    }
    kernel->instructions = (uint32_t)(code->size / 16);
    kernel->known |= GPUCHAR_BARRIER_CODE;
}

static gpuchar_status place(const gc_code *code, gpuchar_barrier_kernel *kernel, const char **missing) {
    gc_flow flow = {0};
    gpuchar_status status = gc_flow_build(code, &flow);
    region r = {.flow = &flow};
    if (!status) {
        r.marks = calloc(flow.block_count + 1, sizeof *r.marks);
        r.stack = calloc(flow.block_count + 1, sizeof *r.stack);
    }
    if (!status && r.marks && r.stack) {
        *missing = find_clocks(&r);
        if (!*missing) count_looped(&r, kernel);
        if (!*missing) *missing = find_missing(kernel);
    } else if (!status) {
        status = gc_fail_memory(flow.block_count * sizeof *r.stack);
    }
    free(r.marks);
    free(r.stack);
    gc_flow_free(&flow);
    return status;
}

static gpuchar_status read_code(const void *image, size_t size, gpuchar_barrier_kernel *kernel, const char **missing) {
    gc_cubin cubin;
    gc_code code;
    gpuchar_status status = gc_cubin_open(image, size, &cubin);
    if (!status) status = gc_cubin_function(&cubin, GC_BARRIER_KERNEL, &code);
    if (!status && code.arch < 70) status = gc_fail(GPUCHAR_E_SASS_UNKNOWN, "sm_%u has no such barriers", code.arch);
    if (!status) count_classes(&code, kernel);
    return status ? status : place(&code, kernel, missing);
}

gpuchar_status gc_barrier_read_code(const void *image, size_t size, gpuchar_barrier_kernel *kernel,
                                    char reason[GC_BARRIER_REASON_BYTES]) {
    const char *missing = NULL;
    gc_error_box *before = gc_error_take();
    gpuchar_status status = read_code(image, size, kernel, &missing);
    if (status == GPUCHAR_E_OUT_OF_MEMORY) {
        gc_error_put(before, GPUCHAR_OK); /* gives the older detail up */
        return status;
    }
    snprintf(reason, GC_BARRIER_REASON_BYTES, "%s", status ? gpuchar_last_error()->message : missing ? missing : "");
    kernel->proof_status = status ? status : missing ? GPUCHAR_E_NOT_PROVED : GPUCHAR_OK;
    gc_error_restore(before);
    return GPUCHAR_OK;
}

/* ---- edits */

/* The n-th of the classes asked for, behind them "as compiled"; false past the end. */
static bool choose(uint32_t classes, uint32_t n, uint32_t *class) {
    for (uint32_t i = 0; i < GC_CLASSES; ++i) {
        if (!(classes >> i & 1) || n-- != 0) continue;
        *class = i;
        return true;
    }
    *class = GC_CLASS_KEEP;
    return n == 0;
}

static bool is_few(const gc_class_edit *edit, bool breaks) {
    uint32_t kept = 0;
    for (uint32_t kind = 0; kind < GC_CLASS_KINDS; ++kind) kept += edit->to[kind] == GC_CLASS_KEEP;
    if (kept == GC_CLASS_KINDS - 1) return true;
    return kept == !breaks && edit->to[GC_CLASS_BSSY] == edit->to[GC_CLASS_BSYNC] &&
           (!breaks || edit->to[GC_CLASS_BREAK] == edit->to[GC_CLASS_BSSY]);
}

static bool is_wanted(const gc_class_edit *edit, uint32_t combinations, bool breaks) {
    bool nothing = true;
    for (uint32_t kind = 0; kind < GC_CLASS_KINDS; ++kind) nothing = nothing && edit->to[kind] == GC_CLASS_KEEP;
    if (nothing) return false;
    return combinations != GPUCHAR_BARRIER_COMBINATIONS_FEW || is_few(edit, breaks);
}

size_t gc_barrier_list_edits(uint32_t combinations, uint32_t classes, bool breaks,
                             gc_class_edit edits[GC_BARRIER_EDITS_MAX]) {
    size_t count = 0;
    uint32_t bssy, bsync, last;
    for (uint32_t a = 0; choose(classes, a, &bssy); ++a) {
        for (uint32_t b = 0; choose(classes, b, &bsync); ++b) {
            for (uint32_t c = 0; choose(breaks ? classes : 0, c, &last); ++c) {
                const gc_class_edit edit = {{bssy, bsync, last}};
                if (is_wanted(&edit, combinations, breaks) && count < GC_BARRIER_EDITS_MAX) edits[count++] = edit;
            }
        }
    }
    return count;
}

gpuchar_status gc_barrier_patch(const void *image, size_t size, const gc_class_edit *edit, void *patched,
                                gc_class_count *count) {
    memcpy(patched, image, size);
    gpuchar_status status = gc_patch_classes(patched, size, GC_BARRIER_KERNEL, edit, count);
    return status ? status : gc_patch_check_classes(image, patched, size, GC_BARRIER_KERNEL, edit);
}
