/* gpuchar_experiment_run_all on the fakes: the numbers of single calls, shared work done once, each job's failure its own. */
#include <core/util.h>
#include <fakes/planted.h>
#include <measure/range_counters.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 64 };

typedef struct bench {
    gpuchar_runtime *runtime;
    gpuchar_session *session;
    planted law;
    gpuchar_experiment_job jobs[JOBS_MAX];
    void *options[JOBS_MAX], *results[JOBS_MAX];
    size_t count;
    /* What `ended` saw. */
    size_t ends, order[JOBS_MAX];
    gpuchar_status said[JOBS_MAX]; /* of the thread's error then */
    bool cancels;                  /* at the first end */
    bool spoils;                   /* the thread's error, each time */
    size_t profilers;              /* of CUPTI's, at the first end */
} bench;

static void *sized(size_t size) {
    size_t *made = test_calloc(1, size);
    assert_non_null(made);
    *made = size;
    return made;
}

static void add(bench *b, const char *name, uint32_t counters) {
    const gpuchar_experiment *experiment = gpuchar_experiment_get(name);
    const gpuchar_schema *schema = gpuchar_schema_get(experiment->options_struct);
    char *options = sized(experiment->options_size_bytes);
    if (b->count >= JOBS_MAX) abort();
    assert_int_equal(gpuchar_experiment_preset(name, GPUCHAR_PRESET_QUICK, options), GPUCHAR_OK);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        if (strcmp(schema->fields[i].name, "counters") != 0) continue;
        memcpy(options + schema->fields[i].offset, &counters, sizeof counters);
    }
    gpuchar_experiment_job *job = &b->jobs[b->count];
    job->name = name;
    job->options = b->options[b->count] = options;
    job->result = b->results[b->count] = sized(experiment->result_size_bytes);
    job->status = 77;
    b->count++;
}

/* All but those whose kernels run in another process, which has no fake machine. */
static void add_all(bench *b, uint32_t counters) {
    const gpuchar_experiment *experiment;
    for (size_t i = 0; (experiment = gpuchar_experiment_at(i)) != NULL; i++) {
        const bool elsewhere = strcmp(experiment->name, "forward_progress") == 0 ||
                               strcmp(experiment->name, "barrier_class_experiment") == 0;
        if (!elsewhere) add(b, experiment->name, counters);
    }
    assert_true(b->count >= 4);
}

static void open_bench(bench *b, const char *device) {
    *b = (bench){.runtime = fake_runtime_with(FAKE_WITH_ALL), .law = planted_default()};
    fake()->nvrtc_canned = true;
    plant(&b->law);
    assert_failure(gpuchar_session_open(b->runtime, device, NULL, &b->session), GPUCHAR_OK);
}

static void free_results(bench *b) {
    for (size_t i = 0; i < b->count; i++) gpuchar_experiment_result_free(b->jobs[i].name, b->jobs[i].result);
}

static void forget_jobs(bench *b) {
    free_results(b);
    for (size_t i = 0; i < b->count; i++) {
        test_free(b->results[i]);
        test_free(b->options[i]);
    }
    b->count = b->ends = 0;
}

static void close_bench(bench *b) {
    forget_jobs(b);
    gpuchar_session_close(b->session);
    gpuchar_runtime_close(b->runtime);
    assert_fakes_clean();
}

static void ended(void *user, size_t index) {
    bench *b = user;
    b->said[index] = gpuchar_last_error()->status;
    if (b->ends == 0) b->profilers = fake_held(FAKE_PROFILER);
    if (b->ends == 0 && b->cancels) gpuchar_session_cancel(b->session);
    if (b->spoils) assert_true(gpuchar_experiment_text("nothing like it", NULL, NULL) < 0);
    b->order[b->ends++] = index;
}

/* What an earlier run left is given back. */
static gpuchar_status run(bench *b) {
    free_results(b);
    b->ends = 0;
    gpuchar_status status = gpuchar_experiment_run_all(b->session, b->jobs, b->count, ended, b);
    assert_int_equal(b->ends, b->count);
    return status;
}

static char *text_of(const bench *b, size_t i) {
    char *text = NULL;
    assert_int_equal(gpuchar_experiment_text(b->jobs[i].name, b->jobs[i].result, &text), GPUCHAR_OK);
    return text;
}

/* ---- what is the same as in single calls */

static void test_same_numbers(void **state) {
    (void)state;
    static const char *const devices[] = {"0", "sm_90"};
    for (size_t d = 0; d < GC_COUNT(devices); d++) {
        char *alone[JOBS_MAX];
        gpuchar_status statuses[JOBS_MAX];
        bench b;
        open_bench(&b, devices[d]);
        add_all(&b, GPUCHAR_COUNTERS_AUTO);
        const size_t count = b.count;
        for (size_t i = 0; i < count; i++) {
            statuses[i] = gpuchar_experiment_run(b.session, b.jobs[i].name, b.jobs[i].options, b.jobs[i].result);
            assert_true(statuses[i] >= 0);
            alone[i] = text_of(&b, i);
        }
        close_bench(&b);
        open_bench(&b, devices[d]);
        add_all(&b, GPUCHAR_COUNTERS_AUTO);
        assert_failure(run(&b), GPUCHAR_CAVEAT); /* canned kernels prove nothing */
        for (size_t i = 0; i < count; i++) {
            char *together = text_of(&b, i);
            assert_string_equal(together, alone[i]);
            assert_int_equal(b.jobs[i].status, statuses[i]);
            assert_int_equal(b.order[i], i);
            gpuchar_string_free(together);
            gpuchar_string_free(alone[i]);
        }
        close_bench(&b);
    }
}

/* Launches since the profiler was there for the first time to stay, and those without one after that. */
typedef struct watch {
    unsigned without, with, after;
} watch;

static void at_launch(void *user) {
    watch *w = user;
    if (fake_held(FAKE_PROFILER) > 0) {
        w->with++;
    } else {
        w->without++;
        w->after += w->with > 0;
    }
}

/* All is compiled once, and counters are set up once, when nothing is timed any more. */
static void test_shared_work(void **state) {
    (void)state;
    bench b;
    watch w = {0};
    open_bench(&b, "0");
    b.law.at_launch = at_launch;
    b.law.user = &w;
    add_all(&b, GPUCHAR_COUNTERS_AUTO);
    assert_true(run(&b) >= 0);
    const unsigned compiled = fake_call_count("nvrtcCompileProgram");
    assert_true(compiled >= 10);
    assert_true(w.without > 0 && w.with > 0);
    assert_int_equal(w.after, 0);
    /* Once to make it ready, once to read. */
    assert_int_equal(fake_call_count("cuptiRangeProfilerEnable"), 2);
    assert_int_equal(fake_call_count("cuptiRangeProfilerDisable"), 2);
    assert_int_equal(fake_held(FAKE_PROFILER), 0);
    assert_int_equal(fake()->profilers, 0);
    assert_true(run(&b) >= 0);
    assert_int_equal(fake_call_count("nvrtcCompileProgram"), compiled);
    close_bench(&b);
}

/* How many lines of the log tell that a step was made, and whether one came after another step's first. */
typedef struct order_log {
    size_t ready, measured;
    bool late;
} order_log;

static void note_step(void *user, uint32_t level, const char *message) {
    order_log *seen = user;
    (void)level;
    if (strstr(message, ": measure took")) seen->measured++;
    if (!strstr(message, ": ready took")) return;
    seen->ready++;
    seen->late = seen->late || seen->measured > 0;
}

/* What one experiment began beside the compiling, a process on the same GPU, has come to rest before another one is timed. */
static void test_ready_before_timing(void **state) {
    (void)state;
    bench b;
    order_log seen = {0};
    open_bench(&b, "0");
    gpuchar_session_close(b.session);
    gpuchar_runtime_close(b.runtime);
    gpuchar_runtime_options options = fake_options(FAKE_WITH_ALL);
    options.log = note_step;
    options.log_user = &seen;
    options.log_level = GPUCHAR_LOG_DEBUG;
    assert_failure(gpuchar_runtime_open(&options, &b.runtime), GPUCHAR_OK);
    assert_failure(gpuchar_session_open(b.runtime, "0", NULL, &b.session), GPUCHAR_OK);
    add_all(&b, GPUCHAR_COUNTERS_OFF);
    assert_true(run(&b) >= 0);
    assert_int_equal(seen.ready, b.count);
    assert_int_equal(seen.measured, b.count);
    assert_false(seen.late);
    close_bench(&b);
}

/* Nobody reads counters: nothing of CUPTI is asked. A single job makes nothing ready beforehand. */
static void test_no_counters(void **state) {
    (void)state;
    bench b;
    open_bench(&b, "0");
    add_all(&b, GPUCHAR_COUNTERS_OFF);
    assert_true(run(&b) >= 0);
    assert_int_equal(fake_call_count("cuptiProfilerInitialize"), 0);
    forget_jobs(&b);
    add(&b, "divergence_sweep", GPUCHAR_COUNTERS_AUTO);
    assert_true(run(&b) >= 0);
    assert_int_equal(fake_call_count("cuptiRangeProfilerEnable"), 1);
    close_bench(&b);
    open_bench(&b, "0");
    gpuchar_session_close(b.session);
    gpuchar_runtime_close(b.runtime);
    b.runtime = fake_runtime_with(FAKE_WITH_NVRTC); /* no CUPTI */
    fake()->nvrtc_canned = true;
    plant(&b.law);
    assert_failure(gpuchar_session_open(b.runtime, "0", NULL, &b.session), GPUCHAR_OK);
    add_all(&b, GPUCHAR_COUNTERS_AUTO);
    assert_true(run(&b) >= 0);
    forget_jobs(&b);
    add_all(&b, GPUCHAR_COUNTERS_REQUIRED);
    assert_failure(run(&b), GPUCHAR_E_NO_CUPTI);
    for (size_t i = 0; i < b.count; i++) assert_int_equal(b.said[i], GPUCHAR_E_NO_CUPTI);
    close_bench(&b);
}

/* ---- failures */

static void check_one_failed(const bench *b, size_t which, gpuchar_status status) {
    for (size_t i = 0; i < b->count; i++) {
        if (i == which) assert_int_equal(b->jobs[i].status, status);
        if (i != which) assert_true(b->jobs[i].status >= 0);
        assert_int_equal(b->said[i], i == which ? status : GPUCHAR_OK);
    }
}

static void test_one_fails(void **state) {
    (void)state;
    bench b;
    for (int spoils = 0; spoils < 2; spoils++) {
        open_bench(&b, "0");
        b.spoils = spoils != 0;
        add_all(&b, GPUCHAR_COUNTERS_AUTO);
        size_t sweep = 0;
        while (strcmp(b.jobs[sweep].name, "divergence_sweep") != 0) sweep++;
        gpuchar_divergence_sweep_options *options = b.options[sweep];
        options->body = 65;
        assert_failure(run(&b), GPUCHAR_E_LIMIT);
        assert_contains(gpuchar_last_error()->message, "body");
        check_one_failed(&b, sweep, GPUCHAR_E_LIMIT);
        assert_int_equal(b.order[0], sweep); /* before anything was done */
        options->body = 0;
        options->struct_size = 3;
        assert_failure(run(&b), GPUCHAR_E_STRUCT_SIZE);
        check_one_failed(&b, sweep, GPUCHAR_E_STRUCT_SIZE);
        close_bench(&b);
    }
    open_bench(&b, "0");
    add_all(&b, GPUCHAR_COUNTERS_AUTO);
    fake_fail("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
    assert_failure(run(&b), GPUCHAR_E_OUT_OF_DEVICE_MEMORY);
    assert_string_equal(gpuchar_last_error()->call, "cuMemAlloc");
    check_one_failed(&b, 0, GPUCHAR_E_OUT_OF_DEVICE_MEMORY);
    fake_fail(NULL, 0, 0);
    forget_jobs(&b);
    add_all(&b, GPUCHAR_COUNTERS_AUTO);
    /* Success leaves the thread's error as it was. */
    assert_true(run(&b) >= 0);
    assert_int_equal(gpuchar_last_error()->status, GPUCHAR_E_OUT_OF_DEVICE_MEMORY);
    close_bench(&b);
}

/* The compiler fails once: each job compiles its own again. It fails always: each job says so. */
static void test_compiler_fails(void **state) {
    (void)state;
    bench b;
    open_bench(&b, "0");
    add_all(&b, GPUCHAR_COUNTERS_AUTO);
    fake_fail("nvrtcCompileProgram", 2, NVRTC_ERROR_COMPILATION);
    assert_true(run(&b) >= 0);
    assert_int_equal(fake_failed(), 1);
    close_bench(&b);
    open_bench(&b, "0");
    add_all(&b, GPUCHAR_COUNTERS_AUTO);
    fake_fail("nvrtcCompileProgram", 0, NVRTC_ERROR_COMPILATION);
    assert_failure(run(&b), GPUCHAR_E_COMPILE);
    for (size_t i = 0; i < b.count; i++) assert_int_equal(b.jobs[i].status, GPUCHAR_E_COMPILE);
    fake_fail(NULL, 0, 0);
    close_bench(&b);
}

static void test_cancel(void **state) {
    (void)state;
    bench b;
    for (int later = 0; later < 2; later++) {
        open_bench(&b, "0");
        add_all(&b, GPUCHAR_COUNTERS_AUTO);
        b.cancels = later != 0;
        if (!later) gpuchar_session_cancel(b.session);
        assert_failure(run(&b), GPUCHAR_E_CANCELLED);
        for (size_t i = 0; i < b.count; i++) {
            const bool before = later && i == 0;
            if (before) assert_true(b.jobs[i].status >= 0);
            if (!before) assert_int_equal(b.jobs[i].status, GPUCHAR_E_CANCELLED);
            if (!before) assert_int_equal(b.said[i], GPUCHAR_E_CANCELLED);
        }
        if (later) assert_int_equal(b.profilers, 1); /* it was held then, and is not any more */
        assert_int_equal(fake_held(FAKE_PROFILER), 0);
        b.cancels = false;
        forget_jobs(&b);
        add_all(&b, GPUCHAR_COUNTERS_AUTO);
        assert_true(run(&b) >= 0);
        close_bench(&b);
    }
}

/* A session that cannot be entered: each job has the same failure, whatever its callback does to the thread's error. */
static void test_refused(void **state) {
    (void)state;
    bench b;
    for (int wrong = 0; wrong < 2; wrong++) {
        open_bench(&b, "0");
        add_all(&b, GPUCHAR_COUNTERS_AUTO);
        b.spoils = true;
        if (wrong) b.jobs[0].name = "no such thing";
        gpuchar_session_cancel(b.session);
        assert_failure(run(&b), wrong ? GPUCHAR_E_INVALID_ARGUMENT : GPUCHAR_E_CANCELLED);
        assert_contains(gpuchar_last_error()->message, wrong ? "no such thing" : "cancelled");
        for (size_t i = 0; i < b.count; i++) {
            const gpuchar_status status = wrong && i == 0 ? GPUCHAR_E_INVALID_ARGUMENT : GPUCHAR_E_CANCELLED;
            assert_int_equal(b.jobs[i].status, status);
            assert_int_equal(b.said[i], status);
        }
        close_bench(&b);
    }
}

/* A recording answers at once, and a cancel between two answers is one of the whole call all the same. */
static void test_recorded(void **state) {
    (void)state;
    bench b;
    gpuchar_profile *profile = NULL;
    char path[64];
    snprintf(path, sizeof path, "/tmp/gpuchar-run-all-%d.json", (int)getpid());
    open_bench(&b, "0");
    add_all(&b, GPUCHAR_COUNTERS_AUTO);
    assert_failure(gpuchar_profile_create(b.session, &profile), GPUCHAR_OK);
    assert_true(run(&b) >= 0);
    for (size_t i = 0; i < b.count; i++) {
        assert_failure(gpuchar_profile_add(profile, b.jobs[i].name, b.jobs[i].result), GPUCHAR_OK);
    }
    assert_failure(gpuchar_profile_save(profile, path), GPUCHAR_OK);
    gpuchar_profile_free(profile);
    forget_jobs(&b);
    gpuchar_session_close(b.session);
    assert_failure(gpuchar_session_open_recorded(b.runtime, path, &b.session), GPUCHAR_OK);
    add_all(&b, GPUCHAR_COUNTERS_AUTO);
    for (size_t i = 0; i < b.count; i++) memset((char *)b.options[i] + sizeof(size_t), 0, 8); /* as recorded */
    unlink(path);
    for (int cancels = 0; cancels < 2; cancels++) {
        b.cancels = cancels != 0;
        gpuchar_status status = run(&b);
        assert_int_equal(status < 0, cancels);
        for (size_t i = 0; i < b.count; i++) {
            const bool answered = !cancels || i == 0;
            if (answered) assert_true(b.jobs[i].status >= 0);
            if (!answered) assert_int_equal(b.jobs[i].status, GPUCHAR_E_CANCELLED);
        }
    }
    b.cancels = false;
    assert_true(run(&b) >= 0); /* the cancel is used up */
    close_bench(&b);
}

/* ---- beside another session that reads counters */

typedef struct reader {
    gpuchar_session *session;
    atomic_bool reads, enough; /* it is in a launch; and may end it */
    gpuchar_status status;
} reader;

static void nap(void) {
    const struct timespec time = {0, 1000000};
    nanosleep(&time, NULL);
}

static int hold_launch(void *user, size_t range, void *stream) {
    reader *r = user;
    atomic_store(&r->reads, true);
    for (int i = 0; i < 20000 && !atomic_load(&r->enough); i++) nap();
    return range == 0 && stream && atomic_load(&r->enough) ? 0 : 1;
}

static void *read_counters(void *user) {
    static const char *const metrics[] = {"fake.sum"};
    reader *r = user;
    gpuchar_counters_options options = GPUCHAR_COUNTERS_OPTIONS_INIT;
    gpuchar_counters_result result = GPUCHAR_COUNTERS_RESULT_INIT;
    options.metrics = metrics;
    options.metric_count = options.range_count = 1;
    options.launch = hold_launch;
    options.launch_user = r;
    r->status = gpuchar_counters_read(r->session, &options, &result);
    gpuchar_counters_result_free(&result);
    return NULL;
}

static void note_launch(void *user) {
    atomic_store((atomic_bool *)user, true);
}

static void *run_beside(void *user) {
    bench *b = user;
    run(b);
    return NULL;
}

/* Making CUPTI ready does not wait for the other's read; reading does, until a cancel. */
static void test_other_reader(void **state) {
    (void)state;
    bench b;
    reader other = {0};
    atomic_bool launched = false;
    pthread_t reads, runs;
    open_bench(&b, "0");
    b.law.at_launch = note_launch;
    b.law.user = &launched;
    add_all(&b, GPUCHAR_COUNTERS_REQUIRED);
    assert_failure(gpuchar_session_open(b.runtime, "1", NULL, &other.session), GPUCHAR_OK);
    assert_int_equal(pthread_create(&reads, NULL, read_counters, &other), 0);
    for (int i = 0; i < 10000 && !atomic_load(&other.reads); i++) nap();
    assert_int_equal(pthread_create(&runs, NULL, run_beside, &b), 0);
    for (int i = 0; i < 10000 && !atomic_load(&launched); i++) nap();
    assert_true(atomic_load(&launched));
    gpuchar_session_cancel(b.session);
    pthread_join(runs, NULL); /* although the other one has not ended */
    for (size_t i = 0; i < b.count; i++) assert_int_equal(b.jobs[i].status, GPUCHAR_E_CANCELLED);
    atomic_store(&other.enough, true);
    pthread_join(reads, NULL);
    assert_int_equal(other.status, GPUCHAR_OK);
    gpuchar_session_close(other.session);
    close_bench(&b);
}

/* A profiler that failed is not used by the next job. */
static void test_counters_fail(void **state) {
    (void)state;
    bench b;
    open_bench(&b, "0");
    add(&b, "divergence_shapes", GPUCHAR_COUNTERS_AUTO);
    add(&b, "divergence_sweep", GPUCHAR_COUNTERS_AUTO);
    fake_fail("cuptiRangeProfilerDecodeData", 1, CUPTI_ERROR_UNKNOWN);
    assert_true(run(&b) >= 0);
    const gpuchar_divergence_shapes_result *shapes = b.jobs[0].result;
    const gpuchar_divergence_sweep_result *sweep = b.jobs[1].result;
    assert_int_equal(shapes->evidence.counters_status, GPUCHAR_E_CUPTI);
    assert_int_equal(sweep->evidence.counters_status, GPUCHAR_OK);
    assert_int_equal(fake_call_count("cuptiRangeProfilerEnable"), 3);
    close_bench(&b);
}

static void test_bad_input(void **state) {
    (void)state;
    bench b;
    open_bench(&b, "0");
    add(&b, "divergence_shapes", GPUCHAR_COUNTERS_OFF);
    add(&b, "divergence_shapes", GPUCHAR_COUNTERS_OFF);
    assert_failure(gpuchar_experiment_run_all(NULL, b.jobs, 2, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(b.jobs[1].status, GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_experiment_run_all(b.session, NULL, 1, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_experiment_run_all(b.session, NULL, 0, NULL, NULL), GPUCHAR_OK);
    gpuchar_experiment_job twice[] = {b.jobs[0], b.jobs[0]};
    assert_failure(gpuchar_experiment_run_all(b.session, twice, 2, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_contains(gpuchar_last_error()->message, "same result");
    gpuchar_experiment_job nameless = {.name = NULL}, unknown = {.name = "no such thing"},
                           nowhere = {.name = "divergence_sweep"};
    assert_failure(gpuchar_experiment_run_all(b.session, &nameless, 1, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_failure(gpuchar_experiment_run_all(b.session, &unknown, 1, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_contains(gpuchar_last_error()->message, "no such thing");
    assert_failure(gpuchar_experiment_run_all(b.session, &nowhere, 1, NULL, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(fake_call_count("nvrtcCompileProgram"), 0);
    assert_true(run(&b) >= 0); /* the same experiment twice is two jobs */
    close_bench(&b);
}

/* ---- the profiler that is held */

typedef struct ranges {
    gpuchar_session *session;
    unsigned launches;
} ranges;

static gpuchar_status no_launch(void *user, size_t range) {
    (void)range;
    ((ranges *)user)->launches++;
    return GPUCHAR_OK;
}

static uint32_t read_metrics(ranges *r, size_t count, size_t metric_count) {
    static const char *const metrics[] = {"fake.sum", "fake.avg", "fake.max", "fake.min", "fake.ratio"};
    gpuchar_counters_result result = GPUCHAR_COUNTERS_RESULT_INIT;
    const gc_range_request request = {metrics, metric_count, count, no_launch, r};
    assert_failure(gc_counters_collect(r->session, &request, &result), GPUCHAR_OK);
    const uint32_t passes = result.passes;
    for (size_t i = 0; i < result.value_count; i++) {
        const size_t range = i / metric_count;
        assert_true(result.valid[i] && result.values[i] == (double)range);
    }
    gpuchar_counters_result_free(&result);
    return passes;
}

static void read_ranges(ranges *r, size_t count) {
    assert_int_equal(read_metrics(r, count, 1), 1);
}

/* More ranges than it has room for: a new one, since CUPTI would lose them without a word. */
static void test_held_room(void **state) {
    (void)state;
    bench b;
    gc_scope scope;
    open_bench(&b, "0");
    ranges r = {.session = b.session};
    assert_failure(gc_session_enter(b.session, &scope), GPUCHAR_OK);
    gc_counters_hold(b.session, 100);
    read_ranges(&r, 3);
    read_ranges(&r, 100);
    assert_int_equal(fake_call_count("cuptiRangeProfilerEnable"), 1);
    read_ranges(&r, 300);
    assert_int_equal(fake_call_count("cuptiRangeProfilerEnable"), 2);
    read_ranges(&r, 2);
    assert_int_equal(fake_call_count("cuptiRangeProfilerEnable"), 2);
    assert_int_equal(fake_held(FAKE_PROFILER), 1);
    /* Nor does it say that more passes are needed than at first. */
    assert_int_equal(read_metrics(&r, 2, 5), 2);
    assert_int_equal(fake_call_count("cuptiRangeProfilerEnable"), 3);
    assert_int_equal(read_metrics(&r, 2, 1), 1);
    assert_int_equal(fake_call_count("cuptiRangeProfilerEnable"), 4);
    gc_counters_let_go(b.session);
    gc_counters_let_go(b.session);
    assert_int_equal(fake_held(FAKE_PROFILER), 0);
    read_ranges(&r, 3);
    assert_int_equal(fake_held(FAKE_PROFILER), 0);
    assert_int_equal(r.launches, 3 + 100 + 300 + 2 + 2 * 2 + 2 + 3);
    gc_session_leave(&scope);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_numbers),   cmocka_unit_test(test_shared_work),
        cmocka_unit_test(test_no_counters),    cmocka_unit_test(test_one_fails),
        cmocka_unit_test(test_compiler_fails), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_counters_fail),  cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_held_room),      cmocka_unit_test(test_ready_before_timing),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_other_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
