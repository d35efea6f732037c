/* What the files of this folder share. */
#ifndef GC_CODEGEN_CODEGEN_INTERNAL_H
#define GC_CODEGEN_CODEGEN_INTERNAL_H

#include <codegen/compile.h>
#include <core/error.h>

/* One kernel on its way from request to image. */
typedef struct gc_compile_job {
    const gc_compile_request *request;
    char *text; /* defines and template */
    size_t text_length;
    gc_hash key;
    bool cacheable; /* nothing outside of text and options goes into the result */
    gc_image *image;
    gpuchar_status status;
    gc_error_box *error;
} gc_compile_job;

/* E_INVALID_ARGUMENT for an option that would make something else than cubins of the request's architecture, or print. */
gpuchar_status gc_flags_check(const gc_compile_request *request);
/* Whether they make the compilation read or write other files. */
bool gc_flags_touch_files(const gc_compile_request *request);
bool gc_flags_name_standard(const gc_compile_request *request);

gpuchar_status gc_compile_job_prepare(const gc_nvrtc *nvrtc, const gc_compile_request *request, gc_compile_job *job);
/* Compiles; touches no cache, calls nothing of the host's: it may run on an internal thread. */
gpuchar_status gc_compile_job_run(const gc_nvrtc *nvrtc, gc_compile_job *job);
void gc_compile_job_clear(gc_compile_job *job);

/* Takes ownership of `bytes` and `log` (from malloc), on failure too. NULL when memory is short. */
gc_image *gc_image_new(void *bytes, size_t size, char *log, gc_hash key, uint32_t nvrtc_version, uint64_t compile_ns);
/* The same bytes as they come from a cache: compile_ns is 0. NULL when memory is short. */
gc_image *gc_image_view(gc_image *image, uint32_t from_cache);

/* NULL when it is not there. A NULL cache is always empty. Neither sets an error. */
gc_image *gc_cubin_cache_get(gc_cubin_cache *cache, gc_hash key, uint32_t nvrtc_version);
void gc_cubin_cache_put(gc_cubin_cache *cache, gc_image *image);

/* The folder of cubins. NULL: none. */
typedef struct gc_disk_cache gc_disk_cache;
/* E_IO: it cannot be made, is no folder or cannot be written. */
gpuchar_status gc_disk_cache_open(const char *folder, const gc_log *log, gc_disk_cache **disk);
void gc_disk_cache_close(gc_disk_cache *disk);
gc_image *gc_disk_cache_read(gc_disk_cache *disk, gc_hash key, uint32_t nvrtc_version);
void gc_disk_cache_write(gc_disk_cache *disk, const gc_image *image);
/* Removes the oldest cubins until no more than this is left; how many. */
size_t gc_cache_trim(const char *folder, size_t files_max, uint64_t bytes_max);

#endif
