/* The public face of the counters. */
#include <core/error.h>
#include <core/structs.h>
#include <measure/range_counters.h>
#include <schema/table.h>
#include <stdlib.h>

#define GC_METRICS_MAX 512
#define GC_RANGES_MAX 4096

GC_DEFINE_INIT(gpuchar_counters_options)
GC_DEFINE_INIT(gpuchar_counters_result)

void gpuchar_counters_result_free(gpuchar_counters_result *result) {
    if (!result) return;
    free(result->values);
    free(result->valid);
    result->values = NULL;
    result->valid = NULL;
    result->range_count = 0;
    result->metric_count = 0;
    result->value_count = 0;
}

static gpuchar_status check(const gpuchar_counters_options *options) {
    if (!options->launch)
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "no launch callback"),
                         "set `launch` to a function that launches the kernel of a range");
    if (!options->metrics || options->metric_count == 0)
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "no metrics"),
                         "set `metrics` to the metrics' names and metric_count to their number");
    if (options->metric_count > GC_METRICS_MAX || options->range_count > GC_RANGES_MAX) {
        return gc_advise(gc_fail(GPUCHAR_E_LIMIT, "%zu metrics over %zu ranges; at most %d over %d",
                                 options->metric_count, options->range_count, GC_METRICS_MAX, GC_RANGES_MAX),
                         "make several calls for more");
    }
    for (size_t i = 0; i < options->metric_count; ++i) {
        if (!options->metrics[i])
            return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "metric %zu is NULL", i),
                             "metric_count counts the names in `metrics`");
    }
    return GPUCHAR_OK;
}

typedef struct gc_caller {
    const gpuchar_counters_options *options;
    CUstream stream;
} gc_caller;

static gpuchar_status launch_for_caller(void *user, size_t range) {
    const gc_caller *caller = user;
    int answer = caller->options->launch(caller->options->launch_user, range, caller->stream);
    if (answer == 0) return GPUCHAR_OK;
    return gc_fail(GPUCHAR_E_CALLBACK, "the launch callback returned %d for range %zu", answer, range);
}

static gpuchar_status read_live(gpuchar_session *session, const gpuchar_counters_options *options,
                                gpuchar_counters_result *result) {
    if (session->kind != GC_SESSION_LIVE) {
        return gc_advise(gc_fail(GPUCHAR_E_NOT_APPLICABLE, "counters need a session on a GPU"),
                         "open the session on a GPU");
    }
    gc_caller caller = {options, session->stream};
    gc_range_request request = {options->metrics, options->metric_count, options->range_count, launch_for_caller,
                                &caller};
    return gc_counters_collect(session, &request, result);
}

gpuchar_status gpuchar_counters_read(gpuchar_session *session, const gpuchar_counters_options *options,
                                     gpuchar_counters_result *result) {
    gpuchar_counters_options known;
    gpuchar_counters_result made = GPUCHAR_COUNTERS_RESULT_INIT;
    gc_scope scope;
    gpuchar_status status = gc_result_check(result, sizeof made, "gpuchar_counters_result");
    if (status != GPUCHAR_OK) return status;
    if (!session)
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "session is NULL"),
                         "open one with gpuchar_session_open, and look at its status");
    status = gc_options_read(options, &known, sizeof known, sizeof known, "gpuchar_counters_options");
    if (status == GPUCHAR_OK) {
        if (known.range_count == 0) known.range_count = 1;
        status = check(&known);
    }
    if (status != GPUCHAR_OK) return status;
    status = gc_session_enter(session, &scope);
    if (status != GPUCHAR_OK) return status;
    status = read_live(session, &known, &made);
    gc_session_leave(&scope);
    if (status == GPUCHAR_OK) gc_result_write(result, &made, sizeof made);
    return status;
}

static const gpuchar_field options_fields[] = {
    GC_FIELD_ANY(gpuchar_counters_options, metrics, STRING, GPUCHAR_FIELD_POINTED, NULL, sizeof(char *), 0,
                 (uint32_t)offsetof(gpuchar_counters_options, metric_count), "", "metric names"),
    GC_FIELD_ANY(gpuchar_counters_options, metric_count, U64, GPUCHAR_FIELD_COUNT, NULL, sizeof(size_t), 1, GC_NONE,
                 "1", "number of metrics"),
    GC_FIELD(gpuchar_counters_options, range_count, U64, "1", "number of ranges; 0: one"),
    GC_FIELD(gpuchar_counters_options, launch, POINTER, "", "launches the work of one range"),
    GC_FIELD(gpuchar_counters_options, launch_user, POINTER, "", "first argument of launch"),
};
const gpuchar_schema gc_schema_counters_options =
    GC_SCHEMA(gpuchar_counters_options, options_fields, 1, GC_NONE, "what gpuchar_counters_read reads");

static const gpuchar_field result_fields[] = {
    GC_FIELD_ANY(gpuchar_counters_result, values, F64, GPUCHAR_FIELD_POINTED, NULL, sizeof(double), 0,
                 (uint32_t)offsetof(gpuchar_counters_result, value_count), "", "values by range, then metric"),
    GC_FIELD_ANY(gpuchar_counters_result, valid, U32, GPUCHAR_FIELD_POINTED, NULL, sizeof(uint32_t), 0,
                 (uint32_t)offsetof(gpuchar_counters_result, value_count), "",
                 "1 where the value is one, by range, then metric"),
    GC_FIELD_ANY(gpuchar_counters_result, value_count, U64, GPUCHAR_FIELD_COUNT, NULL, sizeof(size_t), 1, GC_NONE, "1",
                 "ranges times metrics"),
    GC_FIELD(gpuchar_counters_result, range_count, U64, "1", "ranges"),
    GC_FIELD(gpuchar_counters_result, metric_count, U64, "1", "metrics of each range"),
    GC_FIELD(gpuchar_counters_result, setup_ns, U64, "ns", "host time before the first launch"),
    GC_FIELD(gpuchar_counters_result, read_ns, U64, "ns", "host time of the passes and the evaluation"),
    GC_FIELD(gpuchar_counters_result, passes, U32, "1", "how often each range ran"),
    GC_FIELD(gpuchar_counters_result, chip, TEXT, "", "CUPTI's name of the chip"),
};
const gpuchar_schema gc_schema_counters_result =
    GC_SCHEMA(gpuchar_counters_result, result_fields, 1, GC_NONE, "hardware counters over the caller's ranges");
