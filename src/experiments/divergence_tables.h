/* The divergence sweep's result as fields, as text and as a recorded answer (divergence_recorded.c). */
#ifndef GC_EXPERIMENTS_DIVERGENCE_TABLES_H
#define GC_EXPERIMENTS_DIVERGENCE_TABLES_H

#include <core/util.h>
#include <gpuchar/divergence.h>
#include <gpuchar/schema.h>

void gc_divergence_sweep_free(void *result);
void gc_divergence_sweep_text(const void *result, gc_text *text);
const char *gc_divergence_sweep_answer(const void *options, const void *recorded, void *result);

#endif
