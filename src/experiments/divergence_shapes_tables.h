/* The divergence shapes' result as fields, as text and as a recorded answer (divergence_shapes_recorded.c). */
#ifndef GC_EXPERIMENTS_DIVERGENCE_SHAPES_TABLES_H
#define GC_EXPERIMENTS_DIVERGENCE_SHAPES_TABLES_H

#include <core/util.h>
#include <gpuchar/divergence_shapes.h>
#include <gpuchar/schema.h>

void gc_divergence_shapes_free(void *result);
void gc_divergence_shapes_text(const void *result, gc_text *text);
const char *gc_divergence_shapes_answer(const void *options, const void *recorded, void *result);

#endif
