/* Compiled kernels, counted references. */
#include "codegen/codegen_internal.h"

#include <stdatomic.h>
#include <stdlib.h>

/*
 * What one caller sees of a kernel differs from what the next one sees (compiled now, from the cache), the bytes do
 * not: a view borrows them from the image that owns them.
 */
typedef struct image_object {
    gc_image image; /* first: a gc_image is an image_object */
    atomic_size_t references;
    gc_image *owner; /* of a view, else NULL */
    void *bytes;
    char *log;
} image_object;

gc_image *gc_image_new(void *bytes, size_t size, char *log, gc_hash key, uint32_t nvrtc_version, uint64_t compile_ns) {
    image_object *object = calloc(1, sizeof *object);
    if (!object) {
        free(bytes);
        free(log);
        return NULL;
    }
    atomic_init(&object->references, 1);
    object->bytes = bytes;
    object->log = log;
    object->image = (gc_image){
        .bytes = bytes,
        .size = size,
        .key = key,
        .compile_ns = compile_ns,
        .nvrtc_version = nvrtc_version,
        .log = log ? log : "",
    };
    return &object->image;
}

gc_image *gc_image_view(gc_image *image, uint32_t from_cache) {
    image_object *view = calloc(1, sizeof *view);
    if (!view) {
        return NULL;
    }
    image_object *object = (image_object *)image;
    gc_image *owner = object->owner ? object->owner : image;
    atomic_init(&view->references, 1);
    view->image = *image;
    view->image.compile_ns = 0;
    view->image.from_cache = from_cache;
    view->owner = gc_image_retain(owner);
    return &view->image;
}

gc_image *gc_image_retain(gc_image *image) {
    if (image) {
        atomic_fetch_add_explicit(&((image_object *)image)->references, 1, memory_order_relaxed);
    }
    return image;
}

void gc_image_release(gc_image *image) {
    image_object *object = (image_object *)image;
    if (!object || atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    gc_image_release(object->owner);
    free(object->bytes);
    free(object->log);
    free(object);
}
