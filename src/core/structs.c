/* The rules of size-stamped structs. */
#include "core/structs.h"
#include "core/error.h"

#include <gpuchar/version.h>
#include <string.h>

static size_t read_size(const void *object) {
    size_t size;
    memcpy(&size, object, sizeof size);
    return size;
}

static void write_size(void *object, size_t size) {
    memcpy(object, &size, sizeof size);
}

static gpuchar_status check_size(size_t size, size_t min_size, const char *name) {
    if (size >= min_size && size <= GC_STRUCT_SIZE_MAX) {
        return GPUCHAR_OK;
    }
    gpuchar_status status =
        gc_fail(GPUCHAR_E_STRUCT_SIZE, "struct_size of %s is %zu, which no version of the library has", name, size);
    gc_hint("set it with %s_make() or %s_init() before the call; the smallest size is %zu", name, name, min_size);
    return status;
}

/* A field this library does not know may be left at its default, but not set: it would be ignored in silence. */
static gpuchar_status check_tail(const unsigned char *bytes, size_t from, size_t to, const char *name) {
    for (size_t offset = from; offset < to; offset++) {
        if (bytes[offset] != 0) {
            gpuchar_status status =
                gc_fail(GPUCHAR_E_STRUCT_SIZE, "%s carries a field that this library does not know, at byte offset %zu",
                        name, offset);
            gc_hint("byte offset %zu is set, but libgpuchar %s knows the first %zu bytes only: use a newer library "
                    "or leave the field zero",
                    offset, gpuchar_version(), from);
            return status;
        }
    }
    return GPUCHAR_OK;
}

gpuchar_status gc_options_read(const void *caller, void *known, size_t known_size, size_t min_size, const char *name) {
    memset(known, 0, known_size);
    write_size(known, known_size);
    if (!caller) {
        return GPUCHAR_OK;
    }
    size_t size = read_size(caller);
    gpuchar_status status = check_size(size, min_size, name);
    if (status) {
        return status;
    }
    status = check_tail(caller, known_size, size, name);
    if (status) {
        return status;
    }
    gc_result_write(known, caller, size);
    return GPUCHAR_OK;
}

gpuchar_status gc_result_check(void *caller, size_t min_size, const char *name) {
    if (!caller) {
        gpuchar_status status = gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the %s to fill is NULL", name);
        gc_hint("pass the address of a struct made by %s_make()", name);
        return status;
    }
    size_t size = read_size(caller);
    gpuchar_status status = check_size(size, min_size, name);
    if (status) {
        return status;
    }
    memset(caller, 0, size);
    write_size(caller, size);
    return GPUCHAR_OK;
}

void gc_result_write(void *caller, const void *known, size_t known_size) {
    size_t size = read_size(caller);
    size_t common = size < known_size ? size : known_size;
    if (common > sizeof size) {
        memcpy((char *)caller + sizeof size, (const char *)known + sizeof size, common - sizeof size);
    }
}

void gc_struct_init(void *object, size_t size) {
    if (!object) {
        return;
    }
    memset(object, 0, size);
    if (size >= sizeof size) {
        write_size(object, size);
    }
}
