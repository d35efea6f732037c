/* Changing machine code in place. */
#ifndef GC_SASS_PATCH_H
#define GC_SASS_PATCH_H

#include <sass/decode.h>

/*
 * Makes a NOP of every instruction of `kind` in the kernel, scheduling fields kept, in the caller's own bytes of a cubin.
 * *count: how many. Each is decoded again: GPUCHAR_E_INTERNAL when one did not become a NOP.
 */
gpuchar_status gc_patch_out(void *cubin, size_t size, const char *kernel, gc_op_kind kind, uint32_t *count);

#endif
