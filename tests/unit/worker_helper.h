/* For tests of gpuchar-worker: a session on the fake driver with kernels, a small job, and what must not be left behind. */
#ifndef WORKER_HELPER_H
#define WORKER_HELPER_H

#include <dirent.h>
#include <errno.h>
#include <fakes/fake_client.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <worker/worker.h>

#include "descriptors.h"

#define NS_PER_MS UINT64_C(1000000)

typedef struct fixture {
    gpuchar_runtime *runtime;
    gpuchar_session *session;
    gc_scope scope;
    size_t descriptors;
} fixture;

static inline void nap_ms(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000 * 1000};
    nanosleep(&time, NULL);
}

/* For a thread: a cancel while the other one waits, and when it was. */
static uint64_t cancelled_at;

static inline void *cancel_soon(void *session) {
    nap_ms(100);
    cancelled_at = gc_now_ns();
    gpuchar_session_cancel(session);
    return NULL;
}

/* There a child that cannot run its program is not told to its parent: fork stands in for vfork. */
static inline bool under_valgrind(void) {
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "vgpreload");
}

/* The first child of a process, by /proc; 0: none. */
static inline pid_t child_of(pid_t parent) {
    pid_t found = 0;
    DIR *folder = opendir("/proc");
    assert_non_null(folder);
    for (struct dirent *entry; !found && (entry = readdir(folder));) {
        char path[300], text[256] = "";
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = atoi(entry->d_name) > 0 ? fopen(path, "r") : NULL;
        if (!file) continue;
        size_t length = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[length] = 0;
        int its_parent = 0;
        const char *behind_name = strrchr(text, ')');
        if (behind_name && sscanf(behind_name, ") %*c %d", &its_parent) == 1 && its_parent == parent) {
            found = atoi(entry->d_name);
        }
    }
    closedir(folder);
    return found;
}

static inline fixture open_fixture_with(const char *worker_path, const char *driver) {
    fixture f;
    memset(&f, 0, sizeof f);
    fake_reset();
    gpuchar_runtime_options options = GPUCHAR_RUNTIME_OPTIONS_INIT;
    options.cuda_path = driver;
    options.nvml_path = "/nonexistent/libnvidia-ml.so.1";
    options.worker_path = worker_path;
    assert_failure(gpuchar_runtime_open(&options, &f.runtime), GPUCHAR_OK);
    assert_failure(gpuchar_session_open(f.runtime, "1", NULL, &f.session), GPUCHAR_OK);
    assert_failure(gc_session_enter(f.session, &f.scope), GPUCHAR_OK);
    f.descriptors = count_descriptors();
    return f;
}

static inline fixture open_fixture(const char *worker_path) {
    return open_fixture_with(worker_path, WORKER_DRIVER);
}

/* Neither descriptors nor children are left. */
static inline void close_fixture(fixture *f) {
    assert_int_equal(count_descriptors(), f->descriptors);
    assert_int_equal(child_of(getpid()), 0);
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    gc_session_leave(&f->scope);
    gpuchar_session_close(f->session);
    gpuchar_runtime_close(f->runtime);
}

/* Begun and waited for. */
static inline gpuchar_status begin_and_wait(gpuchar_session *session, gc_worker **worker) {
    gpuchar_status status = gc_worker_begin(session, worker);
    if (status == GPUCHAR_OK) status = gc_worker_ready(*worker);
    if (status != GPUCHAR_OK) {
        gc_worker_stop(*worker);
        *worker = NULL;
    }
    return status;
}

/* A job of the driver's kernels: out[i] = in[i] + plus; behind them a mixture of the launch's numbers. */
enum { ADD_COUNT = 1000, PLUS = 5 };
typedef struct add_job {
    struct {
        uint64_t in, out;
        uint32_t count, plus;
    } arguments;
    uint32_t in[ADD_COUNT], out[ADD_COUNT + 1];
    gc_worker_buffer buffers[2];
    gc_worker_job job;
} add_job;

static inline void make_job(add_job *add, const char *kernel, uint64_t limit_ms) {
    static const char image[] = "cubin, or what the driver of this test takes for one";
    memset(add, 0, sizeof *add);
    for (uint32_t i = 0; i < ADD_COUNT; i++) add->in[i] = i * i;
    add->arguments.count = ADD_COUNT;
    add->arguments.plus = PLUS;
    add->buffers[0] = (gc_worker_buffer){
        .bytes = sizeof add->in, .initial = add->in, .initial_bytes = sizeof add->in, .argument_offset = 0};
    add->buffers[1] = (gc_worker_buffer){
        .bytes = sizeof add->out, .read = add->out, .read_bytes = sizeof add->out, .argument_offset = 8};
    add->job = (gc_worker_job){.image = image,
                               .image_bytes = sizeof image,
                               .kernel = kernel,
                               .arguments = &add->arguments,
                               .argument_bytes = sizeof add->arguments,
                               .grid = {4, 3, 2},
                               .block = {32, 1, 1},
                               .buffers = add->buffers,
                               .buffer_count = 2,
                               .limit_ns = limit_ms * NS_PER_MS};
}

/* Runs a kernel that has a minute. */
static inline gpuchar_status run_kernel(gc_worker *worker, const char *kernel, gc_worker_outcome *outcome) {
    add_job add;
    make_job(&add, kernel, 60000);
    return gc_worker_run(worker, &add.job, outcome);
}

static inline void assert_adds(gc_worker *worker) {
    add_job add;
    gc_worker_outcome outcome;
    make_job(&add, "add", 60000);
    assert_failure(gc_worker_run(worker, &add.job, &outcome), GPUCHAR_OK);
    assert_int_equal(outcome.end, GC_WORKER_ENDED);
    assert_int_equal(outcome.elapsed_ns, 1500000);
    for (uint32_t i = 0; i < ADD_COUNT; i++) assert_int_equal(add.out[i], i * i + PLUS);
    assert_int_equal(add.out[ADD_COUNT], 4 * 10000 + 3 * 1000 + 2 * 100 + 32 * 10 + 1 + 1);
}

/* Some jobs of each kind, whatever happens to the signals of dead children. */
static inline void run_a_mixture(const fixture *f) {
    gc_worker *worker = NULL;
    for (int i = 0; i < 3; i++) {
        add_job add;
        gc_worker_outcome outcome;
        assert_failure(gc_worker_begin(f->session, &worker), GPUCHAR_OK);
        assert_adds(worker);
        make_job(&add, "endless", 20);
        assert_failure(gc_worker_run(worker, &add.job, &outcome), GPUCHAR_OK);
        assert_int_equal(outcome.end, GC_WORKER_TIMED_OUT);
        assert_failure(run_kernel(worker, "fault", &outcome), GPUCHAR_OK);
        assert_int_equal(outcome.end, GC_WORKER_FAILED);
        assert_int_equal(outcome.failure.native_code, CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_failure(run_kernel(worker, "quit", &outcome), GPUCHAR_E_WORKER);
        assert_adds(worker);
        gc_worker_stop(worker);
    }
}

/* From now on the system refuses this call, as old kernels and some containers do. Cannot be undone. */
static inline bool forbid(unsigned call, int error) {
    struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = sizeof rules / sizeof rules[0], .filter = rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { CALL_PIDFD_OPEN = 434, CALL_PIDFD_SEND_SIGNAL = 424 };

/* Runs the tests twice: with what the system has, and without pidfd. */
#define RUN_BOTH_WAYS(tests)                                                                                           \
    (cmocka_run_group_tests_name("as the system is", tests, NULL, NULL) ||                                             \
     (forbid(CALL_PIDFD_OPEN, ENOSYS) ? cmocka_run_group_tests_name("without pidfd", tests, NULL, NULL)                \
                                      : (print_message("no seccomp: the way without pidfd was not taken\n"), 0)))

#endif
