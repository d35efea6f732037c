/* Opening cubins, and what they hold. */
#include <core/error.h>
#include <core/structs.h>
#include <sass/notes.h>
#include <sass/sass_handle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GC_INFO_API_VERSION 0x37

GC_DEFINE_INIT(gpuchar_sass_info)

static gpuchar_status check_architecture(uint32_t arch) {
    const bool is_known = (arch >= 50 && arch <= 62) || (arch >= 70 && arch <= 129);
    if (is_known) return GPUCHAR_OK;
    return gc_advise(gc_fail(GPUCHAR_E_SASS_UNKNOWN, "the encoding of sm_%u is not known", arch),
                     "sm_50 to sm_62 and sm_70 to sm_121 are");
}

static gpuchar_status open_cubin(const void *bytes, size_t size, gpuchar_sass *made) {
    gpuchar_status status = gc_cubin_open(bytes, size, &made->cubin);
    if (!status) status = check_architecture(made->cubin.arch);
    if (!status) status = gc_functions_read(&made->cubin, &made->functions);
    for (size_t i = 0; !status && i < made->functions.count; i++)
        made->instructions += gc_code_count(&made->functions.list[i].code);
    return status;
}

gpuchar_status gc_sass_open_owned(const void *bytes, size_t size, void (*release)(void *user), void *user,
                                  gpuchar_sass **sass) {
    gpuchar_sass *made = calloc(1, sizeof *made);
    if (!made) {
        if (release) release(user);
        return gc_fail_memory(sizeof *made);
    }
    const gpuchar_status status = open_cubin(bytes, size, made);
    if (status) {
        free(made);
        if (release) release(user);
        return status;
    }
    made->release = release;
    made->user = user;
    *sass = made;
    return GPUCHAR_OK;
}

gpuchar_status gpuchar_sass_open(const void *bytes, size_t size, gpuchar_sass **sass) {
    if (!sass) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the place for the handle is NULL");
    *sass = NULL;
    if (!bytes) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "bytes is NULL");
    return gc_sass_open_owned(bytes, size, NULL, NULL, sass);
}

void gpuchar_sass_close(gpuchar_sass *sass) {
    if (!sass) return;
    gc_functions_free(&sass->functions);
    if (sass->release) sass->release(sass->user);
    free(sass);
}

/* ---- what it tells ---- */

/* The toolkit's version is an attribute of each kernel: 129 for CUDA 12.9. */
static uint32_t toolkit_of(const gc_code *code) {
    gc_attribute attribute;
    for (size_t at = 0; gc_code_attribute(code, &at, &attribute);) {
        uint32_t version;
        if (attribute.number != GC_INFO_API_VERSION || attribute.size < sizeof version) continue;
        memcpy(&version, attribute.payload, sizeof version);
        return version < 100000 ? version / 10 * 1000 + version % 10 * 10 : 0;
    }
    return 0;
}

/* "-arch sm_90a ..." to "sm_90a"; what no option tells is the number in the cubin's head. */
static void write_target(const gpuchar_sass *sass, const char *options, char *target, size_t capacity) {
    const char *found = strstr(options, "sm_");
    const size_t length = found ? strcspn(found, " ,;") : 0;
    if (length && length < capacity) {
        memcpy(target, found, length);
        target[length] = 0;
    } else {
        snprintf(target, capacity, "sm_%u", sass->cubin.arch);
    }
}

static void fill_info(const gpuchar_sass *sass, gpuchar_sass_info *info) {
    const gc_notes notes = gc_notes_read(&sass->cubin);
    info->size_bytes = sass->cubin.size;
    info->instructions = sass->instructions;
    info->architecture = sass->cubin.arch;
    info->abi = sass->cubin.abi;
    info->functions = (uint32_t)sass->functions.count;
    for (size_t i = 0; i < sass->functions.count; i++) {
        const gc_function *function = &sass->functions.list[i];
        info->kernels += function->kernel;
        if (!info->toolkit_version) info->toolkit_version = toolkit_of(&function->code);
    }
    info->instruction_bytes = sass->cubin.arch >= 70 ? 16 : 8;
    write_target(sass, notes.options, info->target, sizeof info->target);
    snprintf(info->assembler, sizeof info->assembler, "%s", notes.version);
    snprintf(info->options, sizeof info->options, "%s", notes.options);
}

gpuchar_status gpuchar_sass_info_get(const gpuchar_sass *sass, gpuchar_sass_info *info) {
    const gpuchar_status status = gc_result_check(info, sizeof *info, "gpuchar_sass_info");
    if (status) return status;
    if (!sass) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the cubin is NULL");
    gpuchar_sass_info filled = GPUCHAR_SASS_INFO_INIT;
    fill_info(sass, &filled);
    gc_result_write(info, &filled, sizeof filled);
    return GPUCHAR_OK;
}

const gc_function *gc_sass_function(const gpuchar_sass *sass, size_t index, gpuchar_status *status) {
    *status = GPUCHAR_OK;
    if (!sass) {
        *status = gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the cubin is NULL");
        return NULL;
    }
    if (index < sass->functions.count) return &sass->functions.list[index];
    *status =
        gc_fail(GPUCHAR_E_LIMIT, "the cubin has %zu functions, so none of number %zu", sass->functions.count, index);
    return NULL;
}

gpuchar_status gpuchar_sass_function_get(const gpuchar_sass *sass, size_t function, gpuchar_sass_function *out) {
    gpuchar_status status = GPUCHAR_OK;
    if (!out) return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the place for the function is NULL");
    *out = (gpuchar_sass_function){0};
    const gc_function *found = gc_sass_function(sass, function, &status);
    if (!found) return status;
    *out = (gpuchar_sass_function){.name = found->code.name,
                                   .section = found->section,
                                   .start_bytes = found->code.offset,
                                   .size_bytes = found->code.size,
                                   .instructions = (uint32_t)gc_code_count(&found->code),
                                   .kernel = found->kernel};
    return GPUCHAR_OK;
}

gpuchar_status gpuchar_sass_function_find(const gpuchar_sass *sass, const char *name, size_t *function) {
    if (!sass || !name || !function)
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "the cubin, the name or the place for the index is NULL");
    for (size_t i = 0; i < sass->functions.count; i++) {
        if (strcmp(sass->functions.list[i].code.name, name) != 0) continue;
        *function = i;
        return GPUCHAR_OK;
    }
    return gc_fail(GPUCHAR_E_SASS_FORMAT, "the cubin has no function %.200s", name);
}
