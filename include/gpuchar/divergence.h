/* The cost of warp divergence: what k paths through one warp cost in time and in efficiency. */
#ifndef GPUCHAR_DIVERGENCE_H
#define GPUCHAR_DIVERGENCE_H

#include <gpuchar/counters.h>
#include <gpuchar/experiment.h>
#include <gpuchar/stat.h>

GPUCHAR_BEGIN_DECLS

#define GPUCHAR_WARP_LANES 32

/* What the paths are made of: chains in which each instruction needs the one before. */
enum {
    GPUCHAR_PATH_FP32 = 1,   /* fused multiply-add, the default */
    GPUCHAR_PATH_INT32 = 2,  /* integer multiply-add */
    GPUCHAR_PATH_MEMORY = 3, /* loads, each from the address the one before loaded; stays in the first-level cache */
    GPUCHAR_PATH_SPECIAL = 4 /* reciprocal square roots in the special function unit */
};

/* Which lane takes which of the k paths. */
enum {
    GPUCHAR_LANES_STRIDED = 1,    /* lane % k, the default */
    GPUCHAR_LANES_CONTIGUOUS = 2, /* lane * k / 32 */
    GPUCHAR_LANES_RANDOM = 3,     /* a shuffle of the strided map, drawn from `seed` */
    GPUCHAR_LANES_GIVEN = 4       /* `lanes`; its number of distinct paths is the only k */
};

typedef struct gpuchar_divergence_sweep_options {
    size_t struct_size;
    uint32_t ways[32];     /* the k to measure, each 1..32, in this order */
    uint32_t ways_count;   /* 0: 1, 2, 4, 8, 16, 32; `ways` is then all zeros */
    uint32_t kind;         /* GPUCHAR_PATH_...; 0: FP32 */
    uint32_t lane_map;     /* GPUCHAR_LANES_...; 0: strided */
    uint32_t body;         /* chained instructions per loop iteration: 64, 128, 256 or 512; 0: 128 */
    uint32_t iterations;   /* loop iterations per path, 4..65536; 0: chosen so that a path takes about 32,000 cycles */
    uint32_t launches;     /* timed launches per point, 5..10000; 0: 201, as in the paper */
    uint32_t counters;     /* GPUCHAR_COUNTERS_... */
    uint32_t require;      /* GPUCHAR_REQUIRE_...; not GPUCHAR_REQUIRE_COUNTED with GPUCHAR_COUNTERS_OFF */
    uint32_t keep_samples; /* 1: the result holds the cycles of each launch */
    uint32_t seed;         /* of the random lane map and of the operands; 0: 1 */
    uint32_t lanes[32];    /* path 0..31 of each lane, for GPUCHAR_LANES_GIVEN; else all zeros */
} gpuchar_divergence_sweep_options;

/* One k. Frozen. */
typedef struct gpuchar_divergence_point {
    uint32_t ways;            /* k */
    uint32_t known;           /* GPUCHAR_DIVERGENCE_POINT_... */
    gpuchar_stat cycles;      /* of the whole divergent region, T(k) */
    double ratio;             /* T(k) / mean cycles of one path */
    double predicted_cycles;  /* s k + c of the fit */
    double efficiency;        /* active threads per instruction inside the paths: counters of two lengths, subtracted */
    double efficiency_kernel; /* the same of the whole kernel, prologue included: what a profiler shows */
    uint64_t executed_count;  /* warp instructions that the paths executed, by the counters */
    uint64_t expected_count;  /* the same by the machine code: k paths x loop length x iterations */
    uint64_t sample_offset;   /* of this point's launches in `samples`, when kept */
} gpuchar_divergence_point;

/* Bits of gpuchar_divergence_point.known. */
enum {
    GPUCHAR_DIVERGENCE_POINT_COUNTERS = 1u << 0,  /* efficiency, efficiency_kernel, executed_count */
    GPUCHAR_DIVERGENCE_POINT_RATIO = 1u << 1,     /* ratio */
    GPUCHAR_DIVERGENCE_POINT_PREDICTED = 1u << 2, /* predicted_cycles (needs two or more k) */
    GPUCHAR_DIVERGENCE_POINT_EXPECTED = 1u << 3   /* expected_count */
};

/* Bits of gpuchar_divergence_sweep_result.known. */
enum {
    GPUCHAR_DIVERGENCE_TIMED = 1u << 0,     /* path_mean_cycles, flatness, the times of the call */
    GPUCHAR_DIVERGENCE_RATIO32 = 1u << 1,   /* ratio_32 */
    GPUCHAR_DIVERGENCE_VALIDATED = 1u << 2, /* validation_... */
    GPUCHAR_DIVERGENCE_DECODED = 1u << 3,   /* code facts */
    GPUCHAR_DIVERGENCE_INTERCEPT = 1u << 4  /* intercept_ratio */
};

typedef struct gpuchar_divergence_sweep_result {
    size_t struct_size;
    uint32_t kind; /* the options in force */
    uint32_t lane_map;
    uint32_t body;
    uint32_t iterations;
    uint32_t launches;
    uint32_t seed;
    uint32_t warmup_launches;
    uint32_t known;                   /* GPUCHAR_DIVERGENCE_... */
    gpuchar_divergence_point *points; /* one per k, in the order asked; owned by the result */
    size_t point_count;
    double *samples; /* cycles of each launch, point after point; owned by the result */
    size_t sample_count;
    gpuchar_stat paths[32];       /* cycles of each path alone (all lanes on it) */
    gpuchar_stat sm_clock_hz;     /* of each launch: its cycles / its globaltimer nanoseconds, in steps of that timer */
    gpuchar_fit slope;            /* s of T(k) = s k + c, cycles per path */
    gpuchar_fit intercept;        /* c, cycles */
    double slope_robust;          /* Theil-Sen estimate of s, cycles per path; 0 when slope is unknown */
    double path_mean_cycles;      /* mean over the paths of their medians */
    double flatness;              /* (largest - smallest path median) / mean */
    double ratio_32;              /* T(32) / path_mean_cycles */
    double intercept_ratio;       /* |c| / s */
    double validation_convergent; /* active threads per instruction of three separate kernels of known divergence: 32 */
    double validation_two_way;    /* 16 */
    double validation_full;       /* 1 */
    uint64_t loop_instructions;   /* machine code: instructions of one iteration, chain and loop control */
    uint64_t loop_stall_cycles;   /* machine code: sum of the assembler's stall counts of one iteration */
    uint64_t code_bytes;          /* machine code: size of the timed region */
    uint64_t dispatch_decisions;  /* machine code: two-way decisions that tell the paths apart; 31 for 32 paths */
    uint64_t compile_ns;          /* 0 when the kernels came from the cache */
    uint64_t prove_ns;
    uint64_t launches_ns; /* device time of all timing launches and their warm-up, by events */
    uint64_t counters_ns; /* host time of reading the counters, set-up included; see gpuchar_experiment_run_all */
    uint64_t call_ns;     /* host time of the whole call; see gpuchar_experiment_run_all */
    uint64_t device_memory_bytes; /* the call's own allocations */
    gpuchar_evidence evidence;
} gpuchar_divergence_sweep_result;

GPUCHAR_DEFINE_MAKER(gpuchar_divergence_sweep_options)
GPUCHAR_DEFINE_MAKER(gpuchar_divergence_sweep_result)
#define GPUCHAR_DIVERGENCE_SWEEP_OPTIONS_INIT gpuchar_divergence_sweep_options_make()
#define GPUCHAR_DIVERGENCE_SWEEP_RESULT_INIT gpuchar_divergence_sweep_result_make()
GPUCHAR_API void gpuchar_divergence_sweep_options_init(gpuchar_divergence_sweep_options *options, size_t size);
GPUCHAR_API void gpuchar_divergence_sweep_result_init(gpuchar_divergence_sweep_result *result, size_t size);
GPUCHAR_API void gpuchar_divergence_sweep_result_free(gpuchar_divergence_sweep_result *result);

/*
 * Measures T(k), the cycles of a region in which one warp splits into k paths of equal work, for each k asked, and
 * fits T(k) = s k + c. A part of a recorded sweep is answered with numbers of that part only: what was of the whole call
 * (sm_clock_hz, launches_ns, counters_ns, call_ns, device_memory_bytes) is unknown there, 0. One kernel with 32 paths and a lane map given at run time serves every k. Source: "Characterizing
 * Warp Divergence from Pascal to Blackwell", sections III and IV. Since 0.1.
 * GPUCHAR_FLAG_OFF_LAW: a T(k) more than 2 % off k times path_mean_cycles, paths more than 2 % apart (flatness), or an r2 of
 * the fit below 0.9995.
 * GPUCHAR_CAVEAT: not proved, unstable, throttled, off the law or compile-only (evidence.flags, evidence.proof_status).
 * Options that contradict each other, so that one of them would be ignored, are E_INVALID_ARGUMENT.
 * Errors: E_INVALID_ARGUMENT, E_STRUCT_SIZE, E_LIMIT, E_BUSY, E_CANCELLED, E_NOT_PROVED (required, or the paths are not
 * what they should be), counters required: those of gpuchar_counters_read; those of gpuchar_compile; E_CUDA,
 * E_OUT_OF_DEVICE_MEMORY, E_CONTEXT_LOST, E_MEASUREMENT, E_NOT_RECORDED, E_NOT_APPLICABLE (counters or steady samples
 * required of a compile-only session).
 */
GPUCHAR_API gpuchar_status gpuchar_divergence_sweep(gpuchar_session *session,
                                                    const gpuchar_divergence_sweep_options *options,
                                                    gpuchar_divergence_sweep_result *result);

GPUCHAR_END_DECLS

#endif
