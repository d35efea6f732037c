// Divergence inside loops, whose convergence barriers (BSSY, BSYNC, BREAK) the host then patches. Every launch of one
// shape leaves the same records behind; each loop has an end of its own, whatever the barriers do.
//
// GPUCHAR_PROBE: 1 a branch in a loop, joined in each turn; 2 a search that lanes leave early, from inside of two nested
// loops; 3 the two sides of a branch wait for each other in each turn.

// One thread's. Zeroed before the launch.
struct Record {
    u32 value; // what the thread worked out, with what its partners gave it: never 0
    u32 met;   // lanes that were there behind each join, added up
    u32 seen;  // probe 3: turns in which the other side was seen
    u32 spins; // probe 3: how often it asked, all turns together
};

struct Args {
    Header header;   // slot: the launch; iterations: turns of the outer loop
    Record *records; // of each thread, those of one launch after those of the other
    u64 *cycles;     // of each warp, likewise
    u32 spin_limit;  // probe 3: in each turn
    u32 salt;        // the same for all launches
};

// How many lanes are there now: less than could be, where they have not met again.
static __device__ __forceinline__ u32 lanes_here() {
    u32 lanes;
    asm volatile("activemask.b32 %0;" : "=r"(lanes)::"memory");
    return __popc(lanes);
}

static __device__ __forceinline__ u32 read_now(const u32 *address) {
    u32 value;
    asm volatile("ld.volatile.shared.u32 %0, [%1];"
                 : "=r"(value)
                 : "r"((u32)__cvta_generic_to_shared(address))
                 : "memory");
    return value;
}

static __device__ __forceinline__ void write_now(u32 *address, u32 value) {
    asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"((u32)__cvta_generic_to_shared(address)), "r"(value)
                 : "memory");
}

static __device__ __forceinline__ u32 mix(u32 value) {
    value ^= value >> 15;
    value *= 0x2c1b3c6d;
    return value ^ value >> 12;
}

static __shared__ u32 held[32][32]; // of each warp, each lane

// Nothing here waits for the lanes: who comes alone counts less than all, and takes what its partner held a turn before.
static __device__ __forceinline__ void meet(u32 turn, Record *record) {
    u32 *mine = held[threadIdx.x / 32];
    record->met += lanes_here();
    write_now(mine + threadIdx.x % 32, record->value);
    record->value += read_now(mine + (threadIdx.x + 1 + turn) % 32);
}

#if GPUCHAR_PROBE != 3
// A dependent chain too long to be predicated, of a length that only the lane knows.
static __device__ __forceinline__ u32 work(u32 value, u32 turns) {
#pragma unroll 1
    for (u32 i = 0; i < turns; ++i) value = mix(value + i);
    return value;
}
#endif

#if GPUCHAR_PROBE == 1
// A partner that is not there has nothing to give.
static __device__ __forceinline__ u32 exchange(u32 value, u32 distance) {
    u32 other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(other) : "r"(value), "r"(distance) : "memory");
    return other;
}

static __device__ __forceinline__ void run(const Args &args, u32 lane, Record *record) {
#pragma unroll 1
    for (u32 turn = 0; turn < args.header.iterations; ++turn) {
        if ((record->value ^ lane) & 1) {
            record->value = work(record->value, 1 + lane % 5);
        } else {
            record->value = work(~record->value, 1 + lane % 3) + turn;
        }
        meet(turn, record);
        record->value += exchange(record->value, 1);
    }
}
#elif GPUCHAR_PROBE == 2
static __device__ __forceinline__ void run(const Args &args, u32 lane, Record *record) {
#pragma unroll 1
    for (u32 turn = 0; turn < args.header.iterations; ++turn) {
        u32 value = record->value + turn;
        // Each lane leaves when it finds what it looks for, some of them never.
#pragma unroll 1
        for (u32 i = 0; i < 24; ++i) {
            value = mix(value + i);
            if ((value & 7) == (lane & 7)) {
                value = work(value, 1 + lane % 3);
                if (value & 1) break;
            }
            value += lane;
            record->met += lanes_here(); // those that search on
        }
        record->value = value;
        meet(turn, record);
    }
}
#else
// Until the other side has come to this turn, at most spin_limit times.
static __device__ __forceinline__ void wait_for(u32 *flag, u32 turn, u32 limit, Record *record) {
    u32 asked = 0, seen = 0;
#pragma unroll 1
    while (!seen && asked < limit) {
        ++asked;
        seen = read_now(flag) >= turn;
    }
    record->seen += seen;
    record->spins += asked;
}

static __shared__ u32 flags[2][32]; // of the two sides of each warp: the turn in which they are

static __device__ __forceinline__ void run(const Args &args, u32 lane, Record *record) {
    const u32 warp = threadIdx.x / 32;
    flags[lane & 1][warp] = 0;
    __syncwarp();
#pragma unroll 1
    for (u32 turn = 1; turn <= args.header.iterations; ++turn) {
        if ((lane ^ turn) & 1) {
            write_now(&flags[0][warp], turn);
            wait_for(&flags[1][warp], turn, args.spin_limit, record);
        } else {
            wait_for(&flags[0][warp], turn, args.spin_limit, record);
            write_now(&flags[1][warp], turn);
        }
        record->value = mix(record->value + turn);
        meet(turn, record);
    }
}
#endif

extern "C" __global__ void __launch_bounds__(1024) gpuchar_barrier_class(GPUCHAR_ARGS) {
    const u32 lane = threadIdx.x % 32;
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    Record record = {mix(thread + args.salt), 0, 0, 0};
    __syncwarp();
    const u64 before = clock_now();
    run(args, lane, &record);
    const u64 after = clock_now();
    if (lane == 0) args.cycles[(args.header.slot * threads + thread) / 32] = after - before;
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(args.records + (u64)args.header.slot * threads + thread),
                 "r"(record.value | 1), "r"(record.met), "r"(record.seen), "r"(record.spins)
                 : "memory");
}
