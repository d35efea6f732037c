/* Calls of experiments, taken through their steps: one, or several at once. */
#ifndef GC_EXPERIMENTS_JOBS_H
#define GC_EXPERIMENTS_JOBS_H

#include <core/error.h>
#include <experiments/experiment.h>

/* ---- one call (call.c) ---- */

typedef enum gc_step {
    GC_STEP_BEGIN,
    GC_STEP_COMPILE,
    GC_STEP_PROVE,
    GC_STEP_READY,
    GC_STEP_MEASURE,
    GC_STEP_COUNT,
    GC_STEP_SETTLE
} gc_step;

/* Options resolved, the result zeroed: both outlive the call. End it in any case. */
gpuchar_status gc_call_new(const gc_experiment *experiment, gpuchar_session *session, const void *options, void *result,
                           gc_call **made);
gpuchar_status gc_call_step(gc_call *call, gc_step which);
void gc_call_end(gc_call *call); /* NULL is allowed */

/* ---- several (jobs.c) ---- */

typedef struct gc_job {
    const gc_experiment *experiment;
    void *options, *result; /* of this library's size; options resolved, the result zeroed */
    gc_call *call;          /* between its begin and its end */
    gc_error_box *error;    /* why it failed; see `several` */
    gpuchar_status status;
    bool over;
} gc_job;

typedef struct gc_jobs {
    gpuchar_session *session; /* live or compiles only, and in this call */
    gc_job *all;
    size_t count;
    bool several; /* each keeps its own failure, also a single one; else it is the thread's */
    void (*ended)(void *user,
                  size_t index); /* a job is over; the thread's last failure is its failure. NULL: nobody asks */
    void *user;
} gc_jobs;

/*
 * All jobs that are not over yet: begins all, compiles all kernels at once, proves them, times one job after the other, and
 * then reads counters, for all of them with one set-up of CUPTI. Nothing is timed while a profiler is there, or while
 * something that a job began is still starting.
 */
void gc_jobs_run(gc_jobs *jobs);

/* Ends a job: `status` and, when it failed, the thread's failure become its own. */
void gc_job_end(gc_jobs *jobs, gc_job *job, gpuchar_status status);

/* Ends all jobs that are not over: a cancel is one of the whole call, and consumed by whoever saw it. */
void gc_jobs_cancel(gc_jobs *jobs);

#endif
