/* Setting the thread's error detail, and carrying it from an internal thread to the caller's. */
#ifndef GC_CORE_ERROR_H
#define GC_CORE_ERROR_H

#include <gpuchar/status.h>

/* Each returns `status`, so that `return gc_fail(...)` is the idiom. A new failure clears hint and log. */
gpuchar_status gc_fail(gpuchar_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct gc_native {
    uint32_t domain;
    int64_t code;
    const char *name; /* "CUDA_ERROR_..." */
    const char *call; /* "cuMemAlloc" */
} gc_native;

gpuchar_status gc_fail_native(gpuchar_status status, gc_native native, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* errno, GPUCHAR_DOMAIN_OS. */
gpuchar_status gc_fail_os(gpuchar_status status, int error_number, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
gpuchar_status gc_fail_memory(size_t bytes);

/* Adds to the failure just set. */
void gc_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gc_attach_log(const char *log);

/* The failure of this thread, taken off it and put onto another thread. gc_error_put frees the box. */
typedef struct gc_error_box gc_error_box;
gc_error_box *gc_error_take(void);
gpuchar_status gc_error_put(gc_error_box *box, gpuchar_status status);

#endif
