/* The divergence sweep's options: what is refused, and what stands for the zeros. */
#ifndef GC_EXPERIMENTS_DIVERGENCE_OPTIONS_H
#define GC_EXPERIMENTS_DIVERGENCE_OPTIONS_H

#include <gpuchar/divergence.h>

/* As gc_experiment wants them; `raw` is a gpuchar_divergence_sweep_options. */
gpuchar_status gc_divergence_resolve(void *raw);
void gc_divergence_preset(uint32_t which, void *raw);

#endif
