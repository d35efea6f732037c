/* Fields and text of the barrier-class experiment. */
#ifndef GC_EXPERIMENTS_BARRIER_CLASS_TABLES_H
#define GC_EXPERIMENTS_BARRIER_CLASS_TABLES_H

#include <core/util.h>

void gc_barrier_free(void *result);
void gc_barrier_text(const void *result, gc_text *text);

#endif
