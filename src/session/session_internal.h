/* What a session holds, and the bracket around every call on it. */
#ifndef GC_SESSION_SESSION_INTERNAL_H
#define GC_SESSION_SESSION_INTERNAL_H

#include <gpuchar/device.h>
#include <session/runtime_internal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

typedef enum gc_session_kind { GC_SESSION_LIVE, GC_SESSION_COMPILE_ONLY, GC_SESSION_RECORDED } gc_session_kind;

/* Something a higher layer keeps with the session (loaded modules, a recorded profile); freed at close, in reverse order. */
typedef struct gc_attachment {
    struct gc_attachment *next;
    const void *key;             /* address of a static: whose it is */
    void *value;
    void (*release)(gpuchar_session *session, void *value); /* the context is current; skipped (host part only) after fork */
} gc_attachment;

/* Answers an experiment from a recording: fills `result` (known size) or fails with E_NOT_RECORDED. */
typedef gpuchar_status (*gc_answer_function)(gpuchar_session *session, const char *experiment, const void *options,
                                             void *result);

struct gpuchar_session {
    gpuchar_runtime *runtime;
    gc_session_kind kind;
    const gc_cuda *cuda;     /* live only */
    const gc_nvml *nvml;     /* NULL when not there */
    void *nvml_device;       /* nvmlDevice_t */
    CUdevice device;
    CUcontext context;
    bool owns_primary;
    CUstream stream;         /* non-blocking */
    uint32_t architecture;   /* 90 */
    uint32_t sm_count;
    gpuchar_device_info info; /* as at open */
    void *device_lock;       /* one per physical device and process */
    gpuchar_progress_function progress;
    void *progress_user;
    atomic_bool busy;
    atomic_bool cancel;
    pid_t owner;
    gc_attachment *attachments;
    gc_answer_function answer; /* recorded only */
};

/*
 * Begins a call: E_BUSY, E_FORKED, E_CANCELLED (a pending cancel, cleared). A live session then holds the device's lock, its context
 * is current and the thread's stream capture mode is relaxed. gc_session_leave undoes all of it, on every path.
 */
typedef struct gc_scope {
    gpuchar_session *session;
    bool pushed;
    CUstreamCaptureMode capture_mode;
} gc_scope;
gpuchar_status gc_session_enter(gpuchar_session *session, gc_scope *scope);
void gc_session_leave(gc_scope *scope);

/* True when a cancel is pending; gc_session_cancelled_status consumes it and sets E_CANCELLED. */
bool gc_session_cancel_pending(void *session);
gpuchar_status gc_session_check_cancel(gpuchar_session *session); /* GPUCHAR_OK or E_CANCELLED (consumed) */
void gc_session_progress(gpuchar_session *session, const char *step, double fraction_done);

gpuchar_status gc_session_attach(gpuchar_session *session, const void *key, void *value,
                                 void (*release)(gpuchar_session *, void *));
void *gc_session_attached(gpuchar_session *session, const void *key);

/* An empty session of a kind, without device; for sessions that are not live. */
gpuchar_status gc_session_new(gpuchar_runtime *runtime, gc_session_kind kind, gpuchar_session **session);

/* Reads NVML's throttle reasons now into GPUCHAR_THROTTLE_... bits; false when unknown. */
bool gc_session_throttle_reasons(gpuchar_session *session, uint32_t *reasons);

#endif
