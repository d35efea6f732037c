/*
 * Every foreign call that a public function makes fails in turn: at its first, its second and its last use, with each error
 * that is documented for it. What happened before is known, what must come out follows from a few rules; see judge().
 */
#include "fault_bench.h"
#include "fault_errors.h"

#include <core/util.h>
#include <platform/cupti.h>
#include <platform/nvml_api.h>
#include <platform/nvrtc.h>
#include <time.h>

typedef struct fault_case {
    const scene *scene;
    fake_call call; /* `count` of it when nothing fails */
    unsigned use;
    int error;
    const outcome *clean;
} fault_case;

typedef struct tally {
    unsigned calls, uses, cases, right;
} tally;
static tally tallies[FAKE_LIBRARIES];
static unsigned wrong;

static bool is(const fault_case *c, const char *name) {
    return strcmp(c->call.name, name) == 0;
}

/* ---- what must come out */

/* The last exchange of the capture mode in a call brings the caller's back. */
static bool gives_back(const fault_case *c) {
    return fake_gives_back(c->call.name) || (is(c, "cuThreadExchangeStreamCaptureMode") && c->use % 2 == 0);
}

static gpuchar_status expected_of_cuda(const fault_case *c) {
    if (is(c, "cuGetProcAddress_v2")) return GPUCHAR_E_SYMBOL_MISSING;
    switch (c->error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return GPUCHAR_E_OUT_OF_DEVICE_MEMORY;
    case CUDA_ERROR_NO_DEVICE:
        return GPUCHAR_E_NO_DEVICE;
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
        return GPUCHAR_E_CONTEXT_LOST;
    default:
        return GPUCHAR_E_CUDA;
    }
}

static gpuchar_status expected_of_cupti(const fault_case *c) {
    switch (c->error) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
        return GPUCHAR_E_NO_PERMISSION;
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return GPUCHAR_E_PROFILER_ACTIVE;
    case CUPTI_ERROR_NOT_COMPATIBLE:
        return GPUCHAR_E_COUNTERS_UNSUPPORTED;
    case CUPTI_ERROR_OUT_OF_MEMORY:
        return GPUCHAR_E_OUT_OF_MEMORY;
    case CUPTI_ERROR_INVALID_METRIC_NAME:
        return GPUCHAR_E_METRIC_UNKNOWN;
    default:
        return is(c, "cuptiProfilerHostConfigAddMetrics") && c->error == CUPTI_ERROR_INVALID_PARAMETER
                   ? GPUCHAR_E_METRIC_UNKNOWN
                   : GPUCHAR_E_CUPTI;
    }
}

static gpuchar_status expected_of_nvrtc(const fault_case *c) {
    switch (c->error) {
    case NVRTC_ERROR_COMPILATION:
        return GPUCHAR_E_COMPILE;
    case NVRTC_ERROR_OUT_OF_MEMORY:
        return GPUCHAR_E_OUT_OF_MEMORY;
    case NVRTC_ERROR_INVALID_OPTION:
        return GPUCHAR_E_INVALID_ARGUMENT;
    default:
        return GPUCHAR_E_NVRTC;
    }
}

static gpuchar_status expected(const fault_case *c) {
    switch (c->call.library) {
    case FAKE_CUDA:
        return expected_of_cuda(c);
    case FAKE_CUPTI:
        return expected_of_cupti(c);
    case FAKE_NVRTC:
        return expected_of_nvrtc(c);
    default:
        return GPUCHAR_E_NVML;
    }
}

static bool same(const outcome *a, const outcome *b) {
    return a->status == b->status && memcmp(a->parts, b->parts, sizeof a->parts) == 0 && a->known == b->known &&
           a->flags == b->flags;
}

/* All but what is known is the same, and no more is known than without the failure. */
static bool no_more_known(const outcome *o, const outcome *clean) {
    outcome other = *o;
    other.known = clean->known;
    return same(&other, clean) && (o->known & ~clean->known) == 0;
}

/* The thread's error detail says which foreign call it was, and what it returned. */
static const char *check_detail(const fault_case *c) {
    static const uint32_t domains[FAKE_LIBRARIES] = {GPUCHAR_DOMAIN_CUDA, GPUCHAR_DOMAIN_CUPTI, GPUCHAR_DOMAIN_NVML,
                                                     GPUCHAR_DOMAIN_NVRTC};
    static const char *const prefixes[FAKE_LIBRARIES] = {"CUDA_ERROR_", "CUPTI_ERROR_", "", "NVRTC_ERROR_"};
    const gpuchar_error *error = gpuchar_last_error();
    if (error->status != expected(c)) return "the detail has another status";
    if (error->domain != domains[c->call.library]) return "the detail has another domain";
    if (error->native_code != c->error) return "the detail has another code";
    if (strcmp(error->call, c->call.name) != 0) return "the detail names another call";
    if (strncmp(error->native_name, prefixes[c->call.library], strlen(prefixes[c->call.library])) != 0) {
        return "the detail does not name the code";
    }
    return error->message[0] ? NULL : "no message";
}

static const char *judge_failure(const fault_case *c, const outcome *o) {
    if (o->status != expected(c)) return "another status";
    return check_detail(c);
}

/* Counters that are read where possible: the evidence says why they were not. Memory and the context are never passed over. */
static bool is_part(const fault_case *c, const outcome *o) {
    gpuchar_status why = expected(c);
    bool ends = why == GPUCHAR_E_CONTEXT_LOST || why == GPUCHAR_E_OUT_OF_MEMORY;
    bool counting = c->call.library == FAKE_CUPTI || is(c, "cuCtxSynchronize") ||
                    (is(c, "cuLaunchKernel") && c->use == c->call.count);
    return c->scene->counters_auto && counting && !ends && o->status == c->clean->status && o->parts[0] == why &&
           !(o->flags & GPUCHAR_FLAG_COUNTED);
}

static const char *judge_runtime_info(const fault_case *c, const outcome *o) {
    static const int part_of[FAKE_LIBRARIES] = {0, 1, 2, 3};
    outcome other = *o;
    int part = part_of[c->call.library];
    if (o->parts[part] != expected(c)) return "the library's entry has another status";
    other.parts[part] = c->clean->parts[part];
    return same(&other, c->clean) ? NULL : "another entry has changed";
}

/* A PCI id is a fact that a device may lack; whoever is looked for by it is not found then. */
static const char *judge_pci(const fault_case *c, const outcome *o) {
    if (c->scene->act == act_open_pci && o->status == GPUCHAR_E_DEVICE_NOT_FOUND) {
        return strstr(gpuchar_last_error()->hint, "PCI id") ? NULL : "no hint that a PCI id is not known";
    }
    return no_more_known(o, c->clean) ? NULL : "more than the PCI id is lost";
}

/* The last attribute asked for, ECC, is one that not every driver has; NVML knows it too. */
static bool is_optional_attribute(const fault_case *c, const outcome *o) {
    bool missed = o->known != c->clean->known || (c->scene->with & FAKE_WITH_NVML);
    bool asks = strstr(c->scene->name, "session_open") || strstr(c->scene->name, "device_info");
    return is(c, "cuDeviceGetAttribute") && asks && c->use == c->call.count && missed && no_more_known(o, c->clean);
}

/* What a runtime finds out once: that a library does not load or start. */
static bool is_remembered(const fault_case *c) {
    static const char *const names[] = {"cuGetProcAddress_v2", "cuDriverGetVersion", "cuInit",
                                        "cuptiGetVersion",     "nvrtcVersion",       "nvmlInit_v2"};
    for (size_t i = 0; i < GC_COUNT(names); i++) {
        if (is(c, names[i])) return true;
    }
    return false;
}

/* What CUPTI is asked only where there are ranges. */
static bool reads_values(const fault_case *c) {
    static const char *const names[] = {"cuptiRangeProfilerPushRange",
                                        "cuptiRangeProfilerPopRange",
                                        "cuptiRangeProfilerDecodeData",
                                        "cuptiRangeProfilerGetCounterDataInfo",
                                        "cuptiRangeProfilerCounterDataGetRangeInfo",
                                        "cuptiProfilerHostEvaluateToGpuValues"};
    for (size_t i = 0; i < GC_COUNT(names); i++) {
        if (is(c, names[i])) return true;
    }
    return false;
}

/*
 * Jobs of one call. What is done beforehand for all of them is done again by the job that needs it: CUPTI's first calls, the
 * thread's context for them, and the compiler. Any other failure is that of one job, or takes counters from a job that does not
 * need them.
 */
static const char *judge_jobs(const fault_case *c, const outcome *o) {
    const bool entering = is(c, "cuCtxPushCurrent") || is(c, "cuThreadExchangeStreamCaptureMode");
    const bool warming = c->call.library == FAKE_CUPTI && c->use == 1 && !reads_values(c);
    const bool beforehand = c->call.library == FAKE_NVRTC || warming || (entering && c->use == 2);
    if (beforehand && !is_remembered(c)) return same(o, c->clean) ? NULL : "what was made ready has changed a result";
    const bool fails = o->status < 0;
    for (int i = 0; i < 2 && !fails; i++) {
        const bool lost = o->parts[i] == expected(c);
        if (!lost && o->parts[i] != c->clean->parts[i]) return "counters are missing for another reason";
    }
    if (!fails) return o->status == c->clean->status && !same(o, c->clean) ? NULL : "nobody tells of the failure";
    const bool whole = entering || is_remembered(c) || expected(c) == GPUCHAR_E_CONTEXT_LOST;
    if (!whole && (o->parts[2] < 0) == (o->parts[3] < 0)) return "not one of the two jobs has failed";
    return judge_failure(c, o);
}

static const char *judge(const fault_case *c, const outcome *o, unsigned warnings) {
    bool closes = c->scene->act == act_close || c->scene->act == act_runtime_close;
    if (gives_back(c) || closes) {
        if (!same(o, c->clean)) return "a failure to give back has changed the result";
        /* The compiler's threads must not call the host's log. */
        return warnings > 0 || c->call.library == FAKE_NVRTC ? NULL : "the log says nothing";
    }
    if (is(c, "nvrtcGetProgramLogSize") || is(c, "nvrtcGetProgramLog")) {
        return same(o, c->clean) ? NULL : "a log that cannot be had has changed the result";
    }
    /* Only what a driver could not use is kept out by its version. */
    if (c->scene->with == FAKE_WITH_NVRTC && c->call.library == FAKE_CUDA) {
        return same(o, c->clean) ? NULL : "compiling needs a driver";
    }
    if (c->scene->act == act_runtime_info) return judge_runtime_info(c, o);
    if (c->call.library == FAKE_NVML) return no_more_known(o, c->clean) ? NULL : "more than a fact of NVML's is lost";
    if (is(c, "cuDeviceGetPCIBusId")) return judge_pci(c, o);
    if (c->scene->act == act_run_all) return judge_jobs(c, o);
    if (is_optional_attribute(c, o)) return NULL;
    return is_part(c, o) ? NULL : judge_failure(c, o);
}

/* ---- what is true after every case */

static const char *check_untouched(const gpuchar_error *before) {
    const gpuchar_error *now = gpuchar_last_error();
    bool untouched = now->status == before->status && strcmp(now->message, before->message) == 0;
    return untouched ? NULL : "success has touched the thread's error";
}

static const char *check_thread(const fault_case *c) {
    fake_thread *thread = fake_this_thread();
    if (thread->depth != 0) return "the context stack is not as before";
    bool lost = is(c, "cuThreadExchangeStreamCaptureMode") && gives_back(c);
    if (thread->capture_mode != CU_STREAM_CAPTURE_MODE_GLOBAL && !lost) return "the capture mode is not as before";
    thread->capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return NULL;
}

static const char *check_held(const bench *b) {
    static const fake_kind none[] = {FAKE_EVENT, FAKE_MEMORY, FAKE_HOST, FAKE_PROFILER, FAKE_PROGRAM};
    for (size_t i = 0; i < GC_COUNT(none); i++) {
        if (fake_held(none[i]) != 0) return fake_held_text();
    }
    if (fake()->profilers != 0) return "CUPTI's profiler is left on";
    if (!b->session && fake_held(FAKE_STREAM) + fake_held(FAKE_CONTEXT) != 0) return fake_held_text();
    return fake_misuses()[0] ? fake_misuses() : NULL;
}

/* Into a context that cannot be entered nothing can be given back: it goes with the context. */
static bool cannot_give_back(const fault_case *c) {
    return c->scene->act == act_close && is(c, "cuCtxPushCurrent");
}

static const char *check_end(const fault_case *c) {
    const char *left = bench_check_left();
    if (left) return left;
    if (fake_misuses()[0]) return fake_misuses();
    if (cannot_give_back(c)) return NULL;
    if (fake()->swept) return "objects were left to the end of their context";
    return fake_held_all() ? fake_held_text() : NULL;
}

/* The same call once more, with nothing failing; where the failure is remembered, a new runtime works. */
static const char *check_again(const fault_case *c, bench *b, const outcome *first) {
    outcome again = c->scene->act(b);
    if (is_remembered(c) && c->scene->act != act_runtime_open) {
        const char *trouble = same(&again, first) ? NULL : "the failure is not remembered";
        if (!trouble && first->status < 0) trouble = check_detail(c);
        bench_close(b);
        bench_open(b, c->scene);
        again = c->scene->act(b);
        if (trouble) return trouble;
    }
    return same(&again, c->clean) ? NULL : "the same call does not work afterwards";
}

static const char *run_case(const fault_case *c) {
    bench b;
    libc_watch();
    bench_open(&b, c->scene);
    gpuchar_error *before = gpuchar_error_copy();
    fake_fail(c->call.name, c->use, c->error);
    outcome o = c->scene->act(&b);
    const char *trouble = fake_failed() == 1 ? NULL : "the call did not come";
    fake_fail(NULL, 0, 0);
    if (!trouble) trouble = judge(c, &o, b.warnings);
    if (!trouble && o.status >= 0) trouble = check_untouched(before);
    if (!trouble) trouble = check_thread(c);
    if (!trouble && !cannot_give_back(c)) trouble = check_held(&b);
    if (!trouble) trouble = check_again(c, &b, &o);
    const gpuchar_error *error = gpuchar_last_error();
    char said[600];
    snprintf(said, sizeof said, "%s (%s): %s", error->call, error->native_name, error->message);
    gpuchar_error_free(before);
    bench_close(&b);
    if (!trouble) trouble = check_end(c);
    if (trouble && wrong < 40) {
        print_message("%s: use %u of %u of %s returns %d: %s\n    status %d, then %s\n", c->scene->name, c->use,
                      c->call.count, c->call.name, c->error, trouble, o.status, said);
    }
    return trouble;
}

/* ---- the matrix */

/* Asked again and again while time passes: how often is not the same in the next run. It is asked twice at least. */
static bool is_timed(const char *name) {
    return strcmp(name, "nvmlDeviceGetCurrentClocksEventReasons") == 0;
}

static void run_call(const scene *s, const fake_call *call, const outcome *clean) {
    const fault_errors *errors = fault_errors_of(call->name);
    const unsigned uses[] = {1, 2, call->count};
    tally *t = &tallies[call->library];
    if (!errors) {
        fail_msg("%s is not in the table of errors", call->name);
        return;
    }
    t->calls++;
    for (size_t u = 0; u < GC_COUNT(uses); u++) {
        if (uses[u] > call->count || (u == 2 && (call->count <= 2 || is_timed(call->name)))) continue;
        t->uses++;
        for (size_t e = 0; e < FAULT_ERRORS_MAX && errors->errors[e]; e++) {
            const fault_case c = {s, *call, uses[u], errors->errors[e], clean};
            bool right = run_case(&c) == NULL;
            t->cases++;
            t->right += right;
            wrong += !right;
        }
    }
}

static fake_call reached[FAKE_CALLS_MAX];
static size_t reached_count;

static void remember_reached(const fake_call *call) {
    for (size_t i = 0; i < reached_count; i++) {
        if (strcmp(reached[i].name, call->name) == 0) return;
    }
    reached[reached_count++] = *call;
}

static void run_scene(const scene *s) {
    static fake_call calls[FAKE_CALLS_MAX];
    bench b;
    struct timespec from, to;
    bench_open(&b, s);
    fake_calls_clear();
    outcome clean = s->act(&b);
    size_t count = fake_calls(calls);
    assert_true(clean.status >= 0 || s->act == act_cancel || is_idle(s, &clean));
    /* With a compiler the clean sweep is all that a sweep can be, so that every loss shows. */
    if (s->act == act_sweep_auto && !s->canned && fake()->nvrtc_path) {
        assert_int_equal(clean.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    }
    bench_close(&b);
    assert_fakes_clean();
    unsigned cases = 0, before = wrong;
    for (int i = 0; i < FAKE_LIBRARIES; i++) cases -= tallies[i].cases;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (size_t i = 0; i < count; i++) {
        remember_reached(&calls[i]);
        run_call(s, &calls[i], &clean);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    for (int i = 0; i < FAKE_LIBRARIES; i++) cases += tallies[i].cases;
    print_message("%-28s %3zu calls %5u cases %5u right %6.2f s\n", s->name, count, cases, cases - (wrong - before),
                  (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
}

static void test_matrix(void **state) {
    static const char *const names[FAKE_LIBRARIES] = {"CUDA driver", "CUPTI", "NVML", "NVRTC"};
    (void)state;
    tally all = {0};
    for (size_t i = 0; i < GC_COUNT(scenes); i++) run_scene(&scenes[i]);
    for (int i = 0; i < FAKE_LIBRARIES; i++) {
        const tally *t = &tallies[i];
        print_message("%-12s %4u calls x uses (%4u) x errors: %5u cases, %5u right\n", names[i], t->calls, t->uses,
                      t->cases, t->right);
        all.cases += t->cases;
        all.right += t->right;
        assert_true(t->cases > 0);
    }
    print_message("%u of %u cases end right\n", all.right, all.cases);
    assert_int_equal(all.right, all.cases);
}

/* ---- no function of the tables is left out */

/* Those that tell errors are called only when something failed; the others are there for experiments to come. */
static const char *const not_reached[] = {
    "cuGetErrorName",       "cuGetErrorString",
    "cuCtxGetCurrent",      "cuFuncGetAttribute",
    "cuFuncSetAttribute",   "cuMemGetInfo",
    "cuEventQuery",         "cuptiGetResultString",
    "cuptiGetErrorMessage", "cuptiProfilerHostGetSupportedChips",
    "nvrtcGetErrorString",  "nvmlDeviceGetHandleByPciBusId_v2",
};

static void expect_reached(const char *name) {
    bool there = false, excused = false;
    for (size_t i = 0; i < reached_count; i++) there = there || strcmp(reached[i].name, name) == 0;
    for (size_t i = 0; i < GC_COUNT(not_reached); i++) excused = excused || strcmp(not_reached[i], name) == 0;
    if (there == excused) fail_msg("%s %s", name, there ? "is reached after all" : "is in no scene");
}

static void test_nothing_left_out(void **state) {
    (void)state;
#define CUDA(member, version, parameters) expect_reached("cu" #member);
    GC_CUDA_FUNCTIONS(CUDA)
#define CUPTI(member, parameters) expect_reached("cupti" #member);
    GC_CUPTI_FUNCTIONS(CUPTI)
#define NVML(member, symbol, older, optional, parameters) expect_reached("nvml" symbol);
    GC_NVML_FUNCTIONS(NVML)
#define NVRTC(member, result, parameters) expect_reached("nvrtc" #member);
    GC_NVRTC_FUNCTIONS(NVRTC)
}

static int find_nvrtc(void **state) {
    (void)state;
    if (!plant_nvrtc()) print_message("no NVRTC: a cubin without code takes its place\n");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_matrix), cmocka_unit_test(test_nothing_left_out)};
    return cmocka_run_group_tests(tests, find_nvrtc, NULL);
}
