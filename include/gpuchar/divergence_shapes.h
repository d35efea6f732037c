/* Nested and unbalanced divergence: whether a warp takes as long as all that its lanes do, one after the other. */
#ifndef GPUCHAR_DIVERGENCE_SHAPES_H
#define GPUCHAR_DIVERGENCE_SHAPES_H

#include <gpuchar/counters.h>
#include <gpuchar/experiment.h>
#include <gpuchar/stat.h>

GPUCHAR_BEGIN_DECLS

/*
 * The kernel is a binary tree: 31 two-way decisions over a lane's path number, the highest of its five bits first, and
 * a loop at each of the 63 nodes (an inner node works before it decides). Node 0 is the root; the children of node n are
 * 2n + 1 (the bit is 0) and 2n + 2; path p ends at node 31 + p and takes six nodes.
 */
#define GPUCHAR_SHAPE_NODES 63
#define GPUCHAR_SHAPES_GIVEN_MAX 8

/* Shapes by name; u is the option `turns`. With k paths, lane i takes the (i % k)-th of them. */
enum {
    /* Nested: u turns at each node. 1 to 32 paths, spread so that the warp splits at the root first: the path
     * numbers are multiples of 32 / k. */
    GPUCHAR_SHAPE_EARLY_1 = 1,
    GPUCHAR_SHAPE_EARLY_2 = 2,
    GPUCHAR_SHAPE_EARLY_4 = 3,
    GPUCHAR_SHAPE_EARLY_8 = 4,
    GPUCHAR_SHAPE_EARLY_16 = 5,
    GPUCHAR_SHAPE_EARLY_32 = 6,
    /* The same, splitting as late as possible: paths 0 to k - 1 (one path and 32 are the same either way). */
    GPUCHAR_SHAPE_LATE_2 = 7,
    GPUCHAR_SHAPE_LATE_4 = 8,
    GPUCHAR_SHAPE_LATE_8 = 9,
    GPUCHAR_SHAPE_LATE_16 = 10,
    /* Unbalanced: all work stands at the paths' ends, the inner nodes turn once. Two paths, 0 and 16: one with 16 u
     * turns, the other with 16 u, 8 u, 4 u, 2 u, u. */
    GPUCHAR_SHAPE_RATIO_1 = 11,
    GPUCHAR_SHAPE_RATIO_2 = 12,
    GPUCHAR_SHAPE_RATIO_4 = 13,
    GPUCHAR_SHAPE_RATIO_8 = 14,
    GPUCHAR_SHAPE_RATIO_16 = 15,
    GPUCHAR_SHAPE_LINEAR = 16,    /* 32 paths, path p with (p + 1) u / 12 turns */
    GPUCHAR_SHAPE_GEOMETRIC = 17, /* 32 paths, path p with 9 u / 2^((31 - p) / 4) turns */
    GPUCHAR_SHAPE_ONE_LONG = 18,  /* 32 paths, path 0 with 16 u turns, the others with u */
    GPUCHAR_SHAPE_GIVEN = 64      /* in results: one of the caller's own */
};

/* What a warp does: who takes which path, and how often each node's loop turns. Frozen. */
typedef struct gpuchar_divergence_shape {
    uint32_t lanes[32]; /* path 0..31 of each lane */
    uint32_t turns[63]; /* of each node's loop, 1..65536, also of those that no lane comes to */
    uint32_t reserved;  /* 0 */
} gpuchar_divergence_shape;

typedef struct gpuchar_divergence_shapes_options {
    size_t struct_size;
    uint32_t shapes[32];   /* GPUCHAR_SHAPE_..., those to measure, in this order; all zeros behind shapes_count */
    uint32_t shapes_count; /* 0: all named shapes, or none when `given` holds some */
    uint32_t turns;        /* u, 1..4096; 0: 24, so that the longest shape takes some 400,000 cycles */
    uint32_t launches;     /* timed launches per point, 5..10000; 0: 21 */
    uint32_t counters;     /* GPUCHAR_COUNTERS_... */
    uint32_t require;      /* GPUCHAR_REQUIRE_...; not GPUCHAR_REQUIRE_COUNTED with GPUCHAR_COUNTERS_OFF */
    uint32_t keep_samples; /* 1: the result holds the cycles of each launch */
    uint32_t seed;         /* of the operands; 0: 1 */
    uint32_t given_count;  /* how many of `given` are measured, behind the named ones */
    gpuchar_divergence_shape given[GPUCHAR_SHAPES_GIVEN_MAX];
} gpuchar_divergence_shapes_options;

/* One shape. Frozen. */
typedef struct gpuchar_divergence_shapes_point {
    uint32_t shape;          /* GPUCHAR_SHAPE_... */
    uint32_t known;          /* GPUCHAR_SHAPES_POINT_... */
    uint32_t paths;          /* distinct ones */
    uint32_t nodes;          /* distinct ones that some lane comes to */
    uint64_t turns;          /* of all these nodes */
    uint64_t longest_turns;  /* of the path with the most */
    gpuchar_stat cycles;     /* of the whole divergent region */
    double predicted_cycles; /* s turns + c */
    double
        longest_cycles; /* s longest_turns + c: what that path takes alone, and the warp, if paths ran side by side */
    double deviation;   /* cycles / predicted_cycles - 1 */
    double efficiency;  /* active threads per instruction inside the loops: counters of two lengths, subtracted */
    double expected_efficiency; /* the same by the shape: lanes at each node, weighted by its turns */
    uint64_t executed_count;    /* warp instructions that the loops executed, by the counters */
    uint64_t expected_count;    /* the same by the machine code: turns x loop length */
    uint64_t sample_offset;     /* of this point's launches in `samples`, when kept */
    gpuchar_divergence_shape what;
} gpuchar_divergence_shapes_point;

/* Bits of gpuchar_divergence_shapes_point.known. */
enum {
    GPUCHAR_SHAPES_POINT_COUNTERS = 1u << 0,  /* efficiency, executed_count */
    GPUCHAR_SHAPES_POINT_PREDICTED = 1u << 1, /* predicted_cycles, longest_cycles, deviation */
    GPUCHAR_SHAPES_POINT_EXPECTED = 1u << 2   /* expected_count */
};

/* Bits of gpuchar_divergence_shapes_result.known. */
enum {
    GPUCHAR_SHAPES_TIMED = 1u << 0,  /* flatness, largest_deviation, launches_ns */
    GPUCHAR_SHAPES_DECODED = 1u << 1 /* code facts */
};

typedef struct gpuchar_divergence_shapes_result {
    size_t struct_size;
    uint32_t turns; /* the options in force */
    uint32_t launches;
    uint32_t seed;
    uint32_t warmup_launches;
    uint32_t known;                          /* GPUCHAR_SHAPES_... */
    uint32_t body;                           /* chained instructions in each turn of a loop */
    gpuchar_divergence_shapes_point *points; /* in the order asked; owned by the result */
    size_t point_count;
    double *samples; /* cycles of each launch, point after point; owned by the result */
    size_t sample_count;
    gpuchar_stat
        short_paths[32]; /* cycles of each path alone (all lanes on it), `turns` turns at each of its six nodes */
    gpuchar_stat long_paths[32]; /* the same with four times as many turns */
    gpuchar_fit slope;     /* s, cycles per turn, of T = s turns + c through these 64 points: no lane diverges there */
    gpuchar_fit intercept; /* c, cycles */
    gpuchar_fit
        shapes_slope; /* cycles per turn of a line through the shapes' own points; its r2 tells how straight they lie */
    double flatness;  /* (largest - smallest of the 32 paths' own s) / s */
    double largest_deviation;    /* of a shape from the prediction, as a positive number */
    uint64_t loop_instructions;  /* machine code: instructions of one turn, chain and loop control */
    uint64_t loop_stall_cycles;  /* machine code: sum of the assembler's stall counts of one turn */
    uint64_t code_bytes;         /* machine code: size of the timed region */
    uint64_t dispatch_decisions; /* machine code: two-way decisions that tell the paths apart: 31 */
    uint64_t compile_ns;         /* 0 when the kernel came from the cache */
    uint64_t prove_ns;
    uint64_t launches_ns; /* device time of all timing launches and their warm-up, by events */
    uint64_t counters_ns; /* host time of reading the counters, set-up included; see gpuchar_experiment_run_all */
    uint64_t call_ns;     /* host time of the whole call; see gpuchar_experiment_run_all */
    uint64_t device_memory_bytes; /* the call's own allocations */
    gpuchar_evidence evidence;
} gpuchar_divergence_shapes_result;

GPUCHAR_DEFINE_MAKER(gpuchar_divergence_shapes_options)
GPUCHAR_DEFINE_MAKER(gpuchar_divergence_shapes_result)
#define GPUCHAR_DIVERGENCE_SHAPES_OPTIONS_INIT gpuchar_divergence_shapes_options_make()
#define GPUCHAR_DIVERGENCE_SHAPES_RESULT_INIT gpuchar_divergence_shapes_result_make()
GPUCHAR_API void gpuchar_divergence_shapes_options_init(gpuchar_divergence_shapes_options *options, size_t size);
GPUCHAR_API void gpuchar_divergence_shapes_result_init(gpuchar_divergence_shapes_result *result, size_t size);
GPUCHAR_API void gpuchar_divergence_shapes_result_free(gpuchar_divergence_shapes_result *result);

/*
 * Measures warps that split into unequal paths and that split again and again, beside what the linear model predicts: a
 * warp takes s cycles for each turn of each node that any of its lanes comes to, and c cycles. s and c come from the same
 * kernel with all lanes on one path, each of the 32 in two lengths; nothing is fitted to the shapes. GPUCHAR_FLAG_OFF_LAW:
 * a shape is more than 2 % away from its prediction, or the paths are further than that apart; shapes of few turns are,
 * because coming to a node takes some time too. A part of a recorded result is answered with numbers of that part only:
 * what was of the whole call (launches_ns, counters_ns, call_ns, device_memory_bytes, evidence.sm_clock_hz) is unknown
 * there. Source: "Characterizing Warp Divergence from Pascal to Blackwell", sections III and IV. Since 0.1.
 * GPUCHAR_CAVEAT: not proved, unstable, off the law, throttled or compile-only (evidence.flags, evidence.proof_status).
 * Options that would be ignored are E_INVALID_ARGUMENT.
 * Errors: E_INVALID_ARGUMENT, E_STRUCT_SIZE, E_LIMIT, E_BUSY, E_CANCELLED, E_NOT_PROVED (required), counters required:
 * those of gpuchar_counters_read; those of gpuchar_compile; E_CUDA, E_OUT_OF_DEVICE_MEMORY, E_CONTEXT_LOST, E_MEASUREMENT,
 * E_NOT_RECORDED, E_NOT_APPLICABLE (counters or steady samples required of a compile-only session).
 */
GPUCHAR_API gpuchar_status gpuchar_divergence_shapes(gpuchar_session *session,
                                                     const gpuchar_divergence_shapes_options *options,
                                                     gpuchar_divergence_shapes_result *result);

GPUCHAR_END_DECLS

#endif
