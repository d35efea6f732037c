// The study of reconvergence: what all kernels of its corpus share. The parts are joined to one text, this one first.
typedef unsigned int u32;

#define KERNEL(name) extern "C" __global__ void name(const u32 *__restrict__ in, u32 *__restrict__ out, u32 n)
// Two values that differ between the threads of a warp, and a store of both, so that nothing can be left out.
#define LOAD                                                                                                           \
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;                                                               \
    u32 a = in[t], b = in[t + n];
#define STORE out[t] = a ^ b;
// One step of straight-line work; no two numbers give the same code.
#define STEP(x, number) x = (x * (0x9e3779b1u + 2 * (number))) ^ (x >> (3 + (number) % 11))
// Enough of it, with three steps, that the assembler branches around it.
#ifndef WORK_STEPS
#define WORK_STEPS 3
#endif
#if WORK_STEPS == 3 // written out: a loop to unroll takes the compiler a fifth more of its time
#define WORK(x, number)                                                                                                \
    do {                                                                                                               \
        STEP(x, 16 * (number));                                                                                        \
        STEP(x, 16 * (number) + 5);                                                                                    \
        STEP(x, 16 * (number) + 10);                                                                                   \
    } while (0)
#else
#define WORK(x, number)                                                                                                \
    do {                                                                                                               \
        _Pragma("unroll") for (int step = 0; step < WORK_STEPS; step++) STEP(x, 16 * (number) + 5 * step);             \
    } while (0)
#endif
