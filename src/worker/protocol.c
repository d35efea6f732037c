/* What both sides do with messages, and how answers are read. */
#include <worker/protocol.h>

#include <gpuchar/version.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(gc_wire_hello) == 64, "frozen");
_Static_assert(sizeof(gc_wire_frame) == 16 && sizeof(gc_wire_job) == 176 && sizeof(gc_wire_buffer) == 32 &&
                   sizeof(gc_wire_answer) == 1216 && sizeof(gc_wire_open) == PATH_MAX + 48,
               "no padding that would carry bytes of the stack to the other side");

_Static_assert(sizeof(gc_wire_job) % 16 == 0 && sizeof(gc_wire_buffer) % 16 == 0, "the image is aligned");

gc_wire_hello gc_hello(void) {
    gc_wire_hello hello = {.protocol = GC_PROTOCOL_VERSION, .process = (uint32_t)getpid()};
    memcpy(hello.magic, GC_HELLO_MAGIC, sizeof hello.magic);
    snprintf(hello.version, sizeof hello.version, "%s", gpuchar_version());
    return hello;
}

static bool buffer_fits(const gc_wire_job *job, const gc_wire_buffer *buffer) {
    bool address_fits =
        buffer->argument_offset == GC_WORKER_NOWHERE ||
        (job->argument_bytes >= sizeof(uint64_t) && buffer->argument_offset <= job->argument_bytes - sizeof(uint64_t));
    return buffer->bytes > 0 && buffer->initial_bytes <= buffer->bytes && buffer->read_bytes <= buffer->bytes &&
           buffer->initial_bytes <= GC_JOB_MESSAGE_MAX && buffer->read_bytes <= GC_JOB_MESSAGE_MAX && address_fits;
}

static bool launches_fit(const gc_wire_job *job) {
    bool number_fits =
        job->launch_offset == GC_WORKER_NOWHERE ||
        (job->argument_bytes >= sizeof(uint32_t) && job->launch_offset <= job->argument_bytes - sizeof(uint32_t));
    return job->launches >= 1 && job->launches <= GC_JOB_LAUNCHES_MAX && number_fits;
}

uint64_t gc_job_read_bytes(const gc_wire_job *job, const gc_wire_buffer *buffers) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < job->buffer_count; i++) {
        bytes += buffers[i].read_bytes;
    }
    return bytes;
}

uint64_t gc_job_bytes(const gc_wire_job *job, const gc_wire_buffer *buffers) {
    if (job->buffer_count > GC_JOB_BUFFERS_MAX || job->argument_bytes > GC_JOB_ARGUMENTS_MAX || job->image_bytes == 0 ||
        job->image_bytes > GC_JOB_MESSAGE_MAX || !memchr(job->kernel, 0, sizeof job->kernel) || !job->kernel[0]) {
        return 0;
    }
    if (!launches_fit(job)) {
        return 0;
    }
    uint64_t bytes = sizeof *job + job->buffer_count * sizeof *buffers + job->argument_bytes + job->image_bytes;
    for (uint32_t i = 0; i < job->buffer_count; i++) {
        if (!buffer_fits(job, &buffers[i])) {
            return 0;
        }
        bytes += buffers[i].initial_bytes;
    }
    return bytes <= GC_JOB_MESSAGE_MAX && gc_job_read_bytes(job, buffers) <= GC_JOB_MESSAGE_MAX ? bytes : 0;
}

gc_transfer gc_frame_send(int channel, uint32_t kind, uint64_t bytes, const gc_wait *wait) {
    gc_wire_frame frame = {.magic = GC_FRAME_MAGIC, .kind = kind, .bytes = bytes};
    return gc_channel_send(channel, &frame, sizeof frame, wait);
}

gc_transfer gc_frame_receive(int channel, gc_wire_frame *frame, const gc_wait *wait) {
    gc_transfer transfer = gc_channel_receive(channel, frame, sizeof *frame, wait);
    return transfer == GC_TRANSFER_DONE && frame->magic != GC_FRAME_MAGIC ? GC_TRANSFER_NONSENSE : transfer;
}

static bool answer_fits(const gc_wire_frame *frame, const gc_wire_answer *answer, uint64_t data_bytes) {
    bool ended = answer->status == GPUCHAR_OK && !answer->running;
    uint64_t expected = sizeof *answer + (ended ? data_bytes : 0);
    return frame->bytes == expected && answer->status <= 0 && answer->domain <= GPUCHAR_DOMAIN_CUBLASLT &&
           answer->running <= (answer->status == GPUCHAR_OK);
}

gc_transfer gc_answer_receive(int channel, const gc_wire_frame *frame, uint64_t data_bytes, gc_wire_answer *answer,
                              const gc_wait *wait) {
    if (frame->kind != GC_FRAME_ANSWER || frame->bytes < sizeof *answer) {
        return GC_TRANSFER_NONSENSE;
    }
    gc_transfer transfer = gc_channel_receive(channel, answer, sizeof *answer, wait);
    if (transfer != GC_TRANSFER_DONE) {
        return transfer;
    }
    answer->native_name[sizeof answer->native_name - 1] = 0;
    answer->call[sizeof answer->call - 1] = 0;
    answer->message[sizeof answer->message - 1] = 0;
    answer->hint[sizeof answer->hint - 1] = 0;
    return answer_fits(frame, answer, data_bytes) ? GC_TRANSFER_DONE : GC_TRANSFER_NONSENSE;
}
