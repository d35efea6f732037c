#include <experiments/reconvergence_options.h>

#include <core/error.h>
#include <experiments/options.h>
#include <stdbool.h>

enum {
    LIBRARIES_MAX = 64,
    ARCHITECTURES_MAX = 64,
    SOURCES_MAX = 4096,
    CUBINS_MAX = 65536,
    THREADS_MAX = 64,
    ROUNDS_DEFAULT = 2000,
    PTX_DEFAULT = 75,
    WORK_DEFAULT = 3
};

/* An array and its count. */
static gpuchar_status check_array(const char *name, const void *array, size_t count, size_t most) {
    if (count > most) {
        return gc_advise(gc_fail(GPUCHAR_E_LIMIT, "%zu %s are given, %zu are the most", count, name, most),
                         "study them in several calls");
    }
    if (count > 0 && !array) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s is NULL, but its count is %zu", name, count),
                         "make the options with their INIT and set array and count together");
    }
    return GPUCHAR_OK;
}

static gpuchar_status check_paths(const char *name, const char *const *paths, size_t count) {
    gpuchar_status status = check_array(name, paths, count, LIBRARIES_MAX);
    for (size_t i = 0; i < count && !status; i++) {
        if (!paths[i] || !paths[i][0]) {
            status =
                gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s[%zu] is %s", name, i, paths[i] ? "empty" : "NULL"),
                          "name a file");
        }
    }
    return status;
}

static gpuchar_status check_architectures(const gpuchar_reconvergence_study_options *options) {
    gpuchar_status status =
        check_array("architectures", options->architectures, options->architecture_count, ARCHITECTURES_MAX);
    for (size_t i = 0; i < options->architecture_count && !status; i++) {
        const uint32_t one = options->architectures[i];
        if (one < 10 || one > 999) {
            status = gc_advise(gc_fail(GPUCHAR_E_LIMIT, "architectures[%zu] is %u", i, one), "write 90 for sm_90");
        }
        for (size_t j = 0; j < i && !status; j++) {
            if (options->architectures[j] == one) {
                status = gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "architectures names %u twice", one),
                                   "name each architecture once");
            }
        }
    }
    return status;
}

static gpuchar_status check_source(const gpuchar_reconvergence_source *source, size_t index) {
    if (!source->text) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "sources[%zu].text is NULL", index),
                         "a source is its text, not its file's name");
    }
    if (source->flag_count > SOURCES_MAX) {
        return gc_advise(gc_fail(GPUCHAR_E_LIMIT, "sources[%zu].flag_count is %zu", index, source->flag_count),
                         "flag_count counts the strings in `flags`");
    }
    for (size_t i = 0; i < source->flag_count; i++) {
        if (!source->flags || !source->flags[i]) {
            return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a flag of sources[%zu] is NULL", index),
                             "flag_count counts the strings in `flags`");
        }
    }
    return GPUCHAR_OK;
}

static gpuchar_status check_inputs(const gpuchar_reconvergence_study_options *options) {
    gpuchar_status status = check_array("sources", options->sources, options->source_count, SOURCES_MAX);
    for (size_t i = 0; i < options->source_count && !status; i++) status = check_source(&options->sources[i], i);
    if (!status) status = check_array("cubins", options->cubins, options->cubin_count, CUBINS_MAX);
    for (size_t i = 0; i < options->cubin_count && !status; i++) {
        if (!options->cubins[i].bytes) {
            status = gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "cubins[%zu].bytes is NULL", i),
                               "a cubin is its bytes, not its file's name");
        }
    }
    return status;
}

static gpuchar_status check_numbers(const gpuchar_reconvergence_study_options *options) {
    const uint32_t flags = GPUCHAR_RECONVERGENCE_NO_LINES | GPUCHAR_RECONVERGENCE_NO_COMPILERS;
    gpuchar_status status = gc_option_choice("deep", options->deep, 1);
    if (!status) status = gc_option_choice("keep_kernels", options->keep_kernels, 1);
    if (!status && (options->flags & ~flags) != 0) {
        status =
            gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "flags holds the unknown bits 0x%x", options->flags & ~flags),
                      "GPUCHAR_RECONVERGENCE_NO_LINES and _NO_COMPILERS are known");
    }
    if (!status) status = gc_option_range("threads", options->threads, 0, THREADS_MAX);
    if (!status) status = gc_option_range("rounds", options->rounds, 100, 1000000);
    if (!status) status = gc_option_range("work", options->work, 1, 32);
    if (!status) status = gc_option_range("ptx_architecture", options->ptx_architecture, 10, 999);
    const uint32_t compilers = options->compiler_count ? (uint32_t)options->compiler_count : 1;
    if (!status && options->ptx_compiler >= compilers) {
        status =
            gc_advise(gc_fail(GPUCHAR_E_LIMIT, "ptx_compiler is %u of %u compilers", options->ptx_compiler, compilers),
                      "it is an index into `compilers`");
    }
    if (!status && options->reserved != 0) {
        status = gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "reserved of the options is not 0"),
                           "make the options with their INIT and leave `reserved` alone");
    }
    return status;
}

static void set_default(uint32_t *option, uint32_t value) {
    if (*option == 0) *option = value;
}

gpuchar_status gc_study_options(const gpuchar_reconvergence_study_options *asked,
                                gpuchar_reconvergence_study_options *options) {
    *options = *asked;
    set_default(&options->rounds, ROUNDS_DEFAULT);
    set_default(&options->ptx_architecture, PTX_DEFAULT);
    set_default(&options->seed, 1);
    set_default(&options->work, WORK_DEFAULT);
    gpuchar_status status = check_paths("compilers", options->compilers, options->compiler_count);
    if (!status) status = check_paths("assemblers", options->assemblers, options->assembler_count);
    if (!status) status = check_architectures(options);
    if (!status) status = check_inputs(options);
    return status ? status : check_numbers(options);
}
