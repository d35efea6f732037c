/* Messages of the library, read with care, and the answers. */
#include <worker/program.h>

#include <core/error.h>
#include <stdlib.h>
#include <string.h>

static void copy_text(char *to, size_t capacity, const char *from) {
    size_t length = strnlen(from, capacity - 1);
    memcpy(to, from, length);
}

static gc_wire_answer answer_of(gpuchar_status status) {
    const gpuchar_error *error = gpuchar_last_error();
    gc_wire_answer answer;
    memset(&answer, 0, sizeof answer);
    if (status) {
        answer.status = status;
        answer.domain = error->domain;
        answer.native_code = error->native_code;
        copy_text(answer.native_name, sizeof answer.native_name, error->native_name);
        copy_text(answer.call, sizeof answer.call, error->call);
        copy_text(answer.message, sizeof answer.message, error->message);
        copy_text(answer.hint, sizeof answer.hint, error->hint);
    }
    return answer;
}

static bool send_answer(const gc_program *program, const gc_wire_answer *answer, const char *data, size_t data_bytes) {
    data_bytes = answer->status || answer->running ? 0 : data_bytes;
    return gc_frame_send(program->channel, GC_FRAME_ANSWER, sizeof *answer + data_bytes, NULL) == GC_TRANSFER_DONE &&
           gc_channel_send(program->channel, answer, sizeof *answer, NULL) == GC_TRANSFER_DONE &&
           gc_channel_send(program->channel, data, data_bytes, NULL) == GC_TRANSFER_DONE;
}

/* The rest of a message that cannot be read is not looked for: after a failure the library starts another worker. */
static bool refuse(const gc_program *program, gpuchar_status status) {
    const gc_wire_answer answer = answer_of(status);
    send_answer(program, &answer, NULL, 0);
    return false;
}

static bool answer_open(gc_program *program, const char *message, uint64_t bytes) {
    gc_wire_open open;
    if (bytes != sizeof open || program->opened) {
        return refuse(program, gc_fail(GPUCHAR_E_INTERNAL, "a device is named twice, or not as it should be"));
    }
    memcpy(&open, message, sizeof open);
    open.driver[sizeof open.driver - 1] = 0;
    open.device[sizeof open.device - 1] = 0;
    gpuchar_status status = gc_program_open(program, &open);
    program->opened = !status;
    const gc_wire_answer answer = answer_of(status);
    return send_answer(program, &answer, NULL, 0);
}

bool gc_program_read_job(const char *message, uint64_t bytes, gc_program_job *job) {
    memset(job, 0, sizeof *job);
    if (bytes < sizeof job->head) {
        return false;
    }
    memcpy(&job->head, message, sizeof job->head);
    uint64_t at = sizeof job->head;
    const uint64_t table_bytes = (uint64_t)job->head.buffer_count * sizeof job->buffers[0];
    if (job->head.buffer_count > GC_JOB_BUFFERS_MAX || bytes - at < table_bytes) {
        return false;
    }
    memcpy(job->buffers, message + at, (size_t)table_bytes);
    at += table_bytes;
    if (gc_job_bytes(&job->head, job->buffers) != bytes) {
        return false;
    }
    job->image = message + at;
    at += job->head.image_bytes;
    memcpy(job->arguments, message + at, job->head.argument_bytes);
    job->initial = message + at + job->head.argument_bytes;
    return true;
}

static bool answer_job(gc_program *program, const char *message, uint64_t bytes) {
    static gc_program_job job;
    if (!program->opened || !gc_program_read_job(message, bytes, &job)) {
        return refuse(program, gc_fail(GPUCHAR_E_INTERNAL, "a job that is not as it should be"));
    }
    size_t data_bytes = (size_t)gc_job_read_bytes(&job.head, job.buffers);
    char *data = malloc(data_bytes + 1);
    if (!data) {
        return refuse(program, gc_fail_memory(data_bytes));
    }
    gc_program_end end = {0};
    gc_wire_answer answer = answer_of(gc_program_run(program, &job, data, &end));
    answer.elapsed_ns = end.elapsed_ns;
    answer.running = end.running;
    bool sent = send_answer(program, &answer, data, data_bytes);
    free(data);
    return sent && !end.running; /* a process with a kernel that does not end is of no more use */
}

bool gc_program_answer(gc_program *program) {
    gc_wire_frame frame;
    if (gc_frame_receive(program->channel, &frame, NULL) != GC_TRANSFER_DONE || frame.bytes > GC_JOB_MESSAGE_MAX) {
        return false;
    }
    char *message = malloc((size_t)frame.bytes + 1);
    if (!message) {
        return refuse(program, gc_fail_memory((size_t)frame.bytes));
    }
    bool going = gc_channel_receive(program->channel, message, (size_t)frame.bytes, NULL) == GC_TRANSFER_DONE;
    if (going && frame.kind == GC_FRAME_OPEN) {
        going = answer_open(program, message, frame.bytes);
    } else if (going && frame.kind == GC_FRAME_JOB) {
        going = answer_job(program, message, frame.bytes);
    } else {
        going = false;
    }
    free(message);
    return going;
}
