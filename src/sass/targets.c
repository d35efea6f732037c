#include <core/error.h>
#include <sass/targets.h>
#include <stdlib.h>
#include <string.h>

static uint32_t read_u32(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static gpuchar_status bad(void) {
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "malformed cubin: a list of branch targets is cut off");
}

static gpuchar_status add(gc_targets *targets, size_t *capacity, gc_target_list list) {
    if (targets->count == *capacity) {
        const size_t grown = *capacity ? *capacity * 2 : 16;
        gc_target_list *lists = realloc(targets->lists, grown * sizeof *lists);
        if (!lists) return gc_fail_memory(grown * sizeof *lists);
        targets->lists = lists;
        *capacity = grown;
    }
    targets->lists[targets->count++] = list;
    return GPUCHAR_OK;
}

/* Records {u32 pc, u16 kind, u16 0, u32 n, n x u32 target}. */
static gpuchar_status read_lists(const uint8_t *payload, size_t size, gc_targets *targets, size_t *capacity) {
    size_t at = 0;
    while (size - at >= 12) {
        const gc_target_list list = {
            .pc = read_u32(payload + at), .targets = payload + at + 12, .count = read_u32(payload + at + 8)};
        at += 12;
        if (list.count > (size - at) / 4) return bad();
        at += (size_t)list.count * 4;
        const gpuchar_status status = add(targets, capacity, list);
        if (status) return status;
    }
    return GPUCHAR_OK;
}

static int compare(const void *left, const void *right) {
    const gc_target_list *a = left, *b = right;
    return (a->pc > b->pc) - (a->pc < b->pc);
}

gpuchar_status gc_targets_read(const gc_code *code, gc_targets *targets) {
    *targets = (gc_targets){0};
    size_t capacity = 0;
    gpuchar_status status = GPUCHAR_OK;
    gc_attribute attribute;
    for (size_t at = 0; !status && gc_code_attribute(code, &at, &attribute);) {
        if (attribute.cut_off)
            status = bad();
        else if (attribute.payload && attribute.number == GC_INFO_BRANCH_TARGETS)
            status = read_lists(attribute.payload, attribute.size, targets, &capacity);
    }
    if (status)
        gc_targets_free(targets);
    else if (targets->count)
        qsort(targets->lists, targets->count, sizeof *targets->lists, compare);
    return status;
}

void gc_targets_free(gc_targets *targets) {
    free(targets->lists);
    *targets = (gc_targets){0};
}

const gc_target_list *gc_targets_find(const gc_targets *targets, uint64_t pc) {
    const gc_target_list key = {.pc = pc};
    return targets->count ? bsearch(&key, targets->lists, targets->count, sizeof key, compare) : NULL;
}

uint64_t gc_target_at(const gc_target_list *list, uint32_t index) {
    return read_u32(list->targets + (size_t)index * 4);
}
