/*
 * A CUPTI without a GPU: one pass, and each metric of a range has the range's number for its value. Its profiler is that
 * of the process, as in the real one.
 */
#include "fake_cupti.h"

#include <platform/cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { RANGES_MAX = 16, IMAGE_BYTES = 64 };

static fake_cupti state;
static _Thread_local char names[RANGES_MAX][32];
static _Thread_local size_t ranges;

EXPORT fake_cupti *fake_cupti_state(void) {
    return &state;
}

EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version) {
    *version = 24;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text) {
    *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR_FAKE";
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char **text) {
    return cuptiGetResultString(result, text);
}
EXPORT CUptiResult CUPTIAPI cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p) {
    p->pChipName = "FAKE";
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p) {
    (void)p;
    int users = atomic_fetch_add(&state.users, 1) + 1;
    if (users > atomic_load(&state.most_users)) atomic_store(&state.most_users, users);
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *p) {
    (void)p;
    atomic_store(&state.users, 0); /* for everybody */
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *p) {
    p->isSupported = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *p) {
    p->counterAvailabilityImageSize = IMAGE_BYTES;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p) {
    p->pHostObject = (CUpti_Profiler_Host_Object *)(void *)&state;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p) {
    p->configImageSize = IMAGE_BYTES;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p) {
    p->numOfPasses = 1;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p) {
    for (size_t i = 0; i < p->numMetrics; ++i) p->pMetricValues[i] = (double)p->rangeIndex;
    return CUPTI_SUCCESS;
}

/* What the profiler does needs that it was not ended by somebody else. */
#define NEEDS_PROFILER                                                                                                 \
    if (atomic_load(&state.users) == 0) return CUPTI_ERROR_NOT_INITIALIZED

EXPORT CUptiResult CUPTIAPI cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p) {
    NEEDS_PROFILER;
    p->pRangeProfilerObject = (CUpti_RangeProfiler_Object *)(void *)&state;
    ranges = 0;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p) {
    p->counterDataSize = IMAGE_BYTES;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p) {
    NEEDS_PROFILER;
    p->isAllPassSubmitted = 1;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *p) {
    NEEDS_PROFILER;
    if (ranges == RANGES_MAX) return CUPTI_ERROR_OUT_OF_MEMORY;
    snprintf(names[ranges++], sizeof names[0], "%s", p->pRangeName);
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *p) {
    (void)p;
    NEEDS_PROFILER;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p) {
    p->numOfRangeDropped = 0;
    NEEDS_PROFILER;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *p) {
    p->numTotalRanges = ranges;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult CUPTIAPI
cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *p) {
    if (p->rangeIndex >= ranges) return CUPTI_ERROR_INVALID_PARAMETER;
    p->rangeName = names[p->rangeIndex];
    return CUPTI_SUCCESS;
}

/* What there is nothing to do for. */
#define NOTHING(name, type)                                                                                            \
    EXPORT CUptiResult CUPTIAPI cupti##name(type *p) {                                                                 \
        (void)p;                                                                                                       \
        return CUPTI_SUCCESS;                                                                                          \
    }
NOTHING(ProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params)
NOTHING(ProfilerHostGetSupportedChips, CUpti_Profiler_Host_GetSupportedChips_Params)
NOTHING(ProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params)
NOTHING(ProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params)
NOTHING(RangeProfilerDisable, CUpti_RangeProfiler_Disable_Params)
NOTHING(RangeProfilerCounterDataImageInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params)
NOTHING(RangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig_Params)
NOTHING(RangeProfilerStart, CUpti_RangeProfiler_Start_Params)
