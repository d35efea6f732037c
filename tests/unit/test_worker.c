/* gpuchar-worker on a fake driver: jobs, time limits, and hosts with manners of their own. */
#include "worker_helper.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void test_jobs(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    pid_t first = child_of(getpid());
    assert_true(first > 0);
    for (int i = 0; i < 100; i++) assert_adds(worker);
    assert_int_equal(child_of(getpid()), first);
    gc_worker_stop(worker);
    gc_worker_stop(NULL);
    close_fixture(&f);
}

/* Much to send and to read at once, more than a socket holds; and nothing of either. */
static void test_sizes(void **state) {
    (void)state;
    enum { LARGE = 20 << 20 };
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    char *in = malloc(LARGE), *out = malloc(LARGE);
    assert_true(in && out);
    for (size_t i = 0; i < LARGE; i++) in[i] = (char)(i * 7);
    add_job add;
    gc_worker_outcome outcome;
    make_job(&add, "add", 60000);
    gc_worker_buffer more[3] = {add.buffers[0],
                                add.buffers[1],
                                {.bytes = LARGE,
                                 .initial = in,
                                 .initial_bytes = LARGE - 9,
                                 .read = out,
                                 .read_bytes = LARGE,
                                 .argument_offset = GC_WORKER_NOWHERE}};
    add.job.buffers = more;
    add.job.buffer_count = 3;
    add.job.shared_bytes = 100 * 1024;
    assert_failure(gc_worker_run(worker, &add.job, &outcome), GPUCHAR_OK);
    assert_int_equal(outcome.end, GC_WORKER_ENDED);
    assert_memory_equal(in, out, LARGE - 9);
    for (size_t i = LARGE - 9; i < LARGE; i++) assert_int_equal(out[i], 0);
    assert_int_equal(add.out[7], 49 + PLUS);
    make_job(&add, "none of these", 60000);
    add.job.buffer_count = 0;
    add.job.argument_bytes = 0;
    assert_failure(gc_worker_run(worker, &add.job, &outcome), GPUCHAR_E_CUDA);
    assert_int_equal(outcome.end, GC_WORKER_NEVER);
    free(in);
    free(out);
    gc_worker_stop(worker);
    close_fixture(&f);
}

static void expect_limit(gc_worker *worker, const add_job *add) {
    gc_worker_outcome outcome;
    assert_failure(gc_worker_run(worker, &add->job, &outcome), GPUCHAR_E_LIMIT);
    assert_true(gpuchar_last_error()->hint[0] != 0);
    assert_int_equal(outcome.end, GC_WORKER_NEVER);
}

/* Refused before anything is sent: the process stays the same. */
static void test_limits(void **state) {
    (void)state;
    char long_name[200];
    memset(long_name, 'k', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    pid_t first = child_of(getpid());
    add_job add;
    make_job(&add, "add", 0);
    expect_limit(worker, &add);
    make_job(&add, "", 1000);
    expect_limit(worker, &add);
    make_job(&add, long_name, 1000);
    expect_limit(worker, &add);
    make_job(&add, "add", 1000);
    add.job.image_bytes = 0;
    expect_limit(worker, &add);
    add.job.image_bytes = SIZE_MAX;
    expect_limit(worker, &add);
    make_job(&add, "add", 1000);
    add.job.buffer_count = GC_JOB_BUFFERS_MAX + 1;
    expect_limit(worker, &add);
    make_job(&add, "add", 1000);
    add.job.argument_bytes = GC_JOB_ARGUMENTS_MAX + 1;
    expect_limit(worker, &add);
    make_job(&add, "add", 1000);
    add.buffers[1].argument_offset = sizeof add.arguments - 7;
    expect_limit(worker, &add);
    make_job(&add, "add", 1000);
    add.buffers[0].initial_bytes++;
    expect_limit(worker, &add);
    make_job(&add, "add", 1000);
    add.buffers[1].read_bytes = (size_t)GC_JOB_MESSAGE_MAX + 1;
    add.buffers[1].bytes = UINT64_MAX;
    expect_limit(worker, &add);
    make_job(&add, "add", 1000);
    add.buffers[0].bytes = 0;
    add.buffers[0].initial = NULL;
    expect_limit(worker, &add);
    assert_adds(worker);
    assert_int_equal(child_of(getpid()), first);
    gc_worker_stop(worker);
    close_fixture(&f);
}

static void test_time_limit(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    add_job add;
    gc_worker_outcome outcome;
    pid_t before = child_of(getpid());
    make_job(&add, "endless", 100);
    uint64_t begin = gc_now_ns();
    assert_failure(gc_worker_run(worker, &add.job, &outcome), GPUCHAR_OK);
    uint64_t took = gc_now_ns() - begin;
    assert_int_equal(outcome.end, GC_WORKER_TIMED_OUT);
    assert_int_equal(outcome.elapsed_ns, 0);
    assert_in_range(took, 100 * NS_PER_MS, 5000 * NS_PER_MS);
    assert_int_equal(child_of(getpid()), 0);
    assert_adds(worker);
    assert_int_not_equal(child_of(getpid()), before);
    gc_worker_stop(worker);
    close_fixture(&f);
}

/*
 * Silence is no word on a kernel: a launch that hangs, a driver that does not come back. Nor is the kernel's limit one for
 * the launch.
 */
static void test_no_answer(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *doing;
    } cases[] = {{"hang", "loading a kernel"}, {"deaf", "running a kernel"}};
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    for (size_t i = 0; i < GC_COUNT(cases); i++) {
        add_job add;
        gc_worker_outcome outcome;
        make_job(&add, cases[i].kernel, 10);
        add.job.else_ns = 200 * NS_PER_MS;
        uint64_t begin = gc_now_ns();
        assert_failure(gc_worker_run(worker, &add.job, &outcome), GPUCHAR_E_TIMEOUT);
        assert_in_range(gc_now_ns() - begin, 200 * NS_PER_MS, 5000 * NS_PER_MS);
        assert_contains(gpuchar_last_error()->message, cases[i].doing);
        assert_contains(gpuchar_last_error()->hint, "SIGSTOP");
        assert_int_equal(outcome.end, GC_WORKER_NEVER);
        assert_int_equal(child_of(getpid()), 0);
        assert_adds(worker);
    }
    gc_worker_stop(worker);
    close_fixture(&f);
}

static void *continue_child(void *user) {
    (void)user;
    nap_ms(300);
    kill(child_of(getpid()), SIGCONT);
    return NULL;
}

/* A process that was stopped for longer than its kernel's limit says nothing of the kernel until it goes on. */
static void test_stopped(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    gc_worker_outcome outcome;
    add_job add;
    pthread_t other;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    make_job(&add, "stopped", 20);
    assert_int_equal(pthread_create(&other, NULL, continue_child, NULL), 0);
    assert_failure(gc_worker_run(worker, &add.job, &outcome), GPUCHAR_OK);
    pthread_join(other, NULL);
    assert_int_equal(outcome.end, GC_WORKER_ENDED);
    make_job(&add, "stopped", 20); /* and never continued */
    add.job.else_ns = 100 * NS_PER_MS;
    assert_failure(gc_worker_run(worker, &add.job, &outcome), GPUCHAR_E_TIMEOUT);
    assert_adds(worker);
    gc_worker_stop(worker);
    close_fixture(&f);
}

static void expect_failed(gc_worker *worker, const add_job *add, int code, const char *call, gpuchar_status status) {
    gc_worker_outcome outcome;
    assert_failure(gc_worker_run(worker, &add->job, &outcome), status);
    assert_int_equal(outcome.end, GC_WORKER_NEVER);
    assert_int_equal(gpuchar_last_error()->domain, GPUCHAR_DOMAIN_CUDA);
    assert_int_equal(gpuchar_last_error()->native_code, code);
    assert_string_equal(gpuchar_last_error()->call, call);
    assert_contains(gpuchar_last_error()->message, "gpuchar-worker");
    assert_true(gpuchar_last_error()->hint[0] != 0);
    assert_adds(worker);
}

/* A kernel that breaks its context is an outcome, and the context is not the caller's; what a driver refuses is a failure. */
static void test_failures(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    add_job add;
    gc_worker_outcome outcome;
    assert_failure(run_kernel(worker, "fault", &outcome), GPUCHAR_OK);
    assert_int_equal(outcome.end, GC_WORKER_FAILED);
    assert_int_equal(outcome.failure.native_code, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_string_equal(outcome.failure.call, "cuEventQuery");
    assert_failure(gc_worker_fail(&outcome), GPUCHAR_E_CUDA);
    assert_int_equal(gpuchar_last_error()->native_code, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_contains(gpuchar_last_error()->hint, "only the worker's");
    make_job(&add, "worn out", 60000); /* the GPU's memory, not the kernel */
    expect_failed(worker, &add, CUDA_ERROR_ECC_UNCORRECTABLE, "cuEventQuery", GPUCHAR_E_CUDA);
    make_job(&add, "refused", 60000);
    expect_failed(worker, &add, CUDA_ERROR_ILLEGAL_ADDRESS, "cuLaunchKernel", GPUCHAR_E_CUDA);
    make_job(&add, "no such kernel", 60000);
    expect_failed(worker, &add, CUDA_ERROR_NOT_FOUND, "cuModuleGetFunction", GPUCHAR_E_CUDA);
    make_job(&add, "add", 60000);
    add.job.image = "something else";
    add.job.image_bytes = 14;
    expect_failed(worker, &add, CUDA_ERROR_INVALID_IMAGE, "cuModuleLoadData", GPUCHAR_E_CUDA);
    make_job(&add, "add", 60000);
    add.buffers[0].bytes = (uint64_t)1 << 50;
    expect_failed(worker, &add, CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc", GPUCHAR_E_OUT_OF_DEVICE_MEMORY);
    make_job(&add, "add", 60000);
    add.job.shared_bytes = 300 * 1024;
    expect_failed(worker, &add, CUDA_ERROR_INVALID_VALUE, "cuFuncSetAttribute", GPUCHAR_E_CUDA);
    gc_worker_stop(worker);
    close_fixture(&f);
}

/* A process that dies of its kernel is an error, and says how. */
static void test_death(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    gc_worker_outcome outcome;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    assert_failure(run_kernel(worker, "crash", &outcome), GPUCHAR_E_WORKER);
    assert_contains(gpuchar_last_error()->message, "signal 9");
    assert_contains(gpuchar_last_error()->hint, "lack of memory");
    assert_int_equal(outcome.end, GC_WORKER_NEVER);
    assert_int_equal(child_of(getpid()), 0);
    assert_adds(worker);
    assert_failure(run_kernel(worker, "quit", &outcome), GPUCHAR_E_WORKER);
    assert_contains(gpuchar_last_error()->message, "status 3");
    assert_null(strstr(gpuchar_last_error()->hint, "memory"));
    assert_contains(gpuchar_last_error()->hint, "worker_path");
    assert_adds(worker);
    /* Killed while it had nothing to do: nobody needs to know. */
    assert_int_equal(kill(child_of(getpid()), SIGKILL), 0);
    nap_ms(50);
    assert_adds(worker);
    gc_worker_stop(worker);
    close_fixture(&f);
}

static void *kill_child(void *user) {
    (void)user;
    nap_ms(100);
    kill(child_of(getpid()), SIGKILL);
    return NULL;
}

/* By somebody else, while a kernel runs; with SIGPIPE as deadly as it is by default. */
static void test_killed(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    gc_worker_outcome outcome;
    pthread_t killer;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    assert_int_equal(pthread_create(&killer, NULL, kill_child, NULL), 0);
    assert_failure(run_kernel(worker, "endless", &outcome), GPUCHAR_E_WORKER);
    pthread_join(killer, NULL);
    assert_contains(gpuchar_last_error()->message, "signal 9");
    assert_adds(worker);
    gc_worker_stop(worker);
    close_fixture(&f);
}

static void test_cancel(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    gc_worker_outcome outcome;
    pthread_t canceller;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    assert_int_equal(pthread_create(&canceller, NULL, cancel_soon, f.session), 0);
    assert_failure(run_kernel(worker, "endless", &outcome), GPUCHAR_E_CANCELLED);
    uint64_t now = gc_now_ns();
    pthread_join(canceller, NULL);
    print_message("cancelled within %.1f ms\n", (double)(now - cancelled_at) * 1e-6);
    assert_true(now - cancelled_at < 250 * NS_PER_MS);
    assert_int_equal(outcome.end, GC_WORKER_NEVER);
    assert_adds(worker); /* it was consumed */
    gpuchar_session_cancel(f.session);
    assert_failure(run_kernel(worker, "add", &outcome), GPUCHAR_E_CANCELLED);
    gc_worker_stop(worker);
    worker = NULL;
    gpuchar_session_cancel(f.session);
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_E_CANCELLED);
    assert_null(worker);
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    gc_worker_stop(worker);
    close_fixture(&f);
}

static void test_ignored_children(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    assert_int_equal(sigaction(SIGCHLD, &ignore, &before), 0);
    run_a_mixture(&f);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
    close_fixture(&f);
}

static atomic_bool reaping;
static atomic_int reaped;

static void *reap_everything(void *user) {
    (void)user;
    while (atomic_load(&reaping)) {
        if (waitpid(-1, NULL, WNOHANG) > 0) {
            atomic_fetch_add(&reaped, 1);
        }
        sched_yield();
    }
    return NULL;
}

static void test_greedy_host(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    pthread_t reaper;
    atomic_store(&reaping, true);
    atomic_store(&reaped, 0);
    assert_int_equal(pthread_create(&reaper, NULL, reap_everything, NULL), 0);
    run_a_mixture(&f);
    atomic_store(&reaping, false);
    pthread_join(reaper, NULL);
    print_message("the host was faster %d times\n", atomic_load(&reaped));
    close_fixture(&f);
}

static void on_child(int number) {
    int saved = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    errno = saved;
}

/* Without SA_RESTART: waits are interrupted. */
static void test_handler_of_the_host(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    struct sigaction handle = {.sa_handler = on_child}, before, after;
    assert_int_equal(sigaction(SIGCHLD, &handle, &before), 0);
    run_a_mixture(&f);
    assert_int_equal(sigaction(SIGCHLD, &before, &after), 0);
    assert_true(after.sa_handler == on_child);
    close_fixture(&f);
}

/* A forked child has no part in it, and its end does no harm. */
static void test_fork(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    assert_adds(worker);
    pid_t first = child_of(getpid());
    size_t held = count_descriptors() - f.descriptors;
    pid_t child = fork();
    if (child == 0) {
        add_job add;
        gc_worker_outcome outcome;
        make_job(&add, "add", 1000);
        size_t before = count_descriptors();
        gpuchar_status status = gc_worker_run(worker, &add.job, &outcome);
        gc_worker_stop(worker);
        _exit(status == GPUCHAR_E_FORKED && before - count_descriptors() == held ? 0 : 1);
    }
    int ended = -1;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_adds(worker);
    assert_int_equal(child_of(getpid()), first);
    gc_worker_stop(worker);
    close_fixture(&f);
}

/* The host: runs a kernel that never ends, with a child of its own that keeps every descriptor open. */
static void be_a_host(void) {
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    gc_worker_outcome outcome;
    if (begin_and_wait(f.session, &worker) != GPUCHAR_OK) _exit(1);
    if (fork() == 0) {
        nap_ms(20000);
        _exit(0);
    }
    run_kernel(worker, "endless", &outcome);
    _exit(1);
}

/* However the host ends, no worker stays. Orphans of the host come to this process. */
static void test_no_orphan(void **state) {
    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t host = fork();
    if (host == 0) be_a_host();
    nap_ms(1000);
    assert_int_equal(kill(host, SIGKILL), 0);
    assert_int_equal(waitpid(host, NULL, 0), host);
    uint64_t begin = gc_now_ns();
    pid_t orphan = 0;
    while (orphan == 0 && gc_now_ns() - begin < 10000 * NS_PER_MS) {
        nap_ms(10);
        orphan = waitpid(-1, NULL, WNOHANG);
    }
    print_message("the worker followed its host after %.0f ms\n", (double)(gc_now_ns() - begin) * 1e-6);
    assert_true(orphan > 0);
    pid_t sleeper = child_of(getpid());
    assert_true(sleeper > 0); /* it was the worker that ended */
    assert_int_equal(kill(sleeper, SIGKILL), 0);
    assert_int_equal(waitpid(sleeper, NULL, 0), sleeper);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

/* What `work` does in a child of this process that has a namespace of process numbers for its own children; false: not here. */
static bool in_namespace(void (*work)(void)) {
    int ended = -1;
    pid_t host = fork();
    if (host == 0) {
        if (unshare(CLONE_NEWPID) != 0) _exit(77);
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(host, &ended, 0), host);
    assert_true(WIFEXITED(ended));
    if (WEXITSTATUS(ended) != 0 && WEXITSTATUS(ended) != 77) fail_msg("step %d failed", WEXITSTATUS(ended));
    return WEXITSTATUS(ended) == 0;
}

/* Without cmocka, which belongs to the parent: the exit status tells what went wrong. */
static void work_in_namespace(void) {
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    gc_worker_outcome outcome;
    if (begin_and_wait(f.session, &worker) != GPUCHAR_OK) _exit(2);
    nap_ms(1200); /* it looks at its parent twice a second */
    if (run_kernel(worker, "add", &outcome) != GPUCHAR_OK || outcome.end != GC_WORKER_ENDED) _exit(3);
    gc_worker_stop(worker);
    /* The worker was the namespace's first process: there will be no other one, which the hint tells. */
    if (begin_and_wait(f.session, &worker) != GPUCHAR_E_OUT_OF_MEMORY) _exit(4);
    if (!strstr(gpuchar_last_error()->hint, "CLONE_NEWPID")) _exit(5);
}

/* A host that is killed while its worker, whose parent it cannot see, runs a kernel without end. */
static void be_killed_in_namespace(void) {
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    add_job add;
    gc_worker_outcome outcome;
    if (begin_and_wait(f.session, &worker) != GPUCHAR_OK) _exit(6);
    make_job(&add, "deaf", 60000);
    if (fork() == 0) { /* it keeps the socket open */
        nap_ms(5000);
        _exit(0);
    }
    gc_worker_run(worker, &add.job, &outcome);
    _exit(7);
}

static void *kill_after_a_second(void *user) {
    nap_ms(1000);
    kill(*(const pid_t *)user, SIGKILL);
    return NULL;
}

static void test_namespace(void **state) {
    (void)state;
    if (under_valgrind() || !in_namespace(work_in_namespace)) skip();
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t host = fork();
    if (host == 0) {
        if (unshare(CLONE_NEWPID) != 0) _exit(77);
        be_killed_in_namespace();
    }
    pthread_t killer;
    assert_int_equal(pthread_create(&killer, NULL, kill_after_a_second, &host), 0);
    assert_int_equal(waitpid(host, NULL, 0), host);
    pthread_join(killer, NULL);
    uint64_t begin = gc_now_ns();
    /* The worker is the first process of the namespace, so its end takes the others along. */
    while (child_of(getpid()) != 0 && gc_now_ns() - begin < 2000 * NS_PER_MS) {
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        nap_ms(10);
    }
    assert_int_equal(child_of(getpid()), 0);
    assert_in_range(gc_now_ns() - begin, 0, 1500 * NS_PER_MS);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

/* Each refusal of the system to start a program says what may be done about it. */
static void test_no_processes(void **state) {
    (void)state;
    if (under_valgrind() || getuid() != 0) skip();
    int ended = -1;
    pid_t child = fork();
    if (child == 0) {
        fixture f = open_fixture(GPUCHAR_WORKER_FILE);
        gc_worker *worker = NULL;
        const struct rlimit none = {1, 1};
        /* The limit does not hold for root. */
        if (setrlimit(RLIMIT_NPROC, &none) != 0 || setuid(65534) != 0) _exit(77);
        const gpuchar_status status = begin_and_wait(f.session, &worker);
        if (status == GPUCHAR_OK || status == GPUCHAR_E_NO_WORKER)
            _exit(77); /* a build tree that others may not read */
        _exit(status == GPUCHAR_E_WORKER && gpuchar_last_error()->native_code == EAGAIN &&
                      strstr(gpuchar_last_error()->hint, "ulimit -u")
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 77) skip();
    assert_int_equal(ended, 0);
}

/* A driver whose path is longer than most: it is the one that the worker opens, too. */
static void test_long_driver_path(void **state) {
    (void)state;
    char path[3000] = "/tmp/gpuchar_test_XXXXXX", command[8192], top[64];
    assert_non_null(mkdtemp(path));
    memcpy(top, path, strlen(path) + 1);
    while (strlen(path) < 2000) {
        const size_t length = strlen(path);
        snprintf(path + length, sizeof path - length, "/%0200d", 0);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    strcat(path, "/driver.so");
    snprintf(command, sizeof command, "cp %s %s", WORKER_DRIVER, path);
    assert_int_equal(system(command), 0);
    fixture f = open_fixture_with(GPUCHAR_WORKER_FILE, path);
    gc_worker *worker = NULL;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    assert_adds(worker);
    gpuchar_runtime_info info = GPUCHAR_RUNTIME_INFO_INIT;
    assert_failure(gpuchar_runtime_get_info(f.runtime, &info), GPUCHAR_OK);
    assert_int_equal(strlen(info.cuda.path), sizeof info.cuda.path - 1);
    gc_worker_stop(worker);
    close_fixture(&f);
    snprintf(command, sizeof command, "rm -r %s", top);
    assert_int_equal(system(command), 0);
}

/* Relative paths are of the folder in which the runtime was opened. */
static void test_relative_path(void **state) {
    (void)state;
    char before[4096], folder[] = GPUCHAR_WORKER_FILE, *slash = strrchr(folder, '/');
    *slash = 0;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    char relative[300];
    snprintf(relative, sizeof relative, "%s", slash + 1);
    fixture f = open_fixture(relative);
    gc_worker *worker = NULL;
    assert_int_equal(chdir("/"), 0);
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    assert_adds(worker);
    gc_worker_stop(worker);
    close_fixture(&f);
    assert_int_equal(chdir(before), 0);
}

/* With every number of descriptors left, from none on: a clear error or a worker. */
static void test_no_descriptors(void **state) {
    (void)state;
    if (under_valgrind()) skip(); /* which has limits of its own */
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC), failures = 0;
    assert_true(lowest >= 0);
    close(lowest);
    for (int left = 0; left < 6; left++) {
        gc_worker *worker = NULL;
        few.rlim_cur = (rlim_t)lowest + (rlim_t)left;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        gpuchar_status status = begin_and_wait(f.session, &worker);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (status) {
            failures++;
            assert_failure(status, GPUCHAR_E_WORKER);
            assert_true(gpuchar_last_error()->hint[0] != 0);
            assert_null(worker);
        }
        if (left == 0) {
            assert_int_equal(gpuchar_last_error()->domain, GPUCHAR_DOMAIN_OS);
            assert_int_equal(gpuchar_last_error()->native_code, EMFILE);
            assert_contains(gpuchar_last_error()->hint, "ulimit");
        }
        if (worker) assert_adds(worker);
        gc_worker_stop(worker);
        assert_int_equal(count_descriptors(), f.descriptors);
    }
    assert_in_range(failures, 2, 5);
    close_fixture(&f);
}

/* Descriptors that a host lets its children have stay with the host. */
static void test_inherits_nothing(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    int leaked = open("/etc/passwd", O_RDONLY), high = fcntl(leaked, F_DUPFD, 500);
    assert_true(leaked >= 0 && high >= 500);
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    assert_adds(worker);
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)child_of(getpid()));
    DIR *folder = opendir(path);
    assert_non_null(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        memset(target, 0, sizeof target);
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) < 0) continue;
        assert_true(strcmp(target, "/etc/passwd") != 0);
        count++;
    }
    closedir(folder);
    assert_int_equal(count, 3);
    close(leaked);
    close(high);
    gc_worker_stop(worker);
    close_fixture(&f);
}

/* A host without standard streams: nothing of ours takes their place for good. */
static void test_closed_streams(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    assert_true(saved >= 0);
    close(STDIN_FILENO);
    gpuchar_status status = begin_and_wait(f.session, &worker);
    assert_failure(status, GPUCHAR_OK);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    assert_adds(worker);
    gc_worker_stop(worker);
    assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    close(saved);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_death),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_ignored_children),
        cmocka_unit_test(test_greedy_host),
        cmocka_unit_test(test_handler_of_the_host),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_no_orphan),
        cmocka_unit_test(test_namespace),
        cmocka_unit_test(test_no_processes),
        cmocka_unit_test(test_long_driver_path),
        cmocka_unit_test(test_relative_path),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_inherits_nothing),
        cmocka_unit_test(test_closed_streams),
    };
    return RUN_BOTH_WAYS(tests);
}
