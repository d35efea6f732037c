/* Between the files of the fake driver. */
#ifndef FAKES_FAKE_CUDA_H
#define FAKES_FAKE_CUDA_H

#include <cuda.h>
#include <fakes/book.h>

/* The context on the thread's stack; NULL, and misuse, when there is none, NULL too when it is gone. */
fake_context_state *fake_current_context(uintptr_t *handle);
/* Where the fake keeps these bytes; NULL, and misuse, when they are not all in one living allocation. */
void *fake_device_memory(CUdeviceptr address, size_t bytes);
unsigned fake_sm_count(int device);

#endif
