/* What a test can set in the fake driver and read from it. Found with dlsym("fake_cuda_state"). */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <cuda.h>

enum { FAKE_DEVICES = 2 };

typedef struct fake_cuda {
    /* set by tests; fake_cuda_reset restores the defaults */
    int version;      /* 13000 */
    int device_count; /* FAKE_DEVICES */
    CUresult init_result;
    CUresult sticky;        /* what calls on a context return; 0: it is alive */
    const char *missing;    /* a function the driver does not have */
    const char *fails_name; /* a function that fails with fails_result */
    CUresult fails_result;
    /* bookkeeping */
    int init_calls;
    int retains[FAKE_DEVICES];
    int streams, modules, events;
    int allocations;
} fake_cuda;

typedef fake_cuda *(*fake_cuda_state_function)(void);
typedef void (*fake_cuda_reset_function)(void);
/* A context of the caller on a device; the context stack of the calling thread. */
typedef CUcontext (*fake_cuda_context_function)(int device);
typedef int (*fake_cuda_depth_function)(void);
/* Of the calling thread. */
typedef CUstreamCaptureMode (*fake_cuda_capture_mode_function)(void);

#endif
