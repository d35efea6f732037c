/* Changing machine code in place. */
#ifndef GC_SASS_PATCH_H
#define GC_SASS_PATCH_H

#include <sass/decode.h>

/*
 * Makes a NOP of every instruction of `kind` in the kernel, scheduling fields kept, in the caller's own bytes of a cubin.
 * *count: how many. Each is decoded again: GPUCHAR_E_INTERNAL when one did not become a NOP.
 */
gpuchar_status gc_patch_out(void *cubin, size_t size, const char *kernel, gc_op_kind kind, uint32_t *count);

/* The class field: bits [73:72] of BSSY, BSYNC and BREAK. Below sm_100 they are reserved. */
#define GC_CLASSES 4
#define GC_CLASS_KEEP GC_CLASSES /* as it was */
#define GC_CLASS_FIELD_ARCH 100  /* the first that has it */

enum { GC_CLASS_BSSY, GC_CLASS_BSYNC, GC_CLASS_BREAK, GC_CLASS_KINDS };

/* For each kind of instruction the class that all of them get, 0..3 or GC_CLASS_KEEP. */
typedef struct gc_class_edit {
    uint32_t to[GC_CLASS_KINDS];
} gc_class_edit;

/* The kind of an instruction that has the field; GC_CLASS_KINDS: it has none. */
uint32_t gc_class_kind(const gc_instruction *instruction);
/* What stands in the field of the instruction at `offset`, a multiple of 16, whatever the chip makes of it. */
uint32_t gc_class_at(const gc_code *code, size_t offset);

typedef struct gc_class_count {
    uint32_t edited;  /* instructions that were given a class */
    uint32_t changed; /* of them those that had another one */
} gc_class_count;

/*
 * Edits the kernel's instructions in the caller's own bytes of a cubin. Before sm_70: E_SASS_UNKNOWN. The result is
 * for gc_patch_check_classes to judge.
 */
gpuchar_status gc_patch_classes(void *cubin, size_t size, const char *kernel, const gc_class_edit *edit,
                                gc_class_count *count);

/*
 * Whether `patched` is `original` with this edit and nothing else: every byte outside of the kernel's code is equal, each
 * instruction decodes as before, those of a kind with a class have it, and no other bit differs. GPUCHAR_E_INTERNAL:
 * it is not, with the first place.
 */
gpuchar_status gc_patch_check_classes(const void *original, const void *patched, size_t size, const char *kernel,
                                      const gc_class_edit *edit);

/*
 * Disables the kernel's global stores (STG) of `bytes` per thread: their guard becomes !PT. *count: how many. Each is decoded
 * again, and nothing but the guard differs: else GPUCHAR_E_INTERNAL.
 */
gpuchar_status gc_patch_stores(void *cubin, size_t size, const char *kernel, uint32_t bytes, uint32_t *count);

#endif
