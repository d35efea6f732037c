/* The CUDA driver, found and loaded at run time; each function asked for at the version this code was written for. */
#ifndef GC_PLATFORM_CUDA_DRIVER_H
#define GC_PLATFORM_CUDA_DRIVER_H

#include <core/log.h>
#include <cuda.h>
#include <platform/library.h>
#include <sys/types.h>

/* X(member, version, parameters): cuGetProcAddress("cu" #member, version). All return CUresult. */
#define GC_CUDA_FUNCTIONS(X)                                                                                           \
    X(Init, 2000, (unsigned int flags))                                                                                \
    X(DriverGetVersion, 2020, (int *version))                                                                          \
    X(GetErrorName, 6000, (CUresult error, const char **name))                                                         \
    X(GetErrorString, 6000, (CUresult error, const char **text))                                                       \
    X(DeviceGet, 2000, (CUdevice * device, int ordinal))                                                               \
    X(DeviceGetCount, 2000, (int *count))                                                                              \
    X(DeviceGetName, 2000, (char *name, int length, CUdevice device))                                                  \
    X(DeviceGetUuid, 11040, (CUuuid * uuid, CUdevice device))                                                          \
    X(DeviceGetPCIBusId, 4010, (char *id, int length, CUdevice device))                                                \
    X(DeviceTotalMem, 3020, (size_t * bytes, CUdevice device))                                                         \
    X(DeviceGetAttribute, 2000, (int *value, CUdevice_attribute attribute, CUdevice device))                           \
    X(DevicePrimaryCtxRetain, 7000, (CUcontext * context, CUdevice device))                                            \
    X(DevicePrimaryCtxRelease, 11000, (CUdevice device))                                                               \
    X(CtxPushCurrent, 4000, (CUcontext context))                                                                       \
    X(CtxPopCurrent, 4000, (CUcontext * context))                                                                      \
    X(CtxGetCurrent, 4000, (CUcontext * context))                                                                      \
    X(CtxGetDevice, 2000, (CUdevice * device))                                                                         \
    X(CtxSynchronize, 2000, (void))                                                                                    \
    X(ThreadExchangeStreamCaptureMode, 10010, (CUstreamCaptureMode * mode))                                            \
    X(ModuleLoadData, 2000, (CUmodule * module, const void *image))                                                    \
    X(ModuleUnload, 2000, (CUmodule module))                                                                           \
    X(ModuleGetFunction, 2000, (CUfunction * function, CUmodule module, const char *name))                             \
    X(FuncGetAttribute, 2020, (int *value, CUfunction_attribute attribute, CUfunction function))                       \
    X(FuncSetAttribute, 9000, (CUfunction function, CUfunction_attribute attribute, int value))                        \
    X(MemGetInfo, 3020, (size_t * free_bytes, size_t * total_bytes))                                                   \
    X(MemAlloc, 3020, (CUdeviceptr * address, size_t bytes))                                                           \
    X(MemFree, 3020, (CUdeviceptr address))                                                                            \
    X(MemcpyHtoDAsync, 3020, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                        \
    X(MemcpyDtoHAsync, 3020, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                              \
    X(MemsetD8Async, 3020, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))                       \
    X(StreamCreate, 2000, (CUstream * stream, unsigned int flags))                                                     \
    X(StreamDestroy, 4000, (CUstream stream))                                                                          \
    X(StreamSynchronize, 2000, (CUstream stream))                                                                      \
    X(EventCreate, 2000, (CUevent * event, unsigned int flags))                                                        \
    X(EventDestroy, 4000, (CUevent event))                                                                             \
    X(EventRecord, 2000, (CUevent event, CUstream stream))                                                             \
    X(EventQuery, 2000, (CUevent event))                                                                               \
    X(EventSynchronize, 2000, (CUevent event))                                                                         \
    X(EventElapsedTime, 2000, (float *milliseconds, CUevent from, CUevent to))                                         \
    X(LaunchKernel, 4000,                                                                                              \
      (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,       \
       unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream, void **parameters,      \
       void **extra))

typedef struct gc_cuda {
    gc_library library;
    uint32_t version;     /* CUDA version of the driver, 13000 for 13.0 */
    pid_t initialized_by; /* the process in which gc_cuda_init succeeded; 0: none */
#define GC_CUDA_MEMBER(member, version, parameters) CUresult(*member) parameters;
    GC_CUDA_FUNCTIONS(GC_CUDA_MEMBER)
#undef GC_CUDA_MEMBER
} gc_cuda;

/* Oldest driver: 525, which is CUDA 12.0. */
#define GC_CUDA_OLDEST 12000

/* Loads libcuda.so.1 from `path` (NULL: search) without cuInit. E_NO_DRIVER, E_DRIVER_TOO_OLD, E_SYMBOL_MISSING. */
gpuchar_status gc_cuda_load(const char *path, gc_cuda *cuda);
/*
 * cuInit, once per table and process; in a forked child of a process that initialized: E_FORKED. E_NO_DEVICE,
 * E_NO_DRIVER, E_CUDA. Not thread-safe: the runtime holds its lock.
 */
gpuchar_status gc_cuda_init(gc_cuda *cuda);

/*
 * Status, detail and hint of a failed call: E_OUT_OF_DEVICE_MEMORY, E_CONTEXT_LOST (sticky errors), E_NO_DEVICE or E_CUDA.
 * GPUCHAR_OK for CUDA_SUCCESS.
 */
gpuchar_status gc_cuda_check(const gc_cuda *cuda, CUresult result, const char *call);
/* For calls that give something back: their failure takes nothing from a result, so it is a warning in the log. */
void gc_cuda_give_back(const gc_cuda *cuda, const gc_log *log, CUresult result, const char *call);

#endif
