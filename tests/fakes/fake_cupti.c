/*
 * A CUPTI without a GPU: it counts what the fake driver's launches execute between push and pop of a range, and gives the
 * ranges back in an order of its own, as the real one. A metric that it does not know has the range's number for its
 * value. Its profiler is that of the process.
 */
#include "book.h"

#include <platform/cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_BYTES = 64, IMAGE_MAGIC = 0x46414b45 };

#define DECLARE(member, parameters) __attribute__((visibility("hidden"))) CUptiResult fake_##member parameters;
GC_CUPTI_FUNCTIONS(DECLARE)
#undef DECLARE

/* What stands in the caller's counter data image. */
typedef struct image_range {
    char name[32];
    double warp_instructions, thread_instructions;
} image_range;
typedef struct image {
    uint32_t magic;
    uint32_t decoded;
    size_t capacity, count;
    image_range ranges[];
} image;

typedef struct host {
    size_t metrics;
} host;

typedef struct profiler {
    uintptr_t context;
    image *data;
    bool started;
    image_range *open; /* the range that was pushed */
    uint32_t passes;   /* with this configuration */
    uint32_t wanted;   /* by it */
    /* Fixed by the first start: ranges beyond it are lost, and further passes not asked for, and nobody is told (CUPTI 13.0). */
    size_t room;
    uint32_t needs;
    image_range lost;
    const image *given[16]; /* the newest of all images that it was given: the real one goes on touching old ones */
    size_t given_count;
} profiler;

CUptiResult fake_GetVersion(uint32_t *version) {
    *version = fake()->cupti_version;
    return CUPTI_SUCCESS;
}

#define NAME(code)                                                                                                     \
    { code, #code }
static const struct {
    CUptiResult code;
    const char *name;
} names[] = {
    NAME(CUPTI_SUCCESS),
    NAME(CUPTI_ERROR_INVALID_PARAMETER),
    NAME(CUPTI_ERROR_INVALID_DEVICE),
    NAME(CUPTI_ERROR_INVALID_OPERATION),
    NAME(CUPTI_ERROR_OUT_OF_MEMORY),
    NAME(CUPTI_ERROR_HARDWARE_BUSY),
    NAME(CUPTI_ERROR_NOT_INITIALIZED),
    NAME(CUPTI_ERROR_INVALID_METRIC_NAME),
    NAME(CUPTI_ERROR_NOT_COMPATIBLE),
    NAME(CUPTI_ERROR_NOT_SUPPORTED),
    NAME(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
    NAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
    NAME(CUPTI_ERROR_UNKNOWN),
};
#undef NAME

CUptiResult fake_GetResultString(CUptiResult result, const char **text) {
    *text = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].code == result) *text = names[i].name;
    }
    return *text ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult fake_GetErrorMessage(CUptiResult result, const char **text) {
    (void)result;
    *text = "a fake failure";
    return CUPTI_SUCCESS;
}
CUptiResult fake_DeviceGetChipName(CUpti_Device_GetChipName_Params *p) {
    p->pChipName = "FAKE";
    return CUPTI_SUCCESS;
}

/* ---- the profiler of the process */

CUptiResult fake_ProfilerInitialize(CUpti_Profiler_Initialize_Params *p) {
    (void)p;
    int users = ++fake()->profilers;
    if (users > fake()->most_profilers) fake()->most_profilers = users;
    return CUPTI_SUCCESS;
}
CUptiResult fake_ProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *p) {
    (void)p;
    if (fake_held(FAKE_PROFILER) > 0) fake_misuse("CUPTI is ended with a range profiler enabled");
    fake()->profilers = 0; /* for everybody */
    return CUPTI_SUCCESS;
}
CUptiResult fake_ProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *p) {
    p->isSupported = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return CUPTI_SUCCESS;
}
CUptiResult fake_ProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params *p) {
    if (!fake_find(FAKE_CONTEXT, (uintptr_t)p->ctx)) return CUPTI_ERROR_INVALID_PARAMETER;
    p->counterAvailabilityImageSize = CONFIG_BYTES;
    return CUPTI_SUCCESS;
}

/* ---- the host's side */

CUptiResult fake_ProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p) {
    if (strcmp(p->pChipName, "FAKE") != 0) return CUPTI_ERROR_INVALID_PARAMETER;
    p->pHostObject = (CUpti_Profiler_Host_Object *)fake_make(FAKE_HOST, 0, sizeof(host), NULL);
    return CUPTI_SUCCESS;
}
CUptiResult fake_ProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p) {
    return fake_end(FAKE_HOST, (uintptr_t)p->pHostObject) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult fake_ProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params *p) {
    static const char *const chips[] = {"FAKE"};
    p->numChips = 1;
    p->ppChipNames = chips;
    return CUPTI_SUCCESS;
}
CUptiResult fake_ProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p) {
    host *at = fake_find(FAKE_HOST, (uintptr_t)p->pHostObject);
    if (!at) return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < p->numMetrics; i++) {
        if (!strchr(p->ppMetricNames[i], '.')) return CUPTI_ERROR_INVALID_METRIC_NAME;
        at->metrics++;
    }
    return CUPTI_SUCCESS;
}
CUptiResult fake_ProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p) {
    p->configImageSize = CONFIG_BYTES;
    return fake_find(FAKE_HOST, (uintptr_t)p->pHostObject) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult fake_ProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p) {
    const host *at = fake_find(FAKE_HOST, (uintptr_t)p->pHostObject);
    if (!at || at->metrics == 0 || p->configImageSize < CONFIG_BYTES) return CUPTI_ERROR_INVALID_PARAMETER;
    memset(p->pConfigImage, 0x11, CONFIG_BYTES);
    p->pConfigImage[1] = (uint8_t)(fake()->passes + (at->metrics > 3));
    return CUPTI_SUCCESS;
}
CUptiResult fake_ProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p) {
    if (p->configImageSize != CONFIG_BYTES || p->pConfigImage[0] != 0x11) return CUPTI_ERROR_INVALID_PARAMETER;
    p->numOfPasses = p->pConfigImage[1];
    return CUPTI_SUCCESS;
}

/* ---- the device's side */

static profiler *find(const CUpti_RangeProfiler_Object *object) {
    return fake()->profilers > 0 ? fake_find(FAKE_PROFILER, (uintptr_t)object) : NULL;
}
/* What the profiler does needs that it was not ended by somebody else. */
#define NEEDS_PROFILER                                                                                                 \
    profiler *at = find(p->pRangeProfilerObject);                                                                      \
    if (!at) return CUPTI_ERROR_NOT_INITIALIZED

static image *image_of(const void *bytes, size_t size) {
    image *data = (image *)(uintptr_t)bytes;
    bool good = data && size >= sizeof *data && data->magic == IMAGE_MAGIC &&
                size >= sizeof *data + data->capacity * sizeof(image_range);
    if (!good) fake_misuse("%s: no counter data image", fake_current());
    return good ? data : NULL;
}

/* What was freed is told by memory checkers, and here as far as the freed bytes have changed. */
static void touch_images(const profiler *at) {
    const size_t all = sizeof at->given / sizeof at->given[0];
    for (size_t i = 0; i < at->given_count && i < all; i++) {
        if (at->given[i]->magic != IMAGE_MAGIC) fake_misuse("%s: an image was freed too early", fake_current());
    }
}

CUptiResult fake_RangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p) {
    void *state = NULL;
    if (fake()->profilers == 0) return CUPTI_ERROR_NOT_INITIALIZED;
    if (!fake_find(FAKE_CONTEXT, (uintptr_t)p->ctx)) return CUPTI_ERROR_INVALID_PARAMETER;
    p->pRangeProfilerObject = (CUpti_RangeProfiler_Object *)fake_make(FAKE_PROFILER, 0, sizeof(profiler), &state);
    ((profiler *)state)->context = (uintptr_t)p->ctx;
    return CUPTI_SUCCESS;
}
CUptiResult fake_RangeProfilerDisable(CUpti_RangeProfiler_Disable_Params *p) {
    const profiler *at = find(p->pRangeProfilerObject);
    if (at) touch_images(at);
    return fake_end(FAKE_PROFILER, (uintptr_t)p->pRangeProfilerObject) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult fake_RangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params *p) {
    NEEDS_PROFILER;
    p->counterDataSize = sizeof(image) + p->maxNumOfRanges * sizeof(image_range);
    return CUPTI_SUCCESS;
}
CUptiResult fake_RangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p) {
    NEEDS_PROFILER;
    image *data = (image *)(void *)p->pCounterData;
    *data = (image){.magic = IMAGE_MAGIC, .capacity = (p->counterDataSize - sizeof *data) / sizeof(image_range)};
    return CUPTI_SUCCESS;
}
CUptiResult fake_RangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p) {
    NEEDS_PROFILER;
    at->data = image_of(p->pCounterDataImage, p->counterDataImageSize);
    at->passes = 0;
    at->wanted = p->pConfig[1];
    touch_images(at);
    if (at->data) at->given[at->given_count++ % (sizeof at->given / sizeof at->given[0])] = at->data;
    return at->data ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult fake_RangeProfilerStart(CUpti_RangeProfiler_Start_Params *p) {
    NEEDS_PROFILER;
    if (at->started || !at->data) return CUPTI_ERROR_INVALID_OPERATION;
    if (at->room == 0) at->needs = at->wanted;
    if (at->room == 0) at->room = 2 * at->data->capacity;
    touch_images(at);
    at->started = true;
    return CUPTI_SUCCESS;
}
CUptiResult fake_RangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p) {
    NEEDS_PROFILER;
    if (!at->started) return CUPTI_ERROR_INVALID_OPERATION;
    at->started = false;
    at->open = NULL;
    p->isAllPassSubmitted = ++at->passes >= at->needs;
    return CUPTI_SUCCESS;
}

/* The range of that name, made when it is new: each pass pushes it again. */
static image_range *range_of(image *data, const char *name) {
    for (size_t i = 0; i < data->count; i++) {
        if (strcmp(data->ranges[i].name, name) == 0) return &data->ranges[i];
    }
    if (data->count == data->capacity) return NULL;
    image_range *made = &data->ranges[data->count++];
    snprintf(made->name, sizeof made->name, "%s", name);
    return made;
}

CUptiResult fake_RangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *p) {
    NEEDS_PROFILER;
    const fake_context_state *in = fake_find(FAKE_CONTEXT, at->context);
    if (!in || !at->started || at->open) return CUPTI_ERROR_INVALID_OPERATION;
    at->open = at->data->count < at->room ? range_of(at->data, p->pRangeName) : &at->lost;
    if (!at->open) return CUPTI_ERROR_OUT_OF_MEMORY;
    at->open->warp_instructions = -in->warp_instructions;
    at->open->thread_instructions = -in->thread_instructions;
    return CUPTI_SUCCESS;
}
CUptiResult fake_RangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *p) {
    NEEDS_PROFILER;
    const fake_context_state *in = fake_find(FAKE_CONTEXT, at->context);
    if (!in || !at->started || !at->open) return CUPTI_ERROR_INVALID_OPERATION;
    at->open->warp_instructions += in->warp_instructions;
    at->open->thread_instructions += in->thread_instructions;
    at->open = NULL;
    return CUPTI_SUCCESS;
}
CUptiResult fake_RangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params *p) {
    NEEDS_PROFILER;
    if (at->started) return CUPTI_ERROR_INVALID_OPERATION;
    p->numOfRangeDropped = 0;
    at->data->decoded = 1;
    return CUPTI_SUCCESS;
}

/* ---- values: from the image alone */

CUptiResult fake_RangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params *p) {
    const image *data = image_of(p->pCounterDataImage, p->counterDataImageSize);
    if (!data) return CUPTI_ERROR_INVALID_PARAMETER;
    p->numTotalRanges = data->decoded ? data->count : 0;
    return CUPTI_SUCCESS;
}

/* The last one pushed comes first. */
static const image_range *range_at(const void *bytes, size_t size, size_t index) {
    const image *data = image_of(bytes, size);
    return data && data->decoded && index < data->count ? &data->ranges[data->count - 1 - index] : NULL;
}

CUptiResult fake_RangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *p) {
    const image_range *range = range_at(p->pCounterDataImage, p->counterDataImageSize, p->rangeIndex);
    if (!range) return CUPTI_ERROR_INVALID_PARAMETER;
    p->rangeName = range->name;
    return CUPTI_SUCCESS;
}

static double value_of(const image_range *range, const char *metric) {
    if (strcmp(metric, "smsp__inst_executed.sum") == 0) return range->warp_instructions;
    if (strcmp(metric, "smsp__thread_inst_executed.sum") == 0) return range->thread_instructions;
    if (strcmp(metric, "smsp__thread_inst_executed_per_inst_executed.ratio") == 0) {
        return range->warp_instructions > 0 ? range->thread_instructions / range->warp_instructions : 0;
    }
    return strtod(range->name + 1, NULL);
}

CUptiResult fake_ProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p) {
    const image_range *range = range_at(p->pCounterDataImage, p->counterDataImageSize, p->rangeIndex);
    if (!range || !fake_find(FAKE_HOST, (uintptr_t)p->pHostObject)) return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < p->numMetrics; i++) p->pMetricValues[i] = value_of(range, p->ppMetricNames[i]);
    return CUPTI_SUCCESS;
}
