/*
 * Timing: many launches of several points, each writing its own sample slot, queued without waiting and read back once.
 */
#ifndef GC_MEASURE_TIMING_H
#define GC_MEASURE_TIMING_H

#include <measure/kernel.h>

/* First member of every kernel's arguments (Header in src/kernels/prelude.cu). */
typedef struct gc_header {
    CUdeviceptr samples;
    CUdeviceptr sink;
    uint32_t slot;
    uint32_t iterations;
} gc_header;

/* What one launch writes (Sample in src/kernels/prelude.cu). */
typedef struct gc_sample {
    uint64_t cycles;
    uint64_t nanoseconds;
} gc_sample;

/* Slots for launches that are not timed: what kernels keep by slot needs room for them too. */
#define GC_WARM_SLOTS 256
/* Words of the sink: enough for the lanes of any kernel here. */
#define GC_SINK_BYTES 4096

/* One thing to time. `arguments` begins with a gc_header, whose slot is set for each launch. */
typedef struct gc_point {
    CUfunction function;
    uint32_t grid;
    uint32_t block;
    uint32_t shared_bytes;
    uint32_t reserved;
    void *arguments;
} gc_point;

/* Sample slots and sink of one call. */
typedef struct gc_slots {
    gc_buffer samples;
    gc_buffer sink;
    uint32_t count; /* timed slots; GC_WARM_SLOTS more for warm-up lie behind them */
} gc_slots;
gpuchar_status gc_slots_alloc(gpuchar_session *session, uint32_t count, gc_slots *slots);
void gc_slots_free(gpuchar_session *session, gc_slots *slots);
/* Fills a header for these slots. */
gc_header gc_slots_header(const gc_slots *slots, uint32_t iterations);

/* What came out. */
typedef struct gc_timing {
    gc_sample *samples; /* [point][launch]; the caller's, count * launches of them */
    uint64_t device_ns; /* by events around the launches, warm-up included */
    uint32_t warmup_launches;
    uint32_t throttle_reasons; /* GPUCHAR_THROTTLE_..., seen by NVML before, while or after launches ran */
    bool throttle_known;       /* NVML answered each time */
    bool steady;               /* the SM clock settled in the warm-up and was the same in all thirds of the launches */
    double sm_clock_hz;        /* all timed launches: sum of cycles / sum of nanoseconds */
} gc_timing;

/*
 * Warms up until the SM clock is steady, then launches each point `launches` times. Checks for a cancel within a few
 * milliseconds of device work. Samples that break a physical bound are GPUCHAR_E_MEASUREMENT.
 */
gpuchar_status gc_measure(gpuchar_session *session, const gc_slots *slots, const gc_point *points, size_t count,
                          uint32_t launches, gc_timing *timing);

/* One launch on the session's stream, into a warm-up slot (for counters and checks). */
gpuchar_status gc_launch_once(gpuchar_session *session, const gc_slots *slots, const gc_point *point);

#endif
