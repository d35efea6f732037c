/* NVML, optional. nvml.h is not part of the compiler packages, so the few functions used are declared in nvml_api.h. */
#ifndef GC_PLATFORM_NVML_H
#define GC_PLATFORM_NVML_H

#include <platform/library.h>
#include <platform/nvml_api.h>

/* Loads libnvidia-ml.so.1 from `path` (NULL: search). Touches no GPU. E_NO_NVML, E_SYMBOL_MISSING. */
gpuchar_status gc_nvml_load(const char *path, gc_nvml *nvml);
/* nvmlInit; undone by nvmlShutdown. E_NVML. */
gpuchar_status gc_nvml_init(const gc_nvml *nvml);
/* E_NVML with NVML's text; GPUCHAR_OK for success. */
gpuchar_status gc_nvml_check(const gc_nvml *nvml, int result, const char *call);

#endif
