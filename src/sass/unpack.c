/* Unpacks images. LZ4 and zstd are others' libraries, and optional: a build without one says what it lacks. */
#include <core/error.h>
#include <limits.h>
#include <sass/container.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef GC_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef GC_HAVE_ZSTD
#include <zstd.h>
#endif

static gpuchar_status lacks(const char *what, const char *hint) {
    return gc_advise(gc_fail(GPUCHAR_E_SASS_UNKNOWN, "the image is packed %s", what), hint);
}

/* Each gives back whether the packed bytes became exactly `to_size` bytes. */
static gpuchar_status unpack_lz4(const uint8_t *from, size_t from_size, uint8_t *to, size_t to_size, bool *exact) {
#ifdef GC_HAVE_LZ4
    *exact = from_size <= INT_MAX && to_size <= INT_MAX &&
             LZ4_decompress_safe((const char *)from, (char *)to, (int)from_size, (int)to_size) == (int)to_size;
    return GPUCHAR_OK;
#else
    (void)from, (void)from_size, (void)to, (void)to_size, (void)exact;
    return lacks("by LZ4, which this build of the library does not read",
                 "build libgpuchar where LZ4 is installed (Debian and Ubuntu: apt-get install liblz4-dev)");
#endif
}

static gpuchar_status unpack_zstd(const uint8_t *from, size_t from_size, uint8_t *to, size_t to_size, bool *exact) {
#ifdef GC_HAVE_ZSTD
    *exact = ZSTD_decompress(to, to_size, from, from_size) == to_size;
    return GPUCHAR_OK;
#else
    (void)from, (void)from_size, (void)to, (void)to_size, (void)exact;
    return lacks("by zstd, which this build of the library does not read",
                 "build libgpuchar where zstd is installed (Debian and Ubuntu: apt-get install libzstd-dev)");
#endif
}

static gpuchar_status unpack_into(const gc_container *container, const gc_image *image, uint8_t *to) {
    const uint8_t *from = container->bytes + image->offset;
    const size_t from_size = (size_t)image->stored_bytes, to_size = (size_t)image->unpacked_bytes;
    bool exact = false;
    const gpuchar_status status = image->packing == GC_PACKING_LZ4 ? unpack_lz4(from, from_size, to, to_size, &exact)
                                                                   : unpack_zstd(from, from_size, to, to_size, &exact);
    if (status || exact) return status;
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "the packed image at 0x%llx is damaged", (unsigned long long)image->offset);
}

gpuchar_status gc_container_unpack(const gc_container *container, size_t index, const uint8_t **bytes, size_t *size,
                                   void **owned) {
    *bytes = NULL;
    *size = 0;
    *owned = NULL;
    if (index >= container->count)
        return gc_fail(GPUCHAR_E_LIMIT, "there is no image %zu, the file holds %zu", index, container->count);
    const gc_image *image = &container->images[index];
    if (image->packing == GC_PACKING_OTHER) return lacks("in a way that is not known", "");
    const size_t unpacked = (size_t)image->unpacked_bytes;
    if (image->packing == GC_PACKING_NONE) {
        *bytes = container->bytes + image->offset;
        *size = unpacked;
        return GPUCHAR_OK;
    }
    uint8_t *to = malloc(unpacked);
    if (!to) return gc_fail_memory(unpacked);
    const gpuchar_status status = unpack_into(container, image, to);
    if (status) {
        free(to);
        return status;
    }
    *bytes = *owned = to;
    *size = unpacked;
    return GPUCHAR_OK;
}
