#include <codegen/ptx.h>

#include "codegen/codegen_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct ptx_functions {
    nvrtcResult (*size)(nvrtcProgram program, size_t *size);
    nvrtcResult (*text)(nvrtcProgram program, char *text);
} ptx_functions;

/* Not in the table of functions that every NVRTC must have: only studies of assemblers need them. */
static gpuchar_status find_functions(const gc_nvrtc *nvrtc, ptx_functions *functions) {
    static const gc_symbol symbols[] = {
        {"nvrtcGetPTXSize", NULL, offsetof(ptx_functions, size), false},
        {"nvrtcGetPTX", NULL, offsetof(ptx_functions, text), false},
    };
    return gc_library_fill(&nvrtc->library, symbols, GC_COUNT(symbols), functions);
}

static char *read_log(const gc_nvrtc *nvrtc, nvrtcProgram program) {
    size_t size = 0;
    if (nvrtc->GetProgramLogSize(program, &size) != NVRTC_SUCCESS || size <= 1) return NULL;
    char *log = calloc(1, size + 1);
    if (log && nvrtc->GetProgramLog(program, log) != NVRTC_SUCCESS) log[0] = 0;
    return log;
}

static gpuchar_status compile(const gc_nvrtc *nvrtc, const gc_compile_request *request, nvrtcProgram program) {
    gc_text target = {0};
    gc_text_add(&target, "--gpu-architecture=compute_%s", request->architecture + 3);
    const char **options = calloc(request->flag_count + 2, sizeof *options);
    if (target.failed || !options) {
        gc_text_free(&target);
        free(options);
        return gc_fail_memory((request->flag_count + 2) * sizeof *options);
    }
    size_t count = 0;
    options[count++] = target.data;
    if (!gc_flags_name_standard(request)) options[count++] = "--std=c++17";
    for (size_t i = 0; i < request->flag_count; i++) options[count++] = request->flags[i];
    const nvrtcResult result = nvrtc->CompileProgram(program, (int)count, options);
    gc_text_free(&target);
    free(options);
    if (result == NVRTC_SUCCESS) return GPUCHAR_OK;
    char *log = read_log(nvrtc, program);
    const gpuchar_status status = gc_nvrtc_fail(nvrtc, result, "nvrtcCompileProgram");
    gc_attach_log(log);
    free(log);
    return status;
}

static gpuchar_status read_text(const gc_nvrtc *nvrtc, const ptx_functions *functions, nvrtcProgram program,
                                char **text, size_t *length) {
    size_t size = 0;
    nvrtcResult result = functions->size(program, &size);
    if (result != NVRTC_SUCCESS) return gc_nvrtc_fail(nvrtc, result, "nvrtcGetPTXSize");
    char *made = calloc(1, size + 1);
    if (!made) return gc_fail_memory(size + 1);
    result = functions->text(program, made);
    if (result != NVRTC_SUCCESS) {
        free(made);
        return gc_nvrtc_fail(nvrtc, result, "nvrtcGetPTX");
    }
    *text = made;
    *length = strlen(made);
    return GPUCHAR_OK;
}

gpuchar_status gc_ptx_make(const gc_nvrtc *nvrtc, const gc_compile_request *request, char **text, size_t *length) {
    ptx_functions functions;
    gc_compile_job job;
    gpuchar_status status = find_functions(nvrtc, &functions);
    if (status) return status;
    status = gc_compile_job_prepare(nvrtc, request, &job);
    nvrtcProgram program = NULL;
    if (!status) {
        const char *name = request->name && request->name[0] ? request->name : "kernel.cu";
        const nvrtcResult result = nvrtc->CreateProgram(&program, job.text, name, 0, NULL, NULL);
        if (result != NVRTC_SUCCESS) status = gc_nvrtc_fail(nvrtc, result, "nvrtcCreateProgram");
    }
    if (!status) status = compile(nvrtc, request, program);
    if (!status) status = read_text(nvrtc, &functions, program, text, length);
    if (program) nvrtc->DestroyProgram(&program);
    gc_compile_job_clear(&job);
    return status;
}
