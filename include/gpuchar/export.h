/* Symbol visibility, C++ linkage and the initializer makers shared by all public headers. */
#ifndef GPUCHAR_EXPORT_H
#define GPUCHAR_EXPORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define GPUCHAR_API __attribute__((visibility("default")))
#else
#define GPUCHAR_API
#endif

#ifdef __cplusplus
#define GPUCHAR_BEGIN_DECLS extern "C" {
#define GPUCHAR_END_DECLS }
#else
#define GPUCHAR_BEGIN_DECLS
#define GPUCHAR_END_DECLS
#endif

/*
 * Options and results begin with `size_t struct_size`. GPUCHAR_DEFINE_MAKER(type) defines the inline function
 * `type type_make(void)`, which returns a zeroed struct with its size set; each such struct has a macro
 * GPUCHAR_..._INIT that calls it. Bindings that cannot inline C call `type_init(pointer, size)` instead.
 */
#define GPUCHAR_DEFINE_MAKER(type)                                                                                     \
    static inline type type##_make(void) {                                                                             \
        type made;                                                                                                     \
        memset(&made, 0, sizeof made);                                                                                 \
        made.struct_size = sizeof made;                                                                                \
        return made;                                                                                                   \
    }

#endif
