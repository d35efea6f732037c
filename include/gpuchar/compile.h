/* Run-time compilation by NVRTC to machine code for one architecture, through the runtime's cache. */
#ifndef GPUCHAR_COMPILE_H
#define GPUCHAR_COMPILE_H

#include <gpuchar/runtime.h>

GPUCHAR_BEGIN_DECLS

typedef struct gpuchar_compile_options {
    size_t struct_size;
    const char *source;       /* CUDA C++ text */
    const char *name;         /* shown in the log; NULL: "kernel.cu" */
    const char *architecture; /* "sm_90", "sm_90a", "sm_120f" */
    const char *const
        *flags; /* further NVRTC options; none of them may name an architecture, or ask for no machine code */
    size_t flag_count;
} gpuchar_compile_options;

typedef struct gpuchar_compile_result {
    size_t struct_size;
    void *cubin; /* owned by the result */
    size_t cubin_size_bytes;
    char *log;              /* NVRTC's log, "" when it said nothing; owned by the result */
    uint64_t compile_ns;    /* 0 when it came from the cache */
    uint32_t nvrtc_version; /* 13000 for 13.0 */
    uint32_t from_cache;    /* 0: compiled now, 1: memory, 2: disk */
} gpuchar_compile_result;

GPUCHAR_DEFINE_MAKER(gpuchar_compile_options)
GPUCHAR_DEFINE_MAKER(gpuchar_compile_result)
#define GPUCHAR_COMPILE_OPTIONS_INIT gpuchar_compile_options_make()
#define GPUCHAR_COMPILE_RESULT_INIT gpuchar_compile_result_make()
GPUCHAR_API void gpuchar_compile_options_init(gpuchar_compile_options *options, size_t size);
GPUCHAR_API void gpuchar_compile_result_init(gpuchar_compile_result *result, size_t size);
GPUCHAR_API void gpuchar_compile_result_free(gpuchar_compile_result *result);

/*
 * Compiles one source. Flags that would make something else than machine code for `architecture` are
 * E_INVALID_ARGUMENT: -arch, -dlto, -optix-ir, -fdevice-syntax-only (also by their long names), and -Xptxas with an
 * architecture, an options file, or what makes it print. Errors: E_INVALID_ARGUMENT, E_STRUCT_SIZE, E_NO_NVRTC, E_NVRTC_TOO_OLD, E_ARCH_UNSUPPORTED,
 * E_COMPILE (the log is in gpuchar_last_error()->log), E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_compile(gpuchar_runtime *runtime, const gpuchar_compile_options *options,
                                           gpuchar_compile_result *result);

GPUCHAR_END_DECLS

#endif
