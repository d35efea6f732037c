/* gpuchar_compile: one source to machine code, through the runtime's cache. */
#include <core/structs.h>
#include <gpuchar/compile.h>
#include <session/runtime_internal.h>
#include <stdlib.h>
#include <string.h>

/* "sm_90", "sm_90a", "sm_120f" to 90, 90, 120. */
static bool read_architecture(const char *text, uint32_t *architecture) {
    if (strncmp(text, "sm_", 3) != 0) {
        return false;
    }
    const char *digits = text + 3;
    size_t length = strspn(digits, "0123456789");
    if (length < 2 || length > 3) {
        return false;
    }
    const char *suffix = digits + length;
    if (suffix[0] && (suffix[1] || !strchr("af", suffix[0]))) {
        return false;
    }
    *architecture = (uint32_t)strtoul(digits, NULL, 10);
    return true;
}

static gpuchar_status check_options(const gpuchar_compile_options *options, uint32_t *architecture) {
    if (!options->source || !options->architecture) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s of gpuchar_compile_options is NULL",
                                 options->source ? "architecture" : "source"),
                         "make the struct with its INIT, then set source and architecture");
    }
    if (!read_architecture(options->architecture, architecture)) {
        gpuchar_status status =
            gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "\"%.32s\" is not an architecture", options->architecture);
        gc_hint("write \"sm_90\", \"sm_90a\" or \"sm_120f\"");
        return status;
    }
    if (options->flag_count > 0 && !options->flags) {
        return gc_advise(
            gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "flags is NULL but flag_count is %zu", options->flag_count),
            "set `flags` to an array of flag_count strings, or flag_count to 0");
    }
    if (options->flag_count > 4096) {
        return gc_advise(gc_fail(GPUCHAR_E_LIMIT, "flag_count is %zu, 4096 is the most", options->flag_count),
                         "flag_count counts the strings in `flags`");
    }
    for (size_t i = 0; i < options->flag_count; i++) {
        if (!options->flags[i]) {
            return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "flag %zu is NULL", i),
                             "flag_count counts the strings in `flags`");
        }
    }
    return GPUCHAR_OK;
}

static gpuchar_status fill(const gc_image *image, gpuchar_compile_result *result) {
    const char *log = image->log ? image->log : "";
    result->cubin = malloc(image->size ? image->size : 1);
    result->log = strdup(log);
    if (!result->cubin || !result->log) {
        gpuchar_compile_result_free(result);
        return gc_fail_memory(image->size + strlen(log) + 1);
    }
    memcpy(result->cubin, image->bytes, image->size);
    result->cubin_size_bytes = image->size;
    result->compile_ns = image->compile_ns;
    result->nvrtc_version = image->nvrtc_version;
    result->from_cache = image->from_cache;
    return GPUCHAR_OK;
}

static gpuchar_status compile(gpuchar_runtime *runtime, const gpuchar_compile_options *options,
                              gpuchar_compile_result *result) {
    uint32_t architecture = 0;
    const gc_nvrtc *nvrtc = NULL;
    gpuchar_runtime *r = NULL;
    gpuchar_status status = check_options(options, &architecture);
    if (!status) {
        status = gc_runtime_resolve(runtime, &r);
    }
    if (!status) {
        status = gc_runtime_nvrtc(r, &nvrtc);
    }
    if (!status) {
        status = gc_compile_check_arch(nvrtc, architecture);
    }
    if (status) {
        return status;
    }
    const gc_compile_request request = {
        .name = options->name ? options->name : "kernel.cu",
        .source = options->source,
        .architecture = options->architecture,
        .flags = options->flags,
        .flag_count = options->flag_count,
    };
    gc_image *image = NULL;
    status = gc_compile_many(nvrtc, gc_runtime_cache(r), &request, 1, NULL, NULL, &image);
    if (!status) {
        status = fill(image, result);
    }
    gc_image_release(image);
    return status;
}

gpuchar_status gpuchar_compile(gpuchar_runtime *runtime, const gpuchar_compile_options *options,
                               gpuchar_compile_result *result) {
    gpuchar_status status =
        gc_result_check(result, GC_SIZE_UP_TO(gpuchar_compile_result, from_cache), "gpuchar_compile_result");
    gpuchar_compile_options known;
    if (!status) {
        status = gc_options_read(options, &known, sizeof known, GC_SIZE_UP_TO(gpuchar_compile_options, flag_count),
                                 "gpuchar_compile_options");
    }
    gpuchar_compile_result filled = GPUCHAR_COMPILE_RESULT_INIT;
    if (!status) {
        status = compile(runtime, &known, &filled);
    }
    if (!status) {
        gc_result_write(result, &filled, sizeof filled);
    }
    return status;
}

void gpuchar_compile_result_free(gpuchar_compile_result *result) {
    if (!result) {
        return;
    }
    free(result->cubin);
    free(result->log);
    result->cubin = NULL;
    result->log = NULL;
    result->cubin_size_bytes = 0;
}

GC_DEFINE_INIT(gpuchar_compile_options)
GC_DEFINE_INIT(gpuchar_compile_result)
