/* NVML, optional. nvml.h is not part of the compiler packages, so the few functions used are declared in nvml_api.h. */
#ifndef GC_PLATFORM_NVML_H
#define GC_PLATFORM_NVML_H

#include <platform/library.h>
#include <platform/nvml_api.h>

/* Loads libnvidia-ml.so.1 from `path` (NULL: search) and initializes it. E_NO_NVML, E_NVML. The table's functions are in nvml_api.h. */
gpuchar_status gc_nvml_load(const char *path, gc_nvml *nvml);
gpuchar_status gc_nvml_check(const gc_nvml *nvml, int result, const char *call);

#endif
