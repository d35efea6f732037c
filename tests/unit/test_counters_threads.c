/* Counters of two devices, read by two threads at once: the profiler is CUPTI's only one. On the fake driver and the fake CUPTI. */
#include <fakes/fake_client.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANGES = 3, PATIENCE_MS = 10000, NAP_MS = 100 };

static void nap(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000 * 1000};
    nanosleep(&time, NULL);
}

/* False when it takes too long: a test that fails is better than one that hangs. */
static bool wait_for(const atomic_int *value, int wanted) {
    for (int i = 0; i < PATIENCE_MS && atomic_load(value) < wanted; ++i) nap(1);
    return atomic_load(value) >= wanted;
}

/* One reader: its session, and how far it is. */
typedef struct reader {
    gpuchar_session *session;
    atomic_int launches;
    atomic_int *hold; /* NULL, or what the first launch waits for */
    gpuchar_status status;
    double last; /* value of the last range */
} reader;

static int launch(void *user, size_t range, void *stream) {
    reader *r = user;
    (void)range;
    (void)stream;
    bool first = atomic_fetch_add(&r->launches, 1) == 0;
    return first && r->hold && !wait_for(r->hold, 1);
}

static gpuchar_status read_with(gpuchar_session *session, gpuchar_launch_function function, void *user, double *last) {
    static const char *const metrics[] = {"fake.sum"};
    gpuchar_counters_options options = GPUCHAR_COUNTERS_OPTIONS_INIT;
    gpuchar_counters_result result = GPUCHAR_COUNTERS_RESULT_INIT;
    options.metrics = metrics;
    options.metric_count = 1;
    options.range_count = RANGES;
    options.launch = function;
    options.launch_user = user;
    gpuchar_status status = gpuchar_counters_read(session, &options, &result);
    if (status == GPUCHAR_OK) *last = result.values[RANGES - 1];
    gpuchar_counters_result_free(&result);
    return status;
}

static void *read_counters(void *user) {
    reader *r = user;
    r->status = read_with(r->session, launch, r, &r->last);
    return NULL;
}

/* Two readers on two devices. */
typedef struct pair {
    gpuchar_runtime *runtime;
    reader first, second;
    atomic_int go; /* lets the first reader's launch end */
} pair;

static void open_pair(pair *p) {
    *p = (pair){.runtime = fake_runtime_with(FAKE_WITH_CUPTI)};
    p->first.hold = &p->go;
    assert_failure(gpuchar_session_open(p->runtime, "0", NULL, &p->first.session), GPUCHAR_OK);
    assert_failure(gpuchar_session_open(p->runtime, "1", NULL, &p->second.session), GPUCHAR_OK);
}

static void close_pair(pair *p) {
    gpuchar_session_close(p->first.session);
    gpuchar_session_close(p->second.session);
    gpuchar_runtime_close(p->runtime);
    assert_fakes_clean();
}

/* The second begins while the first is in a launch, and gets its turn afterwards. */
static void test_one_after_the_other(void **state) {
    (void)state;
    pair p;
    pthread_t threads[2];
    open_pair(&p);
    assert_int_equal(pthread_create(&threads[0], NULL, read_counters, &p.first), 0);
    assert_true(wait_for(&p.first.launches, 1));
    assert_int_equal(pthread_create(&threads[1], NULL, read_counters, &p.second), 0);
    nap(NAP_MS);
    int early = atomic_load(&p.second.launches);
    atomic_store(&p.go, 1);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(early, 0);
    assert_int_equal(p.first.status, GPUCHAR_OK);
    assert_int_equal(p.second.status, GPUCHAR_OK);
    assert_true(p.first.last == RANGES - 1 && p.second.last == RANGES - 1);
    assert_int_equal(atomic_load(&p.second.launches), RANGES);
    assert_int_equal(fake()->most_profilers, 1);
    close_pair(&p);
}

/* A cancel ends the wait, not the other's read; the session reads again afterwards. */
static void test_cancel_ends_the_wait(void **state) {
    (void)state;
    pair p;
    pthread_t threads[2];
    open_pair(&p);
    assert_int_equal(pthread_create(&threads[0], NULL, read_counters, &p.first), 0);
    assert_true(wait_for(&p.first.launches, 1));
    assert_int_equal(pthread_create(&threads[1], NULL, read_counters, &p.second), 0);
    nap(NAP_MS);
    gpuchar_session_cancel(p.second.session);
    pthread_join(threads[1], NULL); /* although the first has not ended */
    atomic_store(&p.go, 1);
    pthread_join(threads[0], NULL);
    assert_int_equal(p.second.status, GPUCHAR_E_CANCELLED);
    assert_int_equal(atomic_load(&p.second.launches), 0);
    assert_int_equal(p.first.status, GPUCHAR_OK);
    read_counters(&p.second);
    assert_int_equal(p.second.status, GPUCHAR_OK);
    close_pair(&p);
}

static int launch_and_read(void *user, size_t range, void *stream) {
    reader *other = user;
    (void)range;
    (void)stream;
    if (atomic_load(&other->launches) == 0) read_counters(other);
    return 0;
}

/* A thread that waited for itself would wait for ever. */
static void test_from_inside(void **state) {
    (void)state;
    pair p;
    double last = 0;
    open_pair(&p);
    assert_failure(read_with(p.first.session, launch_and_read, &p.second, &last), GPUCHAR_OK);
    assert_int_equal(p.second.status, GPUCHAR_E_BUSY);
    assert_contains(gpuchar_last_error()->message, "counters on another session");
    assert_true(gpuchar_last_error()->hint[0] != 0);
    close_pair(&p);
}

/* A failed launch gives the turn back. */
static int refuse(void *user, size_t range, void *stream) {
    (void)user;
    (void)range;
    (void)stream;
    return 1;
}

static void test_failure_gives_it_back(void **state) {
    (void)state;
    pair p;
    double last = 0;
    open_pair(&p);
    assert_failure(read_with(p.first.session, refuse, NULL, &last), GPUCHAR_E_CALLBACK);
    read_counters(&p.second);
    assert_int_equal(p.second.status, GPUCHAR_OK);
    close_pair(&p);
}

static int read_in_child(void) {
    reader r = {.session = NULL};
    alarm(PATIENCE_MS / 1000); /* instead of a hang */
    gpuchar_runtime *runtime = fake_runtime_with(FAKE_WITH_CUPTI);
    if (gpuchar_session_open(runtime, "0", NULL, &r.session) != GPUCHAR_OK) return 1;
    read_counters(&r);
    gpuchar_session_close(r.session);
    gpuchar_runtime_close(runtime);
    return r.status == GPUCHAR_OK ? 7 : 2;
}

/* Forked while another thread reads: that thread does not exist in the child, which must not wait for it. */
static void test_fork(void **state) {
    (void)state;
    pair p;
    pthread_t thread;
    int code = -1;
    open_pair(&p);
    assert_int_equal(pthread_create(&thread, NULL, read_counters, &p.first), 0);
    assert_true(wait_for(&p.first.launches, 1));
    pid_t child = fork();
    if (child == 0) _exit(read_in_child());
    waitpid(child, &code, 0);
    atomic_store(&p.go, 1);
    pthread_join(thread, NULL);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 7);
    assert_int_equal(p.first.status, GPUCHAR_OK);
    close_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_cancel_ends_the_wait),
        cmocka_unit_test(test_from_inside),
        cmocka_unit_test(test_failure_gives_it_back),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
