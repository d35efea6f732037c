/* What the files that walk containers share. Ranges are offsets in the file, their ends checked against it by whoever makes them. */
#ifndef GC_SASS_CONTAINER_PARTS_H
#define GC_SASS_CONTAINER_PARTS_H

#include <sass/container.h>
#include <stdbool.h>

typedef struct gc_range {
    uint64_t begin;
    uint64_t end;
} gc_range;

gpuchar_status gc_container_add(gc_container *container, const gc_image *image);

/* What a search does with bytes that are no fat binary. */
typedef enum gc_search {
    GC_SEARCH_ONLY,   /* there may be nothing else but zeros */
    GC_SEARCH_HEADER, /* whatever begins as one must be one */
    GC_SEARCH_WHOLE   /* whatever begins as one and ends within the range must be one */
} gc_search;

/* Adds the images of all fat binaries of a range; they begin at multiples of 8, counted from `origin`. */
gpuchar_status gc_fatbin_search(gc_container *container, gc_range range, uint64_t origin, gc_search search);
bool gc_fatbin_magic(const uint8_t *bytes, size_t size);

/* The same of an ELF file for the host's processor that takes the whole range. */
gpuchar_status gc_host_elf_walk(gc_container *container, gc_range range);

#endif
