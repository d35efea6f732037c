// Small kernels for the fuzzers' first inputs: a branch in a loop, a switch by a table, a called function, a warp's vote.
extern "C" __global__ void nested(int *data, int count) {
    int value = data[threadIdx.x];
    for (int i = 0; i < count; i++) {
        if (value & 1) {
            value = value * 3 + i;
            if (value > 1000) break;
        } else {
            value >>= 1;
        }
    }
    data[threadIdx.x] = value;
}

extern "C" __global__ void table(int *data) {
    int value = data[threadIdx.x];
    switch (value) {
    case 0: value = data[100] * 7; break;
    case 1: value = data[200] + 5; break;
    case 2: value = data[300] ^ 9; break;
    case 3: value = data[400] - data[3]; break;
    case 4: value = data[500] / 3; break;
    case 5: data[9] = value; break;
    default: value = 1;
    }
    data[threadIdx.x] = value;
}

__device__ __noinline__ int deeper(int value) {
    return value > 3 ? value * value : value - 1;
}

extern "C" __global__ void calls(int *data) {
    int value = deeper(data[threadIdx.x]);
    if (value > 5) value = deeper(value + __shfl_xor_sync(__activemask(), value, 1));
    __syncwarp(0xff);
    data[threadIdx.x] = value;
}
