/* From templates to loaded kernels, and the device memory of one call. */
#ifndef GC_MEASURE_KERNEL_H
#define GC_MEASURE_KERNEL_H

#include <session/session_internal.h>

/* One template with its parameters, for the session's architecture. */
typedef struct gc_template {
    const char *name;     /* of the file in src/kernels */
    const char *shared;   /* another one put before it; NULL: none but the prelude */
    gc_define defines[4]; /* up to the first without a name */
    const char *suffix;   /* "a" or "f" for kernels that need the variant; NULL: none */
} gc_template;

/* Compiles all (in parallel, through the cache). Release each image with gc_image_release. None is left after a failure. */
gpuchar_status gc_templates_compile(gpuchar_session *session, const gc_template *templates, size_t count,
                                    gc_image **images);

/* Loads a kernel of an image; modules stay loaded with the session, so that a warm call loads nothing. */
gpuchar_status gc_kernel_load(gpuchar_session *session, const gc_image *image, const char *kernel,
                              CUfunction *function);

/* Device memory, zeroed on the session's stream. */
typedef struct gc_buffer {
    CUdeviceptr address;
    size_t bytes;
} gc_buffer;
gpuchar_status gc_buffer_alloc(gpuchar_session *session, size_t bytes, gc_buffer *buffer);
void gc_buffer_free(gpuchar_session *session, gc_buffer *buffer); /* an empty one is allowed */
/* Both wait for the copy. */
gpuchar_status gc_buffer_write(gpuchar_session *session, const gc_buffer *buffer, const void *from, size_t bytes);
gpuchar_status gc_buffer_read(gpuchar_session *session, const gc_buffer *buffer, size_t offset, void *to, size_t bytes);

#endif
