/* A job of the library's, as the worker gets it. */
#include <worker/worker_job.h>

#include <core/error.h>
#include <core/util.h>
#include <string.h>

static void describe_buffers(const gc_worker_job *job, gc_wire_buffer *wire) {
    for (size_t i = 0; i < job->buffer_count; i++) {
        const gc_worker_buffer *buffer = &job->buffers[i];
        wire[i] = (gc_wire_buffer){.bytes = buffer->bytes,
                                   .initial_bytes = buffer->initial ? buffer->initial_bytes : 0,
                                   .read_bytes = buffer->read_bytes,
                                   .argument_offset = buffer->argument_offset};
    }
}

static const char too_large[] = "make the job smaller, or several of it; its bounds are in worker/protocol.h";

gpuchar_status gc_job_describe(const gc_worker_job *job, gc_wire_job *wire, gc_wire_buffer *buffers) {
    *wire = (gc_wire_job){.image_bytes = job->image_bytes,
                          .limit_ns = job->limit_ns,
                          .argument_bytes = job->argument_bytes,
                          .buffer_count = (uint32_t)job->buffer_count,
                          .shared_bytes = job->shared_bytes,
                          .launches = job->launches ? job->launches : 1,
                          .launch_offset = job->launches ? job->launch_offset : GC_WORKER_NOWHERE};
    memcpy(wire->grid, job->grid, sizeof wire->grid);
    memcpy(wire->block, job->block, sizeof wire->block);
    size_t name_length = strlen(job->kernel);
    if (name_length >= sizeof wire->kernel || job->buffer_count > GC_JOB_BUFFERS_MAX || job->limit_ns == 0) {
        return gc_advise(gc_fail(GPUCHAR_E_LIMIT,
                                 "a job for gpuchar-worker with %zu buffers, %zu letters of name and %llu ns",
                                 job->buffer_count, name_length, (unsigned long long)job->limit_ns),
                         too_large);
    }
    memcpy(wire->kernel, job->kernel, name_length);
    describe_buffers(job, buffers);
    if (gc_job_bytes(wire, buffers) == 0) {
        return gc_advise(gc_fail(GPUCHAR_E_LIMIT,
                                 "a job for gpuchar-worker is empty, larger than %llu MiB, or has a buffer "
                                 "whose parts lie outside of it",
                                 (unsigned long long)(GC_JOB_MESSAGE_MAX >> 20)),
                         too_large);
    }
    return GPUCHAR_OK;
}

gc_transfer gc_job_send(int channel, const gc_worker_job *job, const gc_wire_job *wire, const gc_wire_buffer *buffers,
                        const gc_wait *wait) {
    const struct {
        const void *from;
        size_t bytes;
    } parts[] = {{wire, sizeof *wire},
                 {buffers, wire->buffer_count * sizeof *buffers},
                 {job->image, job->image_bytes},
                 {job->arguments, wire->argument_bytes}};
    gc_transfer sent = gc_frame_send(channel, GC_FRAME_JOB, gc_job_bytes(wire, buffers), wait);
    for (size_t i = 0; i < GC_COUNT(parts) && sent == GC_TRANSFER_DONE; i++) {
        sent = gc_channel_send(channel, parts[i].from, parts[i].bytes, wait);
    }
    for (size_t i = 0; i < job->buffer_count && sent == GC_TRANSFER_DONE; i++) {
        sent = gc_channel_send(channel, job->buffers[i].initial, (size_t)buffers[i].initial_bytes, wait);
    }
    return sent;
}
