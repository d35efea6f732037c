/* Cubins that are made, not compiled: machine code of sm_90 in any shape and size. */
#ifndef TESTS_BENCH_SASS_SHAPES_H
#define TESTS_BENCH_SASS_SHAPES_H

#include <stddef.h>
#include <stdint.h>

typedef struct shape {
    const char *name;
    const char *what;
} shape;

/* The first two are what kernels look like; the others are what an analysis could be slow at. */
enum { SHAPE_KERNELS, SHAPE_HUGE };
const shape *shape_at(size_t index); /* NULL past the end */

/* A whole cubin with about this many instructions; free() it. NULL: out of memory. */
uint8_t *shape_make(size_t index, uint64_t instructions, size_t *size);

#endif
