/* Inside gpuchar-worker. */
#ifndef GC_WORKER_PROGRAM_H
#define GC_WORKER_PROGRAM_H

#include <platform/cuda_driver.h>
#include <stdbool.h>
#include <worker/protocol.h>

typedef struct gc_program {
    int channel;
    bool opened;
    gc_cuda cuda;
    CUstream stream; /* of the device's primary context, which is current */
} gc_program;

/* One job as it came, its parts inside `message`. */
typedef struct gc_program_job {
    gc_wire_job head;
    gc_wire_buffer buffers[GC_JOB_BUFFERS_MAX];
    uint64_t arguments[GC_JOB_ARGUMENTS_MAX /
                       sizeof(uint64_t)]; /* the rest is zero: the driver copies what the kernel takes */
    const char *image;
    const char *initial;
} gc_program_job;

/* False: the message is not what it says it is. */
bool gc_program_read_job(const char *message, uint64_t bytes, gc_program_job *job);

/* Reads one message and answers it. False when there is nobody to answer any more. */
bool gc_program_answer(gc_program *program);

/* Failures are this thread's error. */
gpuchar_status gc_program_open(gc_program *program, const gc_wire_open *open);
/* Of a kernel that came to its end, or did not. */
typedef struct gc_program_end {
    uint64_t elapsed_ns; /* by events */
    bool running;        /* its limit is over, and it has not ended: nothing was read and nothing given back */
} gc_program_end;
/*
 * Tells the library when the kernel is launched. Everything that a job takes is given back, as far as a failed driver
 * allows. `data`: room for what is read back.
 */
gpuchar_status gc_program_run(gc_program *program, gc_program_job *job, char *data, gc_program_end *end);

#endif
