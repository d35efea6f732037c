/* The machine code of barrier_class.cu: what it holds, and which edits there are. */
#ifndef GC_EXPERIMENTS_BARRIER_CLASS_CODE_H
#define GC_EXPERIMENTS_BARRIER_CLASS_CODE_H

#include <gpuchar/barrier_class.h>
#include <sass/patch.h>

#define GC_BARRIER_KERNEL "gpuchar_barrier_class"

enum { GC_BARRIER_REASON_BYTES = 160, GC_BARRIER_EDITS_MAX = 124 };

/*
 * Fills the kernel's code, and its proof_status; `reason` says why it is not proved. known is 0 where the code cannot be read.
 * Fails for want of memory only.
 */
gpuchar_status gc_barrier_read_code(const void *image, size_t size, gpuchar_barrier_kernel *kernel,
                                    char reason[GC_BARRIER_REASON_BYTES]);

static inline bool gc_barrier_has_breaks(const gpuchar_barrier_kernel *kernel) {
    return kernel->breaks[0] + kernel->breaks[1] + kernel->breaks[2] + kernel->breaks[3] > 0;
}

/* All edits that `combinations` and `classes` ask for of a kernel, in a fixed order; returns how many. */
size_t gc_barrier_list_edits(uint32_t combinations, uint32_t classes, bool breaks,
                             gc_class_edit edits[GC_BARRIER_EDITS_MAX]);

/* Makes `patched`, of the image's size, the image with this edit, and checks that it is. */
gpuchar_status gc_barrier_patch(const void *image, size_t size, const gc_class_edit *edit, void *patched,
                                gc_class_count *count);

#endif
