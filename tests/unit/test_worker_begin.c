/* gpuchar-worker between its beginning and its first job, while its caller does something else. */
#include "worker_helper.h"

#include <fakes/faulty_libc.h>
#include <pthread.h>

static const char for_ever[] = "30000";

/* Of workers begun from now on; 0: as fast as it goes. */
static void slow_init(const char *milliseconds) {
    assert_int_equal(setenv("SLOW_INIT_MS", milliseconds, 1), 0);
}

static double ms_since(uint64_t begin) {
    return (double)(gc_now_ns() - begin) * 1e-6;
}

static gc_worker *begin(const fixture *f) {
    gc_worker *worker = NULL;
    assert_failure(gc_worker_begin(f->session, &worker), GPUCHAR_OK);
    assert_true(child_of(getpid()) > 0);
    return worker;
}

/* The longest stop so far. A ready worker leaves by itself; no other one is waited for. */
static void stop(gc_worker *worker, double *longest) {
    const uint64_t asked = gc_now_ns();
    gc_worker_stop(worker);
    const double took = ms_since(asked);
    *longest = took > *longest ? took : *longest;
    assert_int_equal(child_of(getpid()), 0);
}

/* At whatever moment it is not wanted any more: before it has greeted, deep in the driver, ready. */
static void test_never_used(void **state) {
    (void)state;
    static const long naps_ms[] = {0, 1, 3, 10, 30, 100, 200};
    static const char *const inits[] = {"0", for_ever};
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    double longest = 0;
    for (size_t i = 0; i < GC_COUNT(inits); i++) {
        slow_init(inits[i]);
        for (size_t k = 0; k < GC_COUNT(naps_ms); k++) {
            gc_worker *worker = begin(&f);
            nap_ms(naps_ms[k]);
            stop(worker, &longest);
            assert_int_equal(count_descriptors(), f.descriptors);
        }
    }
    print_message("the longest stop took %.1f ms\n", longest);
    assert_true(longest < 400); /* less than a worker has to leave by itself */
    slow_init("0");
    close_fixture(&f);
}

/* Ready, but asked for no job. */
static void test_only_ready(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    double longest = 0;
    gc_worker *worker = begin(&f);
    const pid_t first = child_of(getpid());
    assert_failure(gc_worker_ready(worker), GPUCHAR_OK);
    assert_failure(gc_worker_ready(worker), GPUCHAR_OK);
    assert_int_equal(child_of(getpid()), first);
    stop(worker, &longest);
    close_fixture(&f);
}

/* Neither the driver nor silence holds the beginning up; and what passes meanwhile is not waited for again. */
static void test_beside(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    slow_init("1000");
    uint64_t asked = gc_now_ns();
    gc_worker *worker = begin(&f);
    assert_true(ms_since(asked) < 900);
    nap_ms(900);
    assert_failure(gc_worker_ready(worker), GPUCHAR_OK);
    const double took = ms_since(asked);
    print_message("ready %.0f ms after its beginning\n", took);
    assert_true(took >= 1000 && took < 1800);
    assert_adds(worker);
    gc_worker_stop(worker);
    slow_init("0");
    close_fixture(&f);
    f = open_fixture(WORKER_IMPOSTOR);
    assert_int_equal(setenv("IMPOSTOR", "silent", 1), 0);
    asked = gc_now_ns();
    worker = begin(&f);
    assert_true(ms_since(asked) < 5000);
    double longest = 0;
    stop(worker, &longest);
    assert_true(longest < 400);
    close_fixture(&f);
}

/* A cancel of before is answered before anything is waited for, and costs no process. */
static void test_cancel_between(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker_outcome outcome;
    gc_worker *worker = begin(&f);
    const pid_t first = child_of(getpid());
    gpuchar_session_cancel(f.session);
    assert_failure(run_kernel(worker, "add", &outcome), GPUCHAR_E_CANCELLED);
    assert_int_equal(outcome.end, GC_WORKER_NEVER);
    gpuchar_session_cancel(f.session);
    assert_failure(gc_worker_ready(worker), GPUCHAR_E_CANCELLED);
    assert_adds(worker); /* both were consumed */
    assert_int_equal(child_of(getpid()), first);
    gc_worker_stop(worker);
    worker = begin(&f);
    gpuchar_session_cancel(f.session);
    gc_worker_stop(worker); /* with the cancel still pending */
    worker = NULL;
    assert_failure(gc_worker_begin(f.session, &worker), GPUCHAR_E_CANCELLED);
    assert_null(worker);
    close_fixture(&f);
}

/* While it is waited for. */
static void test_cancel_waiting(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    pthread_t canceller;
    slow_init(for_ever);
    gc_worker *worker = begin(&f);
    slow_init("0");
    assert_int_equal(pthread_create(&canceller, NULL, cancel_soon, f.session), 0);
    assert_failure(gc_worker_ready(worker), GPUCHAR_E_CANCELLED);
    const double took = ms_since(cancelled_at);
    pthread_join(canceller, NULL);
    print_message("cancelled within %.1f ms\n", took);
    assert_true(took < 250);
    assert_adds(worker); /* on another process */
    gc_worker_stop(worker);
    close_fixture(&f);
}

/* Killed by somebody before it was ready: told when it is asked for, and the next job has another one. */
static void test_killed_between(void **state) {
    (void)state;
    static const char *const inits[] = {"0", for_ever};
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    for (size_t i = 0; i < GC_COUNT(inits); i++) {
        gc_worker_outcome outcome;
        slow_init(inits[i]);
        gc_worker *worker = begin(&f);
        slow_init("0");
        nap_ms(i == 0 ? 0 : 200);
        assert_int_equal(kill(child_of(getpid()), SIGKILL), 0);
        assert_failure(run_kernel(worker, "add", &outcome), GPUCHAR_E_WORKER);
        assert_contains(gpuchar_last_error()->message, "signal 9");
        assert_contains(gpuchar_last_error()->message, i == 0 ? "while " : "while opening the device");
        assert_int_equal(outcome.end, GC_WORKER_NEVER);
        assert_int_equal(child_of(getpid()), 0);
        assert_adds(worker);
        gc_worker_stop(worker);
    }
    close_fixture(&f);
}

/* A child that is forked off meanwhile has no part in it. */
static void test_fork_between(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = begin(&f);
    const pid_t child = fork();
    if (child == 0) {
        gpuchar_status status = gc_worker_ready(worker);
        gc_worker_stop(worker);
        _exit(status == GPUCHAR_E_FORKED ? 0 : 1);
    }
    int ended = -1;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    assert_adds(worker);
    gc_worker_stop(worker);
    close_fixture(&f);
}

/* ---- one that has left before all was said to it */

static void until_it_has_left(void) {
    siginfo_t about;
    assert_int_equal(waitid(P_ALL, 0, &about, WEXITED | WNOWAIT), 0);
}

static volatile sig_atomic_t pipe_signals;

static void count_signal(int number) {
    (void)number;
    pipe_signals++;
}

/* What it said is read all the same, and no signal reaches the host. */
static void test_left_early(void **state) {
    (void)state;
    static const struct {
        const char *mode, *part;
        gpuchar_status expected;
    } cases[] = {{"version", "9.9.9-", GPUCHAR_E_WORKER_VERSION},
                 {"protocol", "protocol 77", GPUCHAR_E_WORKER_VERSION},
                 {"greets and leaves", "status 4 while opening the device", GPUCHAR_E_WORKER},
                 {"dies at once", "status 6 while greeting", GPUCHAR_E_WORKER}};
    const struct sigaction count = {.sa_handler = count_signal};
    struct sigaction before;
    unsigned uses = 0;
    assert_int_equal(sigaction(SIGPIPE, &count, &before), 0);
    fixture f = open_fixture(WORKER_IMPOSTOR);
    for (size_t i = 0; i < GC_COUNT(cases); i++) {
        assert_int_equal(setenv("IMPOSTOR", cases[i].mode, 1), 0);
        for (unsigned use = 1;; use++) {
            libc_before(LIBC_SEND, use, until_it_has_left);
            gc_worker *worker = begin(&f);
            libc_stop();
            const bool came = libc_failed();
            if (!came) until_it_has_left(); /* and once behind all of it */
            uses++;
            assert_failure(gc_worker_ready(worker), cases[i].expected);
            assert_contains(gpuchar_last_error()->message, cases[i].part);
            assert_true(gpuchar_last_error()->hint[0] != 0);
            gc_worker_stop(worker);
            assert_int_equal(count_descriptors(), f.descriptors);
            if (!came) break;
        }
    }
    close_fixture(&f);
    assert_int_equal(sigaction(SIGPIPE, &before, NULL), 0);
    print_message("it left %u times before it was heard\n", uses);
    assert_true(uses >= 2 * GC_COUNT(cases));
    assert_int_equal(pipe_signals, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_used),     cmocka_unit_test(test_only_ready),
        cmocka_unit_test(test_beside),         cmocka_unit_test(test_cancel_between),
        cmocka_unit_test(test_cancel_waiting), cmocka_unit_test(test_killed_between),
        cmocka_unit_test(test_fork_between),   cmocka_unit_test(test_left_early),
    };
    return RUN_BOTH_WAYS(tests);
}
