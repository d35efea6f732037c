// One warp and a binary tree of 31 two-way decisions over each lane's path number, with a loop at each of its 63 nodes: an
// inner node works before it decides. How often a node's loop turns is an argument, and so is the lane map: the same
// machine code serves balanced, unbalanced and nested divergence. Node 0 is the root; the children of n are 2n + 1 (the
// decision's bit is 0) and 2n + 2.

struct Args {
    Header header;
    u32 operand;   // bits of the multiplier
    u32 start;     // bits of the chain's first value
    u32 turns[63]; // of each node, 1 at least
    u8 lanes[32];  // path of each lane
    u8 zeros[32];  // what it says; no compiler knows
    u32 reserved;
};

// A node's loop is a path of paths.cu. What it leaves is taken up at once: an inner node too ends when its result is there.
#define GPUCHAR_NODE(digits)                                                                                           \
    left = args.turns[0x##digits] ^ zero;                                                                              \
    GPUCHAR_PATH(#digits)                                                                                              \
    seen ^= left;
#define GPUCHAR_FORK(digits, bit, zero, one) GPUCHAR_NODE(digits) GPUCHAR_SPLIT(bit, one, zero)

extern "C" __global__ void __launch_bounds__(32) gpuchar_divergence_shapes(GPUCHAR_ARGS) {
    const u32 lane = threadIdx.x;
    const u32 path = args.lanes[lane];
    // A number of each lane's own: plain arguments would be counted down in registers that all paths of the warp share, or
    // loaded again in each turn (NVRTC 12.0).
    const u32 zero = args.zeros[lane];
    const u32 operand = args.operand ^ zero;
    Value x = args.start;
    u32 left, seen = 0;
    // Each line of the arguments is read here once, so that no node's first look at its turns waits for memory.
    // Sums and ors in turn, so that it begins with a register of the lane's own.
    const u32 reads = ((((zero | args.turns[0]) + args.turns[16]) | args.turns[32]) + args.turns[48]) | args.turns[62];
    // Never taken: it makes the warp wait for its paths and for the arguments before the clock is read.
    if (path > 31 || reads == 0) return;
    __syncwarp();
    const u64 ns_before = nanoseconds_now();
    const u64 before = clock_now();
    // clang-format off
    GPUCHAR_FORK(00, 16,
        GPUCHAR_FORK(01, 8,
            GPUCHAR_FORK(03, 4,
                GPUCHAR_FORK(07, 2,
                    GPUCHAR_FORK(0f, 1, GPUCHAR_NODE(1f), GPUCHAR_NODE(20)),
                    GPUCHAR_FORK(10, 1, GPUCHAR_NODE(21), GPUCHAR_NODE(22))),
                GPUCHAR_FORK(08, 2,
                    GPUCHAR_FORK(11, 1, GPUCHAR_NODE(23), GPUCHAR_NODE(24)),
                    GPUCHAR_FORK(12, 1, GPUCHAR_NODE(25), GPUCHAR_NODE(26)))),
            GPUCHAR_FORK(04, 4,
                GPUCHAR_FORK(09, 2,
                    GPUCHAR_FORK(13, 1, GPUCHAR_NODE(27), GPUCHAR_NODE(28)),
                    GPUCHAR_FORK(14, 1, GPUCHAR_NODE(29), GPUCHAR_NODE(2a))),
                GPUCHAR_FORK(0a, 2,
                    GPUCHAR_FORK(15, 1, GPUCHAR_NODE(2b), GPUCHAR_NODE(2c)),
                    GPUCHAR_FORK(16, 1, GPUCHAR_NODE(2d), GPUCHAR_NODE(2e))))),
        GPUCHAR_FORK(02, 8,
            GPUCHAR_FORK(05, 4,
                GPUCHAR_FORK(0b, 2,
                    GPUCHAR_FORK(17, 1, GPUCHAR_NODE(2f), GPUCHAR_NODE(30)),
                    GPUCHAR_FORK(18, 1, GPUCHAR_NODE(31), GPUCHAR_NODE(32))),
                GPUCHAR_FORK(0c, 2,
                    GPUCHAR_FORK(19, 1, GPUCHAR_NODE(33), GPUCHAR_NODE(34)),
                    GPUCHAR_FORK(1a, 1, GPUCHAR_NODE(35), GPUCHAR_NODE(36)))),
            GPUCHAR_FORK(06, 4,
                GPUCHAR_FORK(0d, 2,
                    GPUCHAR_FORK(1b, 1, GPUCHAR_NODE(37), GPUCHAR_NODE(38)),
                    GPUCHAR_FORK(1c, 1, GPUCHAR_NODE(39), GPUCHAR_NODE(3a))),
                GPUCHAR_FORK(0e, 2,
                    GPUCHAR_FORK(1d, 1, GPUCHAR_NODE(3b), GPUCHAR_NODE(3c)),
                    GPUCHAR_FORK(1e, 1, GPUCHAR_NODE(3d), GPUCHAR_NODE(3e))))))
    // clang-format on
    __syncwarp();
    const u64 after = clock_now();
    const u64 ns_after = nanoseconds_now();
    args.header.sink[lane] = seen;
    if (lane == 0) {
        Sample *sample = args.header.samples + args.header.slot;
        sample->cycles = after - before;
        sample->nanoseconds = ns_after - ns_before;
    }
}
