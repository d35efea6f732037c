/*
 * For scripts/compare_containers.py: lists the images of a file, one a line; unpacks all that it can and opens the cubins
 * among them; or writes an unpacked one.
 * usage: container_list FILE [check | INDEX OUTPUT]
 */
#include <gpuchar/status.h>
#include <sass/container.h>
#include <sass/cubin.h>
#include <stdio.h>
#include <stdlib.h>

static uint8_t *read_all(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    uint8_t *bytes = NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (*size = (size_t)ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc(*size);
    if (bytes && fread(bytes, 1, *size, file) != *size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

static void list(const gc_container *container) {
    for (size_t i = 0; i < container->count; i++) {
        const gc_image *image = &container->images[i];
        printf("%zu %u %u %u %llu %llu %llu\n", i, image->kind, image->packing, image->arch,
               (unsigned long long)image->offset, (unsigned long long)image->stored_bytes,
               (unsigned long long)image->unpacked_bytes);
    }
}

static gpuchar_status write_image(const gc_container *container, size_t index, const char *path) {
    const uint8_t *bytes;
    size_t size;
    void *owned;
    const gpuchar_status status = gc_container_unpack(container, index, &bytes, &size, &owned);
    if (status) return status;
    FILE *file = fopen(path, "wb");
    const int written = file && fwrite(bytes, 1, size, file) == size;
    const int closed = file && fclose(file) == 0;
    free(owned);
    return written && closed ? GPUCHAR_OK : GPUCHAR_E_IO;
}

/* How many cubins unpack and open, and how many texts of PTX unpack. */
static gpuchar_status check(const gc_container *container) {
    size_t cubins = 0, texts = 0;
    unsigned long long total = 0;
    for (size_t i = 0; i < container->count; i++) {
        if (container->images[i].kind == GC_IMAGE_OTHER) continue;
        const uint8_t *bytes;
        size_t size;
        void *owned;
        gc_cubin cubin = {0};
        const int is_cubin = container->images[i].kind == GC_IMAGE_CUBIN;
        gpuchar_status status = gc_container_unpack(container, i, &bytes, &size, &owned);
        if (!status && is_cubin) status = gc_cubin_open(bytes, size, &cubin);
        free(owned);
        if (status) return status;
        if (is_cubin && cubin.arch != container->images[i].arch) return GPUCHAR_E_SASS_FORMAT;
        cubins += is_cubin != 0;
        texts += !is_cubin;
        total += size;
    }
    printf("%zu %zu %llu\n", cubins, texts, total);
    return GPUCHAR_OK;
}

int main(int argc, char **argv) {
    size_t size = 0;
    uint8_t *bytes = argc >= 2 && argc <= 4 ? read_all(argv[1], &size) : NULL;
    if (!bytes) return fprintf(stderr, "usage: container_list FILE [check | INDEX OUTPUT]\n"), 2;
    gc_container container;
    gpuchar_status status = gc_container_open(bytes, size, &container);
    if (!status && argc == 2) list(&container);
    if (!status && argc == 3) status = check(&container);
    if (!status && argc == 4) status = write_image(&container, strtoul(argv[2], NULL, 10), argv[3]);
    if (status) fprintf(stderr, "%s: %s\n", argv[1], gpuchar_last_error()->message);
    gc_container_close(&container);
    free(bytes);
    return status ? 1 : 0;
}
