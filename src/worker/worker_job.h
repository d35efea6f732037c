/* A job of the library's, as the worker gets it. */
#ifndef GC_WORKER_WORKER_JOB_H
#define GC_WORKER_WORKER_JOB_H

#include <worker/worker.h>

/* `buffers` has room for GC_JOB_BUFFERS_MAX. E_LIMIT: it is larger than protocol.h allows, or has no time. */
gpuchar_status gc_job_describe(const gc_worker_job *job, gc_wire_job *wire, gc_wire_buffer *buffers);

/* As described. */
gc_transfer gc_job_send(int channel, const gc_worker_job *job, const gc_wire_job *wire, const gc_wire_buffer *buffers,
                        const gc_wait *wait);

#endif
