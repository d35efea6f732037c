/* Finding and opening a shared library of NVIDIA's, and saying where it was found or why not. */
#ifndef GC_PLATFORM_LIBRARY_H
#define GC_PLATFORM_LIBRARY_H

#include <core/util.h>
#include <gpuchar/status.h>
#include <limits.h>

typedef struct gc_library {
    void *handle;        /* never closed */
    char path[PATH_MAX]; /* the real file, links resolved */
    uint32_t domain;     /* GPUCHAR_DOMAIN_...: whose it is, told by its failures */
} gc_library;

/* What to look for; see library.c for the order of places. Lists end with NULL; a NULL list is empty. */
typedef struct gc_library_spec {
    const char *environment;            /* "GPUCHAR_LIBNVRTC" */
    const char *const *sonames;         /* "libnvrtc.so.13", ..., best first */
    const char *const *folders;         /* absolute, "/usr/lib/wsl/lib" */
    const char *const *wheel_folders;   /* "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", relative to site-packages */
    const char *const *toolkit_folders; /* "lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib" */
    gpuchar_status missing;             /* status when it is found nowhere */
    uint32_t domain;                    /* GPUCHAR_DOMAIN_... */
    const char *hint;
    /*
     * NULL: any. GPUCHAR_OK, or the failure that says why this library is of no use: that of a library given by name
     * is the answer; in a search it is passed over, and told when nothing better is found.
     */
    gpuchar_status (*accept)(const gc_library *library, void *user);
    void *accept_user;
} gc_library_spec;

gpuchar_status gc_library_open(const gc_library_spec *spec, const char *path, gc_library *library);

/*
 * Opens the library into `table`, a struct of `size` bytes that begins with its gc_library. It is zeroed before `accept`
 * fills it, and again after a failure.
 */
gpuchar_status gc_library_load(const gc_library_spec *spec, const char *path, void *table, size_t size);

/*
 * The same for a library of the CUDA toolkit, whose major must not be above the driver's: `sonames` begins with the one
 * of CUDA 13, `hint_12` replaces the hint with a driver of CUDA 12, and `accept` gets a gc_toolkit_search.
 */
typedef struct gc_toolkit_search {
    void *table;
    uint32_t highest_major; /* the driver's; 0: there is no driver */
} gc_toolkit_search;
gpuchar_status gc_toolkit_load(const gc_library_spec *spec, const char *hint_12, const char *path,
                               gc_toolkit_search found, size_t size);

/*
 * Tells builds of one library apart that call themselves by the same version: a hash of its file's size and beginning,
 * where ELF keeps the sizes of all segments, the build id if there is one, and the addresses of the functions. A copy
 * elsewhere has the same.
 */
gc_hash gc_library_build(const gc_library *library);

/* dlsym with E_SYMBOL_MISSING naming symbol and library. */
gpuchar_status gc_library_symbol(const gc_library *library, const char *symbol, void **address);

/* One function pointer of a table: where it goes, what it is called, and since when or before when it has another name. */
typedef struct gc_symbol {
    const char *name;
    const char *older_name; /* NULL: none */
    size_t offset;          /* of the pointer in the table */
    bool optional;          /* stays NULL when missing */
} gc_symbol;
gpuchar_status gc_library_fill(const gc_library *library, const gc_symbol *symbols, size_t count, void *table);

/* Opens `name` in the folder of `library`, so that the loader finds this one when `library` asks for it. False when it is not there. */
bool gc_library_open_sibling(const gc_library *library, const char *name);

#endif
