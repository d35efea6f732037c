/* The caller's process after our calls: contexts, memory, descriptors, environment, captures and own kernels as before. */
#include "gpu_check.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static size_t open_descriptors(void) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) ++count;
    if (folder) closedir(folder);
    return count;
}

/* All names and values, one after the other. */
static char *environment_text(void) {
    size_t size = 1;
    for (char **at = environ; *at; ++at) size += strlen(*at) + 1;
    char *text = calloc(1, size), *end = text;
    for (char **at = environ; text && *at; ++at) end = stpcpy(stpcpy(end, *at), "\n");
    return text;
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

/* Two entries on the thread's stack of contexts: both are still there, in their order, and no third. */
static void check_stack(const host_driver *driver, void *below) {
    void *above = NULL, *popped = NULL;
    CHECK(driver->ctx_create(&above, 0, 0) == 0, "cuCtxCreate"); /* pushes it */
    measure_once("two contexts on the stack", NULL, GPUCHAR_COUNTERS_OFF);
    CHECK(driver->ctx_pop(&popped) == 0 && popped == above, "the top of the stack changed");
    CHECK(current(driver) == below, "what lay below it changed");
    CHECK(driver->ctx_push(above) == 0, "cuCtxPushCurrent");
    CHECK(driver->ctx_destroy(above) == 0, "cuCtxDestroy"); /* pops it */
    CHECK(current(driver) == below, "the stack is not as before");
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
    check_stack(driver, own);
    CHECK(driver->ctx_set_current(NULL) == 0, "cuCtxSetCurrent");
    measure_once("own context used, none current", &options, GPUCHAR_COUNTERS_OFF);
    CHECK(current(driver) == NULL, "a context was left current");
    CHECK(driver->ctx_destroy(own) == 0, "the caller's context is damaged");
}

/* Many times open, measure, close: what is free before and after must be the same. */
static void check_rounds(const host_driver *driver, const char *where, const gpuchar_session_options *options,
                         int rounds) {
    size_t before = 0, after = 0, total = 0, descriptors = 0;
    for (int i = 0; i < rounds + 2; ++i) {
        measure_once(where, options, GPUCHAR_COUNTERS_OFF);
        if (i != 1) continue; /* the driver keeps what its first uses took */
        CHECK(driver->mem_info(&before, &total) == 0, "cuMemGetInfo");
        descriptors = open_descriptors();
    }
    CHECK(driver->mem_info(&after, &total) == 0, "cuMemGetInfo");
    printf("%s: free memory before %zu, after %d rounds %zu (%+lld), descriptors %zu and %zu\n", where, before, rounds,
           after, (long long)after - (long long)before, descriptors, open_descriptors());
    CHECK(before == after, "memory was not given back");
    /* A sanitizer opens some of its own. */
    if (times_count()) CHECK(descriptors == open_descriptors(), "descriptors were left open");
}

static void check_memory(const host_driver *driver) {
    void *own = NULL;
    CHECK(driver->ctx_create(&own, 0, 0) == 0, "cuCtxCreate");
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    options.context = own;
    const char *rounds = getenv("GPUCHAR_TEST_ROUNDS");
    check_rounds(driver, "own context", &options, rounds ? atoi(rounds) : times_count() ? 100 : 5);
    /* Each round makes and destroys the primary context: slower. The own one only serves to ask what is free. */
    check_rounds(driver, "primary context", NULL, times_count() ? 20 : 2);
    CHECK(driver->ctx_destroy(own) == 0, "cuCtxDestroy");
}

/* Nothing on the host's standard output and error. */
static void check_silence(void) {
    char name[] = "/tmp/gpuchar_guest_XXXXXX";
    fflush(stdout);
    int file = mkstemp(name), out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    CHECK(file >= 0 && out >= 0 && err >= 0, "a temporary file");
    if (file < 0 || out < 0 || err < 0) return;
    unlink(name);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    int failures = gpu_failures;
    measure_once("silence", NULL, GPUCHAR_COUNTERS_AUTO);
    bool failed = gpu_failures != failures;
    off_t written = lseek(file, 0, SEEK_END);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(file);
    close(out);
    close(err);
    CHECK(!failed, "the call failed while its output was watched");
    CHECK(written == 0, "%lld bytes were printed", (long long)written);
}

/* A forked child cannot use the session: a clear error, a safe close; the parent's goes on. */
static void check_fork(void) {
    gpuchar_session *session = open_or_skip(NULL);
    gpuchar_divergence_sweep_options options = small_sweep();
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    int ended = 0;
    pid_t child = fork();
    if (child == 0) {
        gpuchar_status status = gpuchar_divergence_sweep(session, &options, &result);
        gpuchar_session_close(session);
        _exit(status == GPUCHAR_E_FORKED ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &ended, 0) == child, "fork");
    CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "the child ended with %#x", (unsigned)ended);
    CHECK(gpuchar_divergence_sweep(session, &options, &result) >= 0, "the parent's session after a fork");
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
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
    char *before = environment_text();
    check_contexts(&driver);
    check_memory(&driver);
    if (times_count()) {
        check_capture(&driver);
        check_silence();
        check_fork();
    } else {
        printf("captures, silence and forks are not checked: a sanitizer breaks them by itself\n");
    }
    char *after = environment_text();
    CHECK(before && after && strcmp(before, after) == 0, "the environment changed");
    free(before);
    free(after);
    return gpu_finish();
}
