/* The cubin cache: images in memory, the folder behind them. */
#include "codegen/codegen_internal.h"

#include <pthread.h>
#include <stdlib.h>

/* Hundreds of kernels of a few tens of kilobytes; searched in a row, which costs less than one launch. */
enum { IMAGES_MAX = 256 };
#define BYTES_MAX ((size_t)64 << 20)

typedef struct entry {
    gc_image *image;
    uint64_t used; /* the cache's clock at the last use */
} entry;

struct gc_cubin_cache {
    pthread_mutex_t mutex; /* over all below but `disk`, which needs none */
    entry entries[IMAGES_MAX];
    size_t count;
    size_t bytes;
    uint64_t clock;
    gc_disk_cache *disk;
};

gpuchar_status gc_cubin_cache_open(const char *folder, const gc_log *log, gc_cubin_cache **cache) {
    *cache = NULL;
    gc_cubin_cache *made = calloc(1, sizeof *made);
    if (!made) {
        return gc_fail_memory(sizeof *made);
    }
    pthread_mutex_init(&made->mutex, NULL);
    gpuchar_status status = folder && folder[0] ? gc_disk_cache_open(folder, log, &made->disk) : GPUCHAR_OK;
    if (status) {
        gc_cubin_cache_close(made);
        return status;
    }
    *cache = made;
    return GPUCHAR_OK;
}

void gc_cubin_cache_close(gc_cubin_cache *cache) {
    if (!cache) {
        return;
    }
    for (size_t i = 0; i < cache->count; i++) {
        gc_image_release(cache->entries[i].image);
    }
    gc_disk_cache_close(cache->disk);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

/* The following four hold the mutex. */

static entry *find(gc_cubin_cache *cache, gc_hash key) {
    for (size_t i = 0; i < cache->count; i++) {
        gc_hash other = cache->entries[i].image->key;
        if (other.high == key.high && other.low == key.low) {
            return &cache->entries[i];
        }
    }
    return NULL;
}

static void evict_oldest(gc_cubin_cache *cache) {
    size_t oldest = 0;
    for (size_t i = 1; i < cache->count; i++) {
        if (cache->entries[i].used < cache->entries[oldest].used) {
            oldest = i;
        }
    }
    gc_image *image = cache->entries[oldest].image;
    cache->bytes -= image->size;
    cache->entries[oldest] = cache->entries[--cache->count];
    gc_image_release(image);
}

static void insert(gc_cubin_cache *cache, gc_image *image) {
    if (image->size > BYTES_MAX || find(cache, image->key)) {
        return;
    }
    while (cache->count == IMAGES_MAX || (cache->count > 0 && cache->bytes + image->size > BYTES_MAX)) {
        evict_oldest(cache);
    }
    cache->entries[cache->count++] = (entry){.image = gc_image_retain(image), .used = ++cache->clock};
    cache->bytes += image->size;
}

static gc_image *use(gc_cubin_cache *cache, gc_hash key) {
    entry *found = find(cache, key);
    if (!found) {
        return NULL;
    }
    found->used = ++cache->clock;
    return gc_image_view(found->image, 1);
}

gc_image *gc_cubin_cache_get(gc_cubin_cache *cache, gc_hash key, uint32_t nvrtc_version) {
    if (!cache) {
        return NULL;
    }
    pthread_mutex_lock(&cache->mutex);
    gc_image *image = use(cache, key);
    pthread_mutex_unlock(&cache->mutex);
    if (image || !cache->disk) {
        return image;
    }
    /* Outside of the mutex: a slow file system holds up nobody else. */
    gc_image *read = gc_disk_cache_read(cache->disk, key, nvrtc_version);
    if (!read) {
        return NULL;
    }
    pthread_mutex_lock(&cache->mutex);
    insert(cache, read);
    pthread_mutex_unlock(&cache->mutex);
    image = gc_image_view(read, 2);
    gc_image_release(read);
    return image;
}

void gc_cubin_cache_put(gc_cubin_cache *cache, gc_image *image) {
    if (!cache) {
        return;
    }
    pthread_mutex_lock(&cache->mutex);
    insert(cache, image);
    pthread_mutex_unlock(&cache->mutex);
    if (cache->disk) {
        gc_disk_cache_write(cache->disk, image);
    }
}
