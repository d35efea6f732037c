/* The options of the divergence shapes: ranges and defaults. */
#ifndef GC_EXPERIMENTS_DIVERGENCE_SHAPES_OPTIONS_H
#define GC_EXPERIMENTS_DIVERGENCE_SHAPES_OPTIONS_H

#include <gpuchar/divergence_shapes.h>

/* As gc_experiment wants them; `raw` is a gpuchar_divergence_shapes_options. */
gpuchar_status gc_shapes_resolve(void *raw);
void gc_shapes_preset(uint32_t which, void *raw);

#endif
