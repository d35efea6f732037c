/* The caller's process after our calls: contexts, memory, descriptors, environment, captures and own kernels as before. */
#include "gpu_check.h"

#include <dirent.h>

extern char **environ;

static size_t open_descriptors(void) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) ++count;
    if (folder) closedir(folder);
    return count;
}

static size_t environment_size(void) {
    size_t size = 0;
    for (char **at = environ; *at; ++at) size += strlen(*at) + 1;
    return size;
}

static void measure_once(const char *where, const gpuchar_session_options *session_options, uint32_t counters) {
    gpuchar_session *session = NULL;
    gpuchar_divergence_sweep_options options = small_sweep();
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    options.counters = counters;
    gpuchar_status status = gpuchar_session_open(NULL, "0", session_options, &session);
    CHECK(status == GPUCHAR_OK, "%s: open %d", where, status);
    if (status < 0) return;
    status = gpuchar_divergence_sweep(session, &options, &result);
    CHECK(status >= 0, "%s: sweep %d", where, status);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

static void *current(const host_driver *driver) {
    void *context = NULL;
    CHECK(driver->ctx_get_current(&context) == 0, "cuCtxGetCurrent");
    return context;
}

static void check_contexts(const host_driver *driver) {
    void *own = NULL;
    CHECK(driver->ctx_create(&own, 0, 0) == 0, "cuCtxCreate");
    CHECK(current(driver) == own, "own context");
    measure_once("own context current, primary used", NULL, GPUCHAR_COUNTERS_AUTO);
    CHECK(current(driver) == own, "the current context changed");
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    options.context = own;
    measure_once("own context used", &options, GPUCHAR_COUNTERS_AUTO);
    CHECK(current(driver) == own, "the current context changed");
    CHECK(driver->ctx_set_current(NULL) == 0, "cuCtxSetCurrent");
    measure_once("own context used, none current", &options, GPUCHAR_COUNTERS_OFF);
    CHECK(current(driver) == NULL, "a context was left current");
    CHECK(driver->ctx_destroy(own) == 0, "the caller's context is damaged");
}

/* 100 times open, measure, close: what is free before and after must be the same. */
static void check_memory(const host_driver *driver) {
    size_t before = 0, after = 0, total = 0, descriptors = 0;
    void *own = NULL;
    CHECK(driver->ctx_create(&own, 0, 0) == 0, "cuCtxCreate");
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    options.context = own;
    int rounds = times_count() ? 100 : 5;
    for (int i = 0; i < rounds + 2; ++i) {
        measure_once("memory", &options, GPUCHAR_COUNTERS_OFF);
        if (i != 1) continue; /* the driver keeps what its first uses took */
        CHECK(driver->mem_info(&before, &total) == 0, "cuMemGetInfo");
        descriptors = open_descriptors();
    }
    CHECK(driver->mem_info(&after, &total) == 0, "cuMemGetInfo");
    printf("free memory before %zu after %d rounds %zu (%+lld), descriptors %zu and %zu\n", before, rounds, after,
           (long long)after - (long long)before, descriptors, open_descriptors());
    CHECK(before == after, "memory was not given back");
    CHECK(descriptors == open_descriptors(), "descriptors were left open");
    CHECK(driver->ctx_destroy(own) == 0, "cuCtxDestroy");
}

/* A capture of the host's on a stream of its own goes on while we measure, and its kernels still work afterwards. */
static void check_capture(const host_driver *driver) {
    void *own = NULL, *stream = NULL, *graph = NULL;
    uint64_t memory = 0;
    uint32_t value = 0;
    CHECK(driver->ctx_create(&own, 0, 0) == 0, "cuCtxCreate");
    CHECK(driver->mem_alloc(&memory, 4096) == 0, "cuMemAlloc");
    CHECK(driver->stream_create(&stream, 1) == 0, "cuStreamCreate");
    CHECK(driver->capture_begin(stream, 0) == 0, "cuStreamBeginCapture, global mode");
    CHECK(driver->memset_async(memory, 7, 1024, stream) == 0, "captured memset");
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    options.context = own;
    measure_once("during a capture", &options, GPUCHAR_COUNTERS_OFF);
    int ended = driver->capture_end(stream, &graph);
    CHECK(ended == 0 && graph != NULL, "the host's capture was broken: %d", ended);
    if (graph) driver->graph_destroy(graph);
    CHECK(driver->memset_async(memory, 9, 1024, stream) == 0, "memset after");
    CHECK(driver->ctx_synchronize() == 0, "cuCtxSynchronize");
    CHECK(driver->copy_to_host(&value, memory, sizeof value) == 0 && value == 9, "value %u", value);
    driver->mem_free(memory);
    driver->stream_destroy(stream);
    CHECK(driver->ctx_destroy(own) == 0, "cuCtxDestroy");
}

int main(void) {
    gpuchar_session_close(open_or_skip(NULL));
    host_driver driver = open_host_driver();
    size_t environment = environment_size();
    check_contexts(&driver);
    check_memory(&driver);
    if (times_count()) {
        check_capture(&driver);
    } else {
        printf("captures are not checked: a sanitizer breaks them by itself\n");
    }
    CHECK(environment == environment_size(), "the environment changed");
    return gpu_finish();
}
