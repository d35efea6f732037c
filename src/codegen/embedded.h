/* The kernel templates of src/kernels, put into the library when it is built. */
#ifndef GC_CODEGEN_EMBEDDED_H
#define GC_CODEGEN_EMBEDDED_H

#include <stddef.h>

typedef struct gc_kernel_source {
    const char *name; /* of the file without folder and ending: "divergence" */
    const char *text; /* NUL-terminated */
    size_t length;    /* without the NUL */
} gc_kernel_source;

/* NULL when there is no such kernel. */
const gc_kernel_source *gc_kernel_source_find(const char *name);

#endif
