/* Where indirect branches go: the kernel's attribute that lists their targets. */
#ifndef GC_SASS_TARGETS_H
#define GC_SASS_TARGETS_H

#include <sass/cubin.h>

typedef struct gc_target_list {
    uint64_t pc;
    const uint8_t *targets; /* u32 each, at any address */
    uint32_t count;
    uint32_t reserved;
} gc_target_list;

typedef struct gc_targets {
    gc_target_list *lists; /* by pc */
    size_t count;
} gc_targets;

/* E_SASS_FORMAT: an attribute lies outside its section. gc_targets_free takes a zeroed one too. */
gpuchar_status gc_targets_read(const gc_code *code, gc_targets *targets);
void gc_targets_free(gc_targets *targets);

/* NULL: the branch at `pc` is not listed. */
const gc_target_list *gc_targets_find(const gc_targets *targets, uint64_t pc);
/* Target `index` of a list, a program counter. */
uint64_t gc_target_at(const gc_target_list *list, uint32_t index);

#endif
