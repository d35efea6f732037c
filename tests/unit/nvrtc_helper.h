/* Compiles kernel texts with the real NVRTC, for tests that need its machine code; they skip where there is none. */
#ifndef GPUCHAR_TESTS_NVRTC_HELPER_H
#define GPUCHAR_TESTS_NVRTC_HELPER_H

#include <dlfcn.h>
#include <platform/nvrtc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_helper {
    void *library;
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*destroy)(void **);
    int (*cubin_size)(void *, size_t *);
    int (*cubin)(void *, char *);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
    int archs[64];
    int arch_count;
} nvrtc_helper;

/* A cubin in a block of exactly its size, so that a sanitizer sees each byte read beyond it. */
typedef struct test_cubin {
    uint8_t *bytes;
    size_t size;
} test_cubin;

/* As the library itself finds it, with its builtins. */
static void *nvrtc_open_library(void) {
    static gc_nvrtc found;
    if (!found.library.handle && gc_nvrtc_load(NULL, 0, &found) != GPUCHAR_OK) return NULL;
    return found.library.handle;
}

/* 0: NVRTC is there. The library stays open until the process ends. */
static int nvrtc_helper_open(nvrtc_helper *helper) {
    memset(helper, 0, sizeof *helper);
    int (*count)(int *) = NULL;
    int (*list)(int *) = NULL;
    helper->library = nvrtc_open_library();
    if (!helper->library) return 1;
        /* ISO C has no cast from void * to a function; POSIX's dlsym is used through the pointer's bytes. */
#define NVRTC_TAKE(field, name) *(void **)&(field) = dlsym(helper->library, name)
    NVRTC_TAKE(helper->create, "nvrtcCreateProgram");
    NVRTC_TAKE(helper->compile, "nvrtcCompileProgram");
    NVRTC_TAKE(helper->destroy, "nvrtcDestroyProgram");
    NVRTC_TAKE(helper->cubin_size, "nvrtcGetCUBINSize");
    NVRTC_TAKE(helper->cubin, "nvrtcGetCUBIN");
    NVRTC_TAKE(helper->log_size, "nvrtcGetProgramLogSize");
    NVRTC_TAKE(helper->log, "nvrtcGetProgramLog");
    NVRTC_TAKE(count, "nvrtcGetNumSupportedArchs");
    NVRTC_TAKE(list, "nvrtcGetSupportedArchs");
#undef NVRTC_TAKE
    if (!helper->create || !helper->compile || !helper->destroy || !helper->cubin_size || !helper->cubin ||
        !helper->log_size || !helper->log || !count || !list)
        return 1;
    return count(&helper->arch_count) || helper->arch_count > 64 || list(helper->archs);
}

static void nvrtc_print_log(const nvrtc_helper *helper, void *program) {
    size_t size = 0;
    helper->log_size(program, &size);
    char *log = calloc(size + 1, 1);
    if (log && !helper->log(program, log)) fprintf(stderr, "%s\n", log);
    free(log);
}

/* bytes is NULL when it does not compile; the log is on stderr then. */
static test_cubin nvrtc_compile(const nvrtc_helper *helper, const char *source, int arch) {
    test_cubin made = {NULL, 0};
    void *program = NULL;
    char target[48];
    snprintf(target, sizeof target, "--gpu-architecture=sm_%d", arch);
    const char *const options[] = {target, "--std=c++17"};
    if (helper->create(&program, source, "kernel.cu", 0, NULL, NULL)) return made;
    if (helper->compile(program, 2, options))
        nvrtc_print_log(helper, program);
    else if (!helper->cubin_size(program, &made.size) && (made.bytes = malloc(made.size)) != NULL)
        helper->cubin(program, (char *)made.bytes);
    helper->destroy(&program);
    return made;
}

/* The text of a file of src/kernels; the caller frees it. */
static char *read_kernel_text(const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/src/kernels/%s", GPUCHAR_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = calloc(1, 1 << 20);
    if (text && fread(text, 1, (1 << 20) - 1, file) == 0) text[0] = 0;
    fclose(file);
    return text;
}

#endif
