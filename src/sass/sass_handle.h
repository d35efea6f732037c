/* One open cubin, behind the public handle. */
#ifndef GC_SASS_SASS_HANDLE_H
#define GC_SASS_SASS_HANDLE_H

#include <gpuchar/sass.h>
#include <sass/functions.h>

struct gpuchar_sass {
    gc_cubin cubin;
    gc_functions functions;
    uint64_t instructions;
    void (*release)(void *user); /* of the bytes; NULL: they are the caller's */
    void *user;
};

/*
 * Opens a cubin whose bytes are given back by `release(user)` when it is closed, or at once when it does not open.
 */
gpuchar_status gc_sass_open_owned(const void *bytes, size_t size, void (*release)(void *user), void *user,
                                  gpuchar_sass **sass);
/* The function `index`; NULL after E_LIMIT or E_INVALID_ARGUMENT was set in *status. */
const gc_function *gc_sass_function(const gpuchar_sass *sass, size_t index, gpuchar_status *status);

#endif
