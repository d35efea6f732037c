/* The worker's own use of the driver: one context, one job at a time. */
#include <worker/program.h>

#include <core/error.h>
#include <core/util.h>
#include <session/devices.h>
#include <string.h>
#include <time.h>

/* More than this a kernel must be allowed to use. */
#define GC_SHARED_WITHOUT_ASKING (48u * 1024u)

#define CALL(function, ...) gc_cuda_check(cuda, cuda->function(__VA_ARGS__), "cu" #function)

gpuchar_status gc_program_open(gc_program *program, const gc_wire_open *open) {
    gc_device_name name;
    CUdevice device;
    CUcontext context;
    gc_cuda *cuda = &program->cuda;
    gpuchar_status status = gc_cuda_load(open->driver, cuda);
    if (!status) {
        status = gc_cuda_init(cuda);
    }
    if (!status) {
        status = gc_device_name_read(open->device, &name);
    }
    if (!status) {
        status = gc_device_find(cuda, &name, &device);
    }
    if (!status) {
        status = CALL(DevicePrimaryCtxRetain, &context, device);
    }
    if (!status) {
        status = CALL(CtxPushCurrent, context);
    }
    if (!status) {
        status = CALL(StreamCreate, &program->stream, CU_STREAM_NON_BLOCKING);
    }
    return status;
}

/* What one job holds. */
typedef struct gc_held {
    CUmodule module;
    CUevent start, stop;
    CUdeviceptr memory[GC_JOB_BUFFERS_MAX];
} gc_held;

static void give_back(const gc_cuda *cuda, const gc_held *held, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (held->memory[i]) {
            cuda->MemFree(held->memory[i]);
        }
    }
    if (held->start) {
        cuda->EventDestroy(held->start);
    }
    if (held->stop) {
        cuda->EventDestroy(held->stop);
    }
    if (held->module) {
        cuda->ModuleUnload(held->module);
    }
}

static gpuchar_status load(const gc_cuda *cuda, const gc_program_job *job, gc_held *held, CUfunction *function) {
    gpuchar_status status = CALL(ModuleLoadData, &held->module, job->image);
    if (!status) {
        status = CALL(ModuleGetFunction, function, held->module, job->head.kernel);
    }
    if (!status && job->head.shared_bytes > GC_SHARED_WITHOUT_ASKING) {
        status = CALL(FuncSetAttribute, *function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                      (int)job->head.shared_bytes);
    }
    if (!status) {
        status = CALL(EventCreate, &held->start, CU_EVENT_DEFAULT);
    }
    if (!status) {
        status = CALL(EventCreate, &held->stop, CU_EVENT_DEFAULT);
    }
    return status;
}

/* Memory as the job wants it, its addresses in the arguments. */
static gpuchar_status fill(gc_program *program, gc_program_job *job, gc_held *held) {
    const gc_cuda *cuda = &program->cuda;
    const char *initial = job->initial;
    gpuchar_status status = GPUCHAR_OK;
    for (uint32_t i = 0; i < job->head.buffer_count && !status; i++) {
        const gc_wire_buffer *buffer = &job->buffers[i];
        status = CALL(MemAlloc, &held->memory[i], (size_t)buffer->bytes);
        if (!status) {
            status = CALL(MemsetD8Async, held->memory[i], 0, (size_t)buffer->bytes, program->stream);
        }
        if (!status && buffer->initial_bytes > 0) {
            status = CALL(MemcpyHtoDAsync, held->memory[i], initial, (size_t)buffer->initial_bytes, program->stream);
        }
        if (!status && buffer->argument_offset != GC_WORKER_NOWHERE) {
            memcpy((char *)job->arguments + buffer->argument_offset, &held->memory[i], sizeof held->memory[i]);
        }
        initial += buffer->initial_bytes;
    }
    /* Zeros and copies are over before the launch: what they take is not the kernel's time. */
    return status ? status : CALL(StreamSynchronize, program->stream);
}

/*
 * Asked again and again instead of waited for: "it has not ended" is the driver's word then, after the limit, and not
 * the silence of a process that was stopped or had no processor. Short kernels are not kept waiting, long ones cost little.
 */
static gpuchar_status await(const gc_cuda *cuda, CUevent stop, uint64_t limit_ns, bool *running) {
    const uint64_t begin = gc_now_ns();
    struct timespec pause = {.tv_nsec = 10000};
    for (;;) {
        const bool over = gc_now_ns() - begin >= limit_ns;
        const CUresult result = cuda->EventQuery(stop);
        *running = result == CUDA_ERROR_NOT_READY;
        if (!*running) {
            return gc_cuda_check(cuda, result, "cuEventQuery");
        }
        if (over) {
            return GPUCHAR_OK;
        }
        nanosleep(&pause, NULL);
        pause.tv_nsec += pause.tv_nsec < 1000000 ? pause.tv_nsec / 4 : 0;
    }
}

static gpuchar_status launch(gc_program *program, gc_program_job *job, const gc_held *held, CUfunction function) {
    const gc_cuda *cuda = &program->cuda;
    const gc_wire_job *head = &job->head;
    void *parameters[1] = {job->arguments};
    gpuchar_status status = CALL(EventRecord, held->start, program->stream);
    for (uint32_t i = 0; i < head->launches && !status; i++) {
        if (head->launch_offset != GC_WORKER_NOWHERE) {
            memcpy((char *)job->arguments + head->launch_offset, &i, sizeof i); /* copied by each launch */
        }
        status = CALL(LaunchKernel, function, head->grid[0], head->grid[1], head->grid[2], head->block[0],
                      head->block[1], head->block[2], head->shared_bytes, program->stream, parameters, NULL);
    }
    return status ? status : CALL(EventRecord, held->stop, program->stream);
}

static gpuchar_status finish(gc_program *program, const gc_program_job *job, const gc_held *held, gc_program_end *end) {
    const gc_cuda *cuda = &program->cuda;
    float milliseconds = 0;
    /* Where nobody hears it, nobody will hear the answer either. */
    gc_frame_send(program->channel, GC_FRAME_LAUNCHED, 0, NULL);
    gpuchar_status status = await(cuda, held->stop, job->head.limit_ns, &end->running);
    if (!status && !end->running) {
        status = CALL(EventElapsedTime, &milliseconds, held->start, held->stop);
    }
    end->elapsed_ns = status ? 0 : (uint64_t)((double)milliseconds * 1e6);
    return status;
}

static gpuchar_status read_back(gc_program *program, const gc_program_job *job, const gc_held *held, char *data) {
    const gc_cuda *cuda = &program->cuda;
    gpuchar_status status = GPUCHAR_OK;
    for (uint32_t i = 0; i < job->head.buffer_count && !status; i++) {
        size_t bytes = (size_t)job->buffers[i].read_bytes;
        if (bytes > 0) {
            status = CALL(MemcpyDtoHAsync, data, held->memory[i], bytes, program->stream);
        }
        data += bytes;
    }
    return status ? status : CALL(StreamSynchronize, program->stream);
}

gpuchar_status gc_program_run(gc_program *program, gc_program_job *job, char *data, gc_program_end *end) {
    CUfunction function = NULL;
    gc_held held;
    memset(&held, 0, sizeof held);
    gpuchar_status status = load(&program->cuda, job, &held, &function);
    if (!status) {
        status = fill(program, job, &held);
    }
    if (!status) {
        status = launch(program, job, &held, function);
    }
    if (!status) {
        status = finish(program, job, &held, end);
    }
    if (end->running) {
        return status; /* each call that gives something back would wait for the kernel */
    }
    if (!status) {
        status = read_back(program, job, &held, data);
    }
    give_back(&program->cuda, &held, job->head.buffer_count);
    return status;
}
