/* Shared by the GPU tests: checks that print what they saw, a session or a skip, and the driver as a host program has it. */
#ifndef GPU_CHECK_H
#define GPU_CHECK_H

#include <dlfcn.h>
#include <gpuchar/gpuchar.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPU_SKIPPED 77

static int gpu_failures;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            ++gpu_failures;                                                                                            \
            printf("FAILED %s:%d: %s: ", __FILE__, __LINE__, #condition);                                              \
            printf(__VA_ARGS__);                                                                                       \
            printf(" [%s]\n", gpuchar_last_error()->message);                                                          \
        }                                                                                                              \
    } while (0)

/* Under a sanitizer kernels run ten and more times slower and unevenly: times are then printed, not judged. */
static inline bool times_count(void) {
    return getenv("GPUCHAR_TEST_SANITIZER") == NULL;
}

/* Nor do blocks beyond what an SM holds come to all SMs alike then. */
static inline void keep_to_resident(gpuchar_divergence_occupancy_options *options) {
    static const uint32_t warps[] = {1, 2, 4, 8, 16, 32};
    if (times_count()) return;
    options->warps_count = sizeof warps / sizeof warps[0];
    memcpy(options->warps, warps, sizeof warps);
}

/* Sanitizers and counters exclude each other. */
static inline bool counters_count(void) {
    return getenv("GPUCHAR_TEST_SANITIZER") == NULL;
}

static inline gpuchar_session *open_or_skip(const gpuchar_session_options *options) {
    gpuchar_session *session = NULL;
    gpuchar_status status = gpuchar_session_open(NULL, "0", options, &session);
    if (status == GPUCHAR_E_NO_DRIVER || status == GPUCHAR_E_NO_DEVICE) {
        printf("skipped: %s\n", gpuchar_last_error()->message);
        exit(GPU_SKIPPED);
    }
    CHECK(status == GPUCHAR_OK, "session_open returned %d", status);
    if (status < 0) exit(1);
    return session;
}

static inline int gpu_finish(void) {
    printf(gpu_failures ? "%d check(s) failed\n" : "all checks hold\n", gpu_failures);
    return gpu_failures ? 1 : 0;
}

/* A small, quick sweep. */
static inline gpuchar_divergence_sweep_options small_sweep(void) {
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    options.ways[0] = 1;
    options.ways[1] = 2;
    options.ways_count = 2;
    options.launches = 5;
    options.iterations = 4;
    options.counters = GPUCHAR_COUNTERS_OFF;
    return options;
}

/* The host program's own view of the driver. */
typedef struct host_driver {
    int (*ctx_create)(void **context, unsigned flags, int device);
    int (*ctx_destroy)(void *context);
    int (*ctx_get_current)(void **context);
    int (*ctx_set_current)(void *context);
    int (*ctx_push)(void *context);
    int (*ctx_pop)(void **context);
    int (*ctx_synchronize)(void);
    int (*mem_info)(size_t *available, size_t *total);
    int (*mem_alloc)(uint64_t *address, size_t bytes);
    int (*mem_free)(uint64_t address);
    int (*copy_to_host)(void *to, uint64_t from, size_t bytes);
    int (*memset_async)(uint64_t to, unsigned value, size_t count, void *stream);
    int (*module_load)(void **module, const void *image);
    int (*module_function)(void **function, void *module, const char *name);
    int (*module_unload)(void *module);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, void *stream, void **parameters, void **extra);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **graph);
    int (*graph_destroy)(void *graph);
} host_driver;

static inline host_driver open_host_driver(void) {
    host_driver driver;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    const struct {
        const char *name;
        void *to;
    } wanted[] = {{"cuCtxCreate_v2", &driver.ctx_create},
                  {"cuCtxDestroy_v2", &driver.ctx_destroy},
                  {"cuCtxGetCurrent", &driver.ctx_get_current},
                  {"cuCtxSetCurrent", &driver.ctx_set_current},
                  {"cuCtxPushCurrent_v2", &driver.ctx_push},
                  {"cuCtxPopCurrent_v2", &driver.ctx_pop},
                  {"cuCtxSynchronize", &driver.ctx_synchronize},
                  {"cuMemGetInfo_v2", &driver.mem_info},
                  {"cuMemAlloc_v2", &driver.mem_alloc},
                  {"cuMemFree_v2", &driver.mem_free},
                  {"cuMemcpyDtoH_v2", &driver.copy_to_host},
                  {"cuMemsetD32Async", &driver.memset_async},
                  {"cuModuleLoadData", &driver.module_load},
                  {"cuModuleGetFunction", &driver.module_function},
                  {"cuModuleUnload", &driver.module_unload},
                  {"cuLaunchKernel", &driver.launch},
                  {"cuStreamCreate", &driver.stream_create},
                  {"cuStreamDestroy_v2", &driver.stream_destroy},
                  {"cuStreamBeginCapture_v2", &driver.capture_begin},
                  {"cuStreamEndCapture", &driver.capture_end},
                  {"cuGraphDestroy", &driver.graph_destroy}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
        void *symbol = library ? dlsym(library, wanted[i].name) : NULL;
        CHECK(symbol != NULL, "no %s", wanted[i].name);
        memcpy(wanted[i].to, &symbol, sizeof symbol);
    }
    if (gpu_failures) exit(1);
    return driver;
}

#endif
