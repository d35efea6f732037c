/* Hosts that are no quiet single process: SIGCHLD ignored, CUDA used before a fork, another process busy on the GPU. */
#include "gpu_check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* This program once more, as another host: in a process that has not used CUDA. Its standard output is `*output`. */
static pid_t start_self(const char *role, int *output) {
    int ends[2] = {-1, -1};
    CHECK(pipe(ends) == 0, "pipe");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "test_gpu_hosts", role, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *output = ends[0];
    return child;
}

static int end_of(pid_t child) {
    int ended = -1;
    CHECK(child > 0 && waitpid(child, &ended, 0) == child, "waitpid");
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : 1000 + WTERMSIG(ended);
}

/* ---- SIGCHLD ignored: the worker's end cannot be waited for by the usual means */

static void check_sigchld(void) {
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before, now;
    CHECK(sigaction(SIGCHLD, &ignore, &before) == 0, "sigaction");
    gpuchar_session *session = open_or_skip(NULL);
    gpuchar_forward_progress_options options = GPUCHAR_FORWARD_PROGRESS_OPTIONS_INIT;
    gpuchar_forward_progress_result result = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
    options.launches = 1;
    gpuchar_status status = gpuchar_forward_progress(session, &options, &result);
    CHECK(status >= 0 && result.lock_served == 32, "status %d, %u lanes served", status, result.lock_served);
    gpuchar_forward_progress_result_free(&result);
    gpuchar_session_close(session);
    CHECK(sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_IGN, "the disposition changed");
    CHECK(sigaction(SIGCHLD, &before, NULL) == 0, "sigaction");
}

/* ---- cuInit in the parent */

static int act_after_init(void) {
    int (*init)(unsigned flags) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *symbol = library ? dlsym(library, "cuInit") : NULL;
    memcpy(&init, &symbol, sizeof symbol);
    if (!init || init(0) != 0) return 2;
    pid_t child = fork();
    if (child == 0) {
        gpuchar_session *session = NULL;
        gpuchar_status status = gpuchar_session_open(NULL, "0", NULL, &session);
        printf("in the child of a process that has called cuInit: %s, %s; hint: %s\n", gpuchar_status_name(status),
               gpuchar_last_error()->message, gpuchar_last_error()->hint);
        fflush(stdout);
        _exit(status == GPUCHAR_E_FORKED && !session && gpuchar_last_error()->hint[0] ? 0 : 3);
    }
    return end_of(child);
}

static void check_after_init(void) {
    int output = -1, failures = gpu_failures;
    char text[1024];
    pid_t child = start_self("after-init", &output);
    for (ssize_t got; (got = read(output, text, sizeof text)) > 0;) fwrite(text, 1, (size_t)got, stdout);
    close(output);
    int code = end_of(child);
    CHECK(code == 0 && failures == gpu_failures, "the child ended with %d", code);
}

/* ---- a second process that keeps the GPU busy */

enum { BUSY_BYTES = 256 << 20, BUSY_SECONDS = 60 };

/* Fills memory until the reader of its output is gone. */
static int act_busy(void) {
    host_driver driver;
    void *context = NULL;
    uint64_t memory = 0;
    gpuchar_session_close(open_or_skip(NULL)); /* cuInit */
    driver = open_host_driver();
    signal(SIGPIPE, SIG_DFL);
    alarm(BUSY_SECONDS);
    if (driver.ctx_create(&context, 0, 0) != 0 || driver.mem_alloc(&memory, BUSY_BYTES) != 0) return 2;
    for (;;) {
        for (unsigned i = 0; i < 200; ++i) {
            if (driver.memset_async(memory, i, BUSY_BYTES / 4, NULL) != 0) return 3;
        }
        if (driver.ctx_synchronize() != 0 || write(STDOUT_FILENO, ".", 1) != 1) return 4;
    }
}

static void measure_beside(const char *where, uint32_t *others, bool *known, uint32_t *flags) {
    gpuchar_session *session = open_or_skip(NULL);
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    options.counters = GPUCHAR_COUNTERS_OFF;
    CHECK(gpuchar_device_info_get(session, &info) >= 0, "device_info");
    CHECK(gpuchar_divergence_sweep(session, &options, &result) >= 0, "%s: sweep", where);
    *known = (info.known & GPUCHAR_DEVICE_OTHER_PROCESSES) != 0;
    *others = info.other_processes;
    *flags = result.evidence.flags;
    printf("%s: other processes %s %u, flags %#x, slope %.1f cycles, R2 %.8f, MAD/median of the last point %.2g\n",
           where, *known ? "known," : "unknown,", *others, *flags, result.slope.value, result.slope.r2,
           result.point_count && result.points[result.point_count - 1].cycles.median > 0
               ? result.points[result.point_count - 1].cycles.mad / result.points[result.point_count - 1].cycles.median
               : 0.0);
    gpuchar_divergence_sweep_result_free(&result);
    gpuchar_session_close(session);
}

static void check_busy(void) {
    int output = -1;
    char dot;
    uint32_t before = 0, during = 0, after = 0, flags = 0;
    bool known = false;
    measure_beside("alone", &before, &known, &flags);
    pid_t child = start_self("busy", &output);
    CHECK(read(output, &dot, 1) == 1, "the busy process does not begin");
    measure_beside("beside a busy process", &during, &known, &flags);
    CHECK((known && during > before) || (flags & GPUCHAR_FLAG_UNSTABLE), "the busy process was not noticed");
    kill(child, SIGKILL);
    end_of(child);
    close(output);
    measure_beside("alone again", &after, &known, &flags);
    CHECK(!known || after == before, "%u other processes", after);
}

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "after-init") == 0) return act_after_init();
    if (count > 1 && strcmp(words[1], "busy") == 0) return act_busy();
    gpuchar_session_close(open_or_skip(NULL));
    if (!times_count()) {
        printf("not checked: a sanitizer starts processes of its own\n");
        return gpu_finish();
    }
    check_after_init();
    check_sigchld();
    check_busy();
    return gpu_finish();
}
