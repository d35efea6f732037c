/* Setting the thread's error detail, and carrying it from an internal thread to the caller's. */
#ifndef GC_CORE_ERROR_H
#define GC_CORE_ERROR_H

#include <gpuchar/status.h>

/*
 * Each returns `status`, so that `return gc_fail(...)` is the idiom. A new failure clears hint and log. A status that
 * is no failure (>= 0) is returned and changes nothing. Arguments may point into the failure being replaced.
 */
gpuchar_status gc_fail(gpuchar_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct gc_native {
    uint32_t domain;
    int64_t code;
    const char *name; /* "CUDA_ERROR_..." */
    const char *call; /* "cuMemAlloc" */
} gc_native;

gpuchar_status gc_fail_native(gpuchar_status status, gc_native native, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* GPUCHAR_DOMAIN_OS. The system's text for the errno value is added to the message: "cannot read x: No such file". */
gpuchar_status gc_fail_os(gpuchar_status status, int error_number, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
gpuchar_status gc_fail_memory(size_t bytes);

/* "ENOENT"; "" for a number that is not in the list. */
const char *gc_errno_name(int error_number);

/* Adds to the failure just set. A log for which there is no memory is dropped. */
void gc_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same in one expression with a failure: return gc_advise(gc_fail(...), "what to do"). */
gpuchar_status gc_advise(gpuchar_status status, const char *hint);
void gc_attach_log(const char *log);

/*
 * The failure of this thread, taken off it and put onto another thread. NULL when there is none or no memory for the
 * box: put then says that the detail is lost. gc_error_put frees the box and returns `status`, which becomes that of
 * the failure; a status that is no failure (>= 0) only frees the box.
 */
typedef struct gc_error_box gc_error_box;
gc_error_box *gc_error_take(void);
gc_error_box *gc_error_save(void); /* a copy: the thread's stays */
gpuchar_status gc_error_put(gc_error_box *box, gpuchar_status status);
/*
 * For failures that are swallowed: what happens between gc_error_take and this is the library's own business, and the
 * thread's detail becomes again what was taken (NULL: no failure). Frees the box.
 */
void gc_error_restore(gc_error_box *box);

#endif
