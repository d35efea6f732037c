/* Modules, functions and launches of the fake driver. A kernel does what the planted law says. */
#include "fake_cuda.h"

#include <measure/timing.h>
#include <stdio.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN CUresult fake_ModuleLoadData(CUmodule *module, const void *image);
HIDDEN CUresult fake_ModuleUnload(CUmodule module);
HIDDEN CUresult fake_ModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
HIDDEN CUresult fake_FuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function);
HIDDEN CUresult fake_FuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
HIDDEN CUresult fake_LaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                  unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                  unsigned int shared_bytes, CUstream stream, void **parameters, void **extra);

typedef struct module_state {
    const void *image;
} module_state;

typedef struct function_state {
    char name[96];
} function_state;

/* The same four lines as in fake_cuda.c, without the device. */
static CUresult need_context(uintptr_t *context, fake_context_state **in) {
    *in = fake_current_context(context);
    if (!*in) return *context ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    return (CUresult)fake()->sticky;
}

CUresult fake_ModuleLoadData(CUmodule *module, const void *image) {
    uintptr_t context;
    fake_context_state *in;
    CUresult result = need_context(&context, &in);
    if (result) return result;
    if (memcmp(image, "\177ELF", 4) != 0) return CUDA_ERROR_INVALID_IMAGE;
    void *state = NULL;
    *module = (CUmodule)fake_make(FAKE_MODULE, context, sizeof(module_state), &state);
    ((module_state *)state)->image = image;
    return CUDA_SUCCESS;
}
CUresult fake_ModuleUnload(CUmodule module) {
    uintptr_t context;
    fake_context_state *in;
    bool found = fake_end(FAKE_MODULE, (uintptr_t)module);
    CUresult result = need_context(&context, &in);
    return found || result ? result : CUDA_ERROR_INVALID_HANDLE;
}
CUresult fake_ModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    uintptr_t context;
    fake_context_state *in;
    void *state = NULL;
    CUresult result = need_context(&context, &in);
    if (result) return result;
    if (!fake_find(FAKE_MODULE, (uintptr_t)module)) return CUDA_ERROR_INVALID_HANDLE;
    *function = (CUfunction)fake_make(FAKE_FUNCTION, (uintptr_t)module, sizeof(function_state), &state);
    snprintf(((function_state *)state)->name, sizeof(function_state), "%s", name);
    return CUDA_SUCCESS;
}
CUresult fake_FuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return fake_find(FAKE_FUNCTION, (uintptr_t)function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult fake_FuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    (void)attribute;
    (void)value;
    return fake_find(FAKE_FUNCTION, (uintptr_t)function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static void *memory(uint64_t address, size_t bytes) {
    return fake_device_memory(address, bytes);
}

static void run(const function_state *function, fake_launch *launch, fake_context_state *in) {
    const gc_header *header = launch->arguments;
    fake_effect effect = {.cycles = 40000, .nanoseconds = 20000};
    launch->kernel = function->name;
    launch->device = in->device;
    launch->sm_count = fake_sm_count(in->device);
    launch->memory = memory;
    if (fake()->law) fake()->law(launch, &effect, fake()->law_user);
    gc_sample *slot = fake_device_memory(header->samples + header->slot * sizeof(gc_sample), sizeof(gc_sample));
    if (effect.fault || !slot || !fake_device_memory(header->sink, 32 * sizeof(uint32_t))) {
        fake()->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
        return;
    }
    *slot = (gc_sample){effect.cycles, effect.nanoseconds};
    in->now_ns += (double)effect.nanoseconds;
    in->warp_instructions += effect.warp_instructions;
    in->thread_instructions += effect.thread_instructions;
}

CUresult fake_LaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                           unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                           CUstream stream, void **parameters, void **extra) {
    uintptr_t context;
    fake_context_state *in;
    (void)shared_bytes;
    CUresult result = need_context(&context, &in);
    if (result) return result;
    const function_state *state = fake_find(FAKE_FUNCTION, (uintptr_t)function);
    if (!state || !fake_find(FAKE_STREAM, (uintptr_t)stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (fake_parent(fake_parent((uintptr_t)function)) != context) fake_misuse("a kernel of another context");
    if (!parameters || !parameters[0] || extra || grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const module_state *module = fake_find(FAKE_MODULE, fake_parent((uintptr_t)function));
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    fake_launch launch = {.grid = grid_x, .block = block_x, .arguments = parameters[0], .image = module->image};
    run(state, &launch, in);
    return CUDA_SUCCESS;
}
