/*
 * For scripts/compare_containers.py: lists the images of a file, one a line, or writes an unpacked one.
 * usage: container_list FILE [INDEX OUTPUT]
 */
#include <gpuchar/status.h>
#include <sass/container.h>
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

int main(int argc, char **argv) {
    size_t size = 0;
    uint8_t *bytes = argc == 2 || argc == 4 ? read_all(argv[1], &size) : NULL;
    if (!bytes) return fprintf(stderr, "usage: container_list FILE [INDEX OUTPUT]\n"), 2;
    gc_container container;
    gpuchar_status status = gc_container_open(bytes, size, &container);
    if (!status && argc == 2) list(&container);
    if (!status && argc == 4) status = write_image(&container, strtoul(argv[2], NULL, 10), argv[3]);
    if (status) fprintf(stderr, "%s: %s\n", argv[1], gpuchar_last_error()->message);
    gc_container_close(&container);
    free(bytes);
    return status ? 1 : 0;
}
