/*
 * Kernels that could hang or break a CUDA context run in gpuchar-worker, a process with a context of its own on the
 * same device. Whatever happens there, the caller's context and process stay as they are.
 */
#ifndef GC_WORKER_WORKER_H
#define GC_WORKER_WORKER_H

#include <session/session_internal.h>
#include <worker/protocol.h>

typedef struct gc_worker gc_worker;

/* Device memory of one job: `initial`, then zeros. */
typedef struct gc_worker_buffer {
    uint64_t bytes;
    const void *initial; /* NULL: all zeros */
    size_t initial_bytes;
    void *read; /* filled from the buffer's beginning after the kernel ended; undefined otherwise */
    size_t read_bytes;
    uint32_t argument_offset; /* where its address goes in the arguments, GC_WORKER_NOWHERE */
} gc_worker_buffer;

typedef struct gc_worker_job {
    const void *image; /* a cubin */
    size_t image_bytes;
    const char *kernel;
    const void *arguments; /* the kernel's only parameter, a struct, as in src/kernels */
    uint32_t argument_bytes;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    const gc_worker_buffer *buffers;
    size_t buffer_count;
    uint32_t launches; /* one behind the other, with the same memory; 0: 1 */
    uint32_t
        launch_offset; /* of a u32 in the arguments that gets the number of each, from 0; where `launches` is not 0 */
    uint64_t limit_ns; /* from the launch to the kernel's end, of all launches together */
    uint64_t else_ns;  /* for everything else: loading and copies before and after; 0: a minute */
} gc_worker_job;

typedef enum gc_worker_end {
    GC_WORKER_NEVER,    /* the call itself failed */
    GC_WORKER_ENDED,    /* ran to its end, buffers are read */
    GC_WORKER_FAILED,   /* launched, and broke its context; see `failure` */
    GC_WORKER_TIMED_OUT /* launched, and had not ended when its limit was over; then its process was ended */
} gc_worker_end;

typedef struct gc_worker_outcome {
    gc_worker_end end;
    uint64_t elapsed_ns;    /* of the kernel, all launches, by events; ENDED only */
    gc_wire_answer failure; /* FAILED only */
    bool launched;
} gc_worker_outcome;

/*
 * Finds the program, starts it and names the session's device, without waiting for its answer: the process makes its
 * context, which takes about as long as opening a session, while the caller does something else. Inside a call on a live
 * session only, as the other three, and stopped before the session is closed. E_NO_WORKER, E_WORKER and E_OUT_OF_MEMORY
 * (could not be started: domain OS), E_CANCELLED, E_NOT_APPLICABLE (a session without device).
 */
gpuchar_status gc_worker_begin(gpuchar_session *session, gc_worker **worker);

/*
 * Waits until the process has opened the device; another one is begun where the last one is of no more use. A job does
 * the same before it runs. E_WORKER_VERSION, E_WORKER (ended, spoke nonsense, could not be started), E_TIMEOUT (no sign
 * of life while it was waited for), E_CANCELLED, E_FORKED, E_OUT_OF_MEMORY, or what opening the device there gave.
 */
gpuchar_status gc_worker_ready(gc_worker *worker);

/*
 * Runs one job. That a kernel breaks its context or does not end is an outcome; after those two, and after a failure of
 * this call, the next job starts another process. Failures: as above, E_LIMIT (the job is larger than protocol.h allows
 * or has no time), E_FORKED, E_TIMEOUT (loading, or an answer, takes longer than else_ns); and what the driver there says
 * that is no word on the kernel, as gc_cuda_check, with its native code: a module or a launch refused, no memory, a
 * failure of the hardware.
 */
gpuchar_status gc_worker_run(gc_worker *worker, const gc_worker_job *job, gc_worker_outcome *outcome);

/* Sets the failure of an outcome as this thread's, and returns its status. */
gpuchar_status gc_worker_fail(const gc_worker_outcome *outcome);

/* No job follows: its process ends while the caller does other things, and gc_worker_stop has less to wait for. */
void gc_worker_dismiss(gc_worker *worker);

/* NULL is allowed. One that is not ready is killed. In a forked child the process is left alone. */
void gc_worker_stop(gc_worker *worker);

#endif
