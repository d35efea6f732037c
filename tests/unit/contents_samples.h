/* Kernels of which the contents are known, for all architectures that NVRTC knows. */
#ifndef GPUCHAR_TESTS_CONTENTS_SAMPLES_H
#define GPUCHAR_TESTS_CONTENTS_SAMPLES_H

#include "divergence_samples.h"
#include <proof/contents.h>

static const char SAMPLES[] =
    "typedef unsigned int u32;\n"
    "#define CLOCK(x) asm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(x) :: \"memory\")\n"
    "#define FMA asm volatile(\"fma.rn.f32 %0, %0, %1, %2;\" : \"+f\"(x) : \"f\"(a), \"f\"(b))\n"
    "#define FMA8 FMA; FMA; FMA; FMA; FMA; FMA; FMA; FMA\n"
    "#define KERNEL(name) extern \"C\" __global__ void name(long long *out, float a, float b, int n)\n"
    "#define BEGIN long long t0, t1; float x = threadIdx.x; CLOCK(t0)\n"
    "#define END CLOCK(t1); out[threadIdx.x] = t1 - t0; ((float *)out)[threadIdx.x + 4096] = x\n"
    "KERNEL(chain) {\n"
    "    BEGIN; int i = 0;\n"
    "#pragma unroll 1\n"
    "    do { FMA8; FMA8; } while (++i < n);\n"
    "    END;\n"
    "}\n"
    "KERNEL(nested) {\n"
    "    BEGIN; int i = 0;\n"
    "#pragma unroll 1\n"
    "    do {\n"
    "        int k = 0; FMA;\n"
    "#pragma unroll 1\n"
    "        do { FMA8; } while (++k < n);\n"
    "    } while (++i < n);\n"
    "    END;\n"
    "}\n"
    "KERNEL(twice) {\n"
    "    long long s0, s1;\n"
    "    BEGIN; FMA8; END;\n"
    "    CLOCK(s0); FMA; FMA; FMA; CLOCK(s1);\n"
    "    out[threadIdx.x + 64] = s1 - s0; ((float *)out)[threadIdx.x + 8192] = x;\n"
    "}\n"
    "KERNEL(divergent) {\n"
    "    u32 y = threadIdx.x;\n"
    "    BEGIN;\n"
    "    if (threadIdx.x & 1) { FMA8; } else {\n"
    "#pragma unroll 1\n"
    "        for (int i = 0; i < n; i++) asm volatile(\"mad.lo.u32 %0, %0, %1, %0;\" : \"+r\"(y) : \"r\"(n));\n"
    "    }\n"
    "    END; ((u32 *)out)[threadIdx.x] = y;\n"
    "}\n"
    "KERNEL(spills) {\n"
    "    BEGIN;\n"
    "    float kept[16];\n"
    "    for (int i = 0; i < 16; i++) kept[i] = a * i;\n"
    "#pragma unroll 1\n"
    "    for (int i = 0; i < n; i++) kept[(i * n) & 15] += kept[i & 15];\n"
    "    x = kept[n & 15];\n"
    "    END;\n"
    "}\n"
    /* 64 values that live at once, in the registers that 1024 threads leave. */
    "extern \"C\" __global__ void __launch_bounds__(1024, 2) tight(long long *out, float a, float b, int n) {\n"
    "    float many[64];\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 64; i++) many[i] = ((volatile float *)out)[i * 32 + threadIdx.x];\n"
    "    BEGIN;\n"
    "#pragma unroll 1\n"
    "    for (int k = 0; k < n; k++) {\n"
    "#pragma unroll\n"
    "        for (int i = 0; i < 64; i++) many[i] = many[i] * many[(i + 7) & 63] + b;\n"
    "    }\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 64; i++) x += many[i];\n"
    "    END;\n"
    "}\n"
    "__device__ __noinline__ float routine(float x, float a, float b) { FMA8; return x; }\n"
    "KERNEL(called) { BEGIN; x = routine(x, a, b); x = routine(x, b, a); END; }\n"
    "KERNEL(called_in_loop) {\n"
    "    BEGIN; int i = 0;\n"
    "#pragma unroll 1\n"
    "    do { x = routine(x, a, b); } while (++i < n);\n"
    "    END;\n"
    "}\n"
    "__device__ __noinline__ float outer(float x, float a, float b) { return routine(x, a, b) * routine(x, b, a); }\n"
    "KERNEL(called_twice_deep) { BEGIN; x = outer(x, a, b); END; }\n"
    "KERNEL(divided) { BEGIN; x = b / x; END; }\n"
    "KERNEL(shared_memory) {\n"
    "    __shared__ volatile float cells[64];\n"
    "    BEGIN;\n"
    "    cells[threadIdx.x] = a;\n"
    "    __syncthreads();\n"
    "    x = cells[threadIdx.x ^ 1];\n"
    "    END;\n"
    "}\n"
    "KERNEL(nothing) { BEGIN; END; }\n"
    "__device__ __noinline__ int turns_back(int x) {\n"
    "    return x < 2 ? 1 : turns_back(x - 1) * x + turns_back(x - 2);\n"
    "}\n"
    "KERNEL(recursion) { BEGIN; x = (float)turns_back(n); END; }\n"
    "extern \"C\" __global__ void pointed(long long *out, float a, float (*f)(float)) { BEGIN; x = f(x); END; }\n"
    "KERNEL(ends) { BEGIN; if (n > (int)threadIdx.x) return; END; }\n"
    "KERNEL(branches) {\n"
    "    long long t0, t1, t2 = 0; float x = a; CLOCK(t0);\n"
    "    if (n > (int)threadIdx.x) { FMA8; CLOCK(t1); } else { CLOCK(t1); FMA8; CLOCK(t2); }\n"
    "    out[threadIdx.x] = t1 - t0 + t2; ((float *)out)[threadIdx.x + 4096] = x;\n"
    "}\n"
    "KERNEL(half) {\n"
    "    u32 t0, t1; float x = threadIdx.x;\n"
    "    asm volatile(\"mov.u32 %0, %%clock;\" : \"=r\"(t0) :: \"memory\"); FMA8;\n"
    "    asm volatile(\"mov.u32 %0, %%clock;\" : \"=r\"(t1) :: \"memory\");\n"
    "    out[threadIdx.x] = t1 - t0; ((float *)out)[threadIdx.x + 4096] = x;\n"
    "}\n";

/* Two INT4 products, the second on the result of the first; from sm_75 on. */
static const char INT4_SAMPLE[] =
    "extern \"C\" __global__ void int4(long long *out, unsigned a, unsigned b) {\n"
    "    long long t0, t1; int d = 0, e = 0;\n"
    "    asm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(t0) :: \"memory\");\n"
    "    for (int i = 0; i < 2; i++)\n"
    "        asm volatile(\"mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%0,%1},{%2},{%3},{%0,%1};\"\n"
    "                     : \"+r\"(d), \"+r\"(e) : \"r\"(a), \"r\"(b));\n"
    "    asm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(t1) :: \"memory\");\n"
    "    out[threadIdx.x] = t1 - t0; ((int *)out)[threadIdx.x + 64] = d + e;\n"
    "}\n";
/* One FP8 product; from sm_89 on. */
static const char FP8_SAMPLE[] =
    "extern \"C\" __global__ void fp8(long long *out, unsigned a, unsigned b) {\n"
    "    long long t0, t1; float d = 0, e = 0, f = 0, g = 0;\n"
    "    asm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(t0) :: \"memory\");\n"
    "    asm volatile(\"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 \"\n"
    "                 \"{%0,%1,%2,%3},{%4,%5,%4,%5},{%5,%4},{%0,%1,%2,%3};\"\n"
    "                 : \"+f\"(d), \"+f\"(e), \"+f\"(f), \"+f\"(g) : \"r\"(a), \"r\"(b));\n"
    "    asm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(t1) :: \"memory\");\n"
    "    out[threadIdx.x] = t1 - t0; ((float *)out)[threadIdx.x + 64] = d + e + f + g;\n"
    "}\n";

/* sm_107 has additions that the table of mnemonics does not know yet. */
static inline int is_told(int arch) {
    return is_decoded(arch) && arch != 107;
}

static test_cubin MADE[64]; /* SAMPLES, by NVRTC's list of architectures */

static inline const test_cubin *samples(int arch_index) {
    if (!MADE[arch_index].bytes) MADE[arch_index] = nvrtc_compile(&NVRTC, SAMPLES, NVRTC.archs[arch_index]);
    assert_non_null(MADE[arch_index].bytes);
    return &MADE[arch_index];
}

static inline int samples_teardown(void **state) {
    for (int i = 0; i < 64; i++) free(MADE[i].bytes);
    return teardown(state);
}

static const gc_contents_pattern FFMA = {.mnemonic = "FFMA"};

static inline gc_contents_question ask(const char *kernel, const gc_contents_pattern *intended) {
    return (gc_contents_question){.kernel = kernel, .intended = intended, .intended_count = 1};
}

/* Whatever the verdict; the caller frees it. */
static inline gc_contents read_contents(const test_cubin *cubin, const gc_contents_question *question) {
    gc_contents contents;
    assert_int_equal(gc_region_contents(cubin->bytes, cubin->size, question, &contents), GPUCHAR_OK);
    return contents;
}

static inline void expect_told(const gc_contents *contents, const char *kernel, int arch) {
    if (contents->status) fail_msg("%s on sm_%d: %s", kernel, arch, contents->reason);
}

static inline void expect_refused(gc_contents *contents, const char *what, int arch, const char *reason) {
    if (contents->status != GPUCHAR_E_NOT_PROVED || !strstr(contents->reason, reason))
        fail_msg("%s on sm_%d: expected \"%s\", got %d \"%s\"", what, arch, reason, contents->status, contents->reason);
    assert_null(contents->rows);
    assert_null(contents->loops);
    gc_contents_free(contents);
}

/* Sum of the rows of a place. */
static inline uint64_t count_in(const gc_contents *contents, uint32_t loop, bool called, uint32_t role) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < contents->row_count; i++) {
        const gc_contents_row *row = &contents->rows[i];
        if (row->loop == loop && row->called == called && row->role == role) count += row->count;
    }
    return count;
}

static inline uint64_t count_of(const gc_contents *contents, const char *mnemonic, bool called) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < contents->row_count; i++)
        if (contents->rows[i].called == called && strcmp(contents->rows[i].mnemonic, mnemonic) == 0)
            count += contents->rows[i].count;
    return count;
}

static inline void expect_span(gc_span span, uint64_t min, uint64_t max, const char *what, int arch) {
    if (span.min != min || span.max != max)
        fail_msg("%s on sm_%d: %llu to %llu, not %llu to %llu", what, arch, (unsigned long long)span.min,
                 (unsigned long long)span.max, (unsigned long long)min, (unsigned long long)max);
}

#endif
