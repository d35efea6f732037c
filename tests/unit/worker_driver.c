/*
 * The fake driver with kernels, for gpuchar-worker: device memory is the process's own, a kernel is a name, and some
 * kernels do what no caller wants in his process. Whatever is not here is the fake driver's.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "barrier_plan.h"
#include "progress_plan.h"

typedef struct add_arguments {
    uint64_t in, out;
    uint32_t count, plus;
} add_arguments;

/* Of several launches: each adds its number, from 1, to the last sum, and counts itself. */
typedef struct count_arguments {
    uint64_t out;
    uint32_t number, plus;
} count_arguments;
static void count_launch(const count_arguments *arguments) {
    uint32_t *out = (uint32_t *)(uintptr_t)arguments->out;
    out[0] += 1;
    out[1] = out[1] * 10 + arguments->number + 1;
}

enum { MEMORY_MAX = 1 << 30 };

static const char *const kernels[] = {"add",
                                      "endless",
                                      "fault",
                                      "hang",
                                      "crash",
                                      "quit",
                                      "deaf",
                                      "stopped",
                                      "worn out",
                                      "refused",
                                      "count",
                                      "gpuchar_barrier_class",
                                      "gpuchar_forward_progress"};
static const char *running = "";
static bool faulted;

/* As on a machine with many GPUs that nobody uses. */
static CUresult (*init_of_the_fake)(unsigned);
static CUresult kernel_Init(unsigned flags) {
    const char *slow_ms = getenv("SLOW_INIT_MS");
    const long wait_ms = slow_ms ? atol(slow_ms) : 0;
    const struct timespec nap = {wait_ms / 1000, wait_ms % 1000 * 1000000};
    nanosleep(&nap, NULL);
    return init_of_the_fake(flags);
}
/* DEVICE_MAJOR: another chip than the fake driver's. */
static CUresult (*attribute_of_the_fake)(int *, CUdevice_attribute, CUdevice);
static CUresult kernel_DeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    const CUresult result = attribute_of_the_fake(value, attribute, device);
    const char *major = getenv("DEVICE_MAJOR");
    if (result == CUDA_SUCCESS && major && attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
        *value = atoi(major);
    }
    return result;
}
static CUresult kernel_ModuleLoadData(CUmodule *module, const void *image) {
    *module = (CUmodule)(uintptr_t)&kernels;
    if ((uintptr_t)image % 16 == 0 && memcmp(image,
                                             "\x7f"
                                             "ELF",
                                             4) == 0) {
        plan_next();
        barrier_load(image);
        plan_sleep("slow load");
        return plan_is("load") ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_SUCCESS;
    }
    return (uintptr_t)image % 16 == 0 && memcmp(image, "cubin", 5) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
static CUresult kernel_ModuleUnload(CUmodule module) {
    (void)module;
    return CUDA_SUCCESS;
}
static CUresult kernel_ModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    (void)module;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (strcmp(kernels[i], name) == 0) {
            *function = (CUfunction)(uintptr_t)kernels[i];
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}
static CUresult kernel_FuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    (void)function;
    return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value <= 227 * 1024
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}
static CUresult kernel_MemAlloc(CUdeviceptr *address, size_t bytes) {
    void *memory = bytes <= MEMORY_MAX && !plan_is("memory") ? malloc(bytes) : NULL;
    *address = (CUdeviceptr)(uintptr_t)memory;
    if (memory) {
        memset(memory, 0xa5, bytes);
    }
    return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
static CUresult kernel_MemFree(CUdeviceptr address) {
    free((void *)(uintptr_t)address);
    return CUDA_SUCCESS;
}
static CUresult kernel_MemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}
static CUresult kernel_MemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    (void)stream;
    plan_sleep("slow read");
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return plan_is("read") ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}
static CUresult kernel_MemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    (void)stream;
    memset((void *)(uintptr_t)to, value, bytes);
    return CUDA_SUCCESS;
}
static CUresult kernel_EventCreate(CUevent *event, unsigned int flags) {
    (void)flags;
    *event = (CUevent)(uintptr_t)&running;
    return CUDA_SUCCESS;
}
static CUresult kernel_EventDestroy(CUevent event) {
    (void)event;
    return CUDA_SUCCESS;
}
static CUresult kernel_EventRecord(CUevent event, CUstream stream) {
    (void)event;
    (void)stream;
    return faulted ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}
static CUresult kernel_EventQuery(CUevent event) {
    (void)event;
    const bool is_barrier = strcmp(running, "gpuchar_barrier_class") == 0;
    if (plan_is("endless") || (is_barrier && barrier_does("endless"))) {
        return CUDA_ERROR_NOT_READY;
    }
    if (is_barrier && barrier_does("fault")) {
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    }
    if (plan_is("fault") || plan_is("ecc")) {
        return plan_is("ecc") ? CUDA_ERROR_ECC_UNCORRECTABLE : CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    if (strcmp(running, "endless") == 0) {
        return CUDA_ERROR_NOT_READY;
    }
    while (strcmp(running, "deaf") == 0) {
        pause();
    }
    if (strcmp(running, "stopped") == 0) {
        running = ""; /* continued, it had ended meanwhile */
        raise(SIGSTOP);
    }
    if (strcmp(running, "worn out") == 0) {
        return CUDA_ERROR_ECC_UNCORRECTABLE;
    }
    faulted = faulted || strcmp(running, "fault") == 0;
    return faulted ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}
static CUresult kernel_EventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
    (void)from;
    (void)to;
    *milliseconds = 1.5f;
    return CUDA_SUCCESS;
}
static CUresult kernel_LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                    CUstream stream, void **parameters, void **extra) {
    (void)stream;
    (void)extra;
    running = (const char *)(uintptr_t)function;
    if (strcmp(running, "hang") == 0) {
        for (;;) {
            pause();
        }
    } else if (strcmp(running, "refused") == 0) {
        return CUDA_ERROR_ILLEGAL_ADDRESS; /* a context that was broken before this launch: not its own doing */
    } else if (strcmp(running, "gpuchar_forward_progress") == 0) {
        if (plan_is("refuse")) {
            return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        }
        plan_crash();
        plan_launch(parameters[0]);
    } else if (strcmp(running, "gpuchar_barrier_class") == 0) {
        if (barrier_does("refuse")) {
            return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        }
        barrier_launch(parameters[0], grid_x, block_x);
    } else if (strcmp(running, "count") == 0) {
        count_launch(parameters[0]);
    } else if (strcmp(running, "crash") == 0) {
        raise(SIGKILL);
    } else if (strcmp(running, "quit") == 0) {
        _exit(3);
    } else if (strcmp(running, "add") == 0) {
        const add_arguments *arguments = parameters[0];
        const uint32_t *in = (const uint32_t *)(uintptr_t)arguments->in;
        uint32_t *out = (uint32_t *)(uintptr_t)arguments->out;
        for (uint32_t i = 0; i < arguments->count; i++) {
            out[i] = in[i] + arguments->plus;
        }
        out[arguments->count] =
            grid_x * 10000 + grid_y * 1000 + grid_z * 100 + block_x * 10 + block_y + block_z + shared;
    }
    return CUDA_SUCCESS;
}

typedef CUresult (*get_proc_address)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

__attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
                                                                    cuuint64_t flags,
                                                                    CUdriverProcAddressQueryResult *found) {
    void *fake = dlopen(GPUCHAR_FAKES_DIR "/fake_cuda.so", RTLD_NOW | RTLD_LOCAL);
    void *address = fake ? dlsym(fake, "cuGetProcAddress_v2") : NULL;
    get_proc_address get;
    memcpy(&get, &address, sizeof get);
    CUresult result = get ? get(symbol, function, version, flags, found) : CUDA_ERROR_NOT_FOUND;
    if (result == CUDA_SUCCESS && strcmp(symbol, "cuInit") == 0) {
        memcpy(&init_of_the_fake, function, sizeof init_of_the_fake);
    }
    if (result == CUDA_SUCCESS && strcmp(symbol, "cuDeviceGetAttribute") == 0) {
        memcpy(&attribute_of_the_fake, function, sizeof attribute_of_the_fake);
    }
#define OWN(member)                                                                                                    \
    { "cu" #member, (void *)(uintptr_t)kernel_##member }
    const struct {
        const char *name;
        void *address;
    } own[] = {OWN(Init),
               OWN(DeviceGetAttribute),
               OWN(ModuleLoadData),
               OWN(ModuleUnload),
               OWN(ModuleGetFunction),
               OWN(FuncSetAttribute),
               OWN(MemAlloc),
               OWN(MemFree),
               OWN(MemcpyHtoDAsync),
               OWN(MemcpyDtoHAsync),
               OWN(MemsetD8Async),
               OWN(EventCreate),
               OWN(EventDestroy),
               OWN(EventRecord),
               OWN(EventQuery),
               OWN(EventElapsedTime),
               OWN(LaunchKernel)};
#undef OWN
    for (size_t i = 0; i < sizeof own / sizeof own[0] && result == CUDA_SUCCESS; i++) {
        if (strcmp(symbol, own[i].name) == 0) {
            *function = own[i].address;
        }
    }
    return result;
}
