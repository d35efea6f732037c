// The paths of paths.cu with many warps on every SM: each block of GPUCHAR_BLOCK_WARPS warps walks through the lane map
// and tells when it began and ended, by the clock of the SM it ran on.

// One SM's share of a launch; zeroed before.
struct Span {
    u64 start_inverted; // largest ~clock at a block's start: the first block's
    u64 end;            // largest clock at a block's end
    u64 blocks;         // how many ran here
};

struct Args {
    Header header;
    Span *spans;  // [slot][SM]
    u32 sm_count; // SMs above it are not recorded
    u32 operand;  // bits of the multiplier
    u32 start;    // bits of the chain's first value
    u32 reserved;
    u8 lanes[32]; // path of each lane
};

static __device__ __forceinline__ u32 sm_now() {
    u32 sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

// By every warp: one may wait long for its turn to read the clock, while others of its block work.
static __device__ __forceinline__ void tell(Span *span, u64 before, u64 after) {
    asm volatile("red.global.max.u64 [%0], %1;" ::"l"(&span->start_inverted), "l"(~before) : "memory");
    asm volatile("red.global.max.u64 [%0], %1;" ::"l"(&span->end), "l"(after) : "memory");
}

static __device__ __forceinline__ void count_block(Span *span) {
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(&span->blocks), "l"(1ull) : "memory");
}

extern "C" __global__ void __launch_bounds__(GPUCHAR_BLOCK_WARPS * 32) gpuchar_divergence_occupancy(GPUCHAR_ARGS) {
    const u32 path = args.lanes[threadIdx.x & 31];
    const u32 operand = args.operand ^ (path >> 5);
    u32 left = args.header.iterations;
    Value x = args.start;
    if (path > 31) return;
    __syncthreads();
    const u64 ns_before = nanoseconds_now();
    const u64 before = clock_now();
    GPUCHAR_TAKE_PATH()
    __syncwarp();
    const u64 after = clock_now();
    const u64 ns_after = nanoseconds_now();
    args.header.sink[threadIdx.x & 31] = left;
    if ((threadIdx.x & 31) != 0) return;
    const u32 sm = sm_now();
    Span *span = args.spans + (u64)args.header.slot * args.sm_count + sm;
    if (sm < args.sm_count) tell(span, before, after);
    if (threadIdx.x != 0) return;
    if (sm < args.sm_count) count_block(span);
    if (blockIdx.x != 0) return;
    Sample *sample = args.header.samples + args.header.slot;
    sample->cycles = after - before;
    sample->nanoseconds = ns_after - ns_before;
}
