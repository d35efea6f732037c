/* The predication comparison's options: what is refused, and what stands for the zeros. */
#ifndef GC_EXPERIMENTS_PREDICATION_OPTIONS_H
#define GC_EXPERIMENTS_PREDICATION_OPTIONS_H

#include <gpuchar/predication.h>

/* As gc_experiment wants them; `raw` is a gpuchar_predication_compare_options. */
gpuchar_status gc_predication_resolve(void *raw);
void gc_predication_preset(uint32_t which, void *raw);

#endif
