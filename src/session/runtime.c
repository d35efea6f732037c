/* Runtimes: which libraries, where they were found, and what was wrong with those that were not. */
#include <core/structs.h>
#include <limits.h>
#include <pthread.h>
#include <session/fork.h>
#include <session/runtime_internal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One step that is done once: loading or initializing a library. */
typedef struct slot {
    enum { UNTRIED, DONE, FAILED } state;
    gpuchar_status status;
    gpuchar_error *error; /* NULL when memory was short */
} slot;

struct gpuchar_runtime {
    atomic_uint references;
    gc_log log;
    gc_cubin_cache *cache;
    char *cuda_path, *nvrtc_path, *cupti_path, *nvml_path, *worker_path;
    slot cuda_slot, cuda_init_slot, nvrtc_slot, cupti_slot, nvml_slot, nvml_init_slot;
    pid_t nvml_owner; /* the process in which nvmlInit succeeded */
    gc_cuda cuda;
    gc_nvrtc nvrtc;
    gc_cupti cupti;
    gc_nvml nvml;
};

/* One for all runtimes: loading is rare, and a forked child must be able to make it anew. */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static gpuchar_runtime *default_runtime;

void gc_runtime_after_fork(void) {
    load_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void raise_again(const slot *s) {
    if (!s->error) {
        gc_fail(s->status, "%s", gpuchar_status_text(s->status));
        return;
    }
    const gpuchar_error *error = s->error;
    gc_native native = {
        .domain = error->domain, .code = error->native_code, .name = error->native_name, .call = error->call};
    gc_fail_native(s->status, native, "%s", error->message);
    if (error->hint[0]) {
        gc_hint("%s", error->hint);
    }
    gc_attach_log(error->log);
}

/* True when the step is to be done now; else *status tells how it went. */
static bool slot_begin(const slot *s, gpuchar_status *status) {
    if (s->state == FAILED) {
        raise_again(s);
    }
    *status = s->status;
    return s->state == UNTRIED;
}

/* A fork or a shortage of memory says nothing about the library, so it is tried again. */
static gpuchar_status slot_end(slot *s, gpuchar_status status) {
    if (status == GPUCHAR_E_FORKED || status == GPUCHAR_E_OUT_OF_MEMORY) {
        return status;
    }
    s->state = status ? FAILED : DONE;
    s->status = status;
    s->error = status ? gpuchar_error_copy() : NULL;
    return status;
}

static void log_found(const gpuchar_runtime *runtime, const char *what, gpuchar_status status,
                      const gc_library *library, uint32_t version) {
    if (status) {
        gc_log_write(&runtime->log, GPUCHAR_LOG_INFO, "%s: %s", what, gpuchar_last_error()->message);
    } else {
        gc_log_write(&runtime->log, GPUCHAR_LOG_INFO, "%s: %s, version %u", what, library->path, version);
    }
}

static gpuchar_status load_cuda(gpuchar_runtime *r) {
    gpuchar_status status;
    if (!slot_begin(&r->cuda_slot, &status)) {
        return status;
    }
    status = gc_cuda_load(r->cuda_path, &r->cuda);
    log_found(r, "CUDA driver", status, &r->cuda.library, r->cuda.version);
    return slot_end(&r->cuda_slot, status);
}

static gpuchar_status init_cuda(gpuchar_runtime *r) {
    gpuchar_status status = load_cuda(r);
    if (status) {
        return status;
    }
    /* Asked even after success: the answer is another one in a forked child. */
    if (r->cuda_init_slot.state == FAILED) {
        slot_begin(&r->cuda_init_slot, &status);
        return status;
    }
    return slot_end(&r->cuda_init_slot, gc_cuda_init(&r->cuda));
}

/* The CUDA major above which libraries are of no use; 0 without a driver. */
static uint32_t highest_major(gpuchar_runtime *r) {
    gc_error_box *before = gc_error_take();
    uint32_t major = load_cuda(r) ? 0 : r->cuda.version / 1000;
    gc_error_restore(before);
    return major;
}

static gpuchar_status load_nvrtc(gpuchar_runtime *r) {
    gpuchar_status status;
    if (!slot_begin(&r->nvrtc_slot, &status)) {
        return status;
    }
    status = gc_nvrtc_load(r->nvrtc_path, highest_major(r), &r->nvrtc);
    log_found(r, "NVRTC", status, &r->nvrtc.library, r->nvrtc.version);
    return slot_end(&r->nvrtc_slot, status);
}

static gpuchar_status load_cupti(gpuchar_runtime *r) {
    gpuchar_status status;
    if (!slot_begin(&r->cupti_slot, &status)) {
        return status;
    }
    status = gc_cupti_load(r->cupti_path, highest_major(r), &r->cupti);
    log_found(r, "CUPTI", status, &r->cupti.library, r->cupti.version);
    return slot_end(&r->cupti_slot, status);
}

static gpuchar_status load_nvml(gpuchar_runtime *r) {
    gpuchar_status status;
    if (!slot_begin(&r->nvml_slot, &status)) {
        return status;
    }
    status = gc_nvml_load(r->nvml_path, &r->nvml);
    log_found(r, "NVML", status, &r->nvml.library, r->nvml.driver_major);
    return slot_end(&r->nvml_slot, status);
}

static gpuchar_status init_nvml(gpuchar_runtime *r) {
    gpuchar_status status = load_nvml(r);
    if (status || !slot_begin(&r->nvml_init_slot, &status)) {
        return status;
    }
    status = slot_end(&r->nvml_init_slot, gc_nvml_init(&r->nvml));
    r->nvml_owner = status ? 0 : getpid();
    return status;
}

/* Runs one of the above under the lock. */
static gpuchar_status locked(gpuchar_runtime *runtime, gpuchar_status (*step)(gpuchar_runtime *)) {
    pthread_mutex_lock(&load_lock);
    gpuchar_status status = step(runtime);
    pthread_mutex_unlock(&load_lock);
    return status;
}

gpuchar_status gc_runtime_cuda(gpuchar_runtime *runtime, const gc_cuda **cuda) {
    gpuchar_status status = locked(runtime, init_cuda);
    *cuda = status ? NULL : &runtime->cuda;
    return status;
}

gpuchar_status gc_runtime_nvrtc(gpuchar_runtime *runtime, const gc_nvrtc **nvrtc) {
    gpuchar_status status = locked(runtime, load_nvrtc);
    *nvrtc = status ? NULL : &runtime->nvrtc;
    return status;
}

gpuchar_status gc_runtime_cupti(gpuchar_runtime *runtime, const gc_cupti **cupti) {
    gpuchar_status status = locked(runtime, load_cupti);
    *cupti = status ? NULL : &runtime->cupti;
    return status;
}

gpuchar_status gc_runtime_nvml(gpuchar_runtime *runtime, const gc_nvml **nvml) {
    gpuchar_status status = locked(runtime, init_nvml);
    *nvml = status ? NULL : &runtime->nvml;
    return status;
}

gc_cubin_cache *gc_runtime_cache(gpuchar_runtime *runtime) {
    return runtime->cache;
}

const char *gc_runtime_worker_path(const gpuchar_runtime *runtime) {
    return runtime->worker_path;
}

const gc_log *gc_runtime_log(const gpuchar_runtime *runtime) {
    return &runtime->log;
}

/* ---- life */

static void destroy(gpuchar_runtime *r) {
    /* In a forked child the driver's side belongs to the parent. */
    if (r->nvml_owner == getpid()) {
        int result = r->nvml.Shutdown();
        if (result != GC_NVML_SUCCESS) {
            gc_log_write(&r->log, GPUCHAR_LOG_WARNING, "nvmlShutdown failed while giving back: code %d", result);
        }
    }
    slot *slots[] = {&r->cuda_slot,  &r->cuda_init_slot, &r->nvrtc_slot,
                     &r->cupti_slot, &r->nvml_slot,      &r->nvml_init_slot};
    for (size_t i = 0; i < GC_COUNT(slots); i++) {
        gpuchar_error_free(slots[i]->error);
    }
    gc_cubin_cache_close(r->cache);
    free(r->cuda_path);
    free(r->nvrtc_path);
    free(r->cupti_path);
    free(r->nvml_path);
    free(r->worker_path);
    free(r);
}

/*
 * Files are opened when they are first needed, and the host may change its working directory before: a path is made
 * absolute now. A name alone is for the loader's search; the worker is no library, and never looked for by name.
 */
static bool copy_path(char **to, const char *from, bool may_be_searched) {
    char here[PATH_MAX];
    const bool relative = from && from[0] && from[0] != '/' && (!may_be_searched || strchr(from, '/'));
    if (!from) {
        return true;
    }
    if (!relative || !getcwd(here, sizeof here)) {
        *to = strdup(from);
        return *to != NULL;
    }
    const size_t folder = strlen(here), file = strlen(from) + 1;
    *to = malloc(folder + 1 + file);
    if (*to) {
        memcpy(*to, here, folder);
        (*to)[folder] = '/';
        memcpy(*to + folder + 1, from, file);
    }
    return *to != NULL;
}

static gpuchar_status create(const gpuchar_runtime_options *options, gpuchar_runtime **runtime) {
    gpuchar_runtime *r = calloc(1, sizeof *r);
    if (!r) {
        return gc_fail_memory(sizeof *r);
    }
    atomic_init(&r->references, 1u);
    r->log.function = options->log;
    r->log.user = options->log_user;
    r->log.level = options->log_level ? options->log_level : GPUCHAR_LOG_WARNING;
    gpuchar_status status = GPUCHAR_OK;
    if (!copy_path(&r->cuda_path, options->cuda_path, true) || !copy_path(&r->nvrtc_path, options->nvrtc_path, true) ||
        !copy_path(&r->cupti_path, options->cupti_path, true) || !copy_path(&r->nvml_path, options->nvml_path, true) ||
        !copy_path(&r->worker_path, options->worker_path, false)) {
        status = gc_fail(GPUCHAR_E_OUT_OF_MEMORY, "no memory for the runtime's paths");
    }
    if (!status) {
        status = gc_cubin_cache_open(options->cache_dir, &r->log, &r->cache);
    }
    if (status) {
        destroy(r);
        return status;
    }
    gc_fork_watch();
    *runtime = r;
    return GPUCHAR_OK;
}

gpuchar_status gc_runtime_resolve(gpuchar_runtime *runtime, gpuchar_runtime **resolved) {
    *resolved = runtime;
    if (runtime) {
        return GPUCHAR_OK;
    }
    /* Not pthread_once: after a shortage of memory the next call shall try again. */
    gc_fork_watch();
    pthread_mutex_lock(&load_lock);
    gpuchar_status status = GPUCHAR_OK;
    if (!default_runtime) {
        gpuchar_runtime_options defaults = GPUCHAR_RUNTIME_OPTIONS_INIT;
        status = create(&defaults, &default_runtime);
    }
    *resolved = default_runtime;
    pthread_mutex_unlock(&load_lock);
    return status;
}

void gc_runtime_retain(gpuchar_runtime *runtime) {
    atomic_fetch_add(&runtime->references, 1u);
}

void gc_runtime_release(gpuchar_runtime *runtime) {
    if (atomic_fetch_sub(&runtime->references, 1u) == 1u) {
        destroy(runtime);
    }
}

static gpuchar_status check_options(const gpuchar_runtime_options *options) {
    if (options->reserved != 0) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "reserved of gpuchar_runtime_options is not 0"),
                         "make the struct with its INIT and leave `reserved` alone");
    }
    if (options->log_level > GPUCHAR_LOG_DEBUG) {
        gpuchar_status status = gc_fail(GPUCHAR_E_LIMIT, "log_level is %u", options->log_level);
        gc_hint("the highest is GPUCHAR_LOG_DEBUG, %d", GPUCHAR_LOG_DEBUG);
        return status;
    }
    return GPUCHAR_OK;
}

gpuchar_status gpuchar_runtime_open(const gpuchar_runtime_options *options, gpuchar_runtime **runtime) {
    if (!runtime) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "runtime is NULL"),
                         "pass the address of a gpuchar_runtime pointer, which becomes the runtime");
    }
    *runtime = NULL;
    gpuchar_runtime_options known;
    gpuchar_status status = gc_options_read(
        options, &known, sizeof known, GC_SIZE_UP_TO(gpuchar_runtime_options, reserved), "gpuchar_runtime_options");
    if (!status) {
        status = check_options(&known);
    }
    return status ? status : create(&known, runtime);
}

void gpuchar_runtime_close(gpuchar_runtime *runtime) {
    if (runtime) {
        gc_runtime_release(runtime);
    }
}

/* ---- what was found */

/* `version` by address: an argument would be read before the library is loaded. */
static void tell(gpuchar_library_info *info, gpuchar_status status, const gc_library *library,
                 const uint32_t *version) {
    info->status = status;
    const char *message = status ? gpuchar_last_error()->message : "";
    size_t length = strlen(message);
    length = length < sizeof info->message ? length : sizeof info->message - 1;
    memcpy(info->message, message, length);
    if (!status) {
        length = strnlen(library->path, sizeof info->path - 1);
        memcpy(info->path, library->path, length);
        info->version = *version;
    }
}

gpuchar_status gpuchar_runtime_get_info(gpuchar_runtime *runtime, gpuchar_runtime_info *info) {
    gpuchar_status status = gc_result_check(info, GC_SIZE_UP_TO(gpuchar_runtime_info, nvml), "gpuchar_runtime_info");
    gpuchar_runtime *r = NULL;
    if (!status) {
        status = gc_runtime_resolve(runtime, &r);
    }
    if (status) {
        return status;
    }
    gpuchar_runtime_info known = GPUCHAR_RUNTIME_INFO_INIT;
    gc_error_box *before = gc_error_take();
    tell(&known.cuda, locked(r, load_cuda), &r->cuda.library, &r->cuda.version);
    tell(&known.nvrtc, locked(r, load_nvrtc), &r->nvrtc.library, &r->nvrtc.version);
    tell(&known.cupti, locked(r, load_cupti), &r->cupti.library, &r->cupti.version);
    tell(&known.nvml, locked(r, load_nvml), &r->nvml.library, &r->nvml.driver_major);
    gc_error_restore(before);
    gc_result_write(info, &known, sizeof known);
    return GPUCHAR_OK;
}

static int ascending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

gpuchar_status gpuchar_runtime_architectures(gpuchar_runtime *runtime, uint32_t *architectures, size_t capacity,
                                             size_t *count) {
    if (!count || (!architectures && capacity > 0)) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, count ? "architectures is NULL" : "count is NULL"),
                         "pass the address of a size_t, and an array of as many numbers as `capacity` says");
    }
    *count = 0;
    const gc_nvrtc *nvrtc = NULL;
    gpuchar_runtime *r = NULL;
    gpuchar_status status = gc_runtime_resolve(runtime, &r);
    if (!status) {
        status = gc_runtime_nvrtc(r, &nvrtc);
    }
    if (status) {
        return status;
    }
    int known = 0;
    nvrtcResult result = nvrtc->GetNumSupportedArchs(&known);
    if (result != NVRTC_SUCCESS || known <= 0) {
        return gc_nvrtc_fail(nvrtc, result, "nvrtcGetNumSupportedArchs");
    }
    int *list = calloc((size_t)known, sizeof *list);
    if (!list) {
        return gc_fail_memory((size_t)known * sizeof *list);
    }
    result = nvrtc->GetSupportedArchs(list);
    if (result == NVRTC_SUCCESS) {
        qsort(list, (size_t)known, sizeof *list, ascending);
        *count = (size_t)known;
        for (size_t i = 0; i < *count && i < capacity; i++) {
            architectures[i] = (uint32_t)list[i];
        }
    }
    free(list);
    return result == NVRTC_SUCCESS ? GPUCHAR_OK : gc_nvrtc_fail(nvrtc, result, "nvrtcGetSupportedArchs");
}

GC_DEFINE_INIT(gpuchar_runtime_options)
GC_DEFINE_INIT(gpuchar_runtime_info)
