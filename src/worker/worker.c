/* The library's side: one process, replaced after each job that did not end well. */
#include <worker/worker.h>

#include <core/error.h>
#include <errno.h>
#include <limits.h>
#include <session/devices.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <worker/locate.h>
#include <worker/process.h>
#include <worker/worker_job.h>

/*
 * A greeting takes milliseconds; cuInit on a machine with many GPUs that nobody uses takes many seconds. Both count from
 * where they are waited for: a worker that was begun long ago may have had no processor meanwhile.
 */
#define GC_HELLO_NS UINT64_C(10000000000)
#define GC_OPEN_NS UINT64_C(60000000000)
/* All of a job but its kernel: loading on a busy machine, and copies. */
#define GC_ELSE_NS UINT64_C(60000000000)
/* From SIGKILL to the end: the driver first stops what runs on the GPU. */
#define GC_DEATH_NS UINT64_C(10000000000)
/* One that closed its socket is about to end, and its exit status says why. */
#define GC_GRACE_NS UINT64_C(500000000)

/* What the library says before it listens is little beside what a socket holds, 208 KiB by default: nobody waits for it. */
_Static_assert(sizeof(gc_wire_hello) + sizeof(gc_wire_frame) + sizeof(gc_wire_open) <= 8192, "sent without waiting");

typedef enum gc_worker_state {
    GC_WORKER_OVER,  /* no process, or one of no more use */
    GC_WORKER_BEGUN, /* spoken to, and not yet heard */
    GC_WORKER_OPEN   /* its device is open, and its last job ended well */
} gc_worker_state;

struct gc_worker {
    gpuchar_session *session;
    gc_process process;
    gc_worker_state state;
    bool stuck; /* killed, and waited for as long as it may take */
    gc_wire_open open;
    char path[PATH_MAX];
};

static gc_transfer look(void *user) {
    gc_worker *worker = user;
    if (gc_session_cancel_pending(worker->session)) {
        return GC_TRANSFER_CANCELLED;
    }
    return gc_process_gone(&worker->process) ? GC_TRANSFER_ENDED : GC_TRANSFER_DONE;
}

static gc_wait wait_for(gc_worker *worker, uint64_t limit_ns) {
    uint64_t now = gc_now_ns();
    return (gc_wait){
        .until_ns = limit_ns < UINT64_MAX - now ? now + limit_ns : UINT64_MAX, .look = look, .user = worker};
}

/* ---- the end of a process */

/*
 * Kills what there is, and hangs up, which ends it where a sandbox forbids to kill. False when its end takes too long, or
 * when a cancel is pending.
 */
static bool end_process(gc_worker *worker) {
    const uint64_t slice_ns = 2000000, until = gc_now_ns() + GC_DEATH_NS;
    worker->state = GC_WORKER_OVER;
    gc_process_kill(&worker->process);
    gc_process_hang_up(&worker->process);
    while (!gc_process_wait(&worker->process, slice_ns)) {
        worker->stuck = gc_now_ns() > until;
        if (worker->stuck || gc_session_cancel_pending(worker->session)) {
            return false;
        }
    }
    worker->stuck = false;
    gc_process_forget(&worker->process);
    return true;
}

/* The same, needed: a GPU on which an endless kernel still runs is of no use to the next job. */
static gpuchar_status clear_process(gc_worker *worker) {
    if (end_process(worker)) {
        return GPUCHAR_OK;
    }
    gpuchar_status status = gc_session_check_cancel(worker->session);
    if (!status) {
        status = gc_fail(GPUCHAR_E_WORKER, "gpuchar-worker, process %d, was killed and does not end",
                         (int)worker->process.pid);
        gc_hint("the driver may still be stopping its kernel: see nvidia-smi and the system's log");
    }
    return status;
}

static gpuchar_status fail_ended(gc_worker *worker, const char *doing) {
    gc_process *process = &worker->process;
    gc_process_wait(process, GC_GRACE_NS);
    char how[48] = "ended";
    const char *hint =
        "nothing of this process is lost, and the next call starts another one; was it ended by somebody?";
    if (process->told && process->by_signal) {
        snprintf(how, sizeof how, "was ended by signal %d", process->how);
        hint = "nothing of this process is lost, the next call starts another one; was it killed for lack of memory?";
    } else if (process->told) {
        snprintf(how, sizeof how, "ended with status %d", process->how);
        hint =
            "nothing of this process is lost, and the next call starts another one; is it a script, or a program that "
            "lacks a library? GPUCHAR_WORKER and worker_path name it, its `--version` tells whether it runs";
    }
    return gc_advise(gc_fail(GPUCHAR_E_WORKER, "%s %s while %s", worker->path, how, doing), hint);
}

static gpuchar_status fail_refused(const gc_worker *worker, gc_transfer transfer, int error, const char *doing) {
    const char *call = transfer == GC_TRANSFER_SEND_FAILED   ? "send"
                       : transfer == GC_TRANSFER_RECV_FAILED ? "recv"
                                                             : "poll";
    gpuchar_status status =
        gc_fail_os(GPUCHAR_E_WORKER, error, call, "no connection to %s while %s", worker->path, doing);
    gc_hint("the system refused to carry a message between two processes; the next call starts another worker");
    return status;
}

static gpuchar_status fail_nonsense(const gc_worker *worker) {
    gpuchar_status status = gc_fail(GPUCHAR_E_WORKER, "%s does not answer as gpuchar-worker does", worker->path);
    gc_hint("is it another program? see worker_path of the runtime's options, and GPUCHAR_WORKER");
    return status;
}

/* A transfer that went wrong, as a failure. The process is over. */
static gpuchar_status fail_transfer(gc_worker *worker, gc_transfer transfer, const char *doing) {
    int error = errno;
    gpuchar_status status = GPUCHAR_E_INTERNAL;
    worker->state = GC_WORKER_OVER;
    switch (transfer) {
    case GC_TRANSFER_CANCELLED:
        /* Its end is waited for by the next job, or by gc_worker_stop. */
        gc_process_kill(&worker->process);
        return gc_session_check_cancel(worker->session);
    case GC_TRANSFER_TIMED_OUT:
        status = gc_fail(GPUCHAR_E_TIMEOUT, "%s gave no answer while %s", worker->path, doing);
        gc_hint(
            "it was ended, and the next call starts another one; is it another program, was it stopped (SIGSTOP), or "
            "is the machine overloaded? GPUCHAR_WORKER and worker_path name it");
        break;
    case GC_TRANSFER_ENDED:
        status = fail_ended(worker, doing);
        break;
    case GC_TRANSFER_NONSENSE:
        status = fail_nonsense(worker);
        break;
    case GC_TRANSFER_SEND_FAILED:
    case GC_TRANSFER_RECV_FAILED:
    case GC_TRANSFER_POLL_FAILED:
    case GC_TRANSFER_DONE:
        status = fail_refused(worker, transfer, error, doing);
        break;
    }
    end_process(worker);
    return status;
}

/* ---- beginning */

static gpuchar_status check_hello(gc_worker *worker, gc_wire_hello *hello) {
    const gc_wire_hello own = gc_hello();
    if (memcmp(hello->magic, own.magic, sizeof own.magic) != 0) {
        return fail_transfer(worker, GC_TRANSFER_NONSENSE, "");
    }
    hello->version[sizeof hello->version - 1] = 0;
    if (hello->protocol == own.protocol && strcmp(hello->version, own.version) == 0) {
        return GPUCHAR_OK;
    }
    gpuchar_status status =
        gc_fail(GPUCHAR_E_WORKER_VERSION, "%s is of version %s (protocol %u), the library of version %s (protocol %u)",
                worker->path, hello->version, hello->protocol, own.version, own.protocol);
    gc_hint("install both from one release; see worker_path of the runtime's options, and GPUCHAR_WORKER");
    return status;
}

static gpuchar_status fail_as(const gc_wire_answer *answer) {
    gc_native native = {
        .domain = answer->domain, .code = answer->native_code, .name = answer->native_name, .call = answer->call};
    /* A context is lost there, none of the caller's. */
    bool lost = answer->status == GPUCHAR_E_CONTEXT_LOST;
    gpuchar_status status =
        gc_fail_native(lost ? GPUCHAR_E_CUDA : answer->status, native, "in gpuchar-worker: %s", answer->message);
    const char *hint = answer->hint[0] ? answer->hint : "the message is the worker's; the session can be used on";
    gc_hint("%s", lost ? "only the worker's CUDA context is lost; this session can be used on" : hint);
    return status;
}

static gpuchar_status begin(gc_worker *worker) {
    gpuchar_status status = clear_process(worker);
    if (!status) {
        status = gc_process_start(worker->path, &worker->process);
    }
    if (status) {
        return status;
    }
    const gc_wait wait = wait_for(worker, GC_HELLO_NS);
    const gc_wire_hello own = gc_hello();
    const int channel = worker->process.channel;
    gc_transfer said = gc_channel_send(channel, &own, sizeof own, &wait);
    if (said == GC_TRANSFER_DONE) {
        said = gc_frame_send(channel, GC_FRAME_OPEN, sizeof worker->open, &wait);
    }
    if (said == GC_TRANSFER_DONE) {
        said = gc_channel_send(channel, &worker->open, sizeof worker->open, &wait);
    }
    /* One of another version may have left already; what it said is to be read, and ends where it left. */
    if (said != GC_TRANSFER_DONE && said != GC_TRANSFER_ENDED) {
        return fail_transfer(worker, said, "greeting");
    }
    worker->state = GC_WORKER_BEGUN;
    return GPUCHAR_OK;
}

static gpuchar_status hear_greeting(gc_worker *worker) {
    const gc_wait wait = wait_for(worker, GC_HELLO_NS);
    gc_wire_hello hello;
    gc_transfer received = gc_channel_receive(worker->process.channel, &hello, sizeof hello, &wait);
    return received == GC_TRANSFER_DONE ? check_hello(worker, &hello) : fail_transfer(worker, received, "greeting");
}

static gpuchar_status hear_opened(gc_worker *worker) {
    const gc_wait wait = wait_for(worker, GC_OPEN_NS);
    const int channel = worker->process.channel;
    gc_wire_frame frame;
    gc_wire_answer answer;
    gc_transfer transfer = gc_frame_receive(channel, &frame, &wait);
    if (transfer == GC_TRANSFER_DONE) {
        transfer = gc_answer_receive(channel, &frame, 0, &answer, &wait);
    }
    if (transfer != GC_TRANSFER_DONE) {
        return fail_transfer(worker, transfer, "opening the device");
    }
    return answer.status ? fail_as(&answer) : GPUCHAR_OK;
}

/* One that was begun and has ended is not replaced: how it ended is what its caller is to be told. */
static gpuchar_status make_ready(gc_worker *worker) {
    gpuchar_status status = GPUCHAR_OK;
    if (worker->state == GC_WORKER_OVER || (worker->state == GC_WORKER_OPEN && gc_process_gone(&worker->process))) {
        status = begin(worker);
    }
    if (!status && worker->state == GC_WORKER_BEGUN) {
        status = hear_greeting(worker);
        if (!status) {
            status = hear_opened(worker);
        }
        if (!status) {
            worker->state = GC_WORKER_OPEN;
        } else if (status != GPUCHAR_E_CANCELLED && !worker->stuck) {
            end_process(worker);
        }
    }
    return status;
}

/* A worker faster than us leaves nothing to wait for, and so no place where a cancel would be seen: asked here. */
static gpuchar_status check_caller(gc_worker *worker) {
    if (worker->session->owner != getpid()) {
        return gc_advise(gc_fail(GPUCHAR_E_FORKED, "this gpuchar-worker was started before this process was forked"),
                         "open a session of its own in the forked process, and fork before the first use of CUDA");
    }
    return gc_session_check_cancel(worker->session);
}

gpuchar_status gc_worker_ready(gc_worker *worker) {
    gpuchar_status status = check_caller(worker);
    return status ? status : make_ready(worker);
}

static gpuchar_status describe_device(gc_worker *worker) {
    const gpuchar_session *session = worker->session;
    gpuchar_device_entry entry;
    gpuchar_status status = gc_device_entry_read(session->cuda, session->device, 0, &entry);
    if (!status) {
        _Static_assert(sizeof worker->open.driver == sizeof session->cuda->library.path, "no path is cut");
        snprintf(worker->open.device, sizeof worker->open.device, "%s", entry.uuid);
        memcpy(worker->open.driver, session->cuda->library.path, sizeof worker->open.driver);
    }
    return status;
}

gpuchar_status gc_worker_begin(gpuchar_session *session, gc_worker **worker) {
    *worker = NULL;
    if (session->kind != GC_SESSION_LIVE) {
        return gc_advise(gc_fail(GPUCHAR_E_NOT_APPLICABLE, "a session without a device has no use for gpuchar-worker"),
                         "open the session on a GPU");
    }
    gc_worker *made = calloc(1, sizeof *made);
    if (!made) {
        return gc_fail_memory(sizeof *made);
    }
    made->session = session;
    made->process = GC_PROCESS_NONE;
    gpuchar_status status = gc_worker_locate(gc_runtime_worker_path(session->runtime), made->path, sizeof made->path);
    if (!status) {
        status = describe_device(made);
    }
    if (!status) {
        status = check_caller(made);
    }
    if (!status) {
        status = begin(made);
    }
    if (status) {
        gc_worker_stop(made);
        return status;
    }
    *worker = made;
    return GPUCHAR_OK;
}

/* ---- one job */

static uint64_t else_of(const gc_worker_job *job) {
    return job->else_ns ? job->else_ns : GC_ELSE_NS;
}

static uint64_t sum(uint64_t a, uint64_t b) {
    return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

/* What a kernel does to its own context. Failures of the hardware, of memory or of a service say nothing about it. */
static bool is_kernels_own(const gc_wire_answer *answer) {
    if (answer->domain != GPUCHAR_DOMAIN_CUDA) {
        return false;
    }
    switch (answer->native_code) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
        return true;
    default:
        return false;
    }
}

static gc_worker_end end_of(const gc_worker_outcome *outcome) {
    const gc_wire_answer *answer = &outcome->failure;
    if (answer->status != GPUCHAR_OK) {
        return outcome->launched && is_kernels_own(answer) ? GC_WORKER_FAILED : GC_WORKER_NEVER;
    }
    return answer->running ? GC_WORKER_TIMED_OUT : GC_WORKER_ENDED;
}

static gc_transfer receive_outcome(gc_worker *worker, const gc_worker_job *job, uint64_t data_bytes,
                                   const gc_wait *wait, gc_worker_outcome *outcome) {
    const int channel = worker->process.channel;
    const gc_wait *until = wait;
    gc_wait longer;
    gc_wire_frame frame;
    gc_transfer transfer = gc_frame_receive(channel, &frame, until);
    if (transfer == GC_TRANSFER_DONE && frame.kind == GC_FRAME_LAUNCHED) {
        /* The worker looks at the kernel's limit; this one is for the worker. */
        longer = wait_for(worker, sum(job->limit_ns, else_of(job)));
        until = &longer;
        outcome->launched = true;
        transfer = frame.bytes == 0 ? gc_frame_receive(channel, &frame, until) : GC_TRANSFER_NONSENSE;
    }
    if (transfer == GC_TRANSFER_DONE) {
        transfer = gc_answer_receive(channel, &frame, data_bytes, &outcome->failure, until);
    }
    if (transfer != GC_TRANSFER_DONE) {
        return transfer;
    }
    const gc_worker_end end = end_of(outcome);
    if (!outcome->launched && outcome->failure.status == GPUCHAR_OK) {
        return GC_TRANSFER_NONSENSE; /* an end without a launch */
    }
    for (size_t i = 0; i < job->buffer_count && end == GC_WORKER_ENDED && transfer == GC_TRANSFER_DONE; i++) {
        transfer = gc_channel_receive(channel, job->buffers[i].read, job->buffers[i].read_bytes, until);
    }
    if (transfer == GC_TRANSFER_DONE) {
        outcome->end = end;
        outcome->elapsed_ns = end == GC_WORKER_ENDED ? outcome->failure.elapsed_ns : 0;
    }
    return transfer;
}

/* What the transfers of a job came to. */
static gpuchar_status conclude(gc_worker *worker, gc_transfer transfer, gc_worker_outcome *outcome) {
    const char *doing = outcome->launched ? "running a kernel" : "loading a kernel";
    gpuchar_status status = GPUCHAR_OK;
    if (transfer != GC_TRANSFER_DONE) {
        status = fail_transfer(worker, transfer, doing);
    } else if (outcome->end != GC_WORKER_ENDED) {
        status = clear_process(worker);
        if (!status && outcome->end == GC_WORKER_NEVER) {
            status = fail_as(&outcome->failure);
        }
    }
    if (status) {
        memset(outcome, 0, sizeof *outcome);
    }
    return status;
}

gpuchar_status gc_worker_run(gc_worker *worker, const gc_worker_job *job, gc_worker_outcome *outcome) {
    gc_wire_job wire;
    gc_wire_buffer buffers[GC_JOB_BUFFERS_MAX];
    memset(outcome, 0, sizeof *outcome);
    gpuchar_status status = check_caller(worker);
    if (!status) {
        status = gc_job_describe(job, &wire, buffers);
    }
    if (!status) {
        status = make_ready(worker);
    }
    if (status) {
        return status;
    }
    const gc_wait wait = wait_for(worker, else_of(job));
    gc_transfer transfer = gc_job_send(worker->process.channel, job, &wire, buffers, &wait);
    if (transfer == GC_TRANSFER_DONE) {
        transfer = receive_outcome(worker, job, gc_job_read_bytes(&wire, buffers), &wait, outcome);
    }
    return conclude(worker, transfer, outcome);
}

gpuchar_status gc_worker_fail(const gc_worker_outcome *outcome) {
    return fail_as(&outcome->failure);
}

/* ---- the end */

void gc_worker_dismiss(gc_worker *worker) {
    if (worker->state == GC_WORKER_OPEN) {
        gc_process_hang_up(&worker->process);
    }
}

void gc_worker_stop(gc_worker *worker) {
    if (!worker) {
        return;
    }
    gc_process *process = &worker->process;
    /* One that is still being made ready may be deep in the driver, and a broken one deaf. */
    if (worker->state != GC_WORKER_OPEN) {
        gc_process_kill(process);
    }
    gc_process_hang_up(process);
    if (!gc_process_wait(process, GC_GRACE_NS) && !worker->stuck) {
        gc_process_kill(process);
        gc_process_wait(process, GC_DEATH_NS);
    }
    gc_process_forget(process);
    free(worker);
}
