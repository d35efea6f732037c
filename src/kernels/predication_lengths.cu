// What the compiler itself makes of `if (arm) ... else ...` with arms of 1 to 32 dependent multiply-adds each: a branch,
// both arms under predicates, or their results selected. One kernel for each length, in plain CUDA C without a loop, and
// one without a decision (length 0), which shows what stands in all of them. They are compiled and read, never run.

struct Args {
    Header header;
    float factor;
    float start;
    u8 lanes[32]; // arm of each lane
};

// The arms have no product in common and differ in kind, so that no compiler makes one arm of the two by selecting
// constants.
template <int STEPS> static __device__ __forceinline__ float square(float x) {
    if constexpr (STEPS > 0) {
        const float before = square<STEPS - 1>(x);
        return before * before + STEPS / 64.0f;
    } else {
        return x;
    }
}

template <int STEPS> static __device__ __forceinline__ float subtract(float x, float factor) {
    if constexpr (STEPS > 0)
        return STEPS / 64.0f - subtract<STEPS - 1>(x, factor) * factor;
    else
        return x;
}

// The first value is each lane's own: what all lanes share may go to scalar units.
#define GPUCHAR_LENGTH(length)                                                                                         \
    extern "C" __global__ void gpuchar_predication_length_##length(GPUCHAR_ARGS) {                                     \
        float x = args.start + threadIdx.x;                                                                            \
        if (args.lanes[threadIdx.x % 32])                                                                              \
            x = subtract<length>(x, args.factor);                                                                      \
        else                                                                                                           \
            x = square<length>(x);                                                                                     \
        args.header.sink[threadIdx.x] = __float_as_int(x);                                                             \
    }

GPUCHAR_LENGTH(0)
GPUCHAR_LENGTH(1) GPUCHAR_LENGTH(2) GPUCHAR_LENGTH(3) GPUCHAR_LENGTH(4)
GPUCHAR_LENGTH(5) GPUCHAR_LENGTH(6) GPUCHAR_LENGTH(7) GPUCHAR_LENGTH(8)
GPUCHAR_LENGTH(9) GPUCHAR_LENGTH(10) GPUCHAR_LENGTH(11) GPUCHAR_LENGTH(12)
GPUCHAR_LENGTH(13) GPUCHAR_LENGTH(14) GPUCHAR_LENGTH(15) GPUCHAR_LENGTH(16)
GPUCHAR_LENGTH(17) GPUCHAR_LENGTH(18) GPUCHAR_LENGTH(19) GPUCHAR_LENGTH(20)
GPUCHAR_LENGTH(21) GPUCHAR_LENGTH(22) GPUCHAR_LENGTH(23) GPUCHAR_LENGTH(24)
GPUCHAR_LENGTH(25) GPUCHAR_LENGTH(26) GPUCHAR_LENGTH(27) GPUCHAR_LENGTH(28)
GPUCHAR_LENGTH(29) GPUCHAR_LENGTH(30) GPUCHAR_LENGTH(31) GPUCHAR_LENGTH(32)
