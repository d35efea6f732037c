/* The rules of size-stamped structs (options grow at the end, results are filled as far as the caller knows them). */
#ifndef GC_CORE_STRUCTS_H
#define GC_CORE_STRUCTS_H

#include <stdbool.h>
#include <gpuchar/status.h>

/* A struct never gets larger than this: a larger struct_size is garbage. */
#define GC_STRUCT_SIZE_MAX ((size_t)1 << 20)

/*
 * Copies the caller's options into `known` (known_size bytes, zeroed first). NULL: all defaults. A newer caller's
 * tail must be zero. `min_size`: the size in the first release.
 */
gpuchar_status gc_options_read(const void *caller, void *known, size_t known_size, size_t min_size, const char *name);
/* Checks a caller's result struct and zeroes it (its size kept). */
gpuchar_status gc_result_check(void *caller, size_t min_size, const char *name);
/* Copies the fields that the caller knows from `known`, whose own struct_size is known_size. */
void gc_result_write(void *caller, const void *known, size_t known_size);

/* Defines gpuchar_x_init(pointer, size): zeroes `size` bytes and stamps the size. */
#define GC_DEFINE_INIT(type)                                                                                           \
    void type##_init(type *object, size_t size) {                                                                      \
        gc_struct_init(object, size);                                                                                  \
    }
void gc_struct_init(void *object, size_t size);

#endif
