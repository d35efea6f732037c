/*
 * Hardware performance counters, by CUPTI's Range Profiler: any metrics of the chip over the caller's own work.
 */
#ifndef GPUCHAR_COUNTERS_H
#define GPUCHAR_COUNTERS_H

#include <gpuchar/session.h>

GPUCHAR_BEGIN_DECLS

/* Values of the `counters` option of an experiment. */
enum {
    GPUCHAR_COUNTERS_AUTO = 0, /* read them where allowed, say in the evidence why not */
    GPUCHAR_COUNTERS_OFF = 1,
    GPUCHAR_COUNTERS_REQUIRED = 2 /* not allowed or not possible is an error */
};

/*
 * Launches the work of one range on the session's context (current while it runs) and returns 0; anything else ends the
 * read with E_CALLBACK. Called once per range and pass, on the calling thread; the library synchronizes afterwards.
 * `stream` is the session's CUstream; other streams of the same context are counted too. It must not measure, nor read
 * counters on another session: CUPTI has one profiler per process.
 */
typedef int (*gpuchar_launch_function)(void *user, size_t range, void *stream);

typedef struct gpuchar_counters_options {
    size_t struct_size;
    const char *const *metrics; /* names such as "smsp__inst_executed.sum" */
    size_t metric_count;
    size_t range_count; /* 0: one */
    gpuchar_launch_function launch;
    void *launch_user;
} gpuchar_counters_options;

typedef struct gpuchar_counters_result {
    size_t struct_size;
    double *values;  /* [range][metric], range_count x metric_count; owned by the result */
    uint32_t *valid; /* same shape: 0 where the hardware gave no finite number (the value is then 0) */
    size_t value_count;
    size_t range_count;
    size_t metric_count;
    uint64_t setup_ns;
    uint64_t read_ns;
    uint32_t passes; /* how often each range ran */
    uint32_t reserved;
    char chip[32]; /* CUPTI's name of the chip, "GH100" */
} gpuchar_counters_result;

GPUCHAR_DEFINE_MAKER(gpuchar_counters_options)
GPUCHAR_DEFINE_MAKER(gpuchar_counters_result)
#define GPUCHAR_COUNTERS_OPTIONS_INIT gpuchar_counters_options_make()
#define GPUCHAR_COUNTERS_RESULT_INIT gpuchar_counters_result_make()
GPUCHAR_API void gpuchar_counters_options_init(gpuchar_counters_options *options, size_t size);
GPUCHAR_API void gpuchar_counters_result_init(gpuchar_counters_result *result, size_t size);
GPUCHAR_API void gpuchar_counters_result_free(gpuchar_counters_result *result);

/*
 * Reads the metrics over each range. Everything taken from CUPTI is given back before it returns. Reads on other devices
 * wait for each other, because CUPTI has one profiler per process; a cancel ends the wait.
 * Errors: E_INVALID_ARGUMENT, E_STRUCT_SIZE, E_METRIC_UNKNOWN, E_NO_CUPTI, E_CUPTI_TOO_OLD, E_NO_PERMISSION,
 * E_PROFILER_ACTIVE, E_COUNTERS_UNSUPPORTED, E_NOT_APPLICABLE (a session without GPU), E_CALLBACK, E_CANCELLED, E_CUPTI,
 * E_CUDA, E_BUSY (also from inside a launch callback).
 */
GPUCHAR_API gpuchar_status gpuchar_counters_read(gpuchar_session *session, const gpuchar_counters_options *options,
                                                 gpuchar_counters_result *result);

GPUCHAR_END_DECLS

#endif
