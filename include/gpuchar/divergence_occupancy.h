/* Whether many warps hide the cost of divergence: the penalty of k paths over the warps that an SM holds. */
#ifndef GPUCHAR_DIVERGENCE_OCCUPANCY_H
#define GPUCHAR_DIVERGENCE_OCCUPANCY_H

#include <gpuchar/counters.h>
#include <gpuchar/experiment.h>
#include <gpuchar/stat.h>

GPUCHAR_BEGIN_DECLS

typedef struct gpuchar_divergence_occupancy_options {
    size_t struct_size;
    uint32_t warps[16];    /* warps per SM to measure: 1 to 4, or a multiple of 4 up to 256, in this order */
    uint32_t warps_count;  /* 0: 1, 2, 4, 8, 16, 32, as many as an SM holds, twice as many */
    uint32_t bodies[4];    /* chained FFMA of one path's loop, each 64, 128, 256 or 512: how large the code is */
    uint32_t bodies_count; /* 0: 64 */
    uint32_t ways;         /* paths of the divergent form, 2..32; 0: 32 */
    uint32_t turns; /* of body 64; larger bodies turn less often, for the same work. 8..65536, whole for each; 0: 64 */
    uint32_t launches; /* timed launches per point and form, 5..1000; 0: 11 */
    uint32_t counters; /* GPUCHAR_COUNTERS_... */
    uint32_t require;  /* GPUCHAR_REQUIRE_... */
    uint32_t reserved;
} gpuchar_divergence_occupancy_options;

/* One body on so many warps. Frozen. */
typedef struct gpuchar_occupancy_point {
    uint32_t body;
    uint32_t warps;  /* per SM; more than it holds run in turns */
    uint32_t known;  /* GPUCHAR_OCCUPANCY_POINT_... */
    uint32_t uneven; /* SMs of all launches that ran another number of warps; they are not measured by */
    /* All lanes on one path: from the first warp's start to the last one's end, median of the SMs that ran so many warps. */
    gpuchar_stat cycles_one;
    gpuchar_stat cycles_ways; /* the same, each warp split into k paths */
    double penalty;           /* cycles_ways / cycles_one */
    double issue_rate_one;    /* instructions of the loops per cycle and SM, by the machine code */
    double issue_rate_ways;
    double efficiency;       /* active threads per instruction inside the paths, divergent form: counters */
    uint64_t executed_count; /* instructions that the paths of one warp executed, by the counters */
    uint64_t expected_count; /* the same by the machine code */
} gpuchar_occupancy_point;

/* Bits of gpuchar_occupancy_point.known. */
enum {
    GPUCHAR_OCCUPANCY_POINT_TIMED = 1u << 0,    /* uneven, penalty */
    GPUCHAR_OCCUPANCY_POINT_EXPECTED = 1u << 1, /* expected_count, and with TIMED the issue rates */
    GPUCHAR_OCCUPANCY_POINT_COUNTERS = 1u << 2  /* efficiency, executed_count */
};

/* One body over all warps. Frozen. */
typedef struct gpuchar_occupancy_body {
    uint32_t body;
    uint32_t known;      /* GPUCHAR_OCCUPANCY_BODY_... */
    uint64_t code_bytes; /* machine code: size of the timed region, which the instruction caches hold or not */
    double penalty_min;
    double penalty_max;
    double flatness; /* (largest - smallest penalty) / smallest */
} gpuchar_occupancy_body;

/* Bits of gpuchar_occupancy_body.known. */
enum {
    GPUCHAR_OCCUPANCY_BODY_DECODED = 1u << 0, /* code_bytes */
    GPUCHAR_OCCUPANCY_BODY_TIMED = 1u << 1    /* the penalties */
};

typedef struct gpuchar_divergence_occupancy_result {
    size_t struct_size;
    uint32_t ways; /* the options in force */
    uint32_t turns;
    uint32_t launches;
    uint32_t warmup_launches;
    uint32_t sm_count;               /* SMs that ran */
    uint32_t resident_warps;         /* the most warps an SM holds */
    gpuchar_occupancy_point *points; /* body after body, in the order asked; owned by the result */
    size_t point_count;
    gpuchar_occupancy_body *bodies; /* owned by the result */
    size_t body_count;
    uint64_t compile_ns; /* summed over threads; 0 when the kernels came from the cache */
    uint64_t prove_ns;
    uint64_t launches_ns; /* device time of all timing launches and their warm-up, by events */
    uint64_t counters_ns;
    uint64_t call_ns;
    uint64_t device_memory_bytes;
    gpuchar_evidence evidence; /* counts: one warp of the divergent form, first body */
} gpuchar_divergence_occupancy_result;

GPUCHAR_DEFINE_MAKER(gpuchar_divergence_occupancy_options)
GPUCHAR_DEFINE_MAKER(gpuchar_divergence_occupancy_result)
#define GPUCHAR_DIVERGENCE_OCCUPANCY_OPTIONS_INIT gpuchar_divergence_occupancy_options_make()
#define GPUCHAR_DIVERGENCE_OCCUPANCY_RESULT_INIT gpuchar_divergence_occupancy_result_make()
GPUCHAR_API void gpuchar_divergence_occupancy_options_init(gpuchar_divergence_occupancy_options *options, size_t size);
GPUCHAR_API void gpuchar_divergence_occupancy_result_init(gpuchar_divergence_occupancy_result *result, size_t size);
GPUCHAR_API void gpuchar_divergence_occupancy_result_free(gpuchar_divergence_occupancy_result *result);

/*
 * Measures on all SMs at once how much longer warps take that split into k paths, over the number of warps per SM, for
 * code of several sizes. Divergence costs issue slots, which more warps do not bring back: the penalty stays flat as long as
 * the instruction caches hold the paths. Source: "Characterizing Warp Divergence from Pascal to Blackwell", section
 * IV-D. Since 0.1.
 * Warps beyond what an SM holds run in turns, and not each SM gets its share. A point that no SM ran in most launches of
 * either form is not timed (its `known`), and the result unstable; where none is timed the call fails with E_MEASUREMENT.
 * GPUCHAR_CAVEAT: not proved, unstable, throttled or compile-only. Errors: those of gpuchar_divergence_sweep.
 */
GPUCHAR_API gpuchar_status gpuchar_divergence_occupancy(gpuchar_session *session,
                                                        const gpuchar_divergence_occupancy_options *options,
                                                        gpuchar_divergence_occupancy_result *result);

GPUCHAR_END_DECLS

#endif
