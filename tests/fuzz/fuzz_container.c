/* Files that hold device code: walked, and each image unpacked that is not large. */
#include "fuzz_check.h"

#include <sass/container.h>

#define IMAGES_MAX 64
#define UNPACKED_MAX ((uint64_t)1 << 24)

static void check_image(const gc_container *container, size_t index) {
    const gc_image *image = &container->images[index];
    FUZZ_CHECK(image->offset <= container->size && image->stored_bytes <= container->size - image->offset);
    FUZZ_CHECK(image->stored_bytes > 0 && image->unpacked_bytes > 0 && image->unpacked_bytes <= GC_IMAGE_BYTES_MAX);
    FUZZ_CHECK(image->kind >= GC_IMAGE_CUBIN && image->kind <= GC_IMAGE_OTHER && image->packing <= GC_PACKING_OTHER);
    FUZZ_CHECK(index == 0 ||
               container->images[index - 1].offset + container->images[index - 1].stored_bytes <= image->offset);
    if (index >= IMAGES_MAX || image->unpacked_bytes > UNPACKED_MAX) return;
    const uint8_t *bytes = NULL;
    size_t size = 0;
    void *owned = NULL;
    const gpuchar_status status = gc_container_unpack(container, index, &bytes, &size, &owned);
    FUZZ_CHECK(status == GPUCHAR_OK || (!bytes && !owned && size == 0));
    if (status == GPUCHAR_OK) {
        FUZZ_CHECK(size == image->unpacked_bytes);
        fuzz_touch(bytes, size);
    }
    free(owned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gc_container container;
    const gpuchar_status status = gc_container_open(data, size, &container);
    FUZZ_CHECK(status == GPUCHAR_OK || (!container.images && container.count == 0));
    for (size_t i = 0; i < container.count; i++) check_image(&container, i);
    gc_container_close(&container);
    return 0;
}
