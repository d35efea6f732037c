#include <core/error.h>
#include <math.h>
#include <measure/range_counters.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Memory that CUPTI was given. It keeps the addresses, also of older configurations: all lives as long as the profiler. */
typedef struct gc_lent {
    struct gc_lent *next;
    alignas(max_align_t) uint8_t bytes[];
} gc_lent;

/* CUPTI's profiler on the session's device, for one read or for several. Zeroed: not there. */
typedef struct gc_profiler {
    gc_process_lock *lock; /* entered; NULL: nothing is there */
    bool initialized;
    char chip[32];
    CUpti_RangeProfiler_Object *object;
    size_t room, held_room; /* ranges that it takes; that it shall take when it is held */
    size_t passes;          /* that it makes */
    gc_lent *lent;
} gc_profiler;

/* One read: what was taken from CUPTI, in the order in which it is given back. */
typedef struct gc_reader {
    gpuchar_session *session;
    const gc_log *log; /* of failures to give back; NULL: nobody's */
    const gc_cupti *cupti;
    const gc_range_request *request;
    gc_profiler *profiler;
    bool started;
    uint8_t *availability;
    uint8_t *config;
    size_t config_size;
    uint8_t *data;
    size_t data_size;
    CUpti_Profiler_Host_Object *host;
    size_t passes;
    uint64_t begin_ns; /* of the call in progress */
} gc_reader;

/* A read takes some tenths of a second, all of it inside CUPTI: the log tells in which of its functions. */
#define GC_SLOW_NS 1000000
#define GC_CUPTI_CALL(reader, member, parameters)                                                                      \
    ((reader)->begin_ns = gc_now_ns(), check(reader, (reader)->cupti->member(parameters), "cupti" #member))

static void tell_time(const gc_reader *reader, const char *call) {
    const uint64_t took_ns = gc_now_ns() - reader->begin_ns;
    if (took_ns < GC_SLOW_NS || !reader->log) return;
    gc_log_write(reader->log, GPUCHAR_LOG_DEBUG, "%s took %.1f ms", call, (double)took_ns * 1e-6);
}

static gpuchar_status check(const gc_reader *reader, CUptiResult result, const char *call) {
    tell_time(reader, call);
    return gc_cupti_check(reader->cupti, result, call);
}

static uint8_t *lend(gc_profiler *profiler, size_t bytes) {
    gc_lent *made = calloc(1, sizeof *made + bytes);
    if (!made) {
        gc_fail_memory(bytes);
        return NULL;
    }
    made->next = profiler->lent;
    profiler->lent = made;
    return made->bytes;
}

static void take_back(gc_profiler *profiler) {
    while (profiler->lent) {
        gc_lent *next = profiler->lent->next;
        free(profiler->lent);
        profiler->lent = next;
    }
}

/* ---- the host side: which counters the metrics need ---- */

/* CUPTI's own words do not say which chip it was. */
static gpuchar_status fail_chip(const gc_reader *reader, CUptiResult result) {
    const char *name = NULL;
    if (reader->cupti->GetResultString(result, &name) != CUPTI_SUCCESS || !name) name = "unknown CUPTI error";
    gc_native native = {GPUCHAR_DOMAIN_CUPTI, result, name, "cuptiProfilerHostInitialize"};
    gc_fail_native(GPUCHAR_E_COUNTERS_UNSUPPORTED, native, "CUPTI reads no counters of the chip \"%s\": %s",
                   reader->profiler->chip, name);
    gc_hint("a newer CUPTI may know it; everything that needs no counters works");
    return GPUCHAR_E_COUNTERS_UNSUPPORTED;
}

static gpuchar_status host_open(gc_reader *reader) {
    CUpti_Profiler_Host_Initialize_Params initialize = {.structSize =
                                                            CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE};
    initialize.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    initialize.pChipName = reader->profiler->chip;
    initialize.pCounterAvailabilityImage = reader->availability;
    reader->begin_ns = gc_now_ns();
    CUptiResult result = reader->cupti->ProfilerHostInitialize(&initialize);
    gpuchar_status status = check(reader, result, "cuptiProfilerHostInitialize");
    if (status == GPUCHAR_E_COUNTERS_UNSUPPORTED) return fail_chip(reader, result);
    if (status != GPUCHAR_OK) return status;
    reader->host = initialize.pHostObject;
    return GPUCHAR_OK;
}

static CUptiResult add_metrics(const gc_reader *reader, const char *const *names, size_t count) {
    CUpti_Profiler_Host_ConfigAddMetrics_Params add = {.structSize =
                                                           CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE};
    add.pHostObject = reader->host;
    add.ppMetricNames = (const char **)(uintptr_t)names; /* read only, by its documentation */
    add.numMetrics = count;
    return reader->cupti->ProfilerHostConfigAddMetrics(&add);
}

static bool is_unknown(CUptiResult result) {
    return result == CUPTI_ERROR_INVALID_METRIC_NAME || result == CUPTI_ERROR_INVALID_PARAMETER;
}

static gpuchar_status fail_metric(const gc_reader *reader, CUptiResult result, const char *name) {
    gc_native native = {GPUCHAR_DOMAIN_CUPTI, result, "CUPTI_ERROR_INVALID_METRIC_NAME",
                        "cuptiProfilerHostConfigAddMetrics"};
    if (result == CUPTI_ERROR_INVALID_PARAMETER) native.name = "CUPTI_ERROR_INVALID_PARAMETER";
    gc_fail_native(GPUCHAR_E_METRIC_UNKNOWN, native, "the chip %s has no metric \"%s\"", reader->profiler->chip, name);
    gc_hint("names look like \"smsp__inst_executed.sum\": base metric, dot, rollup; ncu --query-metrics lists them");
    return GPUCHAR_E_METRIC_UNKNOWN;
}

static void host_close(gc_reader *reader);

/*
 * All at once: CUPTI makes passes of their own for what is added later. Which one it does not know is then asked one by one,
 * of another host object: this one refuses what it has already.
 */
static gpuchar_status host_add_metrics(gc_reader *reader) {
    const gc_range_request *request = reader->request;
    const CUptiResult result = add_metrics(reader, request->metrics, request->metric_count);
    if (!is_unknown(result)) return gc_cupti_check(reader->cupti, result, "cuptiProfilerHostConfigAddMetrics");
    host_close(reader);
    gpuchar_status status = host_open(reader);
    for (size_t i = 0; i < request->metric_count && status == GPUCHAR_OK; ++i) {
        const CUptiResult one = add_metrics(reader, &request->metrics[i], 1);
        if (is_unknown(one)) return fail_metric(reader, one, request->metrics[i]);
    }
    return status == GPUCHAR_OK ? fail_metric(reader, result, request->metrics[0]) : status;
}

static gpuchar_status host_config(gc_reader *reader) {
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {
        .structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE};
    CUpti_Profiler_Host_GetConfigImage_Params get = {.structSize =
                                                         CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE};
    CUpti_Profiler_Host_GetNumOfPasses_Params passes = {.structSize =
                                                            CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE};
    size.pHostObject = reader->host;
    gpuchar_status status = GC_CUPTI_CALL(reader, ProfilerHostGetConfigImageSize, &size);
    if (status != GPUCHAR_OK) return status;
    reader->config_size = size.configImageSize;
    reader->config = lend(reader->profiler, reader->config_size);
    if (!reader->config) return GPUCHAR_E_OUT_OF_MEMORY;
    get.pHostObject = reader->host;
    get.configImageSize = reader->config_size;
    get.pConfigImage = reader->config;
    status = GC_CUPTI_CALL(reader, ProfilerHostGetConfigImage, &get);
    if (status != GPUCHAR_OK) return status;
    passes.configImageSize = reader->config_size;
    passes.pConfigImage = reader->config;
    status = GC_CUPTI_CALL(reader, ProfilerHostGetNumOfPasses, &passes);
    reader->passes = passes.numOfPasses;
    return status;
}

static gpuchar_status host_prepare(gc_reader *reader) {
    gpuchar_status status = host_open(reader);
    if (status == GPUCHAR_OK) status = host_add_metrics(reader);
    if (status == GPUCHAR_OK) status = host_config(reader);
    return status;
}

/* ---- the device side ---- */

static gpuchar_status unsupported(const CUpti_Profiler_DeviceSupported_Params *asked) {
    const char *why = asked->architecture == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ? "the architecture"
                      : asked->sli == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED        ? "SLI"
                      : asked->vGpu == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED       ? "the virtual GPU"
                      : asked->vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED
                          ? "the virtual GPU's configuration (profiling is switched off for it)"
                      : asked->confidentialCompute == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
                          ? "confidential computing"
                      : asked->cmp == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ? "the mining card (CMP)"
                      : asked->wsl == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ? "WSL"
                                                                               : "the device";
    gc_fail(GPUCHAR_E_COUNTERS_UNSUPPORTED, "CUPTI's range profiler is not available because of %s", why);
    gc_hint("everything that needs no counters works; set counters to off to silence this");
    return GPUCHAR_E_COUNTERS_UNSUPPORTED;
}

static gpuchar_status device_prepare(gc_reader *reader) {
    CUpti_Profiler_Initialize_Params initialize = {.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    CUpti_Profiler_DeviceSupported_Params supported = {.structSize = CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE};
    CUpti_Device_GetChipName_Params chip = {.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE};
    gpuchar_status status = GC_CUPTI_CALL(reader, ProfilerInitialize, &initialize);
    if (status != GPUCHAR_OK) return status;
    reader->profiler->initialized = true;
    supported.cuDevice = reader->session->device;
    supported.api = CUPTI_PROFILER_RANGE_PROFILING;
    status = GC_CUPTI_CALL(reader, ProfilerDeviceSupported, &supported);
    if (status != GPUCHAR_OK) return status;
    if (supported.isSupported != CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return unsupported(&supported);
    chip.deviceIndex = (size_t)reader->session->device;
    status = GC_CUPTI_CALL(reader, DeviceGetChipName, &chip);
    if (status == GPUCHAR_OK) snprintf(reader->profiler->chip, sizeof reader->profiler->chip, "%s", chip.pChipName);
    return status;
}

/* Which counters this device really has. It takes longer than all else, so ask only where parts can be missing. */
static gpuchar_status device_availability(gc_reader *reader) {
    CUpti_Profiler_GetCounterAvailability_Params ask = {.structSize =
                                                            CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE};
    if (!reader->session->info.mig_enabled) return GPUCHAR_OK;
    ask.ctx = reader->session->context;
    gpuchar_status status = GC_CUPTI_CALL(reader, ProfilerGetCounterAvailability, &ask);
    if (status != GPUCHAR_OK) return status;
    reader->availability = lend(reader->profiler, ask.counterAvailabilityImageSize);
    if (!reader->availability) return GPUCHAR_E_OUT_OF_MEMORY;
    ask.pCounterAvailabilityImage = reader->availability;
    return GC_CUPTI_CALL(reader, ProfilerGetCounterAvailability, &ask);
}

static void disable(gc_reader *reader);

/*
 * The first configuration of a profiler fixes what later ones get. Ranges beyond twice its room are lost, and CUPTI (13.0)
 * calls none of them dropped; and it calls all passes made when there were as many as at first. So a read of more ranges, or
 * of other passes, begins with a new one. Its first start takes a millisecond more for each range.
 */
static gpuchar_status device_enable(gc_reader *reader) {
    gc_profiler *profiler = reader->profiler;
    const size_t wanted = reader->request->range_count;
    CUpti_RangeProfiler_Enable_Params enable = {.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE};
    if (profiler->object && (profiler->room < wanted || profiler->passes != reader->passes)) disable(reader);
    if (profiler->object) return GPUCHAR_OK;
    enable.ctx = reader->session->context;
    gpuchar_status status = GC_CUPTI_CALL(reader, RangeProfilerEnable, &enable);
    if (status != GPUCHAR_OK) return status;
    profiler->object = enable.pRangeProfilerObject;
    profiler->passes = reader->passes;
    profiler->room = wanted > profiler->held_room ? wanted : profiler->held_room;
    return GPUCHAR_OK;
}

static gpuchar_status device_config(gc_reader *reader) {
    const gc_range_request *request = reader->request;
    CUpti_RangeProfiler_GetCounterDataSize_Params size = {
        .structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE};
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params data = {
        .structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE};
    CUpti_RangeProfiler_SetConfig_Params config = {.structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE};
    size.pRangeProfilerObject = reader->profiler->object;
    size.pMetricNames = (const char **)(uintptr_t)request->metrics; /* read only, by its documentation */
    size.numMetrics = request->metric_count;
    size.maxNumOfRanges = reader->profiler->room;
    size.maxNumRangeTreeNodes = (uint32_t)reader->profiler->room;
    gpuchar_status status = GC_CUPTI_CALL(reader, RangeProfilerGetCounterDataSize, &size);
    if (status != GPUCHAR_OK) return status;
    reader->data_size = size.counterDataSize;
    reader->data = lend(reader->profiler, reader->data_size);
    if (!reader->data) return GPUCHAR_E_OUT_OF_MEMORY;
    data.pRangeProfilerObject = reader->profiler->object;
    data.counterDataSize = reader->data_size;
    data.pCounterData = reader->data;
    status = GC_CUPTI_CALL(reader, RangeProfilerCounterDataImageInitialize, &data);
    if (status != GPUCHAR_OK) return status;
    config.pRangeProfilerObject = reader->profiler->object;
    config.configSize = reader->config_size;
    config.pConfig = reader->config;
    config.counterDataImageSize = reader->data_size;
    config.pCounterDataImage = reader->data;
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = reader->profiler->room;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    return GC_CUPTI_CALL(reader, RangeProfilerSetConfig, &config);
}

static gpuchar_status start(gc_reader *reader) {
    CUpti_RangeProfiler_Start_Params parameters = {.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE};
    parameters.pRangeProfilerObject = reader->profiler->object;
    gpuchar_status status = GC_CUPTI_CALL(reader, RangeProfilerStart, &parameters);
    reader->started = status == GPUCHAR_OK;
    return status;
}

static gpuchar_status stop(gc_reader *reader, bool *all_passes) {
    CUpti_RangeProfiler_Stop_Params parameters = {.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE};
    parameters.pRangeProfilerObject = reader->profiler->object;
    gpuchar_status status = GC_CUPTI_CALL(reader, RangeProfilerStop, &parameters);
    if (status == GPUCHAR_OK) reader->started = false;
    *all_passes = parameters.isAllPassSubmitted != 0;
    return status;
}

/* Range names are their indices with a letter before them: CUPTI gives the ranges back in an order of its own. */
static gpuchar_status run_range(gc_reader *reader, size_t range) {
    const gc_cuda *cuda = reader->session->cuda;
    CUpti_RangeProfiler_PushRange_Params push = {.structSize = CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE};
    CUpti_RangeProfiler_PopRange_Params pop = {.structSize = CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE};
    char name[32];
    snprintf(name, sizeof name, "r%zu", range);
    push.pRangeProfilerObject = reader->profiler->object;
    push.pRangeName = name;
    gpuchar_status status = GC_CUPTI_CALL(reader, RangeProfilerPushRange, &push);
    if (status != GPUCHAR_OK) return status;
    status = reader->request->launch(reader->request->user, range);
    CUresult waited = cuda->CtxSynchronize();
    pop.pRangeProfilerObject = reader->profiler->object;
    CUptiResult popped = reader->cupti->RangeProfilerPopRange(&pop);
    if (status != GPUCHAR_OK) return status;
    status = gc_cuda_check(cuda, waited, "cuCtxSynchronize");
    return status != GPUCHAR_OK ? status : gc_cupti_check(reader->cupti, popped, "cuptiRangeProfilerPopRange");
}

/* CUPTI says when all passes are in; it cannot need many more than it announced. */
static gpuchar_status run_passes(gc_reader *reader, uint32_t *passes) {
    bool all = false;
    for (*passes = 0; *passes < 2 * reader->passes + 2;) {
        gpuchar_status status = start(reader);
        if (status != GPUCHAR_OK) return status;
        for (size_t range = 0; range < reader->request->range_count && status == GPUCHAR_OK; ++range) {
            status = run_range(reader, range);
            if (status == GPUCHAR_OK) status = gc_session_check_cancel(reader->session);
        }
        if (status == GPUCHAR_OK) status = stop(reader, &all);
        if (status != GPUCHAR_OK) return status;
        ++*passes;
        gc_session_progress(reader->session, "counters", (double)*passes / (double)reader->passes);
        if (all && *passes >= reader->passes) return GPUCHAR_OK;
        if (all) {
            return gc_fail(GPUCHAR_E_CUPTI, "CUPTI announced %zu passes and made %u", reader->passes, *passes);
        }
    }
    return gc_fail(GPUCHAR_E_CUPTI, "CUPTI announced %zu passes and wants still more", reader->passes);
}

/* ---- values ---- */

static gpuchar_status decode(gc_reader *reader, size_t *ranges) {
    CUpti_RangeProfiler_DecodeData_Params decoded = {.structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE};
    CUpti_RangeProfiler_GetCounterDataInfo_Params about = {
        .structSize = CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE};
    decoded.pRangeProfilerObject = reader->profiler->object;
    gpuchar_status status = GC_CUPTI_CALL(reader, RangeProfilerDecodeData, &decoded);
    if (status != GPUCHAR_OK) return status;
    if (decoded.numOfRangeDropped != 0) {
        return gc_fail(GPUCHAR_E_CUPTI, "CUPTI dropped %zu ranges", decoded.numOfRangeDropped);
    }
    about.pCounterDataImage = reader->data;
    about.counterDataImageSize = reader->data_size;
    status = GC_CUPTI_CALL(reader, RangeProfilerGetCounterDataInfo, &about);
    *ranges = about.numTotalRanges;
    return status;
}

static gpuchar_status evaluate(gc_reader *reader, size_t index, gpuchar_counters_result *result) {
    const gc_range_request *request = reader->request;
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params about = {
        .structSize = CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE};
    CUpti_Profiler_Host_EvaluateToGpuValues_Params values = {
        .structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE};
    about.pCounterDataImage = reader->data;
    about.counterDataImageSize = reader->data_size;
    about.rangeIndex = index;
    about.rangeDelimiter = "/";
    gpuchar_status status = GC_CUPTI_CALL(reader, RangeProfilerCounterDataGetRangeInfo, &about);
    if (status != GPUCHAR_OK) return status;
    size_t range = about.rangeName && about.rangeName[0] == 'r' ? strtoull(about.rangeName + 1, NULL, 10) : SIZE_MAX;
    if (range >= request->range_count) {
        return gc_fail(GPUCHAR_E_CUPTI, "CUPTI returned a range \"%s\" that nobody pushed",
                       about.rangeName ? about.rangeName : "");
    }
    values.pHostObject = reader->host;
    values.pCounterDataImage = reader->data;
    values.counterDataImageSize = reader->data_size;
    values.rangeIndex = index;
    values.ppMetricNames = (const char **)(uintptr_t)request->metrics;
    values.numMetrics = request->metric_count;
    values.pMetricValues = result->values + range * request->metric_count;
    status = GC_CUPTI_CALL(reader, ProfilerHostEvaluateToGpuValues, &values);
    for (size_t i = 0; i < request->metric_count && status == GPUCHAR_OK; ++i) {
        size_t at = range * request->metric_count + i;
        result->valid[at] = isfinite(result->values[at]) ? 1 : 0;
        if (!result->valid[at]) result->values[at] = 0;
    }
    return status;
}

static gpuchar_status read_values(gc_reader *reader, gpuchar_counters_result *result) {
    size_t ranges = 0;
    gpuchar_status status = decode(reader, &ranges);
    if (status == GPUCHAR_OK && ranges != reader->request->range_count) {
        status = gc_fail(GPUCHAR_E_CUPTI, "CUPTI returned %zu ranges of %zu", ranges, reader->request->range_count);
    }
    for (size_t i = 0; i < ranges && status == GPUCHAR_OK; ++i) status = evaluate(reader, i, result);
    return status;
}

/* ---- the whole ---- */

#define GC_CUPTI_GIVE_BACK(reader, member, parameters)                                                                 \
    ((reader)->begin_ns = gc_now_ns(), give_back(reader, (reader)->cupti->member(parameters), "cupti" #member))

static void give_back(const gc_reader *reader, CUptiResult result, const char *call) {
    tell_time(reader, call);
    gc_cupti_give_back(reader->cupti, reader->log, result, call);
}

static void disable(gc_reader *reader) {
    CUpti_RangeProfiler_Disable_Params parameters = {.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE};
    parameters.pRangeProfilerObject = reader->profiler->object;
    reader->profiler->object = NULL;
    GC_CUPTI_GIVE_BACK(reader, RangeProfilerDisable, &parameters);
}

static void host_close(gc_reader *reader) {
    CUpti_Profiler_Host_Deinitialize_Params host = {.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE};
    if (!reader->host) return;
    host.pHostObject = reader->host;
    GC_CUPTI_GIVE_BACK(reader, ProfilerHostDeinitialize, &host);
    reader->host = NULL;
}

/* What one read took; the profiler stays. */
static void reader_close(gc_reader *reader) {
    CUpti_RangeProfiler_Stop_Params stopped = {.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE};
    if (reader->started) {
        stopped.pRangeProfilerObject = reader->profiler->object;
        GC_CUPTI_GIVE_BACK(reader, RangeProfilerStop, &stopped);
    }
    host_close(reader);
    reader->started = false;
}

static gpuchar_status result_alloc(const gc_range_request *request, gpuchar_counters_result *result) {
    size_t count = request->range_count * request->metric_count;
    result->values = calloc(count, sizeof result->values[0]);
    result->valid = calloc(count, sizeof result->valid[0]);
    if (!result->values || !result->valid) return gc_fail_memory(count * sizeof result->values[0]);
    result->range_count = request->range_count;
    result->metric_count = request->metric_count;
    result->value_count = count;
    return GPUCHAR_OK;
}

/*
 * CUPTI has one profiler for the process, and the end of one read (cuptiProfilerDeInitialize) would end those on other
 * devices too: they wait for each other.
 */
static const CUuuid profiler_id = {"CUPTI profiler"};

static gpuchar_status profiler_lock(gc_reader *reader, gc_process_lock **lock) {
    *lock = gc_process_lock_get(&profiler_id);
    if (!*lock) return gc_fail(GPUCHAR_E_OUT_OF_MEMORY, "no memory for the profiler's lock");
    gpuchar_status status =
        gc_session_wait(reader->session, *lock, "this thread is reading counters on another session already",
                        "a launch callback must not read counters");
    if (status == GPUCHAR_OK) return GPUCHAR_OK;
    gc_process_lock_release(*lock);
    *lock = NULL;
    return status;
}

/* Nothing for one that is there already. Close it after a failure too. */
static gpuchar_status profiler_open(gc_reader *reader) {
    gc_profiler *profiler = reader->profiler;
    gpuchar_status status = profiler->lock ? GPUCHAR_OK : profiler_lock(reader, &profiler->lock);
    return status == GPUCHAR_OK && !profiler->initialized ? device_prepare(reader) : status;
}

static void profiler_close(gc_reader *reader) {
    gc_profiler *profiler = reader->profiler;
    CUpti_Profiler_DeInitialize_Params all = {.structSize = CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE};
    if (!profiler->lock) return;
    if (profiler->object) disable(reader);
    take_back(profiler);
    if (profiler->initialized) GC_CUPTI_GIVE_BACK(reader, ProfilerDeInitialize, &all);
    gc_process_lock_leave(profiler->lock);
    gc_process_lock_release(profiler->lock);
    *profiler = (gc_profiler){.held_room = profiler->held_room};
}

static gpuchar_status collect(gc_reader *reader, gpuchar_counters_result *result) {
    uint64_t begin = gc_now_ns();
    gpuchar_status status = profiler_open(reader);
    if (status == GPUCHAR_OK) status = device_availability(reader);
    if (status == GPUCHAR_OK) status = host_prepare(reader);
    if (status == GPUCHAR_OK) status = device_enable(reader);
    if (status == GPUCHAR_OK) status = device_config(reader);
    result->setup_ns = gc_now_ns() - begin;
    if (status == GPUCHAR_OK) status = run_passes(reader, &result->passes);
    if (status == GPUCHAR_OK) status = read_values(reader, result);
    memcpy(result->chip, reader->profiler->chip, sizeof result->chip);
    reader_close(reader);
    /* What failed may have left a profiler that is good for nothing. */
    if (status != GPUCHAR_OK || reader->profiler != reader->session->profiler) profiler_close(reader);
    result->read_ns = gc_now_ns() - begin - result->setup_ns;
    return status;
}

gpuchar_status gc_counters_collect(gpuchar_session *session, const gc_range_request *request,
                                   gpuchar_counters_result *result) {
    gc_profiler own = {0};
    gc_reader reader = {.session = session, .log = gc_runtime_log(session->runtime), .request = request};
    reader.profiler = session->profiler ? session->profiler : &own;
    gpuchar_status status = gc_runtime_cupti(session->runtime, &reader.cupti);
    if (status == GPUCHAR_OK) status = result_alloc(request, result);
    if (status == GPUCHAR_OK) status = collect(&reader, result);
    if (status != GPUCHAR_OK) gpuchar_counters_result_free(result);
    return status;
}

/* ---- several reads ---- */

void gc_counters_hold(gpuchar_session *session, size_t ranges) {
    session->profiler = calloc(1, sizeof *session->profiler);
    if (session->profiler) session->profiler->held_room = ranges;
}

void gc_counters_let_go(gpuchar_session *session) {
    gc_reader reader = {.session = session, .log = gc_runtime_log(session->runtime), .profiler = session->profiler};
    if (!session->profiler) return;
    /* Where something is there, the library is. */
    if (session->profiler->lock && gc_runtime_cupti(session->runtime, &reader.cupti) == GPUCHAR_OK) {
        profiler_close(&reader);
    }
    free(session->profiler);
    session->profiler = NULL;
}

static bool is_enough(void *enough) {
    return atomic_load((const atomic_bool *)enough);
}

/* Not gc_session_wait: a cancel is for the thread of the call to see. Who reads at this moment warms it as well. */
static bool lock_to_warm(gc_reader *reader, const atomic_bool *enough) {
    gc_process_lock *lock = gc_process_lock_get(&profiler_id);
    if (!lock || gc_process_lock_enter(lock, is_enough, (void *)(uintptr_t)enough) != GPUCHAR_OK) {
        gc_process_lock_release(lock);
        return false;
    }
    reader->profiler->lock = lock;
    return true;
}

/* An empty pass: its start compiles what CUPTI runs on the GPU, for which the driver loads a library. */
static gpuchar_status warm(gc_reader *reader) {
    bool all;
    gpuchar_status status = device_prepare(reader);
    if (status == GPUCHAR_OK) status = host_prepare(reader);
    if (status == GPUCHAR_OK) status = device_enable(reader);
    if (status == GPUCHAR_OK) status = device_config(reader);
    if (status == GPUCHAR_OK) status = start(reader);
    return status == GPUCHAR_OK ? stop(reader, &all) : status;
}

void gc_counters_warm(gpuchar_session *session, const atomic_bool *enough) {
    static const char *const metric = "smsp__inst_executed.sum";
    const gc_range_request request = {.metrics = &metric, .metric_count = 1, .range_count = 1};
    gc_profiler own = {0};
    gc_reader reader = {.session = session, .request = &request, .profiler = &own};
    gc_scope scope;
    if (gc_runtime_cupti(session->runtime, &reader.cupti) != GPUCHAR_OK) return;
    if (gc_context_enter(session, &scope) != GPUCHAR_OK) return;
    if (lock_to_warm(&reader, enough)) {
        warm(&reader);
        reader_close(&reader);
        profiler_close(&reader);
    }
    gc_context_leave(&scope);
}

gpuchar_status gc_counters_passes(const gc_cupti *cupti, const char *chip, const char *const *metrics, size_t count,
                                  uint32_t *passes) {
    gc_range_request request = {.metrics = metrics, .metric_count = count, .range_count = 1};
    gc_profiler none = {0};
    gc_reader reader = {.cupti = cupti, .request = &request, .profiler = &none};
    snprintf(none.chip, sizeof none.chip, "%s", chip);
    gpuchar_status status = host_prepare(&reader);
    *passes = (uint32_t)reader.passes;
    reader_close(&reader);
    take_back(&none);
    return status;
}
