/* CUPTI, optional and opened late: Host API (no GPU needed) and Range Profiler. */
#ifndef GC_PLATFORM_CUPTI_H
#define GC_PLATFORM_CUPTI_H

#include <core/log.h>
#include <cuda.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_profiler_target.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <platform/library.h>

/* X(member, parameters): exported as "cupti" #member. All return CUptiResult. */
#define GC_CUPTI_FUNCTIONS(X)                                                                                          \
    X(GetVersion, (uint32_t * version))                                                                                \
    X(GetResultString, (CUptiResult result, const char **text))                                                        \
    X(GetErrorMessage, (CUptiResult result, const char **text))                                                        \
    X(DeviceGetChipName, (CUpti_Device_GetChipName_Params * parameters))                                               \
    X(ProfilerInitialize, (CUpti_Profiler_Initialize_Params * parameters))                                             \
    X(ProfilerDeInitialize, (CUpti_Profiler_DeInitialize_Params * parameters))                                         \
    X(ProfilerDeviceSupported, (CUpti_Profiler_DeviceSupported_Params * parameters))                                   \
    X(ProfilerGetCounterAvailability, (CUpti_Profiler_GetCounterAvailability_Params * parameters))                     \
    X(ProfilerHostInitialize, (CUpti_Profiler_Host_Initialize_Params * parameters))                                    \
    X(ProfilerHostDeinitialize, (CUpti_Profiler_Host_Deinitialize_Params * parameters))                                \
    X(ProfilerHostGetSupportedChips, (CUpti_Profiler_Host_GetSupportedChips_Params * parameters))                      \
    X(ProfilerHostConfigAddMetrics, (CUpti_Profiler_Host_ConfigAddMetrics_Params * parameters))                        \
    X(ProfilerHostGetConfigImageSize, (CUpti_Profiler_Host_GetConfigImageSize_Params * parameters))                    \
    X(ProfilerHostGetConfigImage, (CUpti_Profiler_Host_GetConfigImage_Params * parameters))                            \
    X(ProfilerHostGetNumOfPasses, (CUpti_Profiler_Host_GetNumOfPasses_Params * parameters))                            \
    X(ProfilerHostEvaluateToGpuValues, (CUpti_Profiler_Host_EvaluateToGpuValues_Params * parameters))                  \
    X(RangeProfilerEnable, (CUpti_RangeProfiler_Enable_Params * parameters))                                           \
    X(RangeProfilerDisable, (CUpti_RangeProfiler_Disable_Params * parameters))                                         \
    X(RangeProfilerGetCounterDataSize, (CUpti_RangeProfiler_GetCounterDataSize_Params * parameters))                   \
    X(RangeProfilerCounterDataImageInitialize, (CUpti_RangeProfiler_CounterDataImage_Initialize_Params * parameters))  \
    X(RangeProfilerSetConfig, (CUpti_RangeProfiler_SetConfig_Params * parameters))                                     \
    X(RangeProfilerStart, (CUpti_RangeProfiler_Start_Params * parameters))                                             \
    X(RangeProfilerStop, (CUpti_RangeProfiler_Stop_Params * parameters))                                               \
    X(RangeProfilerPushRange, (CUpti_RangeProfiler_PushRange_Params * parameters))                                     \
    X(RangeProfilerPopRange, (CUpti_RangeProfiler_PopRange_Params * parameters))                                       \
    X(RangeProfilerDecodeData, (CUpti_RangeProfiler_DecodeData_Params * parameters))                                   \
    X(RangeProfilerGetCounterDataInfo, (CUpti_RangeProfiler_GetCounterDataInfo_Params * parameters))                   \
    X(RangeProfilerCounterDataGetRangeInfo, (CUpti_RangeProfiler_CounterData_GetRangeInfo_Params * parameters))

typedef struct gc_cupti {
    gc_library library;
    uint32_t version;
#define GC_CUPTI_MEMBER(member, parameters) CUptiResult(*member) parameters;
    GC_CUPTI_FUNCTIONS(GC_CUPTI_MEMBER)
#undef GC_CUPTI_MEMBER
} gc_cupti;

/* Loads CUPTI from `path` (NULL: search). `highest_major` as for NVRTC. E_NO_CUPTI, E_CUPTI_TOO_OLD, E_SYMBOL_MISSING. */
gpuchar_status gc_cupti_load(const char *path, uint32_t highest_major, gc_cupti *cupti);
/* E_NO_PERMISSION, E_PROFILER_ACTIVE, E_COUNTERS_UNSUPPORTED, E_METRIC_UNKNOWN or E_CUPTI, each with its hint. GPUCHAR_OK for success. */
gpuchar_status gc_cupti_check(const gc_cupti *cupti, CUptiResult result, const char *call);
/* As gc_cuda_give_back. */
void gc_cupti_give_back(const gc_cupti *cupti, const gc_log *log, CUptiResult result, const char *call);

#endif
