/* One request: its text, its key, its compilation. */
#include "codegen/codegen_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Grows when the same key would no longer mean the same cubin. */
#define KEY_FORMAT "gpuchar cubin 2"

static const char default_name[] = "kernel.cu";
static const char default_standard[] = "--std=c++17";

static const char *request_name(const gc_compile_request *request) {
    return request->name && request->name[0] ? request->name : default_name;
}

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Text. */

static void add_define(gc_text *text, const gc_define *define) {
    if (define->value == INT64_MIN) {
        /* C++ has no literal for it: its magnitude does not fit. */
        gc_text_add(text, "#define %s (-9223372036854775807LL - 1)\n", define->name);
    } else if (define->value < 0) {
        gc_text_add(text, "#define %s (%" PRId64 ")\n", define->name, define->value);
    } else {
        gc_text_add(text, "#define %s %" PRId64 "\n", define->name, define->value);
    }
}

static gpuchar_status build_text(const gc_compile_request *request, gc_compile_job *job) {
    gc_text text = {0};
    for (size_t i = 0; i < request->define_count; i++) {
        add_define(&text, &request->defines[i]);
    }
    if (request->define_count > 0) {
        gc_text_add(&text, "#line 1\n"); /* messages name the lines of the template */
    }
    size_t length = strlen(request->source);
    gc_text_append(&text, request->source, length);
    if (text.failed) {
        gc_text_free(&text);
        return gc_fail_memory(length);
    }
    job->text = text.data;
    job->text_length = text.length;
    return GPUCHAR_OK;
}

/* Whether other files go into the compilation: their changes would not show in the key. */

static const char *skip_blanks(const char *at) {
    for (;;) {
        if (*at == ' ' || *at == '\t') {
            at++;
        } else if (at[0] == '\\' && at[1] == '\n') {
            at += 2;
        } else if (at[0] == '\\' && at[1] == '\r' && at[2] == '\n') {
            at += 3;
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            if (!end) {
                return at;
            }
            at = end + 2;
        } else {
            return at;
        }
    }
}

static bool text_reads_files(const char *text) {
    if (strstr(text, "__has_include")) {
        return true;
    }
    for (const char *at = strpbrk(text, "#%"); at; at = strpbrk(at + 1, "#%")) {
        if (at[0] == '%' && at[1] != ':') {
            continue;
        }
        /* A spliced line may cut the word anywhere: be careful, not clever. */
        const char *word = skip_blanks(at[0] == '%' ? at + 2 : at + 1);
        if (word[0] == 'i' && (word[1] == 'n' || word[1] == '\\')) {
            return true;
        }
    }
    return false;
}

/* Each part with its length: "ab" + "c" is not "a" + "bc". */
static gc_hash hash_part(gc_hash hash, const void *bytes, size_t length) {
    uint64_t prefix = length;
    return gc_hash_add(gc_hash_add(hash, &prefix, sizeof prefix), bytes, length);
}

static gc_hash hash_string(gc_hash hash, const char *text) {
    return hash_part(hash, text, strlen(text));
}

static gc_hash request_key(const gc_nvrtc *nvrtc, const gc_compile_job *job) {
    const gc_compile_request *request = job->request;
    gc_hash hash = hash_string(gc_hash_start(), KEY_FORMAT);
    hash = hash_part(hash, &nvrtc->version, sizeof nvrtc->version);
    hash = hash_part(hash, &nvrtc->build, sizeof nvrtc->build);
    hash = hash_string(hash, request->architecture);
    hash = hash_string(hash, request_name(request)); /* __FILE__, and the log */
    for (size_t i = 0; i < request->flag_count; i++) {
        hash = hash_string(hash, request->flags[i]);
    }
    return hash_part(hash, job->text, job->text_length);
}

static gpuchar_status check_request(const gc_compile_request *request) {
    if (!request->source || !request->architecture) {
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s to compile is NULL",
                       request->source ? "the architecture" : "the source");
    }
    const char *digits = request->architecture + 3;
    if (!starts_with(request->architecture, "sm_") || digits[0] < '1' || digits[0] > '9') {
        gpuchar_status status =
            gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "\"%s\" is no architecture of machine code", request->architecture);
        gc_hint("write it like sm_90 or sm_90a");
        return status;
    }
    if ((request->flag_count && !request->flags) || (request->define_count && !request->defines)) {
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "flags or defines are counted but NULL");
    }
    for (size_t i = 0; i < request->flag_count; i++) {
        if (!request->flags[i]) {
            return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "flag %zu is NULL", i);
        }
    }
    return gc_flags_check(request);
}

gpuchar_status gc_compile_job_prepare(const gc_nvrtc *nvrtc, const gc_compile_request *request, gc_compile_job *job) {
    *job = (gc_compile_job){.request = request};
    gpuchar_status status = check_request(request);
    if (!status) {
        status = build_text(request, job);
    }
    if (status) {
        return status;
    }
    job->key = request_key(nvrtc, job);
    job->cacheable = !text_reads_files(job->text) && !gc_flags_touch_files(request);
    return GPUCHAR_OK;
}

void gc_compile_job_clear(gc_compile_job *job) {
    free(job->text);
    gc_image_release(job->image);
    gc_error_put(job->error, GPUCHAR_OK);
    *job = (gc_compile_job){0};
}

/* Compilation. */

/* NULL when there is none, or no memory for it. */
static char *read_log(const gc_nvrtc *nvrtc, nvrtcProgram program) {
    size_t size = 0;
    if (nvrtc->GetProgramLogSize(program, &size) != NVRTC_SUCCESS || size <= 1) {
        return NULL;
    }
    char *log = calloc(1, size + 1);
    if (log && nvrtc->GetProgramLog(program, log) != NVRTC_SUCCESS) {
        free(log);
        return NULL;
    }
    return log;
}

static gpuchar_status read_cubin(const gc_nvrtc *nvrtc, nvrtcProgram program, void **bytes, size_t *size) {
    nvrtcResult result = nvrtc->GetCUBINSize(program, size);
    if (result != NVRTC_SUCCESS) {
        return gc_nvrtc_fail(nvrtc, result, "nvrtcGetCUBINSize");
    }
    if (*size == 0) {
        gpuchar_status status = gc_fail(GPUCHAR_E_COMPILE, "NVRTC %u.%u (%s) made no machine code",
                                        nvrtc->version / 1000, nvrtc->version % 1000 / 10, nvrtc->library.path);
        gc_hint("one of the flags asks for something else, such as code for a later link: leave it out");
        return status;
    }
    *bytes = malloc(*size);
    if (!*bytes) {
        return gc_fail_memory(*size);
    }
    result = nvrtc->GetCUBIN(program, *bytes);
    return result == NVRTC_SUCCESS ? GPUCHAR_OK : gc_nvrtc_fail(nvrtc, result, "nvrtcGetCUBIN");
}

static bool knows_architecture(const gc_nvrtc *nvrtc, const char *architecture) {
    int count = 0;
    if (nvrtc->GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0) {
        return true; /* not known to be unknown */
    }
    int *archs = calloc((size_t)count, sizeof *archs);
    bool known = !archs || nvrtc->GetSupportedArchs(archs) != NVRTC_SUCCESS;
    long wanted = strtol(architecture + 3, NULL, 10);
    for (int i = 0; !known && i < count; i++) {
        known = archs[i] == wanted;
    }
    free(archs);
    return known;
}

static gpuchar_status compile_failed(const gc_nvrtc *nvrtc, const gc_compile_request *request, nvrtcResult result,
                                     const char *log) {
    unsigned major = nvrtc->version / 1000, minor = nvrtc->version % 1000 / 10;
    gc_native native = {
        .domain = GPUCHAR_DOMAIN_NVRTC,
        .code = (int64_t)result,
        .name = nvrtc->GetErrorString(result),
        .call = "nvrtcCompileProgram",
    };
    gpuchar_status status;
    if (!knows_architecture(nvrtc, request->architecture)) {
        status = gc_fail_native(GPUCHAR_E_ARCH_UNSUPPORTED, native, "NVRTC %u.%u (%s) does not know %s", major, minor,
                                nvrtc->library.path, request->architecture);
    } else if (result == NVRTC_ERROR_COMPILATION) {
        status = gc_fail_native(GPUCHAR_E_COMPILE, native, "%s does not compile for %s with NVRTC %u.%u (%s)",
                                request_name(request), request->architecture, major, minor, nvrtc->library.path);
        gc_hint("the compiler's messages are in the log of this error");
    } else if (result == NVRTC_ERROR_INVALID_OPTION) {
        status = gc_fail_native(GPUCHAR_E_INVALID_ARGUMENT, native,
                                "NVRTC %u.%u (%s) refuses an option of %s or the architecture %s", major, minor,
                                nvrtc->library.path, request_name(request), request->architecture);
        gc_hint("the log of this error names the option");
    } else {
        status = gc_nvrtc_fail(nvrtc, result, "nvrtcCompileProgram");
    }
    gc_attach_log(log);
    return status;
}

/* Architecture, standard, then the request's own flags. */
static gpuchar_status compile_program(const gc_nvrtc *nvrtc, const gc_compile_request *request, nvrtcProgram program,
                                      nvrtcResult *result) {
    gc_text target = {0};
    gc_text_add(&target, "--gpu-architecture=%s", request->architecture);
    size_t count = 0;
    const char **options = calloc(request->flag_count + 2, sizeof *options);
    if (target.failed || !options) {
        gc_text_free(&target);
        free(options);
        return gc_fail_memory((request->flag_count + 2) * sizeof *options);
    }
    options[count++] = target.data;
    if (!gc_flags_name_standard(request)) {
        options[count++] = default_standard;
    }
    for (size_t i = 0; i < request->flag_count; i++) {
        options[count++] = request->flags[i];
    }
    *result = nvrtc->CompileProgram(program, (int)count, options);
    gc_text_free(&target);
    free(options);
    return GPUCHAR_OK;
}

static gpuchar_status run_program(const gc_nvrtc *nvrtc, gc_compile_job *job, nvrtcProgram program) {
    uint64_t begin = gc_now_ns();
    nvrtcResult result = NVRTC_SUCCESS;
    gpuchar_status status = compile_program(nvrtc, job->request, program, &result);
    if (status) {
        return status;
    }
    char *log = read_log(nvrtc, program);
    if (result != NVRTC_SUCCESS) {
        status = compile_failed(nvrtc, job->request, result, log);
        free(log);
        return status;
    }
    void *bytes = NULL;
    size_t size = 0;
    status = read_cubin(nvrtc, program, &bytes, &size);
    if (status) {
        free(bytes);
        gc_attach_log(log);
        free(log);
        return status;
    }
    job->image = gc_image_new(bytes, size, log, job->key, nvrtc->version, gc_now_ns() - begin);
    return job->image ? GPUCHAR_OK : gc_fail_memory(size);
}

gpuchar_status gc_compile_job_run(const gc_nvrtc *nvrtc, gc_compile_job *job) {
    nvrtcProgram program = NULL;
    nvrtcResult result = nvrtc->CreateProgram(&program, job->text, request_name(job->request), 0, NULL, NULL);
    if (result != NVRTC_SUCCESS) {
        return gc_nvrtc_fail(nvrtc, result, "nvrtcCreateProgram");
    }
    gpuchar_status status = run_program(nvrtc, job, program);
    nvrtc->DestroyProgram(&program);
    return status;
}
