/* Finding and opening a shared library of NVIDIA's, and saying where it was found or why not. */
#ifndef GC_PLATFORM_LIBRARY_H
#define GC_PLATFORM_LIBRARY_H

#include <gpuchar/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct gc_library {
    void *handle; /* never closed */
    char path[512];
} gc_library;

/* What to look for; see library.c for the order of places. */
typedef struct gc_library_spec {
    const char *environment;           /* "GPUCHAR_LIBNVRTC" */
    const char *const *sonames;        /* "libnvrtc.so.13", ..., NULL-terminated, best first */
    const char *const *wheel_folders;  /* "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", NULL-terminated, relative to site-packages */
    const char *const *toolkit_folders; /* "lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib", NULL-terminated */
    gpuchar_status missing;            /* status when it is found nowhere */
    const char *hint;
    bool (*accept)(const gc_library *library, void *user); /* NULL: any; a refused library is passed over */
    void *accept_user;
} gc_library_spec;

gpuchar_status gc_library_open(const gc_library_spec *spec, const char *path, gc_library *library);
/* dlsym with E_SYMBOL_MISSING naming symbol and library. */
gpuchar_status gc_library_symbol(const gc_library *library, const char *symbol, void **address);

#endif
