/* All functions of a cubin: kernels, and the local functions inside their sections. */
#ifndef GC_SASS_FUNCTIONS_H
#define GC_SASS_FUNCTIONS_H

#include <sass/cubin.h>

typedef struct gc_function {
    gc_code code;
    const char *section; /* ".text.NAME" */
    bool kernel;
} gc_function;

typedef struct gc_functions {
    gc_function *list; /* by section, then by code */
    size_t count;
} gc_functions;

/* The names point into the cubin's bytes. E_SASS_FORMAT, E_OUT_OF_MEMORY. gc_functions_free takes a zeroed one too. */
gpuchar_status gc_functions_read(const gc_cubin *cubin, gc_functions *functions);
void gc_functions_free(gc_functions *functions);

#endif
