/*
 * Finds device code in the files that people have: a cubin, a fat binary, an object file, an executable, a shared library, a
 * static library. Bytes are not trusted: every offset is checked, whoever reads moves forward, so that the work is
 * linear in the size of the file; nothing of the file is copied before an image is unpacked.
 */
#ifndef GC_SASS_CONTAINER_H
#define GC_SASS_CONTAINER_H

#include <gpuchar/status.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gc_image_kind { GC_IMAGE_CUBIN = 1, GC_IMAGE_PTX = 2, GC_IMAGE_OTHER = 3 } gc_image_kind;
typedef enum gc_packing {
    GC_PACKING_NONE = 0,
    GC_PACKING_LZ4 = 1,
    GC_PACKING_ZSTD = 2,
    GC_PACKING_OTHER = 3
} gc_packing;

#define GC_IMAGES_MAX (1u << 20)
#define GC_IMAGE_BYTES_MAX (UINT64_C(1) << 30) /* unpacked */

typedef struct gc_image {
    uint64_t offset; /* in the file */
    uint64_t stored_bytes;
    uint64_t unpacked_bytes;
    uint32_t kind;    /* gc_image_kind */
    uint32_t packing; /* gc_packing */
    uint32_t arch;    /* 90: sm_90 */
    uint32_t reserved;
} gc_image;

typedef struct gc_container {
    const uint8_t *bytes;
    uint64_t size;
    gc_image *images; /* in the order of the file */
    size_t count;
    size_t capacity;
} gc_container;

/*
 * The bytes stay the caller's. Errors: E_SASS_FORMAT (no such file, or a damaged one), E_SASS_UNKNOWN (a fat binary of
 * a later layout), E_LIMIT (too many images), E_OUT_OF_MEMORY; nothing is left to close then.
 */
gpuchar_status gc_container_open(const void *bytes, size_t size, gc_container *container);
void gc_container_close(gc_container *container);

/*
 * The bytes of an image. One that is not packed is pointed to where it lies and *owned is NULL; else *bytes is *owned, for the
 * caller to free. Errors: E_LIMIT (no such image), E_SASS_FORMAT (damaged), E_SASS_UNKNOWN (packed in a way that
 * this build does not know), E_OUT_OF_MEMORY.
 */
gpuchar_status gc_container_unpack(const gc_container *container, size_t index, const uint8_t **bytes, size_t *size,
                                   void **owned);

#endif
