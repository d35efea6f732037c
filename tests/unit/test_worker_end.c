/* How gpuchar-worker comes to its end where the system does not let its host do what it wants. */
#include "worker_helper.h"

#include <sys/syscall.h>

/* Less than a worker is given to leave by itself; one under the thread sanitizer takes a second to leave. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LEAVES_MS 3000
#endif
#endif
#ifndef LEAVES_MS
#define LEAVES_MS 400
#endif

/* What `work` does in a child of this process, without cmocka: 0, 77 (not possible here) or the step that went wrong. */
static void in_child(int (*work)(void)) {
    int ended = -1;
    const pid_t child = fork();
    if (child == 0) _exit(work());
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    if (WEXITSTATUS(ended) == 77) skip();
    assert_int_equal(WEXITSTATUS(ended), 0);
}

static bool stops_within(gc_worker *worker, uint64_t milliseconds) {
    const uint64_t asked = gc_now_ns();
    gc_worker_stop(worker);
    const uint64_t took = gc_now_ns() - asked;
    print_message("stopped in %.1f ms\n", (double)took * 1e-6);
    return took < milliseconds * NS_PER_MS;
}

static bool forbid_kill(void) {
    return forbid(CALL_PIDFD_SEND_SIGNAL, EPERM) && forbid(SYS_kill, EPERM);
}

/* Deep in the driver, or not coming back from it: the closed socket ends it. */
static int work_without_kill(void) {
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    gc_worker_outcome outcome;
    add_job add;
    if (!forbid_kill()) return 77;
    setenv("SLOW_INIT_MS", "30000", 1);
    if (gc_worker_begin(f.session, &worker) != GPUCHAR_OK) return 1;
    setenv("SLOW_INIT_MS", "0", 1);
    nap_ms(300);
    if (!stops_within(worker, LEAVES_MS)) return 2;
    if (gc_worker_begin(f.session, &worker) != GPUCHAR_OK) return 3;
    make_job(&add, "deaf", 10);
    add.job.else_ns = 200 * NS_PER_MS;
    const uint64_t begin = gc_now_ns();
    if (gc_worker_run(worker, &add.job, &outcome) != GPUCHAR_E_TIMEOUT) return 4;
    if (gc_now_ns() - begin > 5000 * NS_PER_MS) return 5;
    if (run_kernel(worker, "add", &outcome) != GPUCHAR_OK || outcome.end != GC_WORKER_ENDED) return 6;
    if (!stops_within(worker, LEAVES_MS)) return 7;
    return child_of(getpid()) == 0 && count_descriptors() == f.descriptors ? 0 : 8;
}

static void test_without_kill(void **state) {
    (void)state;
    in_child(work_without_kill);
}

/* A sandbox that is older than the call. */
static int work_with_older_kill(void) {
    fixture f = open_fixture(WORKER_IMPOSTOR);
    gc_worker *worker = NULL;
    if (!forbid(CALL_PIDFD_SEND_SIGNAL, EPERM)) return 77;
    setenv("IMPOSTOR", "silent", 1);
    if (gc_worker_begin(f.session, &worker) != GPUCHAR_OK) return 1;
    if (!stops_within(worker, LEAVES_MS)) return 2;
    return child_of(getpid()) == 0 && count_descriptors() == f.descriptors ? 0 : 3;
}

static void test_with_older_kill(void **state) {
    (void)state;
    in_child(work_with_older_kill);
}

/* One that nothing ends is waited for once, and then left. */
static int work_with_a_stuck_one(void) {
    fixture f = open_fixture(WORKER_IMPOSTOR);
    gc_worker *worker = NULL;
    gc_worker_outcome outcome;
    add_job add;
    if (!forbid_kill()) return 77;
    setenv("IMPOSTOR", "never launches", 1);
    if (gc_worker_begin(f.session, &worker) != GPUCHAR_OK) return 1;
    make_job(&add, "add", 10);
    add.job.else_ns = 200 * NS_PER_MS;
    const uint64_t begin = gc_now_ns();
    if (gc_worker_run(worker, &add.job, &outcome) != GPUCHAR_E_TIMEOUT) return 2;
    if (gc_now_ns() - begin < 10000 * NS_PER_MS) return 3;
    if (!stops_within(worker, 2000)) return 4;
    return count_descriptors() == f.descriptors ? 0 : 5;
}

static void test_stuck(void **state) {
    (void)state;
    static bool done;
    if (done) skip(); /* once: it takes ten seconds */
    done = true;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    in_child(work_with_a_stuck_one);
    const pid_t left = child_of(getpid());
    assert_true(left > 0);
    assert_int_equal(kill(left, SIGKILL), 0);
    assert_int_equal(waitpid(left, NULL, 0), left);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

/* A child of the host's that was forked meanwhile holds a copy of the socket, which does not keep the worker. */
static void test_copies(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    const pid_t child = fork();
    if (child == 0) {
        nap_ms(20000);
        _exit(0);
    }
    assert_true(stops_within(worker, LEAVES_MS));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_kill),
        cmocka_unit_test(test_with_older_kill),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_copies),
    };
    return RUN_BOTH_WAYS(tests);
}
