#include <core/error.h>
#include <measure/timing.h>
#include <math.h>
#include <stats/stats.h>

/* Device work queued ahead of a look at the cancel flag, and of one warm-up batch. */
#define GC_CHUNK_NS 2000000.0
/* A warm-up ends when the SM clock of the last batches agrees this well, or after the longest time. */
#define GC_STEADY_WINDOW 3
#define GC_STEADY_RELATIVE 0.003
#define GC_WARM_BATCHES_MAX 100
/* The same between any two thirds of the timed launches; each takes longer than a batch. */
#define GC_DRIFT_RELATIVE 0.003
/* A GPU throttles when it works: NVML is asked while launches are queued, so often and so many times at most, and less
 * often where it is slow to answer. */
#define GC_WATCH_NS UINT64_C(10000000)
#define GC_WATCH_COSTS 100
#define GC_WATCHES_MAX 32
/* No GPU clock is outside of these bounds; a sample that says so is broken. */
#define GC_CLOCK_MIN_HZ 50e6
#define GC_CLOCK_MAX_HZ 10e9
/* globaltimer moves in steps of up to a microsecond: shorter samples say nothing about the clock. */
#define GC_CLOCK_MIN_NS 20000

gpuchar_status gc_slots_alloc(gpuchar_session *session, uint32_t count, gc_slots *slots) {
    memset(slots, 0, sizeof *slots);
    slots->count = count;
    gpuchar_status status =
        gc_buffer_alloc(session, ((size_t)count + GC_WARM_SLOTS) * sizeof(gc_sample), &slots->samples);
    if (status == GPUCHAR_OK) status = gc_buffer_alloc(session, GC_SINK_BYTES, &slots->sink);
    if (status != GPUCHAR_OK) gc_slots_free(session, slots);
    return status;
}

void gc_slots_free(gpuchar_session *session, gc_slots *slots) {
    gc_buffer_free(session, &slots->samples);
    gc_buffer_free(session, &slots->sink);
}

gc_header gc_slots_header(const gc_slots *slots, uint32_t iterations) {
    gc_header header = {slots->samples.address, slots->sink.address, 0, iterations};
    return header;
}

static gpuchar_status launch(gpuchar_session *session, const gc_point *point, uint32_t slot) {
    /* The driver copies the arguments before it returns, so one block serves all launches. */
    ((gc_header *)point->arguments)->slot = slot;
    void *parameters[1] = {point->arguments};
    return gc_cuda_check(session->cuda,
                         session->cuda->LaunchKernel(point->function, point->grid, 1, 1, point->block, 1, 1,
                                                     point->shared_bytes, session->stream, parameters, NULL),
                         "cuLaunchKernel");
}

gpuchar_status gc_launch_once(gpuchar_session *session, const gc_slots *slots, const gc_point *point) {
    return launch(session, point, slots->count);
}

/* ---- chunks of launches between event pairs; two are in flight, so that the device never waits for the host ---- */

typedef struct gc_chunk {
    CUevent start, stop;
    uint32_t launches;
    bool running;
} gc_chunk;

typedef struct gc_stream_clock {
    gpuchar_session *session;
    gc_chunk chunks[2];
    unsigned next;
    double device_ns;
    double launch_ns;  /* of one launch in the chunk that ended last; 0: not known yet */
    uint64_t watch_ns; /* not asked again before */
    uint32_t watches;
} gc_stream_clock;

static void clock_close(gc_stream_clock *clock) {
    const gpuchar_session *session = clock->session;
    for (size_t i = 0; i < GC_COUNT(clock->chunks); ++i) {
        CUevent events[] = {clock->chunks[i].start, clock->chunks[i].stop};
        for (size_t j = 0; j < GC_COUNT(events); ++j) {
            if (events[j]) gc_session_give_back(session, session->cuda->EventDestroy(events[j]), "cuEventDestroy");
        }
    }
}

static gpuchar_status clock_open(gpuchar_session *session, gc_stream_clock *clock) {
    const gc_cuda *cuda = session->cuda;
    gpuchar_status status = GPUCHAR_OK;
    memset(clock, 0, sizeof *clock);
    clock->session = session;
    for (size_t i = 0; i < GC_COUNT(clock->chunks) && status == GPUCHAR_OK; ++i) {
        status = gc_cuda_check(cuda, cuda->EventCreate(&clock->chunks[i].start, CU_EVENT_DEFAULT), "cuEventCreate");
        if (status != GPUCHAR_OK) break;
        status = gc_cuda_check(cuda, cuda->EventCreate(&clock->chunks[i].stop, CU_EVENT_DEFAULT), "cuEventCreate");
    }
    if (status != GPUCHAR_OK) clock_close(clock);
    return status;
}

/* Waits for the end of a chunk and adds its time. */
static gpuchar_status chunk_finish(gc_stream_clock *clock, gc_chunk *chunk) {
    const gc_cuda *cuda = clock->session->cuda;
    float milliseconds = 0;
    if (!chunk->running) return GPUCHAR_OK;
    chunk->running = false;
    gpuchar_status status = gc_cuda_check(cuda, cuda->EventSynchronize(chunk->stop), "cuEventSynchronize");
    if (status != GPUCHAR_OK) return status;
    status =
        gc_cuda_check(cuda, cuda->EventElapsedTime(&milliseconds, chunk->start, chunk->stop), "cuEventElapsedTime");
    if (status != GPUCHAR_OK) return status;
    clock->device_ns += (double)milliseconds * 1e6;
    clock->launch_ns = (double)milliseconds * 1e6 / chunk->launches;
    return GPUCHAR_OK;
}

/* Queues launches of one point into consecutive slots; returns once the chunk before the last has ended. */
static gpuchar_status chunk_run(gc_stream_clock *clock, const gc_point *point, uint32_t slot, uint32_t launches) {
    gpuchar_session *session = clock->session;
    const gc_cuda *cuda = session->cuda;
    gc_chunk *chunk = &clock->chunks[clock->next];
    clock->next ^= 1;
    gpuchar_status status = chunk_finish(clock, chunk);
    if (status != GPUCHAR_OK) return status;
    status = gc_cuda_check(cuda, cuda->EventRecord(chunk->start, session->stream), "cuEventRecord");
    for (uint32_t i = 0; i < launches && status == GPUCHAR_OK; ++i) status = launch(session, point, slot + i);
    if (status != GPUCHAR_OK) return status;
    status = gc_cuda_check(cuda, cuda->EventRecord(chunk->stop, session->stream), "cuEventRecord");
    chunk->launches = launches;
    chunk->running = status == GPUCHAR_OK;
    return status;
}

static gpuchar_status clock_drain(gc_stream_clock *clock) {
    gpuchar_status status = chunk_finish(clock, &clock->chunks[clock->next]);
    gpuchar_status second = chunk_finish(clock, &clock->chunks[clock->next ^ 1]);
    return status != GPUCHAR_OK ? status : second;
}

static uint32_t chunk_size(const gc_stream_clock *clock, uint32_t left) {
    if (clock->launch_ns <= 0) return 1;
    double fit = GC_CHUNK_NS / clock->launch_ns;
    uint32_t size = fit < 1 ? 1 : fit > 1024 ? 1024 : (uint32_t)fit;
    return size < left ? size : left;
}

/* ---- warm-up ---- */

static double clock_hz(const gc_sample *samples, size_t count) {
    double cycles = 0, nanoseconds = 0;
    for (size_t i = 0; i < count; ++i) {
        cycles += (double)samples[i].cycles;
        nanoseconds += (double)samples[i].nanoseconds;
    }
    return nanoseconds >= GC_CLOCK_MIN_NS ? cycles / nanoseconds * 1e9 : 0;
}

/* Each point once, so that code and constants are cached; then the last point until the SM clock settles. */
static gpuchar_status warm_up(gc_stream_clock *clock, const gc_slots *slots, const gc_point *points, size_t count,
                              gc_timing *timing) {
    gpuchar_session *session = clock->session;
    gc_sample batch[GC_WARM_SLOTS];
    double clocks[GC_WARM_BATCHES_MAX];
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < count && status == GPUCHAR_OK; ++i) {
        status = chunk_run(clock, &points[i], slots->count, 1);
        timing->warmup_launches++;
        if (status == GPUCHAR_OK) status = gc_session_check_cancel(session);
    }
    for (size_t i = 0; status == GPUCHAR_OK && i < GC_WARM_BATCHES_MAX && !timing->steady; ++i) {
        uint32_t launches = chunk_size(clock, GC_WARM_SLOTS);
        status = chunk_run(clock, &points[count - 1], slots->count, launches);
        if (status == GPUCHAR_OK) status = clock_drain(clock);
        if (status == GPUCHAR_OK) {
            status = gc_buffer_read(session, &slots->samples, slots->count * sizeof(gc_sample), batch,
                                    launches * sizeof(gc_sample));
        }
        if (status == GPUCHAR_OK) status = gc_session_check_cancel(session);
        if (status != GPUCHAR_OK) break;
        timing->warmup_launches += launches;
        clocks[i] = clock_hz(batch, launches);
        timing->steady = gc_steady(clocks, i + 1, GC_STEADY_WINDOW, GC_STEADY_RELATIVE);
    }
    return status;
}

/* ---- the timed launches ---- */

/* Whether the clock of two thirds differs; thirds too short for the timer (0) say nothing. */
static bool drifts(double a, double b) {
    return a > 0 && b > 0 && fabs(a - b) > GC_DRIFT_RELATIVE * fmin(a, b);
}

static gpuchar_status check_samples(const gc_sample *samples, size_t count, gc_timing *timing) {
    for (size_t i = 0; i < count; ++i) {
        if (samples[i].cycles == 0 || samples[i].cycles > (UINT64_C(1) << 48)) {
            return gc_advise(gc_fail(GPUCHAR_E_MEASUREMENT, "launch %zu reports %llu cycles", i,
                                     (unsigned long long)samples[i].cycles),
                             "a debugger or profiler may change the kernels; repeat without it");
        }
    }
    const size_t third = count / 3;
    const double first = clock_hz(samples, third), middle = clock_hz(samples + third, count - 2 * third),
                 last = clock_hz(samples + (count - third), third);
    timing->sm_clock_hz = clock_hz(samples, count);
    if (drifts(first, middle) || drifts(middle, last) || drifts(first, last)) timing->steady = false;
    if (timing->sm_clock_hz > 0 && (timing->sm_clock_hz < GC_CLOCK_MIN_HZ || timing->sm_clock_hz > GC_CLOCK_MAX_HZ)) {
        return gc_advise(
            gc_fail(GPUCHAR_E_MEASUREMENT, "an SM clock of %.0f MHz is not possible", timing->sm_clock_hz / 1e6),
            "the GPU may have been suspended or reset while measuring; repeat");
    }
    return GPUCHAR_OK;
}

/* Throttle reasons of any moment count; they are known when NVML always answered. */
static void ask_throttle(gpuchar_session *session, gc_timing *timing) {
    uint32_t reasons = 0;
    timing->throttle_known = gc_session_throttle_reasons(session, &reasons) && timing->throttle_known;
    timing->throttle_reasons |= reasons;
}

/* Right after a chunk was queued: the answer takes less time than the device's work, which hides it. */
static void watch_throttle(gc_stream_clock *clock, gc_timing *timing) {
    const uint64_t begin = gc_now_ns();
    if (clock->watches == GC_WATCHES_MAX || begin < clock->watch_ns) return;
    ask_throttle(clock->session, timing);
    const uint64_t end = gc_now_ns(), pause = GC_WATCH_COSTS * (end - begin);
    clock->watch_ns = end + (pause > GC_WATCH_NS ? pause : GC_WATCH_NS);
    clock->watches++;
}

static gpuchar_status time_points(gc_stream_clock *clock, const gc_point *points, size_t count, uint32_t launches,
                                  gc_timing *timing) {
    gpuchar_session *session = clock->session;
    for (size_t i = 0; i < count; ++i) {
        uint32_t slot = (uint32_t)i * launches;
        for (uint32_t done = 0; done < launches;) {
            uint32_t size = chunk_size(clock, launches - done);
            gpuchar_status status = chunk_run(clock, &points[i], slot + done, size);
            watch_throttle(clock, timing);
            if (status == GPUCHAR_OK) status = gc_session_check_cancel(session);
            if (status != GPUCHAR_OK) return status;
            done += size;
        }
        gc_session_progress(session, "timing", (double)(i + 1) / (double)count);
    }
    return GPUCHAR_OK;
}

gpuchar_status gc_measure(gpuchar_session *session, const gc_slots *slots, const gc_point *points, size_t count,
                          uint32_t launches, gc_timing *timing) {
    gc_stream_clock clock;
    gc_sample *samples = timing->samples;
    memset(timing, 0, sizeof *timing);
    timing->samples = samples;
    timing->throttle_known = true;
    gpuchar_status status = clock_open(session, &clock);
    if (status != GPUCHAR_OK) return status;
    status = warm_up(&clock, slots, points, count, timing);
    ask_throttle(session, timing);
    if (status == GPUCHAR_OK) status = time_points(&clock, points, count, launches, timing);
    /* Whatever happened, nothing of this call may still run when its memory is given back. */
    if (status == GPUCHAR_OK) {
        status = clock_drain(&clock);
    } else {
        session->cuda->StreamSynchronize(session->stream);
    }
    ask_throttle(session, timing);
    timing->device_ns = (uint64_t)clock.device_ns;
    clock_close(&clock);
    if (status != GPUCHAR_OK) return status;
    status = gc_buffer_read(session, &slots->samples, 0, samples, count * launches * sizeof(gc_sample));
    return status == GPUCHAR_OK ? check_samples(samples, count * launches, timing) : status;
}
