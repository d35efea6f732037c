/* Many kernels at once: from the cache, or compiled by several threads that end before the call does. */
#include "codegen/codegen_internal.h"

#include <core/threads.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS_MAX = 8 };

typedef struct compile_work {
    const gc_nvrtc *nvrtc;
    gc_compile_job **jobs; /* those to compile */
    size_t count;
    atomic_size_t next;
    atomic_bool stop; /* something failed, or the call is cancelled */
    atomic_bool cancelled;
    bool (*cancel_asked)(void *);
    void *cancel_user;
} compile_work;

static bool should_stop(compile_work *work) {
    if (atomic_load(&work->stop)) {
        return true;
    }
    if (work->cancel_asked && work->cancel_asked(work->cancel_user)) {
        atomic_store(&work->cancelled, true);
        atomic_store(&work->stop, true);
        return true;
    }
    return false;
}

static void *compile_loop(void *user) {
    compile_work *work = user;
    while (!should_stop(work)) {
        size_t index = atomic_fetch_add(&work->next, 1);
        if (index >= work->count) {
            break;
        }
        gc_compile_job *job = work->jobs[index];
        job->status = gc_compile_job_run(work->nvrtc, job);
        if (job->status) {
            job->error = gc_error_take();
            atomic_store(&work->stop, true);
        }
    }
    return NULL;
}

/* Those this process may run on: a batch system gives it a share of the machine. */
static size_t usable_cpus(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    long count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (size_t)count : 1;
}

static void compile_all(compile_work *work) {
    pthread_t threads[THREADS_MAX];
    size_t workers = usable_cpus();
    workers = workers < THREADS_MAX ? workers : THREADS_MAX;
    workers = workers < work->count ? workers : work->count;
    size_t started = gc_threads_start(threads, workers > 0 ? workers - 1 : 0, compile_loop, work);
    compile_loop(work);
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* Requests to jobs. */

static gc_compile_job *find_same(gc_compile_job *jobs, size_t count, gc_hash key) {
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].key.high == key.high && jobs[i].key.low == key.low) {
            return &jobs[i];
        }
    }
    return NULL;
}

typedef struct compile_batch {
    gc_compile_job *jobs;     /* one per request */
    gc_compile_job **missing; /* the distinct ones that no cache holds */
    gc_compile_job **sources; /* per request: the job whose image it gets */
    size_t count, missing_count;
} compile_batch;

static gpuchar_status batch_open(compile_batch *batch, size_t count) {
    *batch = (compile_batch){
        .jobs = calloc(count, sizeof *batch->jobs),
        .missing = calloc(count, sizeof *batch->missing),
        .sources = calloc(count, sizeof *batch->sources),
        .count = count,
    };
    return batch->jobs && batch->missing && batch->sources ? GPUCHAR_OK : gc_fail_memory(count * sizeof *batch->jobs);
}

static void batch_close(compile_batch *batch) {
    for (size_t i = 0; batch->jobs && i < batch->count; i++) {
        gc_compile_job_clear(&batch->jobs[i]);
    }
    free(batch->jobs);
    free(batch->missing);
    free(batch->sources);
}

static gpuchar_status batch_prepare(compile_batch *batch, const gc_nvrtc *nvrtc, gc_cubin_cache *cache,
                                    const gc_compile_request *requests) {
    for (size_t i = 0; i < batch->count; i++) {
        gc_compile_job *job = &batch->jobs[i];
        gpuchar_status status = gc_compile_job_prepare(nvrtc, &requests[i], job);
        if (status) {
            return status;
        }
        gc_compile_job *same = find_same(batch->jobs, i, job->key);
        batch->sources[i] = same ? same : job;
        if (same) {
            continue;
        }
        job->image = job->cacheable ? gc_cubin_cache_get(cache, job->key, nvrtc->version) : NULL;
        if (!job->image) {
            batch->missing[batch->missing_count++] = job;
        }
    }
    return GPUCHAR_OK;
}

/* What did compile is kept even when the call fails. Here, not by the compiling threads: it may call the host's log. */
static void batch_store(compile_batch *batch, gc_cubin_cache *cache) {
    for (size_t i = 0; i < batch->missing_count; i++) {
        gc_compile_job *job = batch->missing[i];
        if (job->image && job->cacheable) {
            gc_cubin_cache_put(cache, job->image);
        }
    }
}

/* The first failure in the order of the requests. */
static gpuchar_status batch_status(compile_batch *batch, bool cancelled) {
    for (size_t i = 0; i < batch->missing_count; i++) {
        gc_compile_job *job = batch->missing[i];
        if (job->status) {
            gc_error_box *box = job->error;
            job->error = NULL;
            return gc_error_put(box, job->status);
        }
    }
    return cancelled ? gc_fail(GPUCHAR_E_CANCELLED, "cancelled while compiling") : GPUCHAR_OK;
}

gpuchar_status gc_compile_many(const gc_nvrtc *nvrtc, gc_cubin_cache *cache, const gc_compile_request *requests,
                               size_t count, bool (*cancelled)(void *), void *cancelled_user, gc_image **images) {
    for (size_t i = 0; i < count; i++) {
        images[i] = NULL;
    }
    if (count == 0) {
        return GPUCHAR_OK;
    }
    compile_batch batch;
    gpuchar_status status = batch_open(&batch, count);
    if (!status) {
        status = batch_prepare(&batch, nvrtc, cache, requests);
    }
    if (!status && batch.missing_count > 0) {
        compile_work work = {
            .nvrtc = nvrtc,
            .jobs = batch.missing,
            .count = batch.missing_count,
            .cancel_asked = cancelled,
            .cancel_user = cancelled_user,
        };
        compile_all(&work);
        batch_store(&batch, cache);
        status = batch_status(&batch, atomic_load(&work.cancelled));
    }
    for (size_t i = 0; !status && i < count; i++) {
        images[i] = gc_image_retain(batch.sources[i]->image);
    }
    batch_close(&batch);
    return status;
}
