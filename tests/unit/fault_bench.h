/*
 * The public calls that reach foreign code, each as a scene: what is there before it, the call, what came out. A scene runs
 * on fakes of its own, so that nothing of one case is left in the next.
 */
#ifndef FAULT_BENCH_H
#define FAULT_BENCH_H

#include <core/error.h>
#include <errno.h>
#include <fakes/faulty_libc.h>
#include <fakes/planted.h>
#include <session/session_internal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>

/* What a call left for the caller, as far as a failure may change it. */
typedef struct outcome {
    gpuchar_status status;
    gpuchar_status parts[4]; /* of a call that succeeds without some of its parts: why not */
    uint64_t known;          /* bits of what is known */
    uint32_t flags;
} outcome;

typedef struct bench {
    gpuchar_runtime *runtime;
    gpuchar_session *session;
    uintptr_t context; /* the caller's own */
    planted law;
    atomic_uint warnings; /* lines in the log, of all threads */
} bench;

typedef struct scene {
    const char *name;
    unsigned with;      /* FAKE_WITH_... */
    const char *device; /* of the session that is open before the call; NULL: none */
    bool own_context;   /* the session's is the caller's */
    bool warm;          /* a sweep has run in it */
    bool closed;        /* and it is closed again */
    bool canned;        /* the kernels hold no code: what is proved is another scene's */
    bool counters_auto; /* a failure of the counters is a part, not the end */
    outcome (*act)(bench *b);
} scene;

#define UUID_0 "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0"
#define UUID_1 "MIG-01112131-4151-6171-8191-a1b1c1d1e1f1"

static inline void bench_log(void *user, uint32_t level, const char *message) {
    bench *b = user;
    (void)message;
    if (level <= GPUCHAR_LOG_WARNING) atomic_fetch_add(&b->warnings, 1);
}

/* ---- calls on a runtime */

static inline outcome act_runtime_open(bench *b) {
    gpuchar_runtime_options options = fake_options(FAKE_WITH_ALL);
    gpuchar_runtime *another = NULL;
    (void)b;
    outcome o = {.status = gpuchar_runtime_open(&options, &another)};
    gpuchar_runtime_close(another);
    return o;
}

static inline outcome act_runtime_close(bench *b) {
    gpuchar_runtime_close(b->runtime);
    b->runtime = NULL;
    return (outcome){0};
}

static inline outcome act_runtime_info(bench *b) {
    gpuchar_runtime_info info = GPUCHAR_RUNTIME_INFO_INIT;
    outcome o = {.status = gpuchar_runtime_get_info(b->runtime, &info)};
    const gpuchar_library_info *libraries[] = {&info.cuda, &info.cupti, &info.nvml, &info.nvrtc};
    for (int i = 0; i < 4; i++) o.parts[i] = libraries[i]->status;
    return o;
}

static inline outcome act_architectures(bench *b) {
    size_t count = 77;
    outcome o = {.status = gpuchar_runtime_architectures(b->runtime, NULL, 0, &count)};
    o.known = count;
    return o;
}

static inline outcome act_device_list(bench *b) {
    gpuchar_device_list_result list = GPUCHAR_DEVICE_LIST_RESULT_INIT;
    outcome o = {.status = gpuchar_device_list(b->runtime, &list)};
    for (size_t i = 0; i < list.device_count; i++) o.known |= (list.devices[i].pci_id[0] ? 3u : 1u) << 2 * i;
    if (o.status < 0) assert_null(list.devices);
    gpuchar_device_list_result_free(&list);
    return o;
}

static inline outcome act_compile(bench *b) {
    gpuchar_compile_options options = GPUCHAR_COMPILE_OPTIONS_INIT;
    gpuchar_compile_result result = GPUCHAR_COMPILE_RESULT_INIT;
    options.source = "extern \"C\" __global__ void f(int *p) { *p = 1; }";
    options.architecture = "sm_90";
    outcome o = {.status = gpuchar_compile(b->runtime, &options, &result)};
    o.known = result.cubin_size_bytes > 0;
    if (o.status < 0) assert_null(result.cubin);
    gpuchar_compile_result_free(&result);
    return o;
}

/* ---- sessions */

/* The session of the call before is given back: the same call may come twice. */
static inline outcome open_session(bench *b, const char *device, void *context) {
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    gpuchar_session_close(b->session);
    b->session = NULL;
    options.context = context;
    outcome o = {.status = gpuchar_session_open(b->runtime, device, &options, &b->session)};
    if (o.status < 0) assert_null(b->session);
    if (b->session) o.known = b->session->info.known;
    return o;
}

static inline outcome act_open_ordinal(bench *b) {
    return open_session(b, "1", NULL);
}
static inline outcome act_open_uuid(bench *b) {
    return open_session(b, UUID_0, NULL);
}
static inline outcome act_open_pci(bench *b) {
    return open_session(b, "0000:01:00.0", NULL);
}
static inline outcome act_open_slice(bench *b) {
    return open_session(b, UUID_1, NULL);
}
static inline outcome act_open_context(bench *b) {
    if (!b->context) b->context = fake_context(0);
    return open_session(b, "0", (void *)b->context);
}
static inline outcome act_open_architecture(bench *b) {
    return open_session(b, "sm_90", NULL);
}
static inline outcome act_close(bench *b) {
    gpuchar_session_close(b->session);
    b->session = NULL;
    return (outcome){0};
}

static inline outcome act_device_info(bench *b) {
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    outcome o = {.status = gpuchar_device_info_get(b->session, &info)};
    o.known = info.known;
    return o;
}

static inline int bench_launch(void *user, size_t range, void *stream) {
    (void)user;
    (void)range;
    return stream ? 0 : 1;
}

static inline outcome act_counters(bench *b) {
    static const char *const metrics[] = {"smsp__inst_executed.sum", "fake.sum"};
    gpuchar_counters_options options = GPUCHAR_COUNTERS_OPTIONS_INIT;
    gpuchar_counters_result result = GPUCHAR_COUNTERS_RESULT_INIT;
    options.metrics = metrics;
    options.metric_count = 2;
    options.range_count = 3;
    options.launch = bench_launch;
    outcome o = {.status = gpuchar_counters_read(b->session, &options, &result)};
    if (o.status == GPUCHAR_OK) o.known = (uint64_t)result.values[2 * 2 + 1];
    if (o.status < 0) assert_null(result.values);
    gpuchar_counters_result_free(&result);
    return o;
}

/* ---- experiments, as small as they can be */

static inline outcome evidence_outcome(gpuchar_status status, const gpuchar_evidence *evidence) {
    return (outcome){
        .status = status, .parts = {evidence->counters_status}, .flags = evidence->flags, .known = evidence->known};
}

static inline outcome sweep(bench *b, uint32_t counters) {
    gpuchar_divergence_sweep_options options = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    options.launches = 5;
    options.iterations = 16;
    options.body = 64;
    options.counters = counters;
    gpuchar_status status = gpuchar_experiment_run(b->session, "divergence_sweep", &options, &result);
    outcome o = evidence_outcome(status, &result.evidence);
    o.known |= (uint64_t)result.known << 32;
    if (status < 0) assert_null(result.points);
    gpuchar_divergence_sweep_result_free(&result);
    return o;
}

static inline outcome shapes(bench *b, uint32_t counters) {
    gpuchar_divergence_shapes_options options = GPUCHAR_DIVERGENCE_SHAPES_OPTIONS_INIT;
    gpuchar_divergence_shapes_result result = GPUCHAR_DIVERGENCE_SHAPES_RESULT_INIT;
    options.launches = 5;
    options.turns = 2;
    options.shapes_count = 2;
    options.shapes[0] = GPUCHAR_SHAPE_EARLY_2;
    options.shapes[1] = GPUCHAR_SHAPE_LATE_4;
    options.keep_samples = 1;
    options.counters = counters;
    gpuchar_status status = gpuchar_divergence_shapes(b->session, &options, &result);
    outcome o = evidence_outcome(status, &result.evidence);
    o.known |= (uint64_t)result.known << 32;
    if (status < 0) assert_true(!result.points && !result.samples);
    gpuchar_divergence_shapes_result_free(&result);
    return o;
}

static inline outcome occupancy(bench *b, uint32_t counters) {
    gpuchar_divergence_occupancy_options options = GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT;
    gpuchar_divergence_occupancy_result result = GPUCHAR_DIVERGENCE_OCCUPANCY_RESULT_INIT;
    options.launches = 5;
    options.turns = 8;
    options.warps_count = 2;
    options.warps[0] = 2;
    options.warps[1] = 8;
    options.counters = counters;
    gpuchar_status status = gpuchar_divergence_occupancy(b->session, &options, &result);
    outcome o = evidence_outcome(status, &result.evidence);
    if (status < 0) assert_true(!result.points && !result.bodies);
    for (size_t i = 0; i < result.point_count; i++) o.known |= (uint64_t)result.points[i].known << (32 + 4 * i);
    gpuchar_divergence_occupancy_result_free(&result);
    return o;
}

static inline outcome predication(bench *b, uint32_t counters) {
    gpuchar_predication_compare_options options = GPUCHAR_PREDICATION_COMPARE_OPTIONS_INIT;
    gpuchar_predication_compare_result result = GPUCHAR_PREDICATION_COMPARE_RESULT_INIT;
    options.launches = 5;
    options.iterations = 16;
    options.warps_count = 2;
    options.warps[0] = 1;
    options.warps[1] = 8;
    options.keep_samples = 1;
    options.counters = counters;
    gpuchar_status status = gpuchar_predication_compare(b->session, &options, &result);
    outcome o = evidence_outcome(status, &result.evidence);
    if (status < 0) assert_true(!result.points && !result.samples && !result.lengths);
    gpuchar_predication_compare_result_free(&result);
    return o;
}

/* Its kernels run in gpuchar-worker, on a fake driver of that process. */
static inline outcome act_progress(bench *b) {
    gpuchar_forward_progress_options options = GPUCHAR_FORWARD_PROGRESS_OPTIONS_INIT;
    gpuchar_forward_progress_result result = GPUCHAR_FORWARD_PROGRESS_RESULT_INIT;
    options.launches = 1;
    options.producer_turns_count = 1;
    options.producer_turns[0] = 1;
    options.limit_ms = 60000;
    gpuchar_status status = gpuchar_forward_progress(b->session, &options, &result);
    outcome o = evidence_outcome(status, &result.evidence);
    if (status < 0) assert_null(result.producers);
    gpuchar_forward_progress_result_free(&result);
    return o;
}

/* The same; canned machine code holds nothing to patch, and then nothing runs. */
static inline outcome act_barrier_class(bench *b) {
    gpuchar_barrier_class_experiment_options options = GPUCHAR_BARRIER_CLASS_EXPERIMENT_OPTIONS_INIT;
    gpuchar_barrier_class_experiment_result result = GPUCHAR_BARRIER_CLASS_EXPERIMENT_RESULT_INIT;
    options.combinations = GPUCHAR_BARRIER_COMBINATIONS_FEW;
    options.warps_count = 1;
    options.warps[0] = 1;
    options.limit_ms = 60000;
    gpuchar_status status = gpuchar_barrier_class_experiment(b->session, &options, &result);
    outcome o = evidence_outcome(status, &result.evidence);
    if (status < 0) assert_true(!result.shapes && !result.cases);
    gpuchar_barrier_class_experiment_result_free(&result);
    return o;
}

/* The driver in the worker's process runs nothing, and what it leaves is told as what no kernel can have left. */
static inline bool is_idle(const scene *s, const outcome *clean) {
    return (s->act == act_progress || s->act == act_barrier_class) && clean->status == GPUCHAR_E_MEASUREMENT;
}

#define ACTS(experiment)                                                                                               \
    static inline outcome act_##experiment##_off(bench *b) {                                                           \
        return experiment(b, GPUCHAR_COUNTERS_OFF);                                                                    \
    }                                                                                                                  \
    static inline outcome act_##experiment##_auto(bench *b) {                                                          \
        return experiment(b, GPUCHAR_COUNTERS_AUTO);                                                                   \
    }                                                                                                                  \
    static inline outcome act_##experiment##_required(bench *b) {                                                      \
        return experiment(b, GPUCHAR_COUNTERS_REQUIRED);                                                               \
    }
ACTS(sweep)
ACTS(shapes)
ACTS(occupancy)
ACTS(predication)
#undef ACTS

/* ---- several experiments in one call */

static inline outcome act_run_all(bench *b) {
    gpuchar_divergence_sweep_options sweeps = GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT;
    gpuchar_divergence_sweep_result sweep_result = GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT;
    gpuchar_divergence_shapes_options trees = GPUCHAR_DIVERGENCE_SHAPES_OPTIONS_INIT;
    gpuchar_divergence_shapes_result shapes_result = GPUCHAR_DIVERGENCE_SHAPES_RESULT_INIT;
    sweeps.launches = trees.launches = 5;
    sweeps.iterations = 16;
    sweeps.body = 64;
    trees.turns = 2;
    trees.shapes_count = 1;
    trees.shapes[0] = GPUCHAR_SHAPE_EARLY_2;
    gpuchar_experiment_job jobs[] = {
        {.name = "divergence_sweep", .options = &sweeps, .result = &sweep_result},
        {.name = "divergence_shapes", .options = &trees, .result = &shapes_result},
    };
    outcome o = {.status = gpuchar_experiment_run_all(b->session, jobs, 2, NULL, NULL)};
    o.parts[0] = sweep_result.evidence.counters_status;
    o.parts[1] = shapes_result.evidence.counters_status;
    o.parts[2] = jobs[0].status;
    o.parts[3] = jobs[1].status;
    o.flags = sweep_result.evidence.flags | shapes_result.evidence.flags << 16;
    if (jobs[0].status < 0) assert_null(sweep_result.points);
    if (jobs[1].status < 0) assert_null(shapes_result.points);
    gpuchar_divergence_sweep_result_free(&sweep_result);
    gpuchar_divergence_shapes_result_free(&shapes_result);
    return o;
}

/* ---- what reaches no foreign code: the matrix shows it */

static inline outcome act_profile(bench *b) {
    gpuchar_profile *profile = NULL;
    char *text = NULL;
    outcome o = {.status = gpuchar_profile_create(b->session, &profile)};
    if (o.status == GPUCHAR_OK) o.status = gpuchar_profile_text(profile, &text);
    gpuchar_string_free(text);
    gpuchar_profile_free(profile);
    return o;
}

static inline outcome act_cancel(bench *b) {
    gpuchar_session_cancel(b->session);
    return act_device_info(b);
}

/* ---- the bench */

static inline void bench_open(bench *b, const scene *s) {
    *b = (bench){.law = planted_default()};
    b->law.link = 320; /* a launch takes its time: the shorter it is, the more of them the warm-up has */
    fake_reset();
    fake()->nvml_processes = 2;
    fake()->nvml_knows = 3;
    fake()->nvrtc_canned = s->canned;
    plant(&b->law);
    gpuchar_runtime_options options = fake_options(s->with);
    options.log = bench_log;
    options.log_user = b;
    options.worker_path = GPUCHAR_WORKER_FILE;
    assert_failure(gpuchar_runtime_open(&options, &b->runtime), GPUCHAR_OK);
    if (s->own_context) b->context = fake_context(0);
    if (s->device) assert_failure(open_session(b, s->device, (void *)b->context).status, GPUCHAR_OK);
    if (s->warm) assert_true(act_sweep_auto(b).status >= 0);
    if (s->closed) act_close(b);
    b->warnings = 0;
    /* A failure of before, which success must not touch. */
    gpuchar_session *none = NULL;
    assert_failure(gpuchar_session_open(b->runtime, "no device", NULL, &none), GPUCHAR_E_INVALID_ARGUMENT);
}

static inline void bench_close(bench *b) {
    gpuchar_session_close(b->session);
    gpuchar_runtime_close(b->runtime);
    b->session = NULL;
    b->runtime = NULL;
}

/* What no call leaves when all is closed: memory of the library's that was watched, and child processes. */
static inline const char *bench_check_left(void) {
    gc_fail(GPUCHAR_E_INTERNAL, "nothing"); /* an error's log lives until the next one */
    if (libc_left() != 0) return "the library's own memory was not given back";
    return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? NULL : "a child process is left";
}

static const scene scenes[] = {
    {"runtime_open", FAKE_WITH_ALL, .act = act_runtime_open},
    {"runtime_close", FAKE_WITH_ALL, "0", .closed = true, .act = act_runtime_close},
    {"runtime_get_info", FAKE_WITH_ALL, .act = act_runtime_info},
    {"runtime_architectures", FAKE_WITH_NVRTC, .act = act_architectures},
    {"device_list", FAKE_WITH_ALL, .act = act_device_list},
    {"compile", FAKE_WITH_NVRTC, .act = act_compile},
    {"session_open by number", FAKE_WITH_NVML, .act = act_open_ordinal},
    {"session_open by UUID", FAKE_WITH_NVML, .act = act_open_uuid},
    {"session_open by PCI id", FAKE_WITH_NVML, .act = act_open_pci},
    {"session_open of a MIG slice", FAKE_WITH_NVML, .act = act_open_slice},
    {"session_open on a context", FAKE_WITH_NVML, .act = act_open_context},
    {"session_open to compile", FAKE_WITH_NVRTC, .act = act_open_architecture},
    {"session_close", FAKE_WITH_ALL, "0", .canned = true, .warm = true, .act = act_close},
    {"session_close on a context", FAKE_WITH_ALL, "0", .canned = true, .warm = true, .own_context = true,
     .act = act_close},
    {"session_cancel", FAKE_WITH_ALL, "0", .act = act_cancel},
    {"device_info_get", FAKE_WITH_NVML, "0", .act = act_device_info},
    {"device_info_get, no NVML", FAKE_WITH_CUPTI, "0", .act = act_device_info},
    {"device_info_get of a slice", FAKE_WITH_NVML, "1", .act = act_device_info},
    {"counters_read", FAKE_WITH_CUPTI, "0", .act = act_counters},
    {"counters_read on a slice", FAKE_WITH_CUPTI, "1", .act = act_counters},
    {"sweep, no counters", FAKE_WITH_ALL, "0", .canned = true, .act = act_sweep_off},
    {"sweep, counters if possible", FAKE_WITH_ALL, "0", .counters_auto = true, .act = act_sweep_auto},
    {"sweep, counters required", FAKE_WITH_ALL, "0", .canned = true, .act = act_sweep_required},
    {"sweep, warm", FAKE_WITH_ALL, "0", .canned = true, .warm = true, .counters_auto = true, .act = act_sweep_auto},
    {"experiment_run_all", FAKE_WITH_ALL, "0", .canned = true, .act = act_run_all},
#define SCENES(experiment)                                                                                             \
    {#experiment ", no counters", FAKE_WITH_ALL, "0", .canned = true, .act = act_##experiment##_off},                  \
        {#experiment ", if possible",   FAKE_WITH_ALL, "1", .canned = true, .counters_auto = true,                     \
         .act = act_##experiment##_auto},                                                                              \
        {#experiment ", required", FAKE_WITH_ALL, "0", .canned = true, .act = act_##experiment##_required}, {          \
#experiment ", compiled only", FAKE_WITH_NVRTC, "sm_90", .canned = true, .act = act_##experiment##_off         \
    }
    SCENES(shapes),
    SCENES(occupancy),
    SCENES(predication),
#undef SCENES
    {"forward_progress", FAKE_WITH_ALL, "0", .canned = true, .act = act_progress},
    {"barrier_class", FAKE_WITH_ALL, "0", .canned = true, .act = act_barrier_class},
    {"barrier_class, compiled only", FAKE_WITH_NVRTC, "sm_90", .canned = true, .act = act_barrier_class},
    {"sweep, compiled only", FAKE_WITH_NVRTC, "sm_90", .act = act_sweep_off},
    {"profile_create, _text", FAKE_WITH_ALL, "0", .warm = true, .act = act_profile},
};

#endif
