/* The forward-progress experiment's result: its fields and its text. */
#ifndef GC_EXPERIMENTS_PROGRESS_TABLES_H
#define GC_EXPERIMENTS_PROGRESS_TABLES_H

#include <core/util.h>
#include <gpuchar/forward_progress.h>
#include <gpuchar/schema.h>

void gc_progress_free(void *result);
void gc_progress_text(const void *result, gc_text *text);

#endif
