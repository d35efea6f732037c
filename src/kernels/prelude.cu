// Put before every kernel: types, the sample slot, the argument header that all kernels share, and the clocks.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

// What one launch writes. Distinct launches write distinct slots; they are read back together.
struct Sample {
    u64 cycles;      // SM clock64 between the two reads
    u64 nanoseconds; // globaltimer over the same region
};

// First member of every kernel's arguments.
struct Header {
    Sample *samples;
    u32 *sink; // results go here, so that no chain is dead
    u32 slot;
    u32 iterations;
};

static __device__ __forceinline__ u64 clock_now() {
    u64 now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

static __device__ __forceinline__ u64 nanoseconds_now() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

// The parameter of every kernel. A constant one is read where it lies, also by index; architectures before sm_70 do not
// have the attribute and may copy it to local memory first.
#if __CUDA_ARCH__ >= 700
#define GPUCHAR_ARGS const __grid_constant__ Args args
#else
#define GPUCHAR_ARGS const Args args
#endif
