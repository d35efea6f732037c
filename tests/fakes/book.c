/* Calls and failures; the objects are in objects.c. */
#include "book_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN_MAX = 32 };

static pthread_mutex_t lock;
static fake_world world;
static fake_call calls[FAKE_CALLS_MAX];
static const char *current = "";
static size_t call_count;
static const char *hidden[HIDDEN_MAX];
static size_t hidden_count;
static struct {
    const char *name;
    unsigned use, seen, failed;
    int error;
} plan;

static const char *const giving_back[] = {"cuDevicePrimaryCtxRelease",
                                          "cuCtxPopCurrent",
                                          "cuModuleUnload",
                                          "cuMemFree",
                                          "cuStreamDestroy",
                                          "cuEventDestroy",
                                          "cuptiProfilerDeInitialize",
                                          "cuptiProfilerHostDeinitialize",
                                          "cuptiRangeProfilerDisable",
                                          "nvmlShutdown",
                                          "nvrtcDestroyProgram"};

static void make_lock(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

void book_lock(void) {
    pthread_mutex_lock(&lock);
}
void book_unlock(void) {
    pthread_mutex_unlock(&lock);
}

static void set_defaults(void) {
    const char *nvrtc_path = world.nvrtc_path;
    world = (fake_world){.version = 13000,
                         .device_count = FAKE_DEVICES,
                         .cupti_version = 24,
                         .passes = 1,
                         .nvml_knows = 1,
                         .throttle_reasons = {1, 1},
                         .nvrtc_path = nvrtc_path};
}

/* For programs, which cannot reach the book: FAKE_CUDA_INIT=803, FAKE_HIDE=cuLaunchKernel, FAKE_FAIL=cuMemAlloc. */
__attribute__((constructor)) static void begin(void) {
    make_lock();
    /* The thread that holds it does not exist in a forked child. */
    pthread_atfork(NULL, NULL, make_lock);
    set_defaults();
    const char *init = getenv("FAKE_CUDA_INIT");
    if (init) world.init_result = atoi(init);
    if (getenv("FAKE_HIDE")) fake_hide(getenv("FAKE_HIDE"));
    if (getenv("FAKE_FAIL")) fake_fail(getenv("FAKE_FAIL"), 0, 999);
}

fake_world *fake(void) {
    return &world;
}

void fake_reset(void) {
    book_lock();
    fake_calls_clear();
    fake_fail(NULL, 0, 0);
    hidden_count = 0;
    book_forget_objects();
    *fake_this_thread() = (fake_thread){0};
    set_defaults();
    book_unlock();
}

fake_thread *fake_this_thread(void) {
    static _Thread_local fake_thread thread;
    return &thread;
}

/* ---- calls */

static void count(fake_library library, const char *name) {
    size_t i = 0;
    /* A wrapper always gives the same text. */
    while (i < call_count && calls[i].name != name) i++;
    if (i == FAKE_CALLS_MAX) abort();
    if (i == call_count) calls[call_count++] = (fake_call){library, name, 0};
    calls[i].count++;
}

bool fake_gives_back(const char *name) {
    for (size_t i = 0; i < sizeof giving_back / sizeof giving_back[0]; i++) {
        if (strcmp(giving_back[i], name) == 0) return true;
    }
    return false;
}

fake_verdict fake_enter(fake_library library, const char *name, int *error) {
    book_lock();
    count(library, name);
    current = name;
    if (!plan.name || strcmp(plan.name, name) != 0) return FAKE_WORKS;
    plan.seen++;
    if (plan.use != 0 && plan.use != plan.seen) return FAKE_WORKS;
    plan.failed++;
    *error = plan.error;
    return fake_gives_back(name) ? FAKE_WORKS_AND_FAILS : FAKE_FAILS;
}

void fake_leave(void) {
    book_unlock();
}

const char *fake_current(void) {
    return current;
}

size_t fake_calls(fake_call list[FAKE_CALLS_MAX]) {
    book_lock();
    size_t number = call_count;
    memcpy(list, calls, number * sizeof calls[0]);
    book_unlock();
    return number;
}

void fake_calls_clear(void) {
    book_lock();
    call_count = 0;
    book_unlock();
}

unsigned fake_call_count(const char *name) {
    unsigned number = 0;
    book_lock();
    for (size_t i = 0; i < call_count; i++) {
        if (strcmp(calls[i].name, name) == 0) number = calls[i].count;
    }
    book_unlock();
    return number;
}

void fake_fail(const char *name, unsigned use, int error) {
    book_lock();
    plan.name = name;
    plan.use = use;
    plan.error = error;
    plan.seen = plan.failed = 0;
    book_unlock();
}

unsigned fake_failed(void) {
    book_lock();
    unsigned failed = plan.failed;
    book_unlock();
    return failed;
}

void fake_hide(const char *name) {
    book_lock();
    if (hidden_count == HIDDEN_MAX) abort();
    hidden[hidden_count++] = name;
    book_unlock();
}

bool fake_hidden(const char *name) {
    bool found = false;
    book_lock();
    for (size_t i = 0; i < hidden_count; i++) found = found || strcmp(hidden[i], name) == 0;
    book_unlock();
    return found;
}
