// Two arms of equal work, each a chain of GPUCHAR_BODY fused multiply-adds in which every one needs the result of the
// one before, in one of two forms: a branch, so that a warp whose lanes disagree walks one arm after the other; or
// predicated, so that every lane walks both arms side by side in one loop and takes the result of its own. A block of
// 1 to 32 warps is timed as a whole: from the first warp's start behind a barrier to the last one's end.
//
// GPUCHAR_FORM: 1 branch, 2 predicated.
// GPUCHAR_BODY: 64, 112, 128 or 176, of each arm.

struct Args {
    Header header;
    u32 operand;  // bits of the multiplier
    u32 start;    // bits of the chains' first value
    u8 lanes[32]; // arm of each lane, the same in all warps
};

// The chain is that of paths.cu, with links of its own: constants differ from arm to arm and from place to place, so that
// no compiler merges the arms.
#define GPUCHAR_STEP(value, arm, row, place) "fma.rn.f32 " value ", " value ", a, 0f3e" arm row place "01;\n\t"
#if GPUCHAR_FORM == 1
#define GPUCHAR_LINK(arm, row, place, byte) GPUCHAR_STEP("x", arm, row, place)
#else
#define GPUCHAR_LINK(arm, row, place, byte) GPUCHAR_STEP("x", "0", row, place) GPUCHAR_STEP("y", "1", row, place)
#endif
#if GPUCHAR_BODY == 112
#define GPUCHAR_CHAIN(arm)                                                                                             \
    GPUCHAR_CHAIN_64(arm, "0") GPUCHAR_ROW(arm, "04") GPUCHAR_ROW(arm, "05") GPUCHAR_ROW(arm, "06")
#elif GPUCHAR_BODY == 176
#define GPUCHAR_CHAIN(arm)                                                                                             \
    GPUCHAR_CHAIN_128(arm, "0") GPUCHAR_ROW(arm, "08") GPUCHAR_ROW(arm, "09") GPUCHAR_ROW(arm, "0a")
#endif

// The loop stands in the text, or compilers peel its first iteration off. It ends when its results are there: the
// counter, 0 by then, takes them up.
#define GPUCHAR_LOOP(declare, begin, chain, end)                                                                       \
    asm volatile("{\n\t.reg .pred more;\n\t.reg .f32 x, a;\n\t" declare                                                \
                 "mov.b32 x, %0;\n\tmov.b32 a, %2;\n\t" begin "again:\n\t" chain                                       \
                 "add.u32 %1, %1, -1;\n\tsetp.ne.u32 more, %1, 0;\n\t@more bra again;\n\t"                             \
                 end "xor.b32 %1, %1, %0;\n\t}"                                                                        \
                 : "+r"(x), "+r"(left)                                                                                 \
                 : "r"(operand), "r"(arm)                                                                              \
                 : "memory");
#define GPUCHAR_ARM(arm) GPUCHAR_LOOP("", "", GPUCHAR_CHAIN(arm), "mov.b32 %0, x;\n\t")

// By its address in shared memory: one that could be anywhere would be looked up in global memory first.
static __device__ __forceinline__ void raise(u64 *shared, u64 value) {
    asm volatile("red.shared.max.u64 [%0], %1;" ::"r"((u32)__cvta_generic_to_shared(shared)), "l"(value) : "memory");
}

extern "C" __global__ void __launch_bounds__(1024) gpuchar_predication_compare(GPUCHAR_ARGS) {
    const u32 arm = args.lanes[threadIdx.x % 32];
    // No arm is above 1: nothing changes. A plain constant would be loaded again in each iteration by NVRTC 12.0, and a
    // counter that is the same for all lanes would make the predicated form's loop control differ from the branch form's.
    const u32 operand = args.operand ^ (arm & 2);
    u32 left = args.header.iterations ^ (arm & 2);
    u32 x = args.start;
    // Never taken: it makes the warp wait for its arms before the clock is read.
    if (arm > 1) return;
    // A warp may wait long for its turn to read the clock, while others work: the block's time is from the first one's start
    // (the largest ~clock) to the last one's end.
    __shared__ u64 start_inverted, end, ns_start_inverted, ns_end;
    if (threadIdx.x == 0) start_inverted = end = ns_start_inverted = ns_end = 0;
    __syncthreads();
    const u64 ns_before = nanoseconds_now();
    const u64 before = clock_now();
#if GPUCHAR_FORM == 1
    if (arm) {
        GPUCHAR_ARM("1")
    } else {
        GPUCHAR_ARM("0")
    }
#else
    GPUCHAR_LOOP(".reg .pred second;\n\t.reg .f32 y;\n\t.reg .b32 one, two;\n\t", "mov.f32 y, x;\n\t",
                 GPUCHAR_CHAIN(""),
                 "setp.ne.u32 second, %3, 0;\n\tmov.b32 one, x;\n\tmov.b32 two, y;\n\t"
                 "selp.b32 %0, two, one, second;\n\t")
#endif
    __syncwarp();
    const u64 after = clock_now();
    const u64 ns_after = nanoseconds_now();
    args.header.sink[threadIdx.x] = left;
    if (threadIdx.x % 32 == 0) {
        raise(&start_inverted, ~before);
        raise(&end, after);
        raise(&ns_start_inverted, ~ns_before);
        raise(&ns_end, ns_after);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        Sample *sample = args.header.samples + args.header.slot;
        sample->cycles = end - ~start_inverted;
        sample->nanoseconds = ns_end - ~ns_start_inverted;
    }
}
