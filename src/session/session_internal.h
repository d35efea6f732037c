/* What a session holds, and the bracket around every call on it. */
#ifndef GC_SESSION_SESSION_INTERNAL_H
#define GC_SESSION_SESSION_INTERNAL_H

#include <gpuchar/device.h>
#include <session/process_lock.h>
#include <session/runtime_internal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

typedef enum gc_session_kind { GC_SESSION_LIVE, GC_SESSION_COMPILE_ONLY, GC_SESSION_RECORDED } gc_session_kind;

/* Something a higher layer keeps with the session (loaded modules, a recorded profile); freed at close, in reverse order. */
typedef struct gc_attachment {
    struct gc_attachment *next;
    const void *key; /* address of a static: whose it is */
    void *value;
    /* The context is current, unless gc_session_device_gone(): then only host memory may be freed. */
    void (*release)(gpuchar_session *session, void *value);
} gc_attachment;

/* Answers an experiment from a recording: fills `result` (known size) or fails with E_NOT_RECORDED. */
typedef gpuchar_status (*gc_answer_function)(gpuchar_session *session, const char *experiment, const void *options,
                                             void *result);

struct gpuchar_session {
    gpuchar_runtime *runtime;
    gc_session_kind kind;
    const gc_cuda *cuda;        /* live only */
    const gc_nvml *nvml;        /* NULL when not there, or when it does not know the device */
    gc_nvml_device nvml_device; /* the device or the MIG slice */
    gc_nvml_device nvml_gpu;    /* the whole GPU: clocks and power belong to it */
    CUdevice device;
    CUcontext context;
    bool owns_primary;
    CUstream stream;       /* non-blocking */
    uint32_t architecture; /* 90 */
    uint32_t sm_count;
    gpuchar_device_info info;     /* as at open */
    gc_process_lock *device_lock; /* one per device and process */
    gpuchar_progress_function progress;
    void *progress_user;
    atomic_bool busy;
    atomic_bool cancel;
    bool device_gone; /* set by close in a forked child or on a dead context */
    pid_t owner;
    gc_attachment *attachments;
    struct gc_profiler *profiler; /* held over several reads of counters in one call; see measure/range_counters.h */
    gc_answer_function answer;    /* recorded only */
};

/*
 * Begins a call: E_BUSY, E_FORKED, E_CANCELLED (a pending cancel, cleared; also while waiting for the device). A live
 * session then holds the device's lock, its context is current and the thread's stream capture mode is relaxed.
 * gc_session_leave undoes all of it, on every path; after a failed enter it does nothing.
 */
typedef struct gc_scope {
    gpuchar_session *session; /* NULL: nothing to undo */
    bool pushed, relaxed;
    CUstreamCaptureMode capture_mode;
} gc_scope;
gpuchar_status gc_session_enter(gpuchar_session *session, gc_scope *scope);
void gc_session_leave(gc_scope *scope);

/*
 * The inner part of the two: context and capture mode only. For a live session that is not in a call (open, close).
 * Failures: E_CONTEXT_LOST, E_CUDA.
 */
gpuchar_status gc_context_enter(gpuchar_session *session, gc_scope *scope);
/* To give things back: that the capture mode cannot be relaxed is no hindrance. Failures are also warnings in the log. */
gpuchar_status gc_context_enter_to_close(gpuchar_session *session, gc_scope *scope);
void gc_context_leave(gc_scope *scope);

/* The result of a driver call that gives something back: a failure is a warning in the log, nothing more. */
void gc_session_give_back(const gpuchar_session *session, CUresult result, const char *call);

/* True when a cancel is pending (`session` is a gpuchar_session); gc_session_check_cancel consumes it. */
bool gc_session_cancel_pending(void *session);
gpuchar_status gc_session_check_cancel(gpuchar_session *session);   /* GPUCHAR_OK or E_CANCELLED (consumed) */
gpuchar_status gc_session_fail_cancelled(gpuchar_session *session); /* E_CANCELLED; a pending cancel is consumed */
/* Enters a lock of the process: E_CANCELLED (consumed), or E_BUSY with these words when this thread holds it. */
gpuchar_status gc_session_wait(gpuchar_session *session, gc_process_lock *lock, const char *busy, const char *hint);
void gc_session_progress(gpuchar_session *session, const char *step, double fraction_done);

gpuchar_status gc_session_attach(gpuchar_session *session, const void *key, void *value,
                                 void (*release)(gpuchar_session *, void *));
void *gc_session_attached(gpuchar_session *session, const void *key);

/* Nothing on the device may be touched any more; see gc_attachment. */
bool gc_session_device_gone(const gpuchar_session *session);

/* An empty session of a kind, without device; for sessions that are not live. */
gpuchar_status gc_session_new(gpuchar_runtime *runtime, gc_session_kind kind, gpuchar_session **session);

/* Facts read now. `info` has its size set. */
gpuchar_status gc_device_info_read(gpuchar_session *session, gpuchar_device_info *info);
/* Reads NVML's throttle reasons now into GPUCHAR_THROTTLE_... bits; false when unknown. */
bool gc_session_throttle_reasons(gpuchar_session *session, uint32_t *reasons);

#endif
