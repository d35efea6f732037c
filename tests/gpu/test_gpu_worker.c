/*
 * gpuchar-worker on a real GPU: a kernel that does not end, and one that writes where nothing is, cost their own process
 * only. Reaches inside the library, since no public function runs a job of the caller's.
 */
#include "gpu_check.h"

#include <core/util.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <worker/worker.h>

enum { THREADS = 256, VALUE = 1000, SHARED_BYTES = 64 * 1024 };

/* The endless kernel ends after some 20 s, should nobody stop it. */
static const char source[] =
    "struct Arguments { unsigned *out; unsigned *where; unsigned value, unused; };\n"
    "extern \"C\" __global__ void add(Arguments a) { a.out[threadIdx.x] += threadIdx.x + a.value; }\n"
    "extern \"C\" __global__ void endless(Arguments a) {\n"
    "  long long begin = clock64();\n"
    "  while (clock64() - begin < 40000000000ll) { }\n"
    "  a.out[threadIdx.x] = 1;\n"
    "}\n"
    "extern \"C\" __global__ void astray(Arguments a) { *(volatile unsigned *)a.where = a.value; }\n";

typedef struct arguments {
    uint64_t out, where;
    uint32_t value, unused;
} arguments;

/* As packed and as built, it lies beside the library, one folder up. */
static gpuchar_runtime *open_runtime(void) {
    static char path[PATH_MAX];
    gpuchar_runtime *runtime = NULL;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash) strcpy(slash, "/../gpuchar-worker");
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    options.worker_path = path;
    CHECK(gpuchar_runtime_open(&options, &runtime) == GPUCHAR_OK, "runtime");
    return runtime;
}

static gpuchar_session *open_session(gpuchar_runtime *runtime) {
    gpuchar_session *session = NULL;
    gpuchar_status status = gpuchar_session_open(runtime, "0", NULL, &session);
    if (status == GPUCHAR_E_NO_DRIVER || status == GPUCHAR_E_NO_DEVICE) {
        printf("skipped: %s\n", gpuchar_last_error()->message);
        exit(GPU_SKIPPED);
    }
    CHECK(status == GPUCHAR_OK, "session_open returned %d", status);
    if (status < 0) exit(1);
    return session;
}

static gpuchar_compile_result compile(gpuchar_runtime *runtime, const gpuchar_session *session) {
    char architecture[16];
    gpuchar_compile_options options = GPUCHAR_COMPILE_OPTIONS_INIT;
    gpuchar_compile_result result = GPUCHAR_COMPILE_RESULT_INIT;
    snprintf(architecture, sizeof architecture, "sm_%u", session->architecture);
    options.source = source;
    options.architecture = architecture;
    CHECK(gpuchar_compile(runtime, &options, &result) == GPUCHAR_OK, "compile");
    if (gpu_failures) exit(1);
    return result;
}

static size_t open_descriptors(void) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) ++count;
    if (folder) closedir(folder);
    return count;
}

static bool no_child(void) {
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

static size_t free_memory(gpuchar_session *session) {
    gc_scope scope;
    size_t available = 0, total = 0;
    CHECK(gc_session_enter(session, &scope) == GPUCHAR_OK, "enter");
    CHECK(session->cuda->MemGetInfo(&available, &total) == CUDA_SUCCESS, "cuMemGetInfo");
    gc_session_leave(&scope);
    return available;
}

/* The caller's own context is as alive as before. */
static void still_works(gpuchar_session *session, const char *after) {
    gpuchar_divergence_sweep_options options = small_sweep();
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    CHECK(gpuchar_divergence_sweep(session, &options, &result) >= 0, "after %s the session is unusable", after);
    gpuchar_divergence_sweep_result_free(&result);
}

/* Runs one kernel inside a call on the session; `out` has THREADS words, 0, 2, 4, ... before. */
static gpuchar_status run(gpuchar_session *session, gc_worker *worker, const gpuchar_compile_result *compiled,
                          const char *kernel, uint64_t limit_ms, uint32_t *out, gc_worker_outcome *outcome) {
    uint32_t before[THREADS];
    for (uint32_t i = 0; i < THREADS; ++i) before[i] = 2 * i;
    const arguments values = {.value = VALUE};
    const gc_worker_buffer buffer = {.bytes = sizeof before,
                                     .initial = before,
                                     .initial_bytes = sizeof before,
                                     .read = out,
                                     .read_bytes = sizeof before,
                                     .argument_offset = 0};
    const gc_worker_job job = {.image = compiled->cubin,
                               .image_bytes = compiled->cubin_size_bytes,
                               .kernel = kernel,
                               .arguments = &values,
                               .argument_bytes = sizeof values,
                               .grid = {1, 1, 1},
                               .block = {THREADS, 1, 1},
                               .shared_bytes = SHARED_BYTES,
                               .buffers = &buffer,
                               .buffer_count = 1,
                               .limit_ns = limit_ms * 1000000};
    gc_scope scope;
    gpuchar_status status = gc_session_enter(session, &scope);
    uint64_t begin = gc_now_ns();
    if (!status) status = gc_worker_run(worker, &job, outcome);
    printf("%s: status %d, end %d, %.1f ms, of the kernel %.3f ms\n", kernel, status, outcome->end,
           (double)(gc_now_ns() - begin) * 1e-6, (double)outcome->elapsed_ns * 1e-6);
    gc_session_leave(&scope);
    return status;
}

static void check_add(gpuchar_session *session, gc_worker *worker, const gpuchar_compile_result *compiled) {
    uint32_t out[THREADS] = {0};
    gc_worker_outcome outcome;
    CHECK(run(session, worker, compiled, "add", 30000, out, &outcome) == GPUCHAR_OK, "run");
    CHECK(outcome.end == GC_WORKER_ENDED, "end %d: %s", outcome.end, outcome.failure.message);
    for (uint32_t i = 0; i < THREADS; ++i) CHECK(out[i] == 3 * i + VALUE, "out[%u] is %u", i, out[i]);
    CHECK(outcome.elapsed_ns > 0 && outcome.elapsed_ns < 1000000000, "%llu ns", (unsigned long long)outcome.elapsed_ns);
}

static void check_endless(gpuchar_session *session, gc_worker *worker, const gpuchar_compile_result *compiled) {
    uint32_t out[THREADS];
    gc_worker_outcome outcome;
    uint64_t begin = gc_now_ns();
    CHECK(run(session, worker, compiled, "endless", 300, out, &outcome) == GPUCHAR_OK, "run");
    double took_ms = (double)(gc_now_ns() - begin) * 1e-6;
    CHECK(outcome.end == GC_WORKER_TIMED_OUT, "end %d: %s", outcome.end, outcome.failure.message);
    CHECK(took_ms >= 300 && took_ms < 8000, "%.1f ms", took_ms);
    CHECK(no_child(), "the worker is still there");
    still_works(session, "a kernel without end");
}

static void check_astray(gpuchar_session *session, gc_worker *worker, const gpuchar_compile_result *compiled) {
    uint32_t out[THREADS];
    gc_worker_outcome outcome;
    if (!times_count()) {
        printf("astray: left out, the sanitizer would report what is done on purpose\n");
        return;
    }
    CHECK(run(session, worker, compiled, "astray", 30000, out, &outcome) == GPUCHAR_OK, "run");
    CHECK(outcome.end == GC_WORKER_FAILED, "end %d", outcome.end);
    printf("    %s: %s\n", outcome.failure.native_name, outcome.failure.message);
    CHECK(outcome.failure.native_code == CUDA_ERROR_ILLEGAL_ADDRESS, "code %lld",
          (long long)outcome.failure.native_code);
    CHECK(gc_worker_fail(&outcome) == GPUCHAR_E_CUDA, "its status");
    still_works(session, "a kernel gone astray");
}

static void *cancel_soon(void *session) {
    struct timespec nap = {.tv_nsec = 300000000};
    nanosleep(&nap, NULL);
    gpuchar_session_cancel(session);
    return NULL;
}

static void check_cancel(gpuchar_session *session, gc_worker *worker, const gpuchar_compile_result *compiled) {
    uint32_t out[THREADS];
    gc_worker_outcome outcome;
    pthread_t canceller;
    uint64_t begin = gc_now_ns();
    CHECK(pthread_create(&canceller, NULL, cancel_soon, session) == 0, "thread");
    CHECK(run(session, worker, compiled, "endless", 60000, out, &outcome) == GPUCHAR_E_CANCELLED, "run");
    double took_ms = (double)(gc_now_ns() - begin) * 1e-6;
    pthread_join(canceller, NULL);
    CHECK(took_ms < 600, "cancelled after %.1f ms, not 300", took_ms);
}

/* Begun and given up at some moment of its start: killed in the middle of the driver, or just ready. */
static void check_never_used(gpuchar_session *session) {
    for (long nap_ms = 0; nap_ms <= 320; nap_ms += 40) {
        const struct timespec nap = {.tv_nsec = nap_ms * 1000000};
        gc_worker *worker = NULL;
        CHECK(gc_worker_begin(session, &worker) == GPUCHAR_OK, "begin");
        nanosleep(&nap, NULL);
        const uint64_t begin = gc_now_ns();
        gc_worker_stop(worker);
        const double took_ms = (double)(gc_now_ns() - begin) * 1e-6;
        printf("given up after %ld ms: stopped in %.1f ms\n", nap_ms, took_ms);
        CHECK(took_ms < 5000, "stopped only after %.1f ms", took_ms);
        CHECK(no_child(), "the worker is still there");
    }
}

int main(void) {
    gpuchar_runtime *runtime = open_runtime();
    gpuchar_session *session = open_session(runtime);
    gpuchar_compile_result compiled = compile(runtime, session);
    still_works(session, "opening");
    size_t descriptors = open_descriptors(), before = free_memory(session);
    gc_worker *worker = NULL;
    gc_scope scope;
    CHECK(gc_session_enter(session, &scope) == GPUCHAR_OK, "enter");
    check_never_used(session);
    uint64_t begin = gc_now_ns();
    gpuchar_status status = gc_worker_begin(session, &worker);
    printf("begun in %.1f ms\n", (double)(gc_now_ns() - begin) * 1e-6);
    if (status == GPUCHAR_OK) status = gc_worker_ready(worker);
    printf("ready in %.1f ms\n", (double)(gc_now_ns() - begin) * 1e-6);
    gc_session_leave(&scope);
    CHECK(status == GPUCHAR_OK, "start: %d (%s)", status, gpuchar_last_error()->hint);
    if (status) {
        gc_worker_stop(worker);
        return gpu_finish();
    }
    for (int i = 0; i < 3; ++i) check_add(session, worker, &compiled);
    check_endless(session, worker, &compiled);
    check_add(session, worker, &compiled);
    check_astray(session, worker, &compiled);
    check_add(session, worker, &compiled);
    check_cancel(session, worker, &compiled);
    check_add(session, worker, &compiled);
    begin = gc_now_ns();
    gc_worker_stop(worker);
    printf("stopped in %.1f ms\n", (double)(gc_now_ns() - begin) * 1e-6);
    CHECK(no_child(), "the worker is still there");
    CHECK(open_descriptors() == descriptors, "%zu descriptors, before %zu", open_descriptors(), descriptors);
    size_t after = free_memory(session);
    printf("free memory before %zu, after %zu\n", before, after);
    CHECK(after + ((size_t)32 << 20) > before, "GPU memory was not given back");
    gpuchar_compile_result_free(&compiled);
    gpuchar_session_close(session);
    gpuchar_runtime_close(runtime);
    return gpu_finish();
}
