/* A two-way decision in two forms: what a branch costs, what its predicated form costs, and when the difference is gone. */
#ifndef GPUCHAR_PREDICATION_H
#define GPUCHAR_PREDICATION_H

#include <gpuchar/counters.h>
#include <gpuchar/experiment.h>
#include <gpuchar/stat.h>

GPUCHAR_BEGIN_DECLS

/* The forms compared, as indices. Arms are chains of dependent multiply-adds of equal length. */
enum {
    GPUCHAR_FORM_CONVERGENT = 0, /* the branch with all lanes on one arm: what one arm costs */
    GPUCHAR_FORM_BRANCH = 1,     /* odd lanes on the one arm, even lanes on the other: one after the other */
    GPUCHAR_FORM_PREDICATED =
        2 /* all lanes through both arms, side by side, and each takes its own result: no branch */
};
#define GPUCHAR_FORMS 3

typedef struct gpuchar_predication_compare_options {
    size_t struct_size;
    uint32_t warps[32];    /* warps on the SM to measure with, each 1..32, in this order */
    uint32_t warps_count;  /* 0: 1, 2, 4, 8, 12, 16, 24, 32; `warps` is then all zeros */
    uint32_t body;         /* multiply-adds of each arm per loop iteration, 64 or 128; 0: 64. Each form is measured with
                              this body and with a longer one, of 48 more */
    uint32_t iterations;   /* loop iterations of both, 4..65536; 0: the longer body's arm takes about 65,000 cycles */
    uint32_t launches;     /* timed launches per form, body and number of warps, 5..10000; 0: 21 */
    uint32_t counters;     /* GPUCHAR_COUNTERS_... */
    uint32_t require;      /* GPUCHAR_REQUIRE_...; not GPUCHAR_REQUIRE_COUNTED with GPUCHAR_COUNTERS_OFF */
    uint32_t keep_samples; /* 1: the result holds the cycles of each launch */
    uint32_t seed;         /* of the operands; 0: 1 */
} gpuchar_predication_compare_options;

/* One form with one of the two bodies, one warp: machine code and counters. Frozen. */
typedef struct gpuchar_predication_form {
    uint32_t form;              /* GPUCHAR_FORM_... */
    uint32_t known;             /* GPUCHAR_PREDICATION_FORM_... */
    uint64_t body;              /* multiply-adds of each arm per loop iteration */
    uint64_t loop_instructions; /* machine code: instructions of one iteration of one loop */
    uint64_t loop_stall_cycles; /* machine code: sum of the assembler's stall counts of one iteration of one loop */
    uint64_t code_bytes;        /* machine code: size of the timed region */
    uint64_t decisions;         /* machine code: two-way decisions in the timed region; 0 in the predicated form */
    uint64_t expected_count;    /* machine code: warp instructions that one warp executes in the loops */
    uint64_t executed_count;    /* the same by the counters of two numbers of iterations, subtracted */
    double efficiency;          /* active threads per instruction in the loops, by the same counters */
} gpuchar_predication_form;

/* Bits of gpuchar_predication_form.known. */
enum {
    GPUCHAR_PREDICATION_FORM_DECODED = 1u << 0, /* what the machine code tells */
    GPUCHAR_PREDICATION_FORM_COUNTERS = 1u << 1 /* executed_count, efficiency */
};

/*
 * What one form costs with some warps. A total holds more than its links: the start, the first fetch of the code, the
 * clock reads, and once per iteration the loop's counter and its branch, which takes longer or shorter by the loop's place
 * in the instruction cache. All that is in the totals of both bodies, and not in their difference. A link of a form is
 * one multiply-add in each of its arms. Frozen.
 */
typedef struct gpuchar_predication_cost {
    uint32_t form;                  /* GPUCHAR_FORM_... */
    uint32_t known;                 /* GPUCHAR_PREDICATION_COST_... */
    gpuchar_stat short_cycles;      /* total with the shorter body: from the first warp's start to the last one's end */
    gpuchar_stat long_cycles;       /* the same with the longer body in as many iterations */
    double cycles_per_link;         /* slope: (long - short) / (iterations * (long_body - body)), by the medians */
    double cycles_per_link_low;     /* the same by the ends of the medians' 95 % intervals that make it least */
    double cycles_per_link_high;    /* and most: what the scatter of the launches leaves open */
    double floor_cycles_per_link;   /* no link costs less, by the machine code; see gpuchar_predication_compare */
    double ceiling_cycles_per_link; /* none costs more: long / (iterations * long_body) */
    double overhead_cycles;         /* what either total holds beside its links: short - iterations * body * slope */
    double instructions_per_cycle;  /* warp instructions of the loops per cycle of the SM, by the longer body's total */
} gpuchar_predication_cost;

/* Bits of gpuchar_predication_cost.known. */
enum {
    GPUCHAR_PREDICATION_COST_SLOPE = 1u << 0,  /* cycles_per_link and its ends, overhead_cycles */
    GPUCHAR_PREDICATION_COST_ISSUE = 1u << 1,  /* instructions_per_cycle */
    GPUCHAR_PREDICATION_COST_FLOOR = 1u << 2,  /* floor_cycles_per_link */
    GPUCHAR_PREDICATION_COST_CEILING = 1u << 3 /* ceiling_cycles_per_link */
};

/* One number of warps, all in one block on one SM. Frozen. */
typedef struct gpuchar_predication_point {
    uint32_t warps;
    uint32_t known;                    /* GPUCHAR_PREDICATION_POINT_... */
    gpuchar_predication_cost costs[3]; /* by GPUCHAR_FORM_... */
    double branch_ratio;               /* of cycles_per_link: branch / convergent */
    double predicated_ratio;           /* predicated / convergent */
    double gain;                       /* branch / predicated */
    uint64_t sample_offset;            /* of this point's launches in `samples`, when kept */
} gpuchar_predication_point;

/* Bits of gpuchar_predication_point.known. */
enum {
    GPUCHAR_PREDICATION_POINT_RATIOS = 1u << 0 /* branch_ratio, predicated_ratio, gain */
};

/* What the compiler itself makes of `if ... else` with arms of one length. What a kernel without a decision holds as well,
 * the entry code of some architectures, is left out. Frozen. */
typedef struct gpuchar_predication_length {
    uint32_t length;        /* dependent multiply-adds of each arm */
    uint32_t branches;      /* conditional branches found */
    uint32_t predicated;    /* instructions found under a predicate, branches and ends left out */
    uint32_t selects;       /* found: instructions that take one of two values */
    uint32_t multiply_adds; /* found: twice `length` when both arms are there */
} gpuchar_predication_length;

/* Bits of gpuchar_predication_compare_result.known. */
enum {
    GPUCHAR_PREDICATION_TIMED = 1u << 0,  /* saturation_warps, launches_ns */
    GPUCHAR_PREDICATION_LENGTHS = 1u << 1 /* compiler_branch_length */
};

typedef struct gpuchar_predication_compare_result {
    size_t struct_size;
    uint32_t body;      /* the options in force: of the shorter kernels */
    uint32_t long_body; /* of the longer ones */
    uint32_t iterations;
    uint32_t launches;
    uint32_t seed;
    uint32_t warmup_launches;
    uint32_t known;                  /* GPUCHAR_PREDICATION_... */
    uint32_t saturation_warps;       /* fewest warps from which on each gain is below 1.05; 0: not within the points */
    uint32_t compiler_branch_length; /* shortest arm from which on the compiler branches; 0: not within the lengths */
    uint32_t reserved;
    gpuchar_predication_form short_forms[3]; /* by GPUCHAR_FORM_..., with the shorter body */
    gpuchar_predication_form long_forms[3];  /* with the longer one */
    gpuchar_predication_point *points;       /* one per number of warps, in the order asked; owned by the result */
    size_t point_count;
    gpuchar_predication_length *lengths; /* 1 to 32; owned by the result */
    size_t length_count;                 /* 0: the machine code cannot be decoded */
    double *samples; /* cycles of each launch: point after point, form after form, shorter body before longer; owned by
                        the result */
    size_t sample_count;
    uint64_t compile_ns; /* 0 when the kernels came from the cache */
    uint64_t prove_ns;
    uint64_t launches_ns; /* device time of all timing launches and their warm-up, by events */
    uint64_t counters_ns; /* host time of reading the counters, set-up included; see gpuchar_experiment_run_all */
    uint64_t call_ns;     /* host time of the whole call; see gpuchar_experiment_run_all */
    uint64_t device_memory_bytes; /* the call's own allocations */
    gpuchar_evidence evidence;    /* counts are those of one warp through the branch with the longer body */
} gpuchar_predication_compare_result;

GPUCHAR_DEFINE_MAKER(gpuchar_predication_compare_options)
GPUCHAR_DEFINE_MAKER(gpuchar_predication_compare_result)
#define GPUCHAR_PREDICATION_COMPARE_OPTIONS_INIT gpuchar_predication_compare_options_make()
#define GPUCHAR_PREDICATION_COMPARE_RESULT_INIT gpuchar_predication_compare_result_make()
GPUCHAR_API void gpuchar_predication_compare_options_init(gpuchar_predication_compare_options *options, size_t size);
GPUCHAR_API void gpuchar_predication_compare_result_init(gpuchar_predication_compare_result *result, size_t size);
GPUCHAR_API void gpuchar_predication_compare_result_free(gpuchar_predication_compare_result *result);

/*
 * Times a two-way decision as a branch, with all lanes on one arm, and in its predicated form, for each number of warps
 * asked. The predicated form executes as many multiply-adds as the branch: what it gains is that the two arms are
 * independent, so that the one fills the cycles in which the other waits. It ends where enough warps do the same.
 * Each form is measured with two bodies, of which one is longer, in the same number of iterations. Ratios and gain are
 * those of the slopes, cycles per link. Ratios of totals also hold what each iteration and each launch costs beside
 * its links, up to some percent; both totals are told beside the slopes.
 * What an iteration costs beside its links must be the same with both bodies, or the difference stays in the slope. So both
 * loops begin at the same place of a line of instruction cache and are short: with body 64 at most 3.6 KiB of code, with
 * 128 5.7 KiB. On an H200 loops up to 4 KiB cost the same, one of 8 KiB ten cycles more.
 * Where warps contend for issue slots it is not the same for all that, and a slope can come out that no machine can reach.
 * So it has two bounds. The floor is what the links of the decoded loops demand: of one warp, by the assembler's stall counts
 * in the loops that it walks, or of all, at one instruction a cycle and scheduler, whichever is more. Schedulers are four on
 * an SM, as sm_70 to sm_121 have; of other architectures the stall counts alone make the floor, and without decoded loops
 * there is none and nothing is judged by it. The ceiling is the longer body's total by its links. A slope more than 0.5 %
 * below its floor or above its ceiling is unknown, and so are the ratios of its point; the cost is between the two.
 * saturation_warps takes for an unknown slope the branch's ceiling or the predicated form's floor, so that the gain is no
 * more than that; a point that this does not decide counts as one with a gain.
 * Beside it, without running anything: up to which length of the arms the compiler predicates by itself.
 * A part of a recorded result is answered with numbers of that part only: what was of the whole call (launches_ns,
 * counters_ns, call_ns, device_memory_bytes, the clock) is unknown there, 0. Source: "Characterizing Warp Divergence from
 * Pascal to Blackwell", section IV-C. Since 0.1.
 * GPUCHAR_FLAG_OFF_LAW: a longer body that takes no more cycles than the shorter one, or fewer than its links can; or a
 * slope below the floor or above the ceiling: the cost of an iteration beside its links differed between the bodies, or
 * the launches scatter by more than that (GPUCHAR_FLAG_UNSTABLE). That slope is unknown.
 * GPUCHAR_CAVEAT: not proved, unstable, off the law, throttled or compile-only (evidence.flags, evidence.proof_status).
 * Proved means also that the loops of the two bodies hold as many instructions beside their links, and that each link of
 * the longer one adds as many cycles by the stall counts.
 * Errors: E_INVALID_ARGUMENT, E_STRUCT_SIZE, E_LIMIT, E_BUSY, E_CANCELLED, E_NOT_PROVED (required), counters required:
 * those of gpuchar_counters_read; those of gpuchar_compile; E_CUDA, E_OUT_OF_DEVICE_MEMORY, E_CONTEXT_LOST,
 * E_MEASUREMENT, E_NOT_RECORDED, E_NOT_APPLICABLE (counters or steady samples required of a compile-only session).
 */
GPUCHAR_API gpuchar_status gpuchar_predication_compare(gpuchar_session *session,
                                                       const gpuchar_predication_compare_options *options,
                                                       gpuchar_predication_compare_result *result);

GPUCHAR_END_DECLS

#endif
