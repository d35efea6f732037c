// Kernels that use much of the instruction set, for comparing the decoder with a disassembler. They need not compute anything
// sensible, only stay in the machine code: each writes what it found. No headers. Tensor cores of the a-architectures only
// (sm_90a ...).

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
#if defined(__CUDA_ARCH__)
#define ARCH __CUDA_ARCH__
#else
#define ARCH 0
#endif
#define KERNEL extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)

// ---- arithmetic
KERNEL integers(const int *in, int *out, int n) {
    int a = in[AT], b = in[AT + n], c = in[AT + 2 * n];
    int r = a * b + c;
    r += __mulhi(a, b) ^ __popc(c) ^ __clz(a) ^ __brev(b) ^ __ffs(c);
    r ^= __byte_perm(a, b, c) + __funnelshift_l(a, b, c & 31) + __sad(a, b, c);
    r += min(a, b) - max(b, c) + abs(c) + (a >> (b & 31)) + (a << (c & 31));
    r += a / (b | 1) + a % (c | 1);
    u64 wide = (u64)(u32)a * (u32)b + (u64)c;
    wide = (wide << (a & 63)) ^ (wide >> (b & 63)) ^ (u64)((long long)wide / (c | 1));
    asm("vadd.s32.s32.s32 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
    asm("bfe.s32 %0, %1, 3, 7;" : "=r"(a) : "r"(a));
    asm("bfi.b32 %0, %1, %2, 5, 9;" : "=r"(b) : "r"(b), "r"(c));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(c) : "r"(a), "r"(b), "r"(c));
#if ARCH >= 610
    int four, two; // as functions they came after NVRTC 12.0
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(four) : "r"(a), "r"(b), "r"(r));
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(two) : "r"(a), "r"(b), "r"(c));
    r = four + two;
#endif
    out[AT] = r + a + b + c + (int)wide + (int)(wide >> 32);
}

KERNEL floats(const float *in, float *out, int n) {
    float a = in[AT], b = in[AT + n], c = in[AT + 2 * n];
    float r = __fmaf_rn(a, b, c) + __fdividef(a, b) + a / c + sqrtf(b) + rsqrtf(c);
    r += __sinf(a) + __cosf(b) + __expf(c) + __logf(a) + sinf(b * 1000.0f) + powf(a, c);
    r += fminf(a, b) * fmaxf(b, c) + floorf(a) + truncf(b) + rintf(c) + fabsf(a) + __saturatef(b);
    r += (float)(int)a + (float)(u32)b + (float)(long long)c + (float)(u64)a;
    r += a > b && b > c ? 1.0f : (a < c || isnan(b) ? 3.0f : 5.0f);
    r += __frcp_rz(a) + __fsqrt_ru(b) + __fadd_rd(a, c) + __fmul_rz(b, c) + fmodf(a, b);
    out[AT] = r;
}

KERNEL doubles(const double *in, double *out, int n) {
    double a = in[AT], b = in[AT + n], c = in[AT + 2 * n];
    double r = fma(a, b, c) + a / b + sqrt(c) + fmin(a, b) + fmax(b, c) + floor(a) + exp(b);
    r += (double)(int)a + (double)(float)b + (double)(long long)c + (a > b ? a : c);
    out[AT] = r + (double)(u32)(u64)a;
}

KERNEL halves(const u32 *in, u32 *out, int n) {
    u32 a = in[AT], b = in[AT + n], c = in[AT + 2 * n], r = 0, p = 0;
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((u16)a));
    asm("{.reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.u32.u16 %0, h;}" : "=r"(r) : "f"(f * 3.0f));
#if ARCH >= 530
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(r));
    asm("add.f16x2 %0, %1, %2;" : "=r"(p) : "r"(r), "r"(c));
    asm("mul.f16x2 %0, %1, %2;" : "=r"(r) : "r"(p), "r"(b));
    asm("{.reg .pred x, y; setp.lt.f16x2 x|y, %1, %2; selp.b32 %0, 1, 7, x;}" : "=r"(p) : "r"(r), "r"(a));
#endif
#if ARCH >= 750
    asm("ex2.approx.f16x2 %0, %1;" : "=r"(b) : "r"(a));
    asm("tanh.approx.f16x2 %0, %1;" : "=r"(c) : "r"(b));
#endif
#if ARCH >= 800
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(a) : "r"(a), "r"(b), "r"(c));
    asm("max.f16x2 %0, %1, %2;" : "=r"(b) : "r"(a), "r"(c));
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(c) : "f"(f), "f"(f + 1.0f));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(p) : "f"(f));
#endif
#if ARCH >= 890
    u16 e;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(e) : "f"(f), "f"(f * 2.0f));
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(a) : "h"(e));
#endif
    out[AT] = a + b + c + r + p;
}

KERNEL three_ways(const int *in, int *out, int n) {
    int a = in[AT], b = in[AT + n], c = in[AT + 2 * n];
    out[AT] = max(max(a, b), c) + max(a + b, c) + min(min(a, b), max(c, 0));
}

// ---- memory
__constant__ int table[64];
__device__ int global_word;
KERNEL loads(const char *in, int *out, int n) {
    __shared__ int shared[256];
    int local[32];
    for (int i = 0; i < 32; i++) local[i] = in[AT + i * n];
    shared[threadIdx.x & 255] = table[in[AT] & 63];
    __syncthreads();
    const int4 four = *(const int4 *)(in + 16 * AT);
    const int2 two = __ldg((const int2 *)(in + 8 * AT));
    short s = *(const short *)(in + 2 * AT);
    int volatile_one = *(const volatile int *)(in + 4 * AT);
    int r = four.x + four.y + two.x + s + volatile_one + local[in[AT] & 31] + shared[(four.z ^ 5) & 255];
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(volatile_one) : "l"(in + 4 * AT));
    r += volatile_one;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + n));
    asm volatile("st.global.wt.u32 [%0], %1;" ::"l"(out + n), "r"(r));
    *(int4 *)(out + 4 * AT + 4 * n) = four;
    *(char *)(out + 2 * n) = (char)r;
    int *generic = (r & 1) ? &shared[r & 255] : &out[r & 15];
    *generic = r;
    out[AT] = r + *generic + global_word;
    __threadfence();
    __threadfence_block();
    __threadfence_system();
}

KERNEL atomics(int *out, u64 *wide, float *f, int n) {
    __shared__ int shared[64];
    const int v = out[AT];
    shared[threadIdx.x & 63] = v;
    __syncthreads();
    int r = atomicAdd(out + n, v) + atomicMin(out + n + 1, v) + atomicExch(out + n + 2, v) + atomicCAS(out + n + 3, v, 5);
    r += atomicAnd(out + n + 4, v) ^ atomicXor(out + n + 5, v) ^ atomicInc((u32 *)out + n + 6, 9);
    atomicMax(out + n + 7, v);
    atomicAdd(f + n, 1.5f);
    r += (int)atomicAdd(wide, (u64)v) + (int)atomicCAS(wide + 1, (u64)v, (u64)7);
    r += atomicAdd(&shared[v & 63], 3) + atomicCAS(&shared[(v + 1) & 63], v, 4) + atomicMax(&shared[(v + 2) & 63], v);
    atomicOr(&shared[(v + 3) & 63], v);
    int *generic = (v & 1) ? &shared[v & 63] : out + n;
    r += atomicAdd(generic, 2) + atomicExch(generic, v);
#if ARCH >= 600
    atomicAdd((double *)wide + 4, 2.5);
#endif
    __syncthreads();
    out[AT] = r + shared[(r ^ 3) & 63];
}

KERNEL textures(u64 texture, u64 surface, float *out, int n) {
    float x, y, z, w, r = 0;
    int q;
    asm volatile("tex.1d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5}];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(texture), "f"(out[AT]));
    r += x + y + z + w;
    asm volatile("tex.2d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5,%6}];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(texture), "f"(r), "f"(x));
    r += x + w;
    asm volatile("tex.level.3d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5,%6,%7,%8}], %9;" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(texture), "f"(r), "f"(x), "f"(y), "f"(z), "f"(w));
    r += y;
    asm volatile("tex.grad.2d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5,%6}], {%7,%8}, {%9,%10};" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(texture), "f"(r), "f"(x), "f"(y), "f"(z), "f"(w), "f"(r));
    r += z;
    asm volatile("tld4.r.2d.v4.f32.f32 {%0,%1,%2,%3}, [%4, {%5,%6}];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(texture), "f"(r), "f"(x));
    r += w;
    asm volatile("tex.2d.v4.f32.s32 {%0,%1,%2,%3}, [%4, {%5,%6}];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(texture), "r"(n), "r"((int)r));
    r += x;
    asm volatile("txq.width.b32 %0, [%1];" : "=r"(q) : "l"(texture));
    r += (float)q;
    asm volatile("suld.b.2d.b32.trap %0, [%1, {%2,%3}];" : "=r"(q) : "l"(surface), "r"(n), "r"((int)r));
    asm volatile("sust.b.2d.b32.clamp [%0, {%1,%2}], %3;" ::"l"(surface), "r"(n), "r"((int)x), "r"(q));
    asm volatile("suq.height.b32 %0, [%1];" : "=r"(n) : "l"(surface));
    asm volatile("sured.b.add.2d.u32.trap [%0, {%1,%2}], %3;" ::"l"(surface), "r"(q), "r"(n), "r"(q));
    out[AT] = r + (float)(q + n);
}

// ---- warps
KERNEL warps(const int *in, int *out, int n) {
    int v = in[AT], r = 0;
    r += __shfl_sync(~0u, v, n) + __shfl_xor_sync(~0u, v, 5) + __shfl_up_sync(~0u, v, 1) + __shfl_down_sync(~0u, v, 2);
    r += __ballot_sync(~0u, v > 3) + __any_sync(~0u, v > 5) + __all_sync(~0u, v > 7) + __activemask();
    if (v & 4) {
        __syncwarp(v | 1);
        r += __shfl_sync(0xffff, v, 3);
    }
#if ARCH >= 700
    r += __match_any_sync(~0u, v);
    int same;
    r += __match_all_sync(~0u, v, &same) + same;
    __nanosleep(v);
#endif
#if ARCH >= 800
    r += __reduce_add_sync(~0u, v) ^ __reduce_or_sync(~0u, (u32)v) ^ __reduce_max_sync(~0u, v);
#endif
    r += __syncthreads_count(v) + __syncthreads_or(v) + __syncthreads_and(v);
    asm volatile("bar.arrive 3, 64;");
    asm volatile("bar.sync 4, 96;");
    asm volatile("{.reg .u32 a; mov.u32 a, %%smid; add.u32 %0, %0, a; mov.u32 a, %%lanemask_lt; add.u32 %0, %0, a;}" : "+r"(r));
    r += (int)clock() + (int)clock64();
    if (r == 12345) __trap();
    if (r == 12346) asm volatile("brkpt;");
    out[AT] = r;
}

// ---- control flow
typedef int (*function)(int);
__device__ __noinline__ int leaf(int x) { return x * 3 + global_word; }
__device__ __noinline__ int other(int x) { return x ^ leaf(x + 1); }
__device__ __noinline__ int deep(int x) { return x < 2 ? x : deep(x - 1) + deep(x - 2); }
KERNEL calls(const int *in, int *out, int n) {
    int v = in[AT], r = 0;
    function f = (v & 1) ? leaf : other;
    for (int i = 0; i < (v & 7); i++) r += f(i) + (r & 4 ? leaf(r) : deep(r & 7));
    out[AT] = r;
}

KERNEL loops(const int *in, int *out, int n) {
    int v = in[AT], r = 0;
    for (int i = 0; i < v; i++) {
        int k = in[i];
        while (k > 0) {
            if ((k & 7) == 3) break;
            k -= in[k & 15];
            if (k & 16) continue;
            for (int j = 0; j < k; j++) {
                r += in[j] * k;
                if (r > 1000) goto out_of_two;
                if (r & 1) {
                    r ^= in[r & 63];
                    out[n + j] = r;
                }
            }
            r--;
        }
        switch (in[i + 1] & 15) {
        case 0: r += in[2]; out[r & 31] = 1; break;
        case 1: r *= 5; out[r & 31] = 2; break;
        case 2: r -= in[3]; if (r < 0) return; break;
        case 3: r ^= 77; out[r & 31] = 3; // and on
        case 4: r += out[r & 31]; out[7] = r; break;
        case 5: for (int j = 0; j < r; j++) out[j] += r; break;
        case 6: r = in[r & 63]; out[r & 31] = 5; break;
        case 7: out[r & 31] = 9; continue;
        case 8: r = in[r & 31] * 7; out[r & 31] = 11; break;
        case 9: r = in[r & 15] * 9; out[r & 31] = 12; break;
        default: out[9] = r;
        }
        __syncthreads();
    }
out_of_two:
    out[AT] = r;
}

// ---- tensor cores
KERNEL tensors(const u32 *in, u32 *out) {
    u32 a[4], b[4], c[8];
    for (int i = 0; i < 4; i++) a[i] = in[AT + 32 * i], b[i] = in[AT + 32 * i + 128];
    for (int i = 0; i < 8; i++) c[i] = in[AT + 32 * i + 256];
    double d = a[0], e = b[0];
#if ARCH >= 750
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(b[0]));
    asm volatile("{.reg .b32 p; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {p}, [%1]; add.u32 %0, %0, p;}" : "+r"(c[2]) : "r"(a[3]));
#endif
#if ARCH >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d), "+d"(e) : "d"((double)a[1]), "d"((double)b[1]));
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0;" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(c[4]));
#endif
#if ARCH >= 890
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
#if defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL)
    asm volatile("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    asm volatile("mma.sync.aligned.kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}, %10, {0,1}, %11, {0,1};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[4]), "r"(c[5]));
#endif
    out[AT] = c[0] + c[1] + c[2] + c[3] + c[4] + (u32)(d + e);
}

// ---- asynchronous copies, barriers in memory, clusters
KERNEL copies(const u32 *in, u32 *out, u64 map) {
    __shared__ __align__(128) u32 shared[1024];
    __shared__ __align__(8) u64 barrier[2];
    u32 at = (u32)__cvta_generic_to_shared(&shared[4 * threadIdx.x]), bar = (u32)__cvta_generic_to_shared(barrier), r = 0;
    u64 state = 0;
#if ARCH >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(in + AT));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(in + 4 * AT));
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 1;\ncp.async.wait_all;");
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(32));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(bar));
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(bar));
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(r) : "r"(bar), "l"(state));
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(bar + 8));
#endif
#if ARCH >= 900
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again;}" ::"r"(bar), "r"(r));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(bar));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(at), "l"(in), "r"(bar));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2,%3}], [%4];" ::"r"(at), "l"(map), "r"(r), "r"(r + 1), "r"(bar));
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1,%2}];" ::"l"(map), "r"(r), "r"(r + 1));
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1,%2}], [%3];" ::"l"(map), "r"(r), "r"(r + 1), "r"(at));
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1,%2}], [%3];" ::"l"(map), "r"(r), "r"(r + 1), "r"(at));
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(out), "r"(at));
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 512;" ::"l"(out), "r"(at));
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\ncp.async.bulk.wait_group.read 0;");
    asm volatile("fence.proxy.async;\nfence.mbarrier_init.release.cluster;\nprefetch.tensormap [%0];" ::"l"(map));
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;");
    asm volatile("{.reg .b32 x; mapa.shared::cluster.u32 x, %1, 1; ld.shared::cluster.u32 %0, [x];}" : "+r"(r) : "r"(at));
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; @p add.u32 %0, %0, 1;}" : "+r"(r));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(at), "r"(r), "r"(r + 1));
    asm volatile("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(at), "r"(r), "r"(bar));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(at), "r"(r), "r"(bar));
#endif
    __syncthreads();
    out[AT] = shared[(at + r) & 1023] + r + (u32)state;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
KERNEL warp_groups(const u32 *in, u32 *out, u64 left, u64 right) {
    float d[4] = {1, 2, 3, 4};
    u32 a[4] = {in[AT], in[AT + 1], in[AT + 2], in[AT + 3]}, i[4] = {1, 2, 3, 4};
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;\nwgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(left), "l"(right));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {%0,%1,%2,%3}, %4, %5, 1, 1, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(left), "l"(right));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {%0,%1,%2,%3}, %4, %5, 1;" : "+r"(i[0]), "+r"(i[1]), "+r"(i[2]), "+r"(i[3]) : "l"(left), "l"(right));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%0,%1,%2,%3}, %4, %5, 1;" : "+r"(i[0]), "+r"(i[1]), "+r"(i[2]), "+r"(i[3]) : "l"(left), "l"(right));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    out[AT] = (u32)(d[0] + d[1] + d[2] + d[3]) + i[0] + i[1] + i[2] + i[3];
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM101_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL) || defined(__CUDA_ARCH_FEAT_SM110_ALL)
KERNEL tensor_memory(u32 *out, u64 left, u64 right, u32 shape) {
    __shared__ __align__(16) u32 place[4];
    __shared__ __align__(8) u64 barrier;
    const u32 at = (u32)__cvta_generic_to_shared(place), bar = (u32)__cvta_generic_to_shared(&barrier);
    u32 r = 0, q;
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(at) : "memory");
    const u32 tensor = place[0];
    asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;}" ::"r"(tensor), "l"(left), "l"(right), "r"(shape), "r"(r) : "memory");
    asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::tf32 [%0], [%5], %2, %3, p;}" ::"r"(tensor), "l"(left), "l"(right), "r"(shape), "r"(r), "r"(tensor + 32) : "memory");
    asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, p;}" ::"r"(tensor), "l"(left), "l"(right), "r"(shape), "r"(r) : "memory");
    asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%5], [%6], p;}" ::"r"(tensor), "l"(left), "l"(right), "r"(shape), "r"(r), "r"(tensor + 40), "r"(tensor + 48) : "memory");
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
    asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(tensor), "l"(left) : "memory");
    asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(tensor) : "memory");
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(q) : "r"(tensor));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(tensor), "r"(q) : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\ntcgen05.fence::after_thread_sync;");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(tensor));
    out[AT] = q;
}
#endif
