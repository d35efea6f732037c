#include <codegen/embedded.h>
#include <core/error.h>
#include <measure/kernel.h>
#include <stdio.h>
#include <stdlib.h>

#define PARTS 3

static char *source_text(const gc_kernel_source *const parts[PARTS]) {
    size_t length = 0;
    for (size_t i = 0; i < PARTS; ++i) length += parts[i] ? parts[i]->length : 0;
    char *text = malloc(length + 1), *end = text;
    if (!text) {
        gc_fail_memory(length + 1);
        return NULL;
    }
    for (size_t i = 0; i < PARTS; ++i) {
        if (!parts[i]) continue;
        memcpy(end, parts[i]->text, parts[i]->length);
        end += parts[i]->length;
    }
    *end = '\0';
    return text;
}

static size_t define_count(const gc_template *from) {
    size_t count = 0;
    while (count < GC_COUNT(from->defines) && from->defines[count].name) ++count;
    return count;
}

static gpuchar_status fill_request(const gpuchar_session *session, const gc_template *from, char architecture[16],
                                   gc_compile_request *request) {
    const gc_kernel_source *const parts[PARTS] = {gc_kernel_source_find("prelude"),
                                                  from->shared ? gc_kernel_source_find(from->shared) : NULL,
                                                  gc_kernel_source_find(from->name)};
    if (!parts[0] || !parts[2] || (from->shared && !parts[1])) {
        return gc_fail(GPUCHAR_E_INTERNAL, "the library was built without the kernel template \"%s\"", from->name);
    }
    snprintf(architecture, 16, "sm_%u%s", session->architecture, from->suffix ? from->suffix : "");
    request->name = from->name;
    request->defines = from->defines;
    request->define_count = define_count(from);
    request->architecture = architecture;
    request->source = source_text(parts);
    return request->source ? GPUCHAR_OK : GPUCHAR_E_OUT_OF_MEMORY;
}

static gpuchar_status compile_requests(gpuchar_session *session, const gc_template *templates, size_t count,
                                       gc_compile_request *requests, char (*architectures)[16], gc_image **images) {
    const gc_nvrtc *nvrtc = NULL;
    gpuchar_status status = gc_runtime_nvrtc(session->runtime, &nvrtc);
    if (status == GPUCHAR_OK) status = gc_compile_check_arch(nvrtc, session->architecture);
    for (size_t i = 0; i < count && status == GPUCHAR_OK; ++i) {
        status = fill_request(session, &templates[i], architectures[i], &requests[i]);
    }
    if (status != GPUCHAR_OK) return status;
    status = gc_compile_many(nvrtc, gc_runtime_cache(session->runtime), requests, count, gc_session_cancel_pending,
                             session, images);
    /* The compiler saw a cancel: consume it, so that the next call runs. */
    if (status == GPUCHAR_E_CANCELLED) gc_session_check_cancel(session);
    return status;
}

gpuchar_status gc_templates_compile(gpuchar_session *session, const gc_template *templates, size_t count,
                                    gc_image **images) {
    gpuchar_status status = GPUCHAR_E_OUT_OF_MEMORY;
    memset(images, 0, count * sizeof images[0]);
    if (count == 0) return GPUCHAR_OK;
    gc_compile_request *requests = calloc(count, sizeof *requests);
    char(*architectures)[16] = calloc(count, sizeof *architectures);
    if (requests && architectures) {
        status = compile_requests(session, templates, count, requests, architectures, images);
    } else {
        gc_fail_memory(count * (sizeof *requests + sizeof *architectures));
    }
    for (size_t i = 0; requests && i < count; ++i) free((char *)(uintptr_t)requests[i].source);
    free(requests);
    free(architectures);
    return status;
}

/* ---- loaded modules, kept with the session ---- */

typedef struct gc_loaded {
    struct gc_loaded *next;
    gc_hash key;
    CUmodule module;
} gc_loaded;

static const char modules_key = 0;

static void release_modules(gpuchar_session *session, void *value) {
    gc_loaded *loaded = value;
    while (loaded) {
        gc_loaded *next = loaded->next;
        /* The head of the list holds none. Without a device (a forked child, a lost context) there is nothing to unload. */
        if (loaded->module && !gc_session_device_gone(session)) {
            gc_session_give_back(session, session->cuda->ModuleUnload(loaded->module), "cuModuleUnload");
        }
        free(loaded);
        loaded = next;
    }
}

/* The head of the list is an entry of its own, so that the attachment never changes. */
static gc_loaded *module_list(gpuchar_session *session) {
    gc_loaded *head = gc_session_attached(session, &modules_key);
    if (head) return head;
    head = calloc(1, sizeof *head);
    if (!head) {
        gc_fail_memory(sizeof *head);
        return NULL;
    }
    if (gc_session_attach(session, &modules_key, head, release_modules) != GPUCHAR_OK) {
        free(head);
        return NULL;
    }
    return head;
}

static gpuchar_status find_module(gpuchar_session *session, const gc_image *image, CUmodule *module) {
    gc_loaded *head = module_list(session);
    if (!head) return GPUCHAR_E_OUT_OF_MEMORY;
    for (gc_loaded *at = head->next; at; at = at->next) {
        if (at->key.high == image->key.high && at->key.low == image->key.low) {
            *module = at->module;
            return GPUCHAR_OK;
        }
    }
    gc_loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded) return gc_fail_memory(sizeof *loaded);
    gpuchar_status status =
        gc_cuda_check(session->cuda, session->cuda->ModuleLoadData(&loaded->module, image->bytes), "cuModuleLoadData");
    if (status != GPUCHAR_OK) {
        free(loaded);
        return status;
    }
    loaded->key = image->key;
    loaded->next = head->next;
    head->next = loaded;
    *module = loaded->module;
    return GPUCHAR_OK;
}

gpuchar_status gc_kernel_load(gpuchar_session *session, const gc_image *image, const char *kernel,
                              CUfunction *function) {
    CUmodule module = NULL;
    gpuchar_status status = find_module(session, image, &module);
    if (status != GPUCHAR_OK) return status;
    return gc_cuda_check(session->cuda, session->cuda->ModuleGetFunction(function, module, kernel),
                         "cuModuleGetFunction");
}

/* ---- device memory ---- */

gpuchar_status gc_buffer_alloc(gpuchar_session *session, size_t bytes, gc_buffer *buffer) {
    const gc_cuda *cuda = session->cuda;
    memset(buffer, 0, sizeof *buffer);
    gpuchar_status status = gc_cuda_check(cuda, cuda->MemAlloc(&buffer->address, bytes), "cuMemAlloc");
    if (status != GPUCHAR_OK) {
        buffer->address = 0;
        return status;
    }
    buffer->bytes = bytes;
    status = gc_cuda_check(cuda, cuda->MemsetD8Async(buffer->address, 0, bytes, session->stream), "cuMemsetD8Async");
    if (status != GPUCHAR_OK) gc_buffer_free(session, buffer);
    return status;
}

void gc_buffer_free(gpuchar_session *session, gc_buffer *buffer) {
    if (buffer->address) gc_session_give_back(session, session->cuda->MemFree(buffer->address), "cuMemFree");
    memset(buffer, 0, sizeof *buffer);
}

static gpuchar_status wait_for_copy(gpuchar_session *session, CUresult copied, const char *call) {
    const gc_cuda *cuda = session->cuda;
    gpuchar_status status = gc_cuda_check(cuda, copied, call);
    if (status != GPUCHAR_OK) return status;
    return gc_cuda_check(cuda, cuda->StreamSynchronize(session->stream), "cuStreamSynchronize");
}

gpuchar_status gc_buffer_write(gpuchar_session *session, const gc_buffer *buffer, const void *from, size_t bytes) {
    return wait_for_copy(session, session->cuda->MemcpyHtoDAsync(buffer->address, from, bytes, session->stream),
                         "cuMemcpyHtoDAsync");
}

gpuchar_status gc_buffer_read(gpuchar_session *session, const gc_buffer *buffer, size_t offset, void *to,
                              size_t bytes) {
    return wait_for_copy(session, session->cuda->MemcpyDtoHAsync(to, buffer->address + offset, bytes, session->stream),
                         "cuMemcpyDtoHAsync");
}
