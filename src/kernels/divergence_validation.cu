// Kernels of known divergence, to check the efficiency counter against: the warp goes GPUCHAR_WAYS times through one
// loop, each time with another 1/GPUCHAR_WAYS of its lanes. Built unlike the sweep's kernel on purpose: if both agree with 32/k,
// neither the lane map nor the dispatch made the number.

struct Args {
    Header header;
    u32 ways; // GPUCHAR_WAYS again, so that no compiler unrolls the outer loop
    u32 reserved;
};

extern "C" __global__ void __launch_bounds__(32) gpuchar_divergence_validation(GPUCHAR_ARGS) {
    const u32 lane = threadIdx.x;
    float x = (float)lane;
    const float a = 0.5f;
#pragma unroll 1
    for (u32 turn = 0; turn < args.ways; ++turn) {
        if (lane % GPUCHAR_WAYS == turn) {
#pragma unroll 1
            for (u32 i = 0; i < args.header.iterations; ++i) {
#pragma unroll
                for (u32 j = 0; j < 64; ++j)
                    asm volatile("fma.rn.f32 %0, %0, %1, 0f3e800000;" : "+f"(x) : "f"(a));
            }
        }
        __syncwarp();
    }
    args.header.sink[lane] = __float_as_int(x);
    if (lane == 0) args.header.samples[args.header.slot].cycles = 1;
}
