/*
 * A driver without a GPU: two devices, contexts and a stack of them per thread, streams and memory that are only counted.
 * Made from the same list as the library's table. A function that is not written here answers NOT_SUPPORTED.
 */
#include "fake_cuda.h"

#include <platform/cuda_driver.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct CUctx_st {
    int device;
};

static struct CUctx_st primary[FAKE_DEVICES] = {{0}, {1}};
static struct CUctx_st callers[FAKE_DEVICES] = {{0}, {1}};
static fake_cuda state = {.version = 13000, .device_count = FAKE_DEVICES};
static _Thread_local CUcontext stack[64];
static _Thread_local int depth;
static _Thread_local CUstreamCaptureMode capture_mode;

/* For programs, which cannot reach the state. */
__attribute__((constructor)) static void read_environment(void) {
    const char *init = getenv("FAKE_CUDA_INIT");
    if (init) state.init_result = (CUresult)atoi(init);
    state.missing = getenv("FAKE_CUDA_MISSING");
    state.fails_name = getenv("FAKE_CUDA_FAILS");
    state.fails_result = CUDA_ERROR_UNKNOWN;
}

EXPORT fake_cuda *fake_cuda_state(void) {
    return &state;
}
EXPORT void fake_cuda_reset(void) {
    state = (fake_cuda){.version = 13000, .device_count = FAKE_DEVICES};
    depth = 0;
    capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
}
EXPORT CUcontext fake_cuda_context(int device) {
    return &callers[device];
}
EXPORT int fake_cuda_depth(void) {
    return depth;
}
EXPORT CUstreamCaptureMode fake_cuda_capture_mode(void) {
    return capture_mode;
}

/* Weak, so that what is not defined below has the address NULL. */
#define DECLARE(member, version, parameters)                                                                           \
    __attribute__((weak, visibility("hidden"))) CUresult fake_##member parameters;
GC_CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

static CUresult unsupported(void) {
    return CUDA_ERROR_NOT_SUPPORTED;
}

static bool fails(const char *name) {
    return state.fails_name && strcmp(state.fails_name, name) == 0;
}
#define MAY_FAIL(name)                                                                                                 \
    if (fails(name)) {                                                                                                 \
        return state.fails_result;                                                                                     \
    }
#define NEEDS_CONTEXT                                                                                                  \
    if (depth == 0) {                                                                                                  \
        return CUDA_ERROR_INVALID_CONTEXT;                                                                             \
    }                                                                                                                  \
    if (state.sticky) {                                                                                                \
        return state.sticky;                                                                                           \
    }

CUresult fake_Init(unsigned int flags) {
    state.init_calls++;
    return flags ? CUDA_ERROR_INVALID_VALUE : state.init_result;
}
CUresult fake_DriverGetVersion(int *version) {
    MAY_FAIL("DriverGetVersion")
    *version = state.version;
    return CUDA_SUCCESS;
}
CUresult fake_GetErrorName(CUresult error, const char **name) {
    *name = error == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_FAKE";
    return CUDA_SUCCESS;
}
CUresult fake_GetErrorString(CUresult error, const char **text) {
    (void)error;
    *text = "a fake failure";
    return CUDA_SUCCESS;
}
CUresult fake_DeviceGetCount(int *count) {
    *count = state.device_count;
    return CUDA_SUCCESS;
}
CUresult fake_DeviceGet(CUdevice *device, int ordinal) {
    *device = ordinal;
    return ordinal < state.device_count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
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
CUresult fake_DeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    MAY_FAIL("DeviceGetAttribute")
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = device == 0 ? 9 : 8;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = 0;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = device == 0 ? 132 : 16;
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
CUresult fake_DevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    MAY_FAIL("DevicePrimaryCtxRetain")
    state.retains[device]++;
    *context = &primary[device];
    return CUDA_SUCCESS;
}
CUresult fake_DevicePrimaryCtxRelease(CUdevice device) {
    state.retains[device]--;
    return CUDA_SUCCESS;
}
CUresult fake_CtxPushCurrent(CUcontext context) {
    MAY_FAIL("CtxPushCurrent")
    if (!context || depth == 64) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    stack[depth++] = context;
    return CUDA_SUCCESS;
}
CUresult fake_CtxPopCurrent(CUcontext *context) {
    if (depth == 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *context = stack[--depth];
    return CUDA_SUCCESS;
}
CUresult fake_CtxGetCurrent(CUcontext *context) {
    *context = depth ? stack[depth - 1] : NULL;
    return CUDA_SUCCESS;
}
CUresult fake_CtxGetDevice(CUdevice *device) {
    NEEDS_CONTEXT
    *device = stack[depth - 1]->device;
    return CUDA_SUCCESS;
}
CUresult fake_CtxSynchronize(void) {
    NEEDS_CONTEXT
    return CUDA_SUCCESS;
}
CUresult fake_ThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    MAY_FAIL("ThreadExchangeStreamCaptureMode")
    CUstreamCaptureMode before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
CUresult fake_StreamCreate(CUstream *stream, unsigned int flags) {
    MAY_FAIL("StreamCreate")
    NEEDS_CONTEXT
    if (flags != CU_STREAM_NON_BLOCKING) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    /* Counted, not allocated: a destroyed context takes its streams with it. */
    *stream = (CUstream)(void *)&state;
    state.streams++;
    return CUDA_SUCCESS;
}
CUresult fake_StreamDestroy(CUstream stream) {
    state.streams--; /* the host's part goes even when the context is dead */
    NEEDS_CONTEXT
    return stream == (CUstream)(void *)&state ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult fake_StreamSynchronize(CUstream stream) {
    NEEDS_CONTEXT
    return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult fake_MemAlloc(CUdeviceptr *address, size_t bytes) {
    MAY_FAIL("MemAlloc")
    NEEDS_CONTEXT
    void *memory = calloc(1, bytes);
    if (!memory) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = (CUdeviceptr)(uintptr_t)memory;
    state.allocations++;
    return CUDA_SUCCESS;
}
CUresult fake_MemFree(CUdeviceptr address) {
    NEEDS_CONTEXT
    free((void *)(uintptr_t)address);
    state.allocations--;
    return CUDA_SUCCESS;
}

typedef struct entry {
    const char *name;
    int version;
    void *address;
} entry;

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult *found) {
    (void)flags;
#define POINTER(member, since, parameters) {"cu" #member, since, (void *)(uintptr_t)fake_##member},
    const entry entries[] = {GC_CUDA_FUNCTIONS(POINTER)};
#undef POINTER
    *function = NULL;
    *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        bool missing = state.missing && strcmp(entries[i].name, state.missing) == 0;
        if (strcmp(symbol, entries[i].name) == 0 && version == entries[i].version && !missing) {
            *function = entries[i].address ? entries[i].address : (void *)(uintptr_t)unsupported;
            *found = CU_GET_PROC_ADDRESS_SUCCESS;
        }
    }
    /* As the real one: an error together with the reason. */
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
