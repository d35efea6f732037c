/*
 * A driver without a GPU: two devices, contexts and a stack of them per thread, streams, events, modules and memory, all
 * in the book. What is called from outside are the generated wrappers; a function that is not written here answers
 * NOT_SUPPORTED. Kernels are in fake_launch.c.
 */
#include "fake_cuda.h"

#include <platform/cuda_driver.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Weak, so that what is defined nowhere has the address NULL. */
#define DECLARE(member, version, parameters)                                                                           \
    __attribute__((weak, visibility("hidden"))) CUresult fake_##member parameters;                                     \
    __attribute__((visibility("hidden"))) CUresult wrap_##member parameters;
GC_CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

/* ---- the driver and its devices */

CUresult fake_Init(unsigned int flags) {
    fake()->init_calls++;
    return flags ? CUDA_ERROR_INVALID_VALUE : (CUresult)fake()->init_result;
}
CUresult fake_DriverGetVersion(int *version) {
    *version = fake()->version;
    return CUDA_SUCCESS;
}

#define NAME(code)                                                                                                     \
    { code, #code }
static const struct {
    CUresult code;
    const char *name;
} names[] = {
    NAME(CUDA_SUCCESS),
    NAME(CUDA_ERROR_INVALID_VALUE),
    NAME(CUDA_ERROR_OUT_OF_MEMORY),
    NAME(CUDA_ERROR_NOT_INITIALIZED),
    NAME(CUDA_ERROR_DEINITIALIZED),
    NAME(CUDA_ERROR_NO_DEVICE),
    NAME(CUDA_ERROR_INVALID_DEVICE),
    NAME(CUDA_ERROR_INVALID_IMAGE),
    NAME(CUDA_ERROR_INVALID_CONTEXT),
    NAME(CUDA_ERROR_NO_BINARY_FOR_GPU),
    NAME(CUDA_ERROR_INVALID_PTX),
    NAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
    NAME(CUDA_ERROR_JIT_COMPILER_NOT_FOUND),
    NAME(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND),
    NAME(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED),
    NAME(CUDA_ERROR_OPERATING_SYSTEM),
    NAME(CUDA_ERROR_INVALID_HANDLE),
    NAME(CUDA_ERROR_NOT_FOUND),
    NAME(CUDA_ERROR_NOT_READY),
    NAME(CUDA_ERROR_ILLEGAL_ADDRESS),
    NAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES),
    NAME(CUDA_ERROR_LAUNCH_TIMEOUT),
    NAME(CUDA_ERROR_DEVICE_UNAVAILABLE),
    NAME(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING),
    NAME(CUDA_ERROR_FUNCTION_NOT_LOADED),
    NAME(CUDA_ERROR_CONTEXT_IS_DESTROYED),
    NAME(CUDA_ERROR_LAUNCH_FAILED),
    NAME(CUDA_ERROR_NOT_PERMITTED),
    NAME(CUDA_ERROR_NOT_SUPPORTED),
    NAME(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH),
    NAME(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE),
    NAME(CUDA_ERROR_UNKNOWN),
};
#undef NAME

CUresult fake_GetErrorName(CUresult error, const char **name) {
    *name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].code == error) *name = names[i].name;
    }
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult fake_GetErrorString(CUresult error, const char **text) {
    (void)error;
    *text = "a fake failure";
    return CUDA_SUCCESS;
}
CUresult fake_DeviceGetCount(int *count) {
    *count = fake()->device_count;
    return CUDA_SUCCESS;
}
CUresult fake_DeviceGet(CUdevice *device, int ordinal) {
    *device = ordinal;
    return ordinal < fake()->device_count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult fake_DeviceGetName(char *name, int length, CUdevice device) {
    (void)length;
    strcpy(name, device == 0 ? "Fake GPU" : "Fake GPU MIG 1g.5gb");
    return CUDA_SUCCESS;
}
CUresult fake_DeviceGetUuid(CUuuid *uuid, CUdevice device) {
    for (int i = 0; i < 16; i++) {
        uuid->bytes[i] = (char)(i * 16 + device);
    }
    return CUDA_SUCCESS;
}
CUresult fake_DeviceGetPCIBusId(char *id, int length, CUdevice device) {
    (void)length;
    strcpy(id, device == 0 ? "0000:01:00.0" : "0000:C1:00.0");
    return CUDA_SUCCESS;
}
CUresult fake_DeviceTotalMem(size_t *bytes, CUdevice device) {
    (void)device;
    *bytes = (size_t)80 << 30;
    return CUDA_SUCCESS;
}
unsigned fake_sm_count(int device) {
    return device == 0 ? 132 : 16;
}
CUresult fake_DeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = device == 0 ? 9 : 8;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = 0;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = (int)fake_sm_count(device);
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
        *value = 2048;
        break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
        *value = 0; /* as CUDA 13 does on some systems */
        break;
    default:
        *value = 64;
        break;
    }
    return CUDA_SUCCESS;
}

/* ---- contexts */

static uintptr_t primary[FAKE_DEVICES];

fake_context_state *fake_current_context(uintptr_t *handle) {
    fake_thread *thread = fake_this_thread();
    *handle = thread->depth ? thread->stack[thread->depth - 1] : 0;
    if (!*handle) fake_misuse("%s without a current context", fake_current());
    return *handle && fake_alive(FAKE_CONTEXT, *handle) ? fake_find(FAKE_CONTEXT, *handle) : NULL;
}

#define NEEDS_CONTEXT                                                                                                  \
    uintptr_t context;                                                                                                 \
    fake_context_state *in = fake_current_context(&context);                                                           \
    if (!in) return context ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;                            \
    if (fake()->sticky) return (CUresult)fake()->sticky

CUresult fake_DevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    void *state = NULL;
    if (fake()->retains[device]++ == 0) {
        primary[device] = fake_make(FAKE_CONTEXT, 0, sizeof(fake_context_state), &state);
        *(fake_context_state *)state = (fake_context_state){.device = device, .primary = true};
    }
    *context = (CUcontext)primary[device];
    return CUDA_SUCCESS;
}
CUresult fake_DevicePrimaryCtxRelease(CUdevice device) {
    if (fake()->retains[device] == 0) {
        fake_misuse("a context is released that nobody retains");
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (--fake()->retains[device] == 0) {
        size_t left = fake_end_children(primary[device]);
        if (!fake()->sticky) fake()->swept += (int)left;
        fake_end(FAKE_CONTEXT, primary[device]);
    }
    return CUDA_SUCCESS;
}
CUresult fake_CtxPushCurrent(CUcontext context) {
    fake_thread *thread = fake_this_thread();
    if (!context || thread->depth == 64) return CUDA_ERROR_INVALID_CONTEXT;
    if (!fake_alive(FAKE_CONTEXT, (uintptr_t)context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    thread->stack[thread->depth++] = (uintptr_t)context;
    return CUDA_SUCCESS;
}
CUresult fake_CtxPopCurrent(CUcontext *context) {
    fake_thread *thread = fake_this_thread();
    if (thread->depth == 0) {
        fake_misuse("a pop from an empty stack");
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *context = (CUcontext)thread->stack[--thread->depth];
    return CUDA_SUCCESS;
}
CUresult fake_CtxGetCurrent(CUcontext *context) {
    fake_thread *thread = fake_this_thread();
    *context = (CUcontext)(thread->depth ? thread->stack[thread->depth - 1] : 0);
    return CUDA_SUCCESS;
}
CUresult fake_CtxGetDevice(CUdevice *device) {
    NEEDS_CONTEXT;
    *device = in->device;
    return CUDA_SUCCESS;
}
CUresult fake_CtxSynchronize(void) {
    NEEDS_CONTEXT;
    return CUDA_SUCCESS;
}
CUresult fake_ThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    fake_thread *thread = fake_this_thread();
    CUstreamCaptureMode before = (CUstreamCaptureMode)thread->capture_mode;
    thread->capture_mode = (int)*mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* ---- streams and events */

/* The host's part of an object goes even when its context is dead. */
static CUresult give_back(fake_kind kind, uintptr_t handle) {
    bool found = fake_end(kind, handle);
    NEEDS_CONTEXT;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult fake_StreamCreate(CUstream *stream, unsigned int flags) {
    NEEDS_CONTEXT;
    if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *stream = (CUstream)fake_make(FAKE_STREAM, context, 0, NULL);
    return CUDA_SUCCESS;
}
CUresult fake_StreamDestroy(CUstream stream) {
    return give_back(FAKE_STREAM, (uintptr_t)stream);
}
CUresult fake_StreamSynchronize(CUstream stream) {
    NEEDS_CONTEXT;
    return fake_find(FAKE_STREAM, (uintptr_t)stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

typedef struct event {
    bool recorded;
    double at_ns;
} event;

CUresult fake_EventCreate(CUevent *made, unsigned int flags) {
    NEEDS_CONTEXT;
    (void)flags;
    *made = (CUevent)fake_make(FAKE_EVENT, context, sizeof(event), NULL);
    return CUDA_SUCCESS;
}
CUresult fake_EventDestroy(CUevent one) {
    return give_back(FAKE_EVENT, (uintptr_t)one);
}
CUresult fake_EventRecord(CUevent one, CUstream stream) {
    NEEDS_CONTEXT;
    event *state = fake_find(FAKE_EVENT, (uintptr_t)one);
    if (!state || !fake_find(FAKE_STREAM, (uintptr_t)stream)) return CUDA_ERROR_INVALID_HANDLE;
    *state = (event){true, in->now_ns};
    return CUDA_SUCCESS;
}
CUresult fake_EventQuery(CUevent one) {
    NEEDS_CONTEXT;
    return fake_find(FAKE_EVENT, (uintptr_t)one) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult fake_EventSynchronize(CUevent one) {
    NEEDS_CONTEXT;
    return fake_find(FAKE_EVENT, (uintptr_t)one) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult fake_EventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
    NEEDS_CONTEXT;
    const event *first = fake_find(FAKE_EVENT, (uintptr_t)from), *second = fake_find(FAKE_EVENT, (uintptr_t)to);
    if (!first || !second || !first->recorded || !second->recorded) return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = (float)((second->at_ns - first->at_ns) / 1e6);
    return CUDA_SUCCESS;
}

/* ---- memory: addresses that mean nothing to the host */

typedef struct memory {
    CUdeviceptr address;
    size_t bytes;
    unsigned char host[];
} memory;

typedef struct range {
    CUdeviceptr address;
    size_t bytes;
} range;

static bool holds(const void *state, const void *user) {
    const memory *block = state;
    const range *wanted = user;
    return wanted->address >= block->address && wanted->bytes <= block->bytes &&
           wanted->address - block->address <= block->bytes - wanted->bytes;
}

void *fake_device_memory(CUdeviceptr address, size_t bytes) {
    void *state = NULL;
    const range wanted = {address, bytes};
    if (!fake_search(FAKE_MEMORY, holds, &wanted, &state)) {
        fake_misuse("%s outside of all device memory", fake_current());
        return NULL;
    }
    memory *block = state;
    return block->host + (address - block->address);
}

CUresult fake_MemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    NEEDS_CONTEXT;
    *total_bytes = (size_t)80 << 30;
    *free_bytes = *total_bytes / 2;
    return CUDA_SUCCESS;
}
CUresult fake_MemAlloc(CUdeviceptr *address, size_t bytes) {
    static CUdeviceptr next = 0x7d0000000000u;
    NEEDS_CONTEXT;
    void *state = NULL;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > (size_t)1 << 30) return CUDA_ERROR_OUT_OF_MEMORY;
    fake_make(FAKE_MEMORY, context, sizeof(memory) + bytes, &state);
    memory *block = state;
    block->address = next;
    block->bytes = bytes;
    memset(block->host, 0xa5, bytes);
    next += (bytes / 4096 + 2) * 4096; /* nothing lies behind the end */
    *address = block->address;
    return CUDA_SUCCESS;
}

static bool starts_at(const void *state, const void *address) {
    return ((const memory *)state)->address == *(const CUdeviceptr *)address;
}

CUresult fake_MemFree(CUdeviceptr address) {
    uintptr_t found = fake_search(FAKE_MEMORY, starts_at, &address, NULL);
    return give_back(FAKE_MEMORY, found);
}
CUresult fake_MemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    NEEDS_CONTEXT;
    if (!fake_find(FAKE_STREAM, (uintptr_t)stream)) return CUDA_ERROR_INVALID_HANDLE;
    void *place = fake_device_memory(to, bytes);
    if (!place) return CUDA_ERROR_INVALID_VALUE;
    memcpy(place, from, bytes);
    return CUDA_SUCCESS;
}
CUresult fake_MemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    NEEDS_CONTEXT;
    if (!fake_find(FAKE_STREAM, (uintptr_t)stream)) return CUDA_ERROR_INVALID_HANDLE;
    const void *place = fake_device_memory(from, bytes);
    if (!place) return CUDA_ERROR_INVALID_VALUE;
    memcpy(to, place, bytes);
    return CUDA_SUCCESS;
}
CUresult fake_MemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    NEEDS_CONTEXT;
    if (!fake_find(FAKE_STREAM, (uintptr_t)stream)) return CUDA_ERROR_INVALID_HANDLE;
    void *place = fake_device_memory(to, bytes);
    if (!place) return CUDA_ERROR_INVALID_VALUE;
    memset(place, value, bytes);
    return CUDA_SUCCESS;
}

/* ---- what is exported: how a driver hands out its functions, and how an old one tells its age */

EXPORT CUresult cuDriverGetVersion(int *version) {
    return wrap_DriverGetVersion(version);
}

typedef struct entry {
    const char *name;
    int version;
    void *address;
} entry;

static CUresult get_proc_address(const char *symbol, void **function, int version,
                                 CUdriverProcAddressQueryResult *found) {
#define POINTER(member, since, parameters) {"cu" #member, since, (void *)(uintptr_t)wrap_##member},
    const entry entries[] = {GC_CUDA_FUNCTIONS(POINTER)};
#undef POINTER
    *function = NULL;
    *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (strcmp(symbol, entries[i].name) == 0 && version == entries[i].version && !fake_hidden(symbol)) {
            *function = entries[i].address;
            *found = CU_GET_PROC_ADDRESS_SUCCESS;
        }
    }
    /* As the real one: an error together with the reason. */
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult *found) {
    int wrong = 0;
    (void)flags;
    fake_verdict verdict = fake_enter(FAKE_CUDA, "cuGetProcAddress_v2", &wrong);
    CUresult answer = verdict == FAKE_WORKS ? get_proc_address(symbol, function, version, found) : (CUresult)wrong;
    fake_leave();
    return answer;
}
