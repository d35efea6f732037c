/* What a runtime holds: the tables of NVIDIA's libraries, each loaded at its first use, and the cubin cache. */
#ifndef GC_SESSION_RUNTIME_INTERNAL_H
#define GC_SESSION_RUNTIME_INTERNAL_H

#include <codegen/compile.h>
#include <core/error.h>
#include <core/log.h>
#include <gpuchar/runtime.h>
#include <platform/cuda_driver.h>
#include <platform/cupti.h>
#include <platform/nvml.h>
#include <platform/nvrtc.h>

/* The size of a struct whose last member, in its first release, was `member`. */
#define GC_SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* NULL stands for the default runtime (made here at first use). Never NULL on GPUCHAR_OK. */
gpuchar_status gc_runtime_resolve(gpuchar_runtime *runtime, gpuchar_runtime **resolved);
/* A session keeps its runtime alive, so that closing the two in any order is safe. */
void gc_runtime_retain(gpuchar_runtime *runtime);
void gc_runtime_release(gpuchar_runtime *runtime);

/* Each loads at first use and remembers success or failure (a repeated failure sets the same detail again). Thread-safe. */
gpuchar_status gc_runtime_cuda(gpuchar_runtime *runtime, const gc_cuda **cuda); /* cuInit done */
gpuchar_status gc_runtime_nvrtc(gpuchar_runtime *runtime, const gc_nvrtc **nvrtc);
gpuchar_status gc_runtime_cupti(gpuchar_runtime *runtime, const gc_cupti **cupti);
gpuchar_status gc_runtime_nvml(gpuchar_runtime *runtime, const gc_nvml **nvml); /* nvmlInit done */
gc_cubin_cache *gc_runtime_cache(gpuchar_runtime *runtime);
const char *gc_runtime_worker_path(const gpuchar_runtime *runtime); /* as in the options; NULL: search */
const gc_log *gc_runtime_log(const gpuchar_runtime *runtime);

#endif
