/* The bracket around every call on a session. */
#include <session/session_internal.h>
#include <stdlib.h>
#include <unistd.h>

void gc_session_give_back(const gpuchar_session *session, CUresult result, const char *call) {
    gc_cuda_give_back(session->cuda, gc_runtime_log(session->runtime), result, call);
}

/* Relaxed: an allocation here must not break a capture that the host has running on another stream. */
static gpuchar_status relax(gpuchar_session *session, gc_scope *scope) {
    scope->capture_mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    gpuchar_status status =
        gc_cuda_check(session->cuda, session->cuda->ThreadExchangeStreamCaptureMode(&scope->capture_mode),
                      "cuThreadExchangeStreamCaptureMode");
    scope->relaxed = !status;
    return status;
}

static gpuchar_status push(gpuchar_session *session, gc_scope *scope) {
    *scope = (gc_scope){0};
    gpuchar_status status =
        gc_cuda_check(session->cuda, session->cuda->CtxPushCurrent(session->context), "cuCtxPushCurrent");
    scope->pushed = !status;
    scope->session = status ? NULL : session;
    return status;
}

gpuchar_status gc_context_enter(gpuchar_session *session, gc_scope *scope) {
    gpuchar_status status = push(session, scope);
    if (!status) {
        status = relax(session, scope);
    }
    if (status) {
        gc_context_leave(scope);
        scope->session = NULL;
    }
    return status;
}

gpuchar_status gc_context_enter_to_close(gpuchar_session *session, gc_scope *scope) {
    gpuchar_status status = push(session, scope);
    if (status || relax(session, scope)) {
        gc_log_write(gc_runtime_log(session->runtime), GPUCHAR_LOG_WARNING, "closing a session: %s",
                     gpuchar_last_error()->message);
    }
    return status;
}

void gc_context_leave(gc_scope *scope) {
    gpuchar_session *session = scope->session;
    CUcontext popped;
    if (!session) {
        return;
    }
    if (scope->relaxed) {
        gc_session_give_back(session, session->cuda->ThreadExchangeStreamCaptureMode(&scope->capture_mode),
                             "cuThreadExchangeStreamCaptureMode");
    }
    if (scope->pushed) {
        gc_session_give_back(session, session->cuda->CtxPopCurrent(&popped), "cuCtxPopCurrent");
    }
    scope->relaxed = false;
    scope->pushed = false;
}

gpuchar_status gc_session_fail_cancelled(gpuchar_session *session) {
    atomic_store(&session->cancel, false);
    return gc_advise(gc_fail(GPUCHAR_E_CANCELLED, "cancelled by gpuchar_session_cancel"),
                     "the cancel is used up: the next call runs");
}

gpuchar_status gc_session_wait(gpuchar_session *session, gc_process_lock *lock, const char *busy, const char *hint) {
    gpuchar_status status = gc_process_lock_enter(lock, gc_session_cancel_pending, session);
    if (status == GPUCHAR_E_CANCELLED) {
        return gc_session_fail_cancelled(session);
    }
    if (status == GPUCHAR_E_BUSY) {
        gc_fail(status, "%s", busy);
        gc_hint("%s", hint);
    }
    return status;
}

static gpuchar_status begin(gpuchar_session *session, gc_scope *scope) {
    gpuchar_status status = gc_session_check_cancel(session);
    if (status || session->kind != GC_SESSION_LIVE) {
        scope->session = session;
        return status;
    }
    status =
        gc_session_wait(session, session->device_lock, "this thread is in a call on another session of the same device",
                        "a callback must not measure on the device that is being measured");
    if (status) {
        return status;
    }
    status = gc_context_enter(session, scope);
    if (status) {
        gc_process_lock_leave(session->device_lock);
    }
    return status;
}

gpuchar_status gc_session_enter(gpuchar_session *session, gc_scope *scope) {
    *scope = (gc_scope){0};
    if (!session) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "session is NULL"),
                         "open one with gpuchar_session_open, and look at its status");
    }
    if (session->owner != getpid()) {
        gpuchar_status status = gc_fail(GPUCHAR_E_FORKED, "the session was opened before this process was forked");
        gc_hint("close it and open another one here; a GPU can be used only if the parent had not used CUDA");
        return status;
    }
    if (atomic_exchange(&session->busy, true)) {
        gpuchar_status status = gc_fail(GPUCHAR_E_BUSY, "the session is in another call");
        gc_hint("open one session per thread; callbacks may only cancel");
        return status;
    }
    gpuchar_status status = begin(session, scope);
    if (status) {
        scope->session = NULL;
        atomic_store(&session->busy, false);
    }
    return status;
}

void gc_session_leave(gc_scope *scope) {
    gpuchar_session *session = scope->session;
    if (!session) {
        return;
    }
    if (session->kind == GC_SESSION_LIVE) {
        gc_context_leave(scope);
        gc_process_lock_leave(session->device_lock);
    }
    scope->session = NULL;
    atomic_store(&session->busy, false);
}

bool gc_session_cancel_pending(void *session) {
    return atomic_load(&((gpuchar_session *)session)->cancel);
}

gpuchar_status gc_session_check_cancel(gpuchar_session *session) {
    return gc_session_cancel_pending(session) ? gc_session_fail_cancelled(session) : GPUCHAR_OK;
}

void gc_session_progress(gpuchar_session *session, const char *step, double fraction_done) {
    if (session->progress) {
        session->progress(session->progress_user, step, fraction_done);
    }
}

gpuchar_status gc_session_attach(gpuchar_session *session, const void *key, void *value,
                                 void (*release)(gpuchar_session *, void *)) {
    gc_attachment *made = malloc(sizeof *made);
    if (!made) {
        return gc_fail_memory(sizeof *made);
    }
    *made = (gc_attachment){.next = session->attachments, .key = key, .value = value, .release = release};
    session->attachments = made;
    return GPUCHAR_OK;
}

void *gc_session_attached(gpuchar_session *session, const void *key) {
    for (gc_attachment *at = session->attachments; at; at = at->next) {
        if (at->key == key) {
            return at->value;
        }
    }
    return NULL;
}

bool gc_session_device_gone(const gpuchar_session *session) {
    return session->device_gone;
}
