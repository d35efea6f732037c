/* The predication comparison's result as fields, as text and as a recorded answer (predication_recorded.c). */
#ifndef GC_EXPERIMENTS_PREDICATION_TABLES_H
#define GC_EXPERIMENTS_PREDICATION_TABLES_H

#include <core/util.h>
#include <gpuchar/predication.h>
#include <gpuchar/schema.h>

void gc_predication_compare_free(void *result);
void gc_predication_compare_text(const void *result, gc_text *text);
const char *gc_predication_compare_answer(const void *options, const void *recorded, void *result);

#endif
