/*
 * Order: the option, the environment variable, the folder of this library (a build tree, a Python wheel, a copied
 * installation), the folder of installed helpers. A program given by name is the only candidate.
 */
#include <worker/locate.h>

#include <core/error.h>
#include <core/util.h>
#include <limits.h>
#include <platform/places.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GC_WORKER_NAME "gpuchar-worker"

/* From the library's folder; set by the build. */
#ifndef GC_LIBEXEC_FROM_LIBRARY
#define GC_LIBEXEC_FROM_LIBRARY "../libexec/gpuchar"
#endif

static bool is_program(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode) && access(path, X_OK) == 0;
}

static gpuchar_status take_named(const char *named, const char *origin, char *path, size_t capacity) {
    if (strlen(named) < capacity && is_program(named)) {
        memcpy(path, named, strlen(named) + 1);
        return GPUCHAR_OK;
    }
    gpuchar_status status = gc_fail(GPUCHAR_E_NO_WORKER, "%s, given by %s, is no program", named, origin);
    gc_hint("correct %s or leave it empty to search the usual places", origin);
    return status;
}

gpuchar_status gc_worker_locate(const char *option, char *path, size_t capacity) {
    if (option && option[0]) {
        return take_named(option, "the runtime's option", path, capacity);
    }
    /* Not from the environment of a program with raised rights: this one will be run. */
    const char *named = secure_getenv("GPUCHAR_WORKER");
    if (named && named[0]) {
        return take_named(named, "GPUCHAR_WORKER", path, capacity);
    }
    /* The last one: a program in PREFIX/bin that holds the static library. */
    static const char *const places[] = {"", GC_LIBEXEC_FROM_LIBRARY "/", "../libexec/gpuchar/"};
    char own[PATH_MAX];
    bool known = gc_own_folder(own, sizeof own);
    for (size_t i = 0; known && i < GC_COUNT(places); i++) {
        int length = snprintf(path, capacity, "%s/%s%s", own, places[i], GC_WORKER_NAME);
        if (length > 0 && (size_t)length < capacity && is_program(path)) {
            return GPUCHAR_OK;
        }
    }
    gpuchar_status status = gc_fail(GPUCHAR_E_NO_WORKER, "%s was not found", GC_WORKER_NAME);
    gc_hint("put it beside the library, %s, or name it with GPUCHAR_WORKER; only kernels that could break a CUDA "
            "context need it",
            known ? own : "wherever that is");
    return status;
}
