// Whether the lanes of one warp wait for each other without end. All loops are bounded by a number of spins.
//
// GPUCHAR_PROBE: 1 all lanes want one lock; 2 lane 0 works, then tells the others, which ask until they see it;
// 3 and 4 lane 0 calls and waits for an answer, the others wait for the call, and lane 1 answers: whichever side of the
// branch runs first, it cannot end before the other one has run. The others stand first in the source, or last.

// Zeroed before the launch.
struct State {
    u32 lock;
    u32 counter;
    u32 flag;
    u32 answer;
    u32 turn[32];  // probe 1: when this lane had the lock; else 1 when it saw what it waited for (probe 2, lane 0: always)
    u32 spins[32]; // how often it asked
};

struct Args {
    Header header; // iterations: of the producer's work
    State *state;
    u32 spin_limit;
    u32 reserved;
};

static __device__ __forceinline__ u32 read_now(const u32 *address) {
    u32 value;
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

static __device__ __forceinline__ void write_now(u32 *address, u32 value) {
    asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

static __device__ __forceinline__ void fence() {
    asm volatile("membar.gl;" ::: "memory");
}

static __device__ __forceinline__ u32 swap_if_free(u32 *address) {
    u32 old;
    asm volatile("atom.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(address) : "memory");
    return old;
}

// One lane at a time: read, add one, write back. It releases inside of the branch that acquired.
static __device__ __forceinline__ void take_lock(const Args &args, u32 lane) {
    State *state = args.state;
    u32 spins = 0, waiting = 1;
#pragma unroll 1
    while (waiting && spins < args.spin_limit) {
        ++spins;
        if (swap_if_free(&state->lock) == 0) {
            const u32 turn = read_now(&state->counter) + 1;
            state->turn[lane] = turn;
            write_now(&state->counter, turn);
            fence();
            write_now(&state->lock, 0);
            waiting = 0;
        }
    }
    state->spins[lane] = spins;
}

static __device__ __forceinline__ u32 ask(const u32 *address, u32 limit, u32 *spins) {
    u32 asked = 0, seen = 0;
#pragma unroll 1
    while (!seen && asked < limit) {
        ++asked;
        seen = read_now(address);
    }
    *spins = asked;
    return seen;
}

static __device__ __forceinline__ void produce(const Args &args, u32 lane) {
    State *state = args.state;
    u32 x = lane, left = args.header.iterations;
    // At least once. The counter is part of the text, so that no compiler shortens the work.
    asm volatile("{\n\t.reg .pred more;\n\tagain:\n\tmad.lo.u32 %0, %0, %0, 0x3039;\n\tadd.u32 %1, %1, -1;\n\t"
                 "setp.ne.u32 more, %1, 0;\n\t@more bra again;\n\t}"
                 : "+r"(x), "+r"(left));
    args.header.sink[lane] = x;
    fence();
    write_now(&state->flag, 1);
    state->turn[lane] = 1;
}

static __device__ __forceinline__ void consume(const Args &args, u32 lane) {
    args.state->turn[lane] = ask(&args.state->flag, args.spin_limit, &args.state->spins[lane]);
}

static __device__ __forceinline__ void call_and_wait(const Args &args, u32 lane) {
    write_now(&args.state->flag, 1);
    fence();
    args.state->turn[lane] = ask(&args.state->answer, args.spin_limit, &args.state->spins[lane]);
}

static __device__ __forceinline__ void wait_and_answer(const Args &args, u32 lane) {
    args.state->turn[lane] = ask(&args.state->flag, args.spin_limit, &args.state->spins[lane]);
    if (lane == 1) write_now(&args.state->answer, 1);
}

extern "C" __global__ void __launch_bounds__(32) gpuchar_forward_progress(GPUCHAR_ARGS) {
    const u32 lane = threadIdx.x;
    __syncwarp();
    const u64 ns_before = nanoseconds_now();
    const u64 before = clock_now();
#if GPUCHAR_PROBE == 1
    take_lock(args, lane);
#elif GPUCHAR_PROBE == 2
    if (lane == 0) {
        produce(args, lane);
    } else {
        consume(args, lane);
    }
#elif GPUCHAR_PROBE == 3
    if (__builtin_expect(lane != 0, 1)) {
        wait_and_answer(args, lane);
    } else {
        call_and_wait(args, lane);
    }
#else
    if (__builtin_expect(lane == 0, 1)) {
        call_and_wait(args, lane);
    } else {
        wait_and_answer(args, lane);
    }
#endif
    __syncwarp();
    const u64 after = clock_now();
    const u64 ns_after = nanoseconds_now();
    if (lane == 0) {
        Sample *sample = args.header.samples + args.header.slot;
        sample->cycles = after - before;
        sample->nanoseconds = ns_after - ns_before;
    }
}
