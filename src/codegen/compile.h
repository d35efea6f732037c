/*
 * Templates and parameters to CUDA source, source to cubins by NVRTC, through a cache in memory and, if a folder is
 * given, on disk. Needs no GPU and no context.
 */
#ifndef GC_CODEGEN_COMPILE_H
#define GC_CODEGEN_COMPILE_H

#include <core/log.h>
#include <core/util.h>
#include <platform/nvrtc.h>

/* One compiled kernel file, never changed; its bytes are shared by everybody who asked for it. */
typedef struct gc_image {
    const void *bytes;
    size_t size;
    gc_hash key;         /* of source, options, architecture and the compiler's version and build */
    uint64_t compile_ns; /* what it cost when it was compiled by this call; 0 from the cache */
    uint32_t nvrtc_version;
    uint32_t from_cache; /* 0 compiled now, 1 memory, 2 disk */
    const char *log;     /* of the compilation, "" when it said nothing; kept by the cache too */
} gc_image;
gc_image *gc_image_retain(gc_image *image);
void gc_image_release(gc_image *image); /* NULL is allowed */

typedef struct gc_cubin_cache gc_cubin_cache;
/*
 * `folder` NULL or "": memory only. Else its last component is made when absent; E_IO when it cannot be made, is no folder
 * or cannot be written. What goes wrong with it later is logged. It is kept below 256 MiB and 4096 files, the oldest go
 * first. Calls on one cache may come from several threads.
 */
gpuchar_status gc_cubin_cache_open(const char *folder, const gc_log *log, gc_cubin_cache **cache);
void gc_cubin_cache_close(gc_cubin_cache *cache); /* NULL is allowed; images live on */

typedef struct gc_define {
    const char *name;
    int64_t value;
} gc_define;

/* A source text with `#define`s put before it. `source` of an embedded template: gc_kernel_source_find (embedded.h). */
typedef struct gc_compile_request {
    const char *name; /* shown in the log; NULL: "kernel.cu" */
    const char *source;
    const gc_define *defines;
    size_t define_count;
    const char *architecture; /* "sm_90", "sm_90a" */
    const char *const *flags;
    size_t flag_count;
} gc_compile_request;

/*
 * Compiles all requests, those not cached in parallel (internal threads: signals blocked, ended on return, errors
 * carried to the caller). `cancelled` (may be NULL) is asked between compiles, by those threads too. On failure no
 * image is returned (all NULL).
 * Equal requests share one image. Kernels whose text or flags pull in other files are compiled each time: a change of
 * those files would not show in the key. `cache` may be NULL. The log callback is called on the caller's thread only.
 */
gpuchar_status gc_compile_many(const gc_nvrtc *nvrtc, gc_cubin_cache *cache, const gc_compile_request *requests,
                               size_t count, bool (*cancelled)(void *), void *cancelled_user, gc_image **images);

/*
 * Whether NVRTC compiles for a device of architecture `arch` (90): for exactly this one, else E_ARCH_UNSUPPORTED with
 * a hint ("needs NVRTC 12.x" for chips older than it knows, "needs a newer NVRTC" for newer ones).
 */
gpuchar_status gc_compile_check_arch(const gc_nvrtc *nvrtc, uint32_t arch);

#endif
