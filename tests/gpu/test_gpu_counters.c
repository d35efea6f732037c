/* gpuchar_counters_read over a kernel of the host's own, whose instruction counts are known. */
#include "gpu_check.h"

static const char source[] = "extern \"C\" __global__ void chain(float *out, int n) {\n"
                             "  float x = threadIdx.x;\n"
                             "  #pragma unroll 1\n"
                             "  for (int i = 0; i < n; ++i) {\n"
                             "    #pragma unroll\n"
                             "    for (int j = 0; j < 64; ++j)\n"
                             "      asm volatile(\"fma.rn.f32 %0, %0, %0, 0f3F800000;\" : \"+f\"(x));\n"
                             "  }\n"
                             "  out[blockIdx.x * blockDim.x + threadIdx.x] = x;\n"
                             "}\n";

typedef struct work {
    const host_driver *driver;
    void *function;
    uint64_t out;
    int launches;
} work;

#define BLOCKS 7
#define THREADS 96
#define WARPS (BLOCKS * THREADS / 32.0)
#define TURNS 100

static int launch(void *user, size_t range, void *stream) {
    work *w = user;
    int turns = TURNS * (int)(range + 1);
    void *parameters[] = {&w->out, &turns};
    ++w->launches;
    return w->driver->launch(w->function, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, parameters, NULL);
}

static void check_values(const gpuchar_counters_result *read) {
    const double *one = read->values, *two = read->values + read->metric_count;
    double warps = two[0] - one[0], threads = two[1] - one[1];
    printf("%s, %u passes: %.0f and %.0f warp instructions, difference per warp and turn %.4f; ratio %.4f\n",
           read->chip, read->passes, one[0], two[0], warps / WARPS / TURNS, one[2]);
    /* 64 FMAs and 2 to 4 instructions of loop control a turn. */
    CHECK(warps / WARPS / TURNS >= 66 && warps / WARPS / TURNS <= 68, "%.4f", warps / WARPS / TURNS);
    CHECK(fmod(warps, (double)WARPS * TURNS) == 0, "not a whole number of instructions a turn");
    CHECK(threads == 32 * warps, "%.0f threads", threads);
    CHECK(fabs(one[2] - 32) < 1e-9, "ratio %.6f", one[2]);
    for (size_t i = 0; i < read->value_count; ++i) CHECK(read->valid[i] == 1, "value %zu", i);
}

static void check_counters(gpuchar_session *session, work *w) {
    static const char *const metrics[] = {"smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
                                          "smsp__thread_inst_executed_per_inst_executed.ratio", "sm__cycles_active.max",
                                          "smsp__warps_launched.sum"};
    gpuchar_counters_options options = GPUCHAR_COUNTERS_OPTIONS_INIT;
    gpuchar_counters_result read = GPUCHAR_COUNTERS_RESULT_INIT;
    options.metrics = metrics;
    options.metric_count = sizeof metrics / sizeof metrics[0];
    options.range_count = 2;
    options.launch = launch;
    options.launch_user = w;
    for (int round = 0; round < 2; ++round) {
        w->launches = 0;
        gpuchar_status status = gpuchar_counters_read(session, &options, &read);
        if (status == GPUCHAR_E_NO_PERMISSION || status == GPUCHAR_E_COUNTERS_UNSUPPORTED ||
            status == GPUCHAR_E_NO_CUPTI) {
            printf("skipped: %s\n", gpuchar_last_error()->message);
            exit(GPU_SKIPPED);
        }
        CHECK(status == GPUCHAR_OK, "%d", status);
        if (status < 0) return;
        check_values(&read);
        CHECK(read.values[4] == WARPS, "%.0f warps launched", read.values[4]);
        CHECK(w->launches == (int)read.passes * 2, "%d launches in %u passes", w->launches, read.passes);
        printf("set-up %.3f s, passes %.3f s\n", (double)read.setup_ns * 1e-9, (double)read.read_ns * 1e-9);
        gpuchar_counters_result_free(&read);
    }
}

int main(void) {
    gpuchar_session_close(open_or_skip(NULL));
    if (!times_count()) {
        printf("skipped: counters and sanitizers exclude each other\n");
        return GPU_SKIPPED;
    }
    host_driver driver = open_host_driver();
    void *own = NULL, *module = NULL;
    work w = {.driver = &driver};
    CHECK(driver.ctx_create(&own, 0, 0) == 0, "cuCtxCreate");
    gpuchar_session_options with_context = GPUCHAR_SESSION_OPTIONS_INIT;
    with_context.context = own;
    gpuchar_session *session = open_or_skip(&with_context);
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    CHECK(gpuchar_device_info_get(session, &info) == GPUCHAR_OK, "device info");
    char architecture[16];
    snprintf(architecture, sizeof architecture, "sm_%u", info.architecture);
    gpuchar_compile_options options = GPUCHAR_COMPILE_OPTIONS_INIT;
    gpuchar_compile_result compiled = GPUCHAR_COMPILE_RESULT_INIT;
    options.source = source;
    options.architecture = architecture;
    CHECK(gpuchar_compile(NULL, &options, &compiled) == GPUCHAR_OK, "compile");
    CHECK(driver.module_load(&module, compiled.cubin) == 0, "cuModuleLoadData");
    CHECK(driver.module_function(&w.function, module, "chain") == 0, "cuModuleGetFunction");
    CHECK(driver.mem_alloc(&w.out, BLOCKS * THREADS * sizeof(float)) == 0, "cuMemAlloc");
    if (!gpu_failures) check_counters(session, &w);
    gpuchar_compile_result_free(&compiled);
    driver.mem_free(w.out);
    driver.module_unload(module);
    gpuchar_session_close(session);
    CHECK(driver.ctx_destroy(own) == 0, "cuCtxDestroy");
    return gpu_finish();
}
