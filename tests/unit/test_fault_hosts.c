/*
 * What a host may do to the library, and its libraries to the host: threads, cancels, forks, a context that dies, libraries
 * of another version, functions that are not there. On the fakes.
 */
#include "fault_bench.h"

#include <core/util.h>
#include <platform/cupti.h>
#include <platform/nvml_api.h>
#include <platform/nvrtc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static const scene live = {"live", FAKE_WITH_ALL, "0", .canned = true};
static const scene no_session = {"no session", FAKE_WITH_ALL, .canned = true};

/* ---- threads */

enum { ROUNDS = 12 };

typedef struct worker {
    bench bench; /* only its session */
    const char *device;
    bool waits; /* for a cancel: a busy machine may start that thread late */
    unsigned rounds, done, cancelled, others;
} worker;

/* Measures until all rounds are done; a cancel may end any of them, and the next one works. */
static void *measure_many(void *user) {
    worker *w = user;
    for (; w->rounds < ROUNDS || (w->waits && w->cancelled == 0 && w->rounds < 100 * ROUNDS); w->rounds++) {
        outcome o = act_sweep_auto(&w->bench);
        w->done += o.status >= 0;
        w->cancelled += o.status == GPUCHAR_E_CANCELLED;
        w->others += o.status < 0 && o.status != GPUCHAR_E_CANCELLED;
    }
    return NULL;
}

static atomic_bool stop;

static void *cancel_many(void *user) {
    worker *workers = user;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        gpuchar_session_cancel(workers[i % 2].bench.session);
        struct timespec nap = {.tv_nsec = 700 * 1000};
        nanosleep(&nap, NULL);
    }
    return NULL;
}

/* Two sessions on `second`'s device and on the first one, and a third thread that cancels both again and again. */
static void run_two(const char *second, bool cancels) {
    bench b;
    worker workers[2] = {{.device = "0"}, {.device = second}};
    pthread_t threads[3];
    bench_open(&b, &no_session);
    for (int i = 0; i < 2; i++) {
        workers[i].bench.runtime = b.runtime;
        workers[i].waits = cancels;
        assert_failure(open_session(&workers[i].bench, workers[i].device, NULL).status, GPUCHAR_OK);
    }
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, measure_many, &workers[i]), 0);
    if (cancels) assert_int_equal(pthread_create(&threads[2], NULL, cancel_many, workers), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    atomic_store(&stop, true);
    if (cancels) pthread_join(threads[2], NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(workers[i].others, 0);
        assert_int_equal(workers[i].done + workers[i].cancelled, workers[i].rounds);
        if (cancels) {
            assert_true(workers[i].cancelled > 0);
        } else {
            assert_int_equal(workers[i].done, ROUNDS);
        }
        outcome o = act_device_info(&workers[i].bench); /* the last cancel may have come after the last call */
        if (o.status == GPUCHAR_E_CANCELLED) o = act_sweep_auto(&workers[i].bench);
        assert_true(o.status >= 0);
        gpuchar_session_close(workers[i].bench.session);
    }
    bench_close(&b);
    assert_fakes_clean();
}

static void test_two_threads(void **state) {
    (void)state;
    run_two("1", false);
    run_two("0", false);
}

static void test_cancel_from_a_third(void **state) {
    (void)state;
    run_two("1", true);
    run_two("0", true);
}

/* A cancel in the middle of a measurement ends it within a launch or so, and is used up by it. */
static void cancel_at(void *user) {
    bench *b = user;
    if (b->law.launches == 40) gpuchar_session_cancel(b->session);
}

static void test_cancel_while_measuring(void **state) {
    (void)state;
    bench b;
    bench_open(&b, &live);
    b.law.at_launch = cancel_at;
    b.law.user = &b;
    assert_int_equal(act_sweep_auto(&b).status, GPUCHAR_E_CANCELLED);
    assert_in_range(b.law.launches, 40, 200);
    assert_int_equal(fake_held(FAKE_MEMORY) + fake_held(FAKE_EVENT), 0);
    assert_true(act_sweep_auto(&b).status >= 0);
    bench_close(&b);
    assert_fakes_clean();
}

/* ---- a forked child: it may close, and that reaches no foreign code */

static int in_child(bench *b) {
    fake_calls_clear();
    fake_call calls[FAKE_CALLS_MAX];
    if (act_sweep_off(b).status != GPUCHAR_E_FORKED) return 1;
    if (act_device_info(b).status != GPUCHAR_E_FORKED) return 2;
    gpuchar_session_cancel(b->session);
    gpuchar_session_close(b->session);
    gpuchar_runtime_close(b->runtime);
    return fake_calls(calls) == 0 && fake()->retains[0] == 1 && fake()->nvml_users == 1 ? 7 : 3;
}

static void test_fork(void **state) {
    (void)state;
    static const scene warm = {"warm", FAKE_WITH_ALL, "0", .canned = true, .warm = true};
    bench b;
    bench_open(&b, &warm);
    pid_t child = fork();
    if (child == 0) _exit(in_child(&b));
    int code = -1;
    waitpid(child, &code, 0);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 7);
    assert_true(act_sweep_auto(&b).status >= 0); /* the parent goes on */
    bench_close(&b);
    assert_fakes_clean();
}

/* ---- a context that dies: everything on it fails from then on */

static void kill_at(void *user) {
    const bench *b = user;
    if (b->law.launches == 30) fake()->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
}

static void die(bench *b, const scene *s) {
    bench_open(b, s);
    b->law.at_launch = kill_at;
    b->law.user = b;
    assert_int_equal(act_sweep_auto(b).status, GPUCHAR_E_CONTEXT_LOST);
    assert_string_equal(gpuchar_last_error()->native_name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_true(gpuchar_last_error()->hint[0] != 0);
    assert_int_equal(act_sweep_auto(b).status, GPUCHAR_E_CONTEXT_LOST);
    assert_int_equal(act_counters(b).status, GPUCHAR_E_CONTEXT_LOST);
    assert_int_equal(fake_depth(), 0);
}

static void test_dead_context(void **state) {
    (void)state;
    bench b;
    die(&b, &live);
    act_close(&b);
    assert_int_equal(fake()->retains[0], 0);
    /* Its owner has let it go: the next session gets a new one. */
    fake()->sticky = 0;
    b.law.at_launch = NULL;
    assert_failure(open_session(&b, "0", NULL).status, GPUCHAR_OK);
    assert_true(act_sweep_auto(&b).status >= 0);
    bench_close(&b);
    assert_fakes_clean();
}

static void test_dead_context_of_the_caller(void **state) {
    (void)state;
    static const scene own = {"own", FAKE_WITH_ALL, "0", .canned = true, .own_context = true};
    bench b;
    die(&b, &own);
    fake_context_destroy(b.context); /* before the session */
    fake()->sticky = 0;
    assert_int_equal(act_device_info(&b).status, GPUCHAR_E_CONTEXT_LOST);
    fake_calls_clear();
    bench_close(&b);
    assert_int_equal(fake_call_count("cuStreamDestroy") + fake_call_count("cuMemFree"), 0);
    assert_fakes_clean();
}

/* A code that the driver itself cannot name. */
static void test_unknown_code(void **state) {
    (void)state;
    bench b;
    bench_open(&b, &live);
    fake_fail("cuMemAlloc", 1, 12345);
    assert_int_equal(act_sweep_off(&b).status, GPUCHAR_E_CUDA);
    assert_int_equal(gpuchar_last_error()->native_code, 12345);
    assert_string_equal(gpuchar_last_error()->native_name, "unknown CUDA error");
    bench_close(&b);
    assert_fakes_clean();
}

/* A GPU in exclusive compute mode belongs to another process: nobody else gets a context. The next attempt may. */
static void test_exclusive_mode(void **state) {
    (void)state;
    static const char *const devices[] = {"0", UUID_0, "0000:01:00.0"};
    bench b;
    bench_open(&b, &no_session);
    for (size_t i = 0; i < GC_COUNT(devices); i++) {
        fake_fail("cuDevicePrimaryCtxRetain", 1, CUDA_ERROR_DEVICE_UNAVAILABLE);
        assert_int_equal(open_session(&b, devices[i], NULL).status, GPUCHAR_E_CUDA);
        assert_string_equal(gpuchar_last_error()->native_name, "CUDA_ERROR_DEVICE_UNAVAILABLE");
        assert_non_null(strstr(gpuchar_last_error()->hint, "exclusive"));
        fake_fail(NULL, 0, 0);
        assert_failure(open_session(&b, devices[i], NULL).status, GPUCHAR_OK);
    }
    bench_close(&b);
    assert_fakes_clean();
}

/* ---- libraries of another version */

static gpuchar_status info_of(bench *b, const scene *s, int library) {
    gpuchar_runtime_close(b->runtime);
    gpuchar_runtime_options options = fake_options(s->with);
    assert_failure(gpuchar_runtime_open(&options, &b->runtime), GPUCHAR_OK);
    return act_runtime_info(b).parts[library];
}

static void test_wrong_versions(void **state) {
    (void)state;
    bench b;
    bench_open(&b, &no_session);
    fake()->version = 11020;
    fake_hide("cuGetProcAddress_v2"); /* as in a driver of that time */
    assert_int_equal(info_of(&b, &no_session, FAKE_CUDA), GPUCHAR_E_DRIVER_TOO_OLD);
    bench_close(&b);
    bench_open(&b, &no_session);
    fake()->version = 11080;
    assert_int_equal(info_of(&b, &no_session, FAKE_CUDA), GPUCHAR_E_DRIVER_TOO_OLD);
    assert_int_equal(open_session(&b, "0", NULL).status, GPUCHAR_E_DRIVER_TOO_OLD);
    fake()->version = 12020; /* CUPTI and NVRTC of CUDA 13 do not fit */
    fake()->cupti_version = 130000;
    fake()->nvrtc_major = 13;
    assert_int_equal(info_of(&b, &no_session, FAKE_CUDA), GPUCHAR_OK);
    assert_int_equal(act_runtime_info(&b).parts[FAKE_CUPTI], GPUCHAR_E_NO_CUPTI);
    assert_int_equal(act_runtime_info(&b).parts[FAKE_NVRTC], GPUCHAR_E_NVRTC_TOO_NEW);
    assert_failure(open_session(&b, "0", NULL).status, GPUCHAR_OK);
    assert_int_equal(act_sweep_off(&b).status, GPUCHAR_E_NVRTC_TOO_NEW);
    assert_int_equal(act_counters(&b).status, GPUCHAR_E_NO_CUPTI);
    act_close(&b);
    fake()->version = 13000;
    fake()->nvrtc_major = 11;
    assert_int_equal(info_of(&b, &no_session, FAKE_NVRTC), GPUCHAR_E_NVRTC_TOO_OLD);
    bench_close(&b);
    assert_fakes_clean();
}

/* ---- functions that are not there, one by one */

static unsigned hidden_count, hidden_right;

/* A library without `name`: its status in the runtime's information, and that its message names the function. */
static void hide_one(int library, const char *name, gpuchar_status wanted) {
    bench b;
    gpuchar_runtime_info info = GPUCHAR_RUNTIME_INFO_INIT;
    bench_open(&b, &no_session);
    fake_hide(name);
    assert_failure(gpuchar_runtime_get_info(b.runtime, &info), GPUCHAR_OK);
    const gpuchar_library_info *libraries[FAKE_LIBRARIES] = {&info.cuda, &info.cupti, &info.nvml, &info.nvrtc};
    bool right = libraries[library]->status == wanted;
    for (int i = 0; i < FAKE_LIBRARIES; i++) right = right && (i == library || libraries[i]->status == GPUCHAR_OK);
    if (wanted == GPUCHAR_E_SYMBOL_MISSING) right = right && strstr(libraries[library]->message, name);
    /* Whatever is missing, a session either opens or says so. */
    gpuchar_status opened = open_session(&b, "0", NULL).status;
    right = right && opened == (library == FAKE_CUDA ? wanted : GPUCHAR_OK);
    if (opened == GPUCHAR_OK) right = right && (act_device_info(&b).status == GPUCHAR_OK);
    if (!right) {
        print_message("without %s: %s, %s\n", name, gpuchar_status_name(libraries[library]->status),
                      libraries[library]->message);
    }
    bench_close(&b);
    assert_fakes_clean();
    hidden_count++;
    hidden_right += right;
}

/* CUPTI's age is told by its functions. */
static gpuchar_status wanted_of_cupti(const char *name) {
    return strcmp(name, "cuptiRangeProfilerEnable") == 0 ? GPUCHAR_E_CUPTI_TOO_OLD : GPUCHAR_E_SYMBOL_MISSING;
}

static void test_missing_symbols(void **state) {
    (void)state;
#define CUDA(member, version, parameters) hide_one(FAKE_CUDA, "cu" #member, GPUCHAR_E_SYMBOL_MISSING);
    GC_CUDA_FUNCTIONS(CUDA)
#define CUPTI(member, parameters) hide_one(FAKE_CUPTI, "cupti" #member, wanted_of_cupti("cupti" #member));
    GC_CUPTI_FUNCTIONS(CUPTI)
#define NVRTC(member, result, parameters) hide_one(FAKE_NVRTC, "nvrtc" #member, GPUCHAR_E_SYMBOL_MISSING);
    GC_NVRTC_FUNCTIONS(NVRTC)
#define NVML(member, symbol, older, optional, parameters)                                                              \
    hide_one(FAKE_NVML, "nvml" symbol, (optional) ? GPUCHAR_OK : GPUCHAR_E_SYMBOL_MISSING);
    GC_NVML_FUNCTIONS(NVML)
    hide_one(FAKE_NVML, "nvmlErrorString", GPUCHAR_OK);
    hide_one(FAKE_CUDA, "cuGetProcAddress_v2", GPUCHAR_E_SYMBOL_MISSING);
    print_message("%u of %u missing functions are told or done without\n", hidden_right, hidden_count);
    assert_int_equal(hidden_right, hidden_count);
}

/* Without both names of a fact that was renamed it is unknown; with one of the two it is known. */
static void test_missing_facts(void **state) {
    (void)state;
    static const struct {
        const char *name, *older;
        uint64_t bit;
    } facts[] = {
        {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
         GPUCHAR_DEVICE_THROTTLE},
        {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
         GPUCHAR_DEVICE_OTHER_PROCESSES},
        {"nvmlDeviceGetTemperature", NULL, GPUCHAR_DEVICE_TEMPERATURE},
        {"nvmlDeviceGetVbiosVersion", NULL, GPUCHAR_DEVICE_VBIOS},
        {"nvmlDeviceGetEnforcedPowerLimit", NULL, GPUCHAR_DEVICE_POWER_LIMIT},
        {"nvmlDeviceGetApplicationsClock", NULL, GPUCHAR_DEVICE_APPLICATION_SM_CLOCK},
    };
    for (size_t i = 0; i < GC_COUNT(facts); i++) {
        for (int both = 0; both < 2; both++) {
            bench b;
            bench_open(&b, &no_session);
            fake_hide(facts[i].name);
            if (both && facts[i].older) fake_hide(facts[i].older);
            assert_failure(open_session(&b, "0", NULL).status, GPUCHAR_OK);
            bool known = (act_device_info(&b).known & facts[i].bit) != 0;
            assert_int_equal(known, !both && facts[i].older);
            bench_close(&b);
            assert_fakes_clean();
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_cancel_from_a_third),
        cmocka_unit_test(test_cancel_while_measuring),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_dead_context),
        cmocka_unit_test(test_dead_context_of_the_caller),
        cmocka_unit_test(test_unknown_code),
        cmocka_unit_test(test_exclusive_mode),
        cmocka_unit_test(test_wrong_versions),
        cmocka_unit_test(test_missing_symbols),
        cmocka_unit_test(test_missing_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
