// One warp, the 32 paths of paths.cu, and a lane map given at run time: the same machine code serves every k.

struct Args {
    Header header;
    u64 table;    // kind 3: address of a table whose every word holds that address
    u32 operand;  // kinds 1, 2: bits of the multiplier
    u32 start;    // kinds 1, 2, 4: bits of the chain's first value
    u8 lanes[32]; // path of each lane
};

extern "C" __global__ void __launch_bounds__(32) gpuchar_divergence_sweep(GPUCHAR_ARGS) {
    const u32 lane = threadIdx.x;
    const u32 path = args.lanes[lane];
    // No path is above 31: nothing changes; a plain constant is loaded again in each iteration by NVRTC 12.0.
    const u32 operand = args.operand ^ (path >> 5);
    u32 left = args.header.iterations;
#if GPUCHAR_KIND == 3
    Value x = args.table;
#else
    Value x = args.start;
#endif
    // Never taken: it makes the warp wait for its paths before the clock is read.
    if (path > 31) return;
    __syncwarp();
    const u64 ns_before = nanoseconds_now();
    const u64 before = clock_now();
    GPUCHAR_TAKE_PATH()
    __syncwarp();
    const u64 after = clock_now();
    const u64 ns_after = nanoseconds_now();
    args.header.sink[lane] = left;
    if (lane == 0) {
        Sample *sample = args.header.samples + args.header.slot;
        sample->cycles = after - before;
        sample->nanoseconds = ns_after - ns_before;
    }
}
