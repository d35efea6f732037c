/* gc_measure on a driver and an NVML made of a few functions: what is asked while launches are queued, and clocks that move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <core/util.h>
#include <measure/timing.h>

#define LAUNCHES 12
#define POINTS 2
#define SLOTS (LAUNCHES * POINTS)

static gc_sample device[SLOTS + GC_WARM_SLOTS];
static uint32_t queued;         /* launches that nobody waited for yet */
static double slow[SLOTS];      /* of each slot's clock, taken away */
static unsigned asked;          /* how often NVML was */
static bool answers = true;     /* whether NVML does */
static uint32_t throttles_from; /* launches in the queue that make the GPU throttle; 0: it never does */
static CUresult launched;       /* what a launch returns */
static float chunk_ms;          /* device time between any two events */

/* ---- a device that takes a millisecond for a launch, at 1 GHz less what is planted ---- */

static CUresult launch_kernel(CUfunction function, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                              unsigned f, unsigned g, CUstream stream, void **parameters, void **extra) {
    (void)function, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)stream, (void)extra;
    const gc_header *header = parameters[0];
    const uint32_t slot = header->slot;
    device[slot] = (gc_sample){1000000, 1000000};
    if (slot < SLOTS) device[slot].cycles -= (uint64_t)(slow[slot] * 1000000);
    if (slot >= SLOTS) { /* warm-up goes to the first slot behind; all of a batch is read */
        for (uint32_t i = SLOTS; i < SLOTS + GC_WARM_SLOTS; ++i) device[i] = device[slot];
    }
    ++queued;
    return launched;
}

static CUresult event_create(CUevent *event, unsigned flags) {
    (void)flags;
    *event = (CUevent)(void *)&queued;
    return CUDA_SUCCESS;
}

static CUresult event_destroy(CUevent event) {
    (void)event;
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream) {
    (void)event, (void)stream;
    return CUDA_SUCCESS;
}

static CUresult event_synchronize(CUevent event) {
    (void)event;
    queued = 0;
    return CUDA_SUCCESS;
}

static CUresult event_elapsed(float *milliseconds, CUevent from, CUevent to) {
    (void)from, (void)to;
    *milliseconds = chunk_ms;
    return CUDA_SUCCESS;
}

static CUresult stream_synchronize(CUstream stream) {
    (void)stream;
    queued = 0;
    return CUDA_SUCCESS;
}

static CUresult copy_back(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    (void)stream;
    memcpy(to, (const char *)device + from, bytes); /* addresses count from 0 here */
    return CUDA_SUCCESS;
}

static int throttle_reasons(gc_nvml_device of, unsigned long long *reasons) {
    (void)of;
    ++asked;
    *reasons = throttles_from && queued >= throttles_from ? GPUCHAR_THROTTLE_HW_SLOWDOWN : 0;
    return answers ? GC_NVML_SUCCESS : 1;
}

static gpuchar_status measure(gc_timing *timing, gc_sample *samples) {
    static gc_cuda cuda = {.LaunchKernel = launch_kernel,
                           .EventCreate = event_create,
                           .EventDestroy = event_destroy,
                           .EventRecord = event_record,
                           .EventSynchronize = event_synchronize,
                           .EventElapsedTime = event_elapsed,
                           .StreamSynchronize = stream_synchronize,
                           .MemcpyDtoHAsync = copy_back};
    static gc_nvml nvml = {.DeviceGetCurrentClocksEventReasons = throttle_reasons};
    gpuchar_runtime *runtime = NULL;
    assert_int_equal(gpuchar_runtime_open(NULL, &runtime), GPUCHAR_OK);
    gpuchar_session session = {.runtime = runtime, .kind = GC_SESSION_LIVE, .cuda = &cuda, .nvml = &nvml};
    gc_header arguments[POINTS] = {{0}};
    gc_point points[POINTS];
    const gc_slots slots = {.count = SLOTS};
    for (size_t i = 0; i < POINTS; ++i) points[i] = (gc_point){.grid = 1, .block = 32, .arguments = &arguments[i]};
    *timing = (gc_timing){.samples = samples};
    queued = asked = 0;
    gpuchar_status status = gc_measure(&session, &slots, points, POINTS, LAUNCHES, timing);
    gpuchar_runtime_close(runtime);
    return status;
}

static int reset(void **state) {
    (void)state;
    memset(slow, 0, sizeof slow);
    answers = true;
    throttles_from = 0;
    chunk_ms = 1;
    launched = CUDA_SUCCESS;
    return 0;
}

/* ---- throttling ---- */

/* It shows only while the GPU works: before and after, NVML has nothing to tell. */
static void test_throttles_at_work(void **state) {
    (void)state;
    gc_sample samples[SLOTS];
    gc_timing timing;
    assert_int_equal(measure(&timing, samples), GPUCHAR_OK);
    assert_true(timing.throttle_known && timing.throttle_reasons == 0 && timing.steady);
    throttles_from = 1;
    assert_int_equal(measure(&timing, samples), GPUCHAR_OK);
    assert_true(timing.throttle_known);
    assert_int_equal(timing.throttle_reasons, GPUCHAR_THROTTLE_HW_SLOWDOWN);
}

/* Whoever does not always answer does not know. */
static void test_no_answer(void **state) {
    (void)state;
    gc_sample samples[SLOTS];
    gc_timing timing;
    answers = false;
    assert_int_equal(measure(&timing, samples), GPUCHAR_OK);
    assert_false(timing.throttle_known);
}

/* Chunks of one launch each, all queued at once: one question in 10 ms, not one each. */
static void test_asked_seldom(void **state) {
    (void)state;
    gc_sample samples[SLOTS];
    gc_timing timing;
    chunk_ms = 1000;
    const uint64_t begin = gc_now_ns();
    assert_int_equal(measure(&timing, samples), GPUCHAR_OK);
    const uint64_t most = 3 + (gc_now_ns() - begin) / 10000000;
    assert_true(asked >= 3); /* before, while, after */
    assert_true(asked <= most);
}

/* What the driver refuses without a word of its own is still told what to do about. */
static void test_refused(void **state) {
    (void)state;
    gc_sample samples[SLOTS];
    gc_timing timing;
    launched = CUDA_ERROR_INVALID_IMAGE;
    assert_int_equal(measure(&timing, samples), GPUCHAR_E_CUDA);
    assert_true(gpuchar_last_error()->hint[0]);
}

/* ---- clocks ---- */

static bool steady_with(size_t from, size_t to) {
    gc_sample samples[SLOTS];
    gc_timing timing;
    memset(slow, 0, sizeof slow);
    for (size_t i = from; i < to; ++i) slow[i] = 0.01;
    assert_int_equal(measure(&timing, samples), GPUCHAR_OK);
    return timing.steady;
}

static void test_drift(void **state) {
    (void)state;
    assert_true(steady_with(0, 0));
    assert_true(steady_with(0, SLOTS));
    assert_false(steady_with(0, SLOTS / 3));
    assert_false(steady_with(SLOTS / 3, 2 * SLOTS / 3)); /* a dip between two equal ends */
    assert_false(steady_with(2 * SLOTS / 3, SLOTS));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_throttles_at_work, reset),
        cmocka_unit_test_setup(test_no_answer, reset),
        cmocka_unit_test_setup(test_asked_seldom, reset),
        cmocka_unit_test_setup(test_refused, reset),
        cmocka_unit_test_setup(test_drift, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
