// Warp operations under a part of the mask, a lock, calls.

KERNEL(c35_shuffle_under_mask) {
    LOAD
    const u32 mask = __ballot_sync(0xffffffffu, a & 1);
    if (a & 1) {
        WORK(b, 1);
        b += __shfl_sync(mask, b, __ffs(mask) - 1);
    } else {
        WORK(a, 2);
    }
    STORE
}

KERNEL(c36_sync_under_mask) {
    LOAD
    extern __shared__ u32 shared[];
    shared[threadIdx.x] = a;
    if (a & 1) {
        const u32 mask = b;
        WORK(b, 1);
        shared[threadIdx.x] = b;
        __syncwarp(mask);
        b += shared[threadIdx.x ^ 1];
        WORK(a, 2);
    } else {
        WORK(a, 3);
        __syncwarp(0x55555555u);
        a += shared[threadIdx.x ^ 2];
    }
    __syncwarp();
    a += shared[threadIdx.x ^ 3];
    STORE
}

// All threads of a warp want one lock, which lies behind the values.
KERNEL(c37_spin_lock) {
    LOAD
    u32 *lock = out + 2 * n;
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0u, 1u) == 0u) {
            WORK(a, 1);
            out[t + n] = a;
            __threadfence();
            atomicExch(lock, 0u);
            done = true;
        }
    }
    STORE
}

__device__ __noinline__ u32 branching_leaf(u32 x) {
    WORK(x, 1);
    if (x & 1) {
        WORK(x, 2);
    }
    return x;
}

__device__ __noinline__ u32 recursive(u32 x) {
    if (x < 2) return x;
    WORK(x, 3);
    return recursive((x >> 4) & 15) + recursive((x >> 9) & 7) + x;
}

typedef u32 (*function)(u32);

__device__ __noinline__ u32 first_target(u32 x) {
    WORK(x, 4);
    return x;
}

__device__ __noinline__ u32 second_target(u32 x) {
    WORK(x, 5);
    return x;
}

__device__ __noinline__ u32 third_target(u32 x) {
    WORK(x, 6);
    return x;
}

__device__ function targets[3] = {first_target, second_target, third_target};

KERNEL(c38_calls) {
    LOAD
    if (a & 1) {
        b = branching_leaf(b);
    } else {
        b = recursive(b);
    }
    b += targets[a % 3](b);
    STORE
}
