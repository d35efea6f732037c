/* The steps of several calls, so that what takes long is done once or at once. One call is a list of one. */
#include <core/threads.h>
#include <experiments/jobs.h>
#include <gpuchar/counters.h>
#include <measure/range_counters.h>
#include <stdlib.h>

static size_t running(const gc_jobs *jobs) {
    size_t count = 0;
    for (size_t i = 0; i < jobs->count; ++i) count += !jobs->all[i].over;
    return count;
}

/* ---- ends ---- */

void gc_job_end(gc_jobs *jobs, gc_job *job, gpuchar_status status) {
    gc_call_end(job->call);
    job->call = NULL;
    job->status = status;
    job->over = true;
    if (jobs->several && status < 0) job->error = gc_error_save();
    if (jobs->ended) jobs->ended(jobs->user, (size_t)(job - jobs->all));
    if (jobs->several) gc_error_restore(NULL);
}

void gc_jobs_cancel(gc_jobs *jobs) {
    for (size_t i = 0; i < jobs->count; ++i) {
        if (!jobs->all[i].over) gc_job_end(jobs, &jobs->all[i], gc_session_fail_cancelled(jobs->session));
    }
}

static void step(gc_jobs *jobs, gc_job *job, gc_step which) {
    if (job->over) return;
    gpuchar_status status = gc_call_step(job->call, which);
    if (status < 0 || which == GC_STEP_SETTLE) gc_job_end(jobs, job, status);
    if (status == GPUCHAR_E_CANCELLED) gc_jobs_cancel(jobs);
}

static void begin(gc_jobs *jobs, gc_job *job) {
    if (job->over) return;
    gpuchar_status status = gc_call_new(job->experiment, jobs->session, job->options, job->result, &job->call);
    if (status != GPUCHAR_OK) {
        gc_job_end(jobs, job, status);
    } else {
        step(jobs, job, GC_STEP_BEGIN);
    }
}

static void all_step(gc_jobs *jobs, gc_step which) {
    for (size_t i = 0; i < jobs->count; ++i) step(jobs, &jobs->all[i], which);
}

/* ---- compiling together ---- */

/* The kernels of all jobs that run. */
typedef struct together {
    gc_template *templates;
    gc_image **images;
    size_t count;
} together;

static gpuchar_status gather(const gc_jobs *jobs, together *all) {
    *all = (together){0};
    for (size_t i = 0; i < jobs->count; ++i) all->count += jobs->all[i].over ? 0 : jobs->all[i].call->kernels.count;
    all->templates = calloc(all->count + 1, sizeof *all->templates);
    all->images = calloc(all->count + 1, sizeof *all->images);
    if (!all->templates || !all->images) return gc_fail_memory(all->count * sizeof *all->templates);
    gc_template *to = all->templates;
    for (size_t i = 0; i < jobs->count; ++i) {
        const gc_job *job = &jobs->all[i];
        for (size_t k = 0; !job->over && k < job->call->kernels.count; ++k) *to++ = job->call->kernels.templates[k];
    }
    return GPUCHAR_OK;
}

static void hand_out(const gc_jobs *jobs, const together *all) {
    gc_image *const *from = all->images;
    for (size_t i = 0; i < jobs->count; ++i) {
        gc_call *call = jobs->all[i].call;
        if (jobs->all[i].over) continue;
        memcpy(call->images, from, call->kernels.count * sizeof call->images[0]);
        call->compiled = true;
        from += call->kernels.count;
    }
}

/* Where one kernel does not compile, each job compiles its own again: the failure is then of the one that needs it. */
static gpuchar_status compile_together(gc_jobs *jobs) {
    together all;
    gc_error_box *before = gc_error_take();
    gpuchar_status status = gather(jobs, &all);
    if (status == GPUCHAR_OK) status = gc_templates_compile(jobs->session, all.templates, all.count, all.images);
    if (status == GPUCHAR_OK) hand_out(jobs, &all);
    free(all.templates);
    free(all.images);
    gc_error_restore(before);
    return status;
}

/* ---- CUPTI, beside compiling ---- */

/* What fails there fails again, and is told, where counters are read. */
typedef struct warming {
    gpuchar_session *session;
    pthread_t thread;
    bool began;
    atomic_bool enough;
} warming;

static void *warm(void *user) {
    const warming *w = user;
    gc_counters_warm(w->session, &w->enough);
    return NULL;
}

static bool counts(const gc_job *job) {
    return !job->over && job->experiment->count && job->call->counters != GPUCHAR_COUNTERS_OFF;
}

static void begin_warming(const gc_jobs *jobs, warming *w) {
    bool any = false;
    w->session = jobs->session;
    for (size_t i = 0; i < jobs->count; ++i) any = any || counts(&jobs->all[i]);
    if (any && jobs->session->kind == GC_SESSION_LIVE) w->began = gc_threads_start(&w->thread, 1, warm, w) == 1;
}

static void compile_and_warm(gc_jobs *jobs) {
    const uint64_t begin_ns = gc_now_ns();
    warming counters = {0};
    begin_warming(jobs, &counters);
    gpuchar_status status = compile_together(jobs);
    const uint64_t compiled_ns = gc_now_ns();
    atomic_store(&counters.enough, true);
    if (counters.began) pthread_join(counters.thread, NULL);
    gc_log_write(gc_runtime_log(jobs->session->runtime), GPUCHAR_LOG_DEBUG,
                 "compiling together took %.1f ms, and CUPTI %.1f ms more", (double)(compiled_ns - begin_ns) * 1e-6,
                 (double)(gc_now_ns() - compiled_ns) * 1e-6);
    if (status == GPUCHAR_E_CANCELLED) gc_jobs_cancel(jobs);
}

static size_t most_ranges(const gc_jobs *jobs) {
    size_t most = 0;
    for (size_t i = 0; i < jobs->count; ++i) {
        if (counts(&jobs->all[i]) && jobs->all[i].call->ranges > most) most = jobs->all[i].call->ranges;
    }
    return most;
}

/* ---- all of it ---- */

void gc_jobs_run(gc_jobs *jobs) {
    for (size_t i = 0; i < jobs->count; ++i) begin(jobs, &jobs->all[i]);
    if (running(jobs) > 1) compile_and_warm(jobs);
    all_step(jobs, GC_STEP_COMPILE);
    all_step(jobs, GC_STEP_PROVE);
    all_step(jobs, GC_STEP_READY);
    all_step(jobs, GC_STEP_MEASURE);
    if (running(jobs) > 1) gc_counters_hold(jobs->session, most_ranges(jobs));
    for (size_t i = 0; i < jobs->count; ++i) {
        step(jobs, &jobs->all[i], GC_STEP_COUNT);
        step(jobs, &jobs->all[i], GC_STEP_SETTLE);
    }
    gc_counters_let_go(jobs->session);
}
