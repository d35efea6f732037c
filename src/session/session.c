/* Opening and closing sessions. */
#include <core/structs.h>
#include <session/devices.h>
#include <session/session_internal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

gpuchar_status gc_session_new(gpuchar_runtime *runtime, gc_session_kind kind, gpuchar_session **session) {
    gpuchar_session *made = calloc(1, sizeof *made);
    if (!made) {
        return gc_fail_memory(sizeof *made);
    }
    made->kind = kind;
    made->runtime = runtime;
    made->owner = getpid();
    made->info = gpuchar_device_info_make();
    atomic_init(&made->busy, false);
    atomic_init(&made->cancel, false);
    if (runtime) {
        gc_runtime_retain(runtime);
    }
    *session = made;
    return GPUCHAR_OK;
}

/* ---- compile-only */

static gpuchar_status open_compile_only(gpuchar_session *session, uint32_t architecture, void *context) {
    if (context) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a compile-only session takes no CUDA context"),
                         "leave `context` NULL, or name a GPU as the device");
    }
    const gc_nvrtc *nvrtc = NULL;
    gpuchar_status status = gc_runtime_nvrtc(session->runtime, &nvrtc);
    if (!status) {
        status = gc_compile_check_arch(nvrtc, architecture);
    }
    session->architecture = architecture;
    session->info.architecture = architecture;
    return status;
}

/* ---- live */

static gpuchar_status check_context_device(gpuchar_session *session) {
    CUdevice device;
    gpuchar_status status = gc_cuda_check(session->cuda, session->cuda->CtxGetDevice(&device), "cuCtxGetDevice");
    if (!status && device != session->device) {
        status =
            gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the context belongs to another device than the session"),
                      "open the session on the context's own device");
        gc_hint("name the device that the context was made on");
    }
    return status;
}

static gpuchar_status take_context(gpuchar_session *session, void *context) {
    if (context) {
        session->context = context;
        return GPUCHAR_OK;
    }
    gpuchar_status status =
        gc_cuda_check(session->cuda, session->cuda->DevicePrimaryCtxRetain(&session->context, session->device),
                      "cuDevicePrimaryCtxRetain");
    session->owns_primary = !status;
    return status;
}

/* With the context current. */
static gpuchar_status set_up_device(gpuchar_session *session) {
    const gc_cuda *cuda = session->cuda;
    gpuchar_status status = check_context_device(session);
    if (!status) {
        status = gc_cuda_check(cuda, cuda->StreamCreate(&session->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    }
    if (!status) {
        status = gc_device_info_read(session, &session->info);
    }
    session->architecture = session->info.architecture;
    session->sm_count = session->info.sm_count;
    return status;
}

static gpuchar_status take_device_lock(gpuchar_session *session) {
    CUuuid uuid;
    gpuchar_status status =
        gc_cuda_check(session->cuda, session->cuda->DeviceGetUuid(&uuid, session->device), "cuDeviceGetUuid");
    if (status) {
        return status;
    }
    session->device_lock = gc_process_lock_get(&uuid);
    return session->device_lock ? GPUCHAR_OK : gc_fail(GPUCHAR_E_OUT_OF_MEMORY, "no memory for the device's lock");
}

static bool find_nvml_device(const gc_nvml *nvml, const gpuchar_device_entry *entry, gc_nvml_device *device) {
    if (nvml->DeviceGetHandleByUUID(entry->uuid, device) == GC_NVML_SUCCESS) {
        return true;
    }
    /* Slices of a GPU share its PCI id. */
    return strncmp(entry->uuid, "MIG-", 4) != 0 && entry->pci_id[0] && nvml->DeviceGetHandleByPciBusId &&
           nvml->DeviceGetHandleByPciBusId(entry->pci_id, device) == GC_NVML_SUCCESS;
}

/* NVML is a source of facts only: without it they are unknown. */
static void find_in_nvml(gpuchar_session *session, const gpuchar_device_entry *entry) {
    gc_error_box *before = gc_error_take();
    const gc_nvml *nvml = NULL;
    gc_nvml_device device = NULL;
    if (gc_runtime_nvml(session->runtime, &nvml) == GPUCHAR_OK && find_nvml_device(nvml, entry, &device)) {
        session->nvml = nvml;
        session->nvml_device = device;
        bool slice = strncmp(entry->uuid, "MIG-", 4) == 0;
        if (!slice || !nvml->DeviceGetDeviceHandleFromMigDeviceHandle ||
            nvml->DeviceGetDeviceHandleFromMigDeviceHandle(device, &session->nvml_gpu) != GC_NVML_SUCCESS) {
            session->nvml_gpu = device;
        }
    }
    gc_error_restore(before);
}

static gpuchar_status open_live(gpuchar_session *session, const gc_device_name *name, void *context) {
    gpuchar_status status = gc_runtime_cuda(session->runtime, &session->cuda);
    if (!status) {
        status = gc_device_find(session->cuda, name, &session->device);
    }
    gpuchar_device_entry entry;
    if (!status) {
        status = gc_device_entry_read(session->cuda, session->device, 0, &entry);
    }
    if (!status) {
        status = take_device_lock(session);
    }
    if (!status) {
        find_in_nvml(session, &entry);
        status = take_context(session, context);
    }
    gc_scope scope = {0};
    if (!status) {
        status = gc_context_enter(session, &scope);
    }
    if (!status) {
        status = set_up_device(session);
    }
    gc_context_leave(&scope);
    return status;
}

gpuchar_status gpuchar_session_open(gpuchar_runtime *runtime, const char *device,
                                    const gpuchar_session_options *options, gpuchar_session **session) {
    if (!session) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "session is NULL"),
                         "pass the address of a gpuchar_session pointer, which becomes the session");
    }
    *session = NULL;
    gpuchar_session_options known;
    gc_device_name name;
    gpuchar_runtime *r = NULL;
    gpuchar_session *made = NULL;
    gpuchar_status status =
        gc_options_read(options, &known, sizeof known, GC_SIZE_UP_TO(gpuchar_session_options, progress_user),
                        "gpuchar_session_options");
    if (!status) {
        status = gc_device_name_read(device, &name);
    }
    if (!status) {
        status = gc_runtime_resolve(runtime, &r);
    }
    if (!status) {
        bool compile_only = name.kind == GC_NAME_ARCHITECTURE;
        status = gc_session_new(r, compile_only ? GC_SESSION_COMPILE_ONLY : GC_SESSION_LIVE, &made);
    }
    if (status || !made) {
        return status;
    }
    made->progress = known.progress;
    made->progress_user = known.progress_user;
    status = made->kind == GC_SESSION_LIVE ? open_live(made, &name, known.context)
                                           : open_compile_only(made, name.number, known.context);
    if (status) {
        gpuchar_session_close(made);
        return status;
    }
    *session = made;
    return GPUCHAR_OK;
}

/* ---- the end */

static void release_attachments(gpuchar_session *session) {
    while (session->attachments) {
        gc_attachment *first = session->attachments;
        session->attachments = first->next;
        if (first->release) {
            first->release(session, first->value);
        }
        free(first);
    }
}

/* A session whose opening failed half-way comes here too. */
static void close_live(gpuchar_session *session) {
    gc_scope scope = {0};
    session->device_gone =
        session->owner != getpid() || !session->context || gc_context_enter_to_close(session, &scope) != GPUCHAR_OK;
    release_attachments(session);
    if (!session->device_gone && session->stream) {
        gc_session_give_back(session, session->cuda->StreamDestroy(session->stream), "cuStreamDestroy");
    }
    gc_context_leave(&scope);
    /* A dead primary context is released as well: this is what lets its owner make it anew. */
    if (session->owns_primary && session->owner == getpid()) {
        gc_session_give_back(session, session->cuda->DevicePrimaryCtxRelease(session->device),
                             "cuDevicePrimaryCtxRelease");
    }
    gc_process_lock_release(session->device_lock);
}

void gpuchar_session_close(gpuchar_session *session) {
    if (!session) {
        return;
    }
    gc_error_box *before = gc_error_take();
    if (session->kind == GC_SESSION_LIVE) {
        close_live(session);
    } else {
        session->device_gone = true;
        release_attachments(session);
    }
    gpuchar_runtime *runtime = session->runtime;
    free(session);
    if (runtime) {
        gc_runtime_release(runtime);
    }
    gc_error_restore(before);
}

void gpuchar_session_cancel(gpuchar_session *session) {
    if (session) {
        atomic_store(&session->cancel, true);
    }
}

GC_DEFINE_INIT(gpuchar_session_options)
