/* Hardware counters inside a call that already holds the session. */
#ifndef GC_MEASURE_RANGE_COUNTERS_H
#define GC_MEASURE_RANGE_COUNTERS_H

#include <gpuchar/counters.h>
#include <session/session_internal.h>
#include <stdatomic.h>

/* Launches one range; a status. */
typedef gpuchar_status (*gc_range_function)(void *user, size_t range);

typedef struct gc_range_request {
    const char *const *metrics;
    size_t metric_count;
    size_t range_count;
    gc_range_function launch;
    void *user;
} gc_range_request;

/* `result` is zeroed but for its size; free it with gpuchar_counters_result_free. Nothing of CUPTI's stays behind. */
gpuchar_status gc_counters_collect(gpuchar_session *session, const gc_range_request *request,
                                   gpuchar_counters_result *result);

/*
 * From here until it is let go, in one call on the session, reads set the profiler up once: with room for so many ranges, and
 * anew for a read of more. Nothing may be timed meanwhile:
 * the profiler changes how launches are timed, if only by a cycle. Letting go is allowed where nothing is held.
 */
void gc_counters_hold(gpuchar_session *session, size_t ranges);
void gc_counters_let_go(gpuchar_session *session);

/*
 * Makes CUPTI load what the first read of a process waits for, about as long as compiling a kernel. Inside a call on a live
 * session, on a thread of its own beside that; nothing is told of a failure, which the first read meets again. It does not
 * wait for another session's read once there is `enough`.
 */
void gc_counters_warm(gpuchar_session *session, const atomic_bool *enough);

/* Passes that a chip needs for these metrics, by CUPTI's Host API alone: no GPU, no driver. */
gpuchar_status gc_counters_passes(const gc_cupti *cupti, const char *chip, const char *const *metrics, size_t count,
                                  uint32_t *passes);

#endif
