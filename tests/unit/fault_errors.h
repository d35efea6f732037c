/*
 * Which errors each foreign function may return, as NVIDIA documents them: cuda.h, the CUPTI headers and nvrtc.h function by
 * function, NVML by its reference manual. Calls that wait for the GPU may also return what an earlier launch met.
 */
#ifndef FAULT_ERRORS_H
#define FAULT_ERRORS_H

#include <cuda.h>
#include <cupti_result.h>
#include <nvrtc.h>
#include <stddef.h>
#include <string.h>

enum { FAULT_ERRORS_MAX = 16 };

typedef struct fault_errors {
    const char *name;
    int errors[FAULT_ERRORS_MAX]; /* 0 ends the list */
} fault_errors;

#define ENDED CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_NOT_INITIALIZED
#define VALUE CUDA_ERROR_INVALID_VALUE
#define CONTEXT ENDED, CUDA_ERROR_INVALID_CONTEXT
#define EARLIER CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_TIMEOUT
#define PARAMETER CUPTI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_UNKNOWN
#define OPERATION PARAMETER, CUPTI_ERROR_INVALID_OPERATION
/* NVML: uninitialized, invalid argument, not supported, GPU is lost, unknown. */
#define DEVICE_FACT 1, 2, 3, 15, 999

static const fault_errors fault_table[] = {
    {"cuGetProcAddress_v2", {VALUE, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_NOT_FOUND}},
    {"cuInit",
     {VALUE, CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
      CUDA_ERROR_NO_DEVICE, CUDA_ERROR_UNKNOWN}},
    {"cuDriverGetVersion", {VALUE}},
    {"cuDeviceGet", {CONTEXT, VALUE, CUDA_ERROR_INVALID_DEVICE}},
    {"cuDeviceGetCount", {CONTEXT, VALUE}},
    {"cuDeviceGetName", {CONTEXT, VALUE, CUDA_ERROR_INVALID_DEVICE}},
    {"cuDeviceGetUuid", {ENDED, VALUE, CUDA_ERROR_INVALID_DEVICE}},
    {"cuDeviceGetPCIBusId", {ENDED, VALUE, CUDA_ERROR_INVALID_DEVICE}},
    {"cuDeviceTotalMem", {CONTEXT, VALUE, CUDA_ERROR_INVALID_DEVICE}},
    {"cuDeviceGetAttribute", {CONTEXT, VALUE, CUDA_ERROR_INVALID_DEVICE}},
    {"cuDevicePrimaryCtxRetain",
     {CONTEXT, VALUE, CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_UNKNOWN}},
    {"cuDevicePrimaryCtxRelease", {CONTEXT, CUDA_ERROR_INVALID_DEVICE}},
    {"cuCtxPushCurrent", {CONTEXT, VALUE}},
    {"cuCtxPopCurrent", {CONTEXT}},
    {"cuCtxGetDevice", {CONTEXT, VALUE}},
    {"cuCtxSynchronize", {CONTEXT, EARLIER}},
    {"cuThreadExchangeStreamCaptureMode", {ENDED, VALUE}},
    {"cuModuleLoadData",
     {CONTEXT, VALUE, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_OUT_OF_MEMORY,
      CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
      CUDA_ERROR_JIT_COMPILER_NOT_FOUND}},
    {"cuModuleUnload", {CONTEXT, VALUE, CUDA_ERROR_NOT_PERMITTED}},
    {"cuModuleGetFunction", {CONTEXT, VALUE, CUDA_ERROR_NOT_FOUND}},
    {"cuMemAlloc", {CONTEXT, VALUE, CUDA_ERROR_OUT_OF_MEMORY}},
    {"cuMemFree", {CONTEXT, VALUE, EARLIER}},
    {"cuMemcpyHtoDAsync", {CONTEXT, VALUE, CUDA_ERROR_INVALID_HANDLE, EARLIER}},
    {"cuMemcpyDtoHAsync", {CONTEXT, VALUE, CUDA_ERROR_INVALID_HANDLE, EARLIER}},
    {"cuMemsetD8Async", {CONTEXT, VALUE, EARLIER}},
    {"cuStreamCreate", {CONTEXT, VALUE, CUDA_ERROR_OUT_OF_MEMORY}},
    {"cuStreamDestroy", {CONTEXT, VALUE, CUDA_ERROR_INVALID_HANDLE}},
    {"cuStreamSynchronize", {CONTEXT, CUDA_ERROR_INVALID_HANDLE, EARLIER}},
    {"cuEventCreate", {CONTEXT, VALUE, CUDA_ERROR_OUT_OF_MEMORY}},
    {"cuEventDestroy", {CONTEXT, CUDA_ERROR_INVALID_HANDLE}},
    {"cuEventRecord", {CONTEXT, VALUE, CUDA_ERROR_INVALID_HANDLE}},
    {"cuEventSynchronize", {CONTEXT, CUDA_ERROR_INVALID_HANDLE, EARLIER}},
    {"cuEventElapsedTime", {CONTEXT, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_NOT_READY, CUDA_ERROR_UNKNOWN}},
    {"cuLaunchKernel",
     {CONTEXT, VALUE, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
      CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, CUDA_ERROR_NOT_FOUND, EARLIER}},

    {"cuptiGetVersion", {CUPTI_ERROR_INVALID_PARAMETER}},
    {"cuptiDeviceGetChipName", {PARAMETER, CUPTI_ERROR_INVALID_DEVICE}},
    {"cuptiProfilerInitialize", {PARAMETER, CUPTI_ERROR_NOT_INITIALIZED}},
    {"cuptiProfilerDeInitialize", {PARAMETER}},
    {"cuptiProfilerDeviceSupported", {PARAMETER, CUPTI_ERROR_NOT_COMPATIBLE}},
    {"cuptiProfilerGetCounterAvailability", {PARAMETER, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES}},
    {"cuptiProfilerHostInitialize", {PARAMETER}},
    {"cuptiProfilerHostDeinitialize", {PARAMETER}},
    {"cuptiProfilerHostConfigAddMetrics", {PARAMETER, CUPTI_ERROR_INVALID_METRIC_NAME}},
    {"cuptiProfilerHostGetConfigImageSize", {PARAMETER}},
    {"cuptiProfilerHostGetConfigImage", {PARAMETER}},
    {"cuptiProfilerHostGetNumOfPasses", {PARAMETER}},
    {"cuptiProfilerHostEvaluateToGpuValues", {PARAMETER, CUPTI_ERROR_INVALID_METRIC_NAME}},
    {"cuptiRangeProfilerEnable",
     {PARAMETER, CUPTI_ERROR_OUT_OF_MEMORY, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_HARDWARE_BUSY,
      CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED}},
    {"cuptiRangeProfilerDisable", {PARAMETER}},
    {"cuptiRangeProfilerGetCounterDataSize", {OPERATION}},
    {"cuptiRangeProfilerCounterDataImageInitialize", {OPERATION}},
    {"cuptiRangeProfilerSetConfig", {PARAMETER}},
    {"cuptiRangeProfilerStart", {OPERATION}},
    {"cuptiRangeProfilerStop", {OPERATION}},
    {"cuptiRangeProfilerPushRange", {OPERATION}},
    {"cuptiRangeProfilerPopRange", {OPERATION}},
    {"cuptiRangeProfilerDecodeData", {OPERATION}},
    {"cuptiRangeProfilerGetCounterDataInfo", {PARAMETER}},
    {"cuptiRangeProfilerCounterDataGetRangeInfo", {PARAMETER}},

    {"nvrtcVersion", {NVRTC_ERROR_INVALID_INPUT}},
    {"nvrtcGetNumSupportedArchs", {NVRTC_ERROR_INVALID_INPUT}},
    {"nvrtcGetSupportedArchs", {NVRTC_ERROR_INVALID_INPUT}},
    {"nvrtcCreateProgram",
     {NVRTC_ERROR_OUT_OF_MEMORY, NVRTC_ERROR_PROGRAM_CREATION_FAILURE, NVRTC_ERROR_INVALID_INPUT,
      NVRTC_ERROR_INVALID_PROGRAM}},
    {"nvrtcDestroyProgram", {NVRTC_ERROR_INVALID_PROGRAM}},
    {"nvrtcCompileProgram",
     {NVRTC_ERROR_OUT_OF_MEMORY, NVRTC_ERROR_INVALID_INPUT, NVRTC_ERROR_INVALID_PROGRAM, NVRTC_ERROR_INVALID_OPTION,
      NVRTC_ERROR_COMPILATION, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, NVRTC_ERROR_TIME_FILE_WRITE_FAILED,
      NVRTC_ERROR_INTERNAL_ERROR}},
    {"nvrtcGetCUBINSize", {NVRTC_ERROR_INVALID_INPUT, NVRTC_ERROR_INVALID_PROGRAM}},
    {"nvrtcGetCUBIN", {NVRTC_ERROR_INVALID_INPUT, NVRTC_ERROR_INVALID_PROGRAM}},
    {"nvrtcGetProgramLogSize", {NVRTC_ERROR_INVALID_INPUT, NVRTC_ERROR_INVALID_PROGRAM}},
    {"nvrtcGetProgramLog", {NVRTC_ERROR_INVALID_INPUT, NVRTC_ERROR_INVALID_PROGRAM}},

    /* 4 no permission, 6 not found, 7 insufficient size, 8 insufficient power, 9 driver not loaded, 10 interrupts */
    {"nvmlInit_v2", {4, 9, 999}},
    {"nvmlShutdown", {1, 999}},
    {"nvmlSystemGetDriverVersion", {1, 2, 7}},
    {"nvmlDeviceGetHandleByUUID", {1, 2, 6, 8, 10, 15, 999}},
    {"nvmlDeviceGetHandleByPciBusId_v2", {1, 2, 4, 6, 8, 10, 15, 999}},
    {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle", {1, 2, 3, 15, 999}},
    {"nvmlDeviceGetVbiosVersion", {1, 2, 7, 15, 999}},
    {"nvmlDeviceGetClockInfo", {DEVICE_FACT}},
    {"nvmlDeviceGetMaxClockInfo", {DEVICE_FACT}},
    {"nvmlDeviceGetApplicationsClock", {DEVICE_FACT}},
    {"nvmlDeviceGetCurrentClocksEventReasons", {DEVICE_FACT}},
    {"nvmlDeviceGetPowerManagementDefaultLimit", {DEVICE_FACT}},
    {"nvmlDeviceGetEnforcedPowerLimit", {DEVICE_FACT}},
    {"nvmlDeviceGetEccMode", {DEVICE_FACT}},
    {"nvmlDeviceGetMigMode", {DEVICE_FACT}},
    {"nvmlDeviceGetComputeRunningProcesses_v3", {DEVICE_FACT, 4, 7}},
    {"nvmlDeviceGetTemperature", {DEVICE_FACT}},
};

/* NULL: a function that nobody put into the table. */
static inline const fault_errors *fault_errors_of(const char *name) {
    for (size_t i = 0; i < sizeof fault_table / sizeof fault_table[0]; i++) {
        if (strcmp(fault_table[i].name, name) == 0) return &fault_table[i];
    }
    return NULL;
}

#endif
