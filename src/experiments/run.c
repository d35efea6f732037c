/* The frame around every experiment: sizes, defaults, recorded answers, the session's bracket, the way back. */
#include <core/error.h>
#include <experiments/jobs.h>
#include <stdlib.h>

const char gc_answer_no_memory[] = "(out of memory)";

/* What the callers of the public functions gave. */
typedef struct request {
    gpuchar_experiment_job *jobs; /* of the callers */
    gc_jobs known;                /* the same as this library knows them */
    gpuchar_experiment_ended_function ended;
    void *user;
} request;

/* ---- recorded sessions ---- */

/* A recorded session compares what the caller asked for: a field left at 0 accepts what was recorded. Wrong values are refused
 * as on a GPU; that replaces defaults, so it happens on a copy. */
static gpuchar_status answer(gpuchar_session *session, gc_job *job) {
    const size_t bytes = job->experiment->about.options_size_bytes;
    void *copy = malloc(bytes);
    if (!copy) return gc_fail_memory(bytes);
    memcpy(copy, job->options, bytes);
    gpuchar_status status = job->experiment->resolve(copy);
    free(copy);
    if (status != GPUCHAR_OK) return status;
    return session->answer(session, job->experiment->about.name, job->options, job->result);
}

/* ---- a job's beginning and end ---- */

static gpuchar_status read_job(gpuchar_session *session, const gpuchar_experiment_job *caller, gc_job *job) {
    gpuchar_status status = gc_experiment_find(caller->name, &job->experiment);
    if (status != GPUCHAR_OK) return status;
    const gc_experiment *experiment = job->experiment;
    const gpuchar_experiment *about = &experiment->about;
    status = gc_result_check(caller->result, experiment->result_min_size, about->result_struct);
    if (status != GPUCHAR_OK) return status;
    if (!session)
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "session is NULL"),
                         "open one with gpuchar_session_open, and look at its status");
    job->options = calloc(1, about->options_size_bytes);
    job->result = calloc(1, about->result_size_bytes);
    if (!job->options || !job->result) return gc_fail_memory(about->options_size_bytes + about->result_size_bytes);
    gc_struct_init(job->result, about->result_size_bytes);
    status = gc_options_read(caller->options, job->options, about->options_size_bytes, experiment->options_min_size,
                             about->options_struct);
    return status == GPUCHAR_OK && session->kind != GC_SESSION_RECORDED ? experiment->resolve(job->options) : status;
}

/* The way back of a job that is over: the caller's result, or nothing. */
static void ended(void *user, size_t index) {
    const request *r = user;
    gc_job *job = &r->known.all[index];
    gpuchar_experiment_job *caller = &r->jobs[index];
    caller->status = job->status;
    if (job->status >= 0) {
        gc_result_write(caller->result, job->result, job->experiment->about.result_size_bytes);
    } else if (job->result) {
        job->experiment->result_free(job->result);
    }
    free(job->options);
    free(job->result);
    job->options = job->result = NULL;
    if (r->ended) r->ended(r->user, index);
}

/* ---- all of them ---- */

static void answer_all(gc_jobs *jobs) {
    for (size_t i = 0; i < jobs->count; ++i) {
        gc_job *job = &jobs->all[i];
        if (gc_session_cancel_pending(jobs->session)) gc_jobs_cancel(jobs);
        if (!job->over) gc_job_end(jobs, job, answer(jobs->session, job));
    }
}

/* A session that cannot be entered: its failure is that of each job. */
static void refuse_all(gc_jobs *jobs, gpuchar_status status) {
    for (size_t i = 0; i < jobs->count; ++i) {
        gc_job *job = &jobs->all[i];
        gc_error_box *kept = gc_error_save();
        if (!job->over) gc_job_end(jobs, job, status);
        gc_error_put(kept, status);
    }
}

static void run_inside(gc_jobs *jobs) {
    gc_scope scope;
    gpuchar_status status = gc_session_enter(jobs->session, &scope);
    if (status != GPUCHAR_OK) {
        refuse_all(jobs, status);
        return;
    }
    if (jobs->session->kind == GC_SESSION_RECORDED) {
        answer_all(jobs);
    } else {
        gc_jobs_run(jobs);
    }
    gc_session_leave(&scope);
}

/* True when one of the jobs is still to run. */
static bool read_all(request *r) {
    bool any = false;
    for (size_t i = 0; i < r->known.count; ++i) {
        gc_job *job = &r->known.all[i];
        gpuchar_status status = read_job(r->known.session, &r->jobs[i], job);
        if (status != GPUCHAR_OK) gc_job_end(&r->known, job, status);
        any = any || status == GPUCHAR_OK;
    }
    return any;
}

static void run(request *r) {
    if (read_all(r)) run_inside(&r->known);
}

gpuchar_status gc_experiment_run(const gc_experiment *experiment, gpuchar_session *session, const void *options,
                                 void *result) {
    gpuchar_experiment_job job = {.name = experiment->about.name, .options = options, .result = result};
    gc_job known = {0};
    request r = {.jobs = &job};
    r.known = (gc_jobs){.session = session, .all = &known, .count = 1, .ended = ended, .user = &r};
    run(&r);
    return job.status;
}

/* ---- several ---- */

/* The first failure, with its detail; without one the least good of what succeeded. */
static gpuchar_status conclude(gc_jobs *jobs, gc_error_box *before) {
    gpuchar_status worst = GPUCHAR_OK;
    for (size_t i = 0; i < jobs->count; ++i) {
        gc_job *job = &jobs->all[i];
        if (job->status < 0 && worst >= 0) {
            worst = gc_error_put(job->error, job->status);
            gc_error_put(before, GPUCHAR_OK); /* gives the older detail up */
        } else {
            gc_error_put(job->error, GPUCHAR_OK);
            if (worst == GPUCHAR_OK) worst = job->status;
        }
    }
    if (worst >= 0) gc_error_restore(before);
    return worst;
}

static gpuchar_status check_jobs(const gpuchar_experiment_job *jobs, size_t count) {
    if (count > 0 && !jobs)
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "jobs is NULL"), "pass an array of `count` jobs");
    for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < i; ++k) {
            if (!jobs[i].result || jobs[i].result != jobs[k].result) continue;
            return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "jobs %zu and %zu have the same result", k, i),
                             "give each job a result struct of its own");
        }
    }
    return GPUCHAR_OK;
}

gpuchar_status gpuchar_experiment_run_all(gpuchar_session *session, gpuchar_experiment_job *jobs, size_t count,
                                          gpuchar_experiment_ended_function ended_function, void *user) {
    request r = {.jobs = jobs, .ended = ended_function, .user = user};
    gpuchar_status status = check_jobs(jobs, count);
    if (status != GPUCHAR_OK) return status;
    gc_job *known = calloc(count + 1, sizeof *known);
    if (!known) return gc_fail_memory((count + 1) * sizeof *known);
    r.known = (gc_jobs){.session = session, .all = known, .count = count, .several = true, .ended = ended, .user = &r};
    gc_error_box *before = gc_error_take();
    run(&r);
    status = conclude(&r.known, before);
    free(known);
    return status;
}
