/* Whether the class of a convergence barrier does anything at run time: its bits changed in place, and the kernel run. */
#ifndef GPUCHAR_BARRIER_CLASS_H
#define GPUCHAR_BARRIER_CLASS_H

#include <gpuchar/counters.h>
#include <gpuchar/experiment.h>
#include <gpuchar/stat.h>

GPUCHAR_BEGIN_DECLS

/* Which classes the three instructions get. */
enum {
    GPUCHAR_BARRIER_COMBINATIONS_DEFAULT = 0, /* EVERY */
    GPUCHAR_BARRIER_COMBINATIONS_EVERY = 1,   /* each of BSSY, BSYNC, BREAK each class or as compiled, in all ways */
    GPUCHAR_BARRIER_COMBINATIONS_FEW = 2      /* each class on all three, and on each alone */
};

typedef struct gpuchar_barrier_class_experiment_options {
    size_t struct_size;
    uint32_t warps[8];     /* of a block, each 1..32; a shape for each */
    uint32_t warps_count;  /* 0: 1, 4, 32 */
    uint32_t blocks;       /* 1..64; 0: 4 */
    uint32_t classes;      /* bit n: class n is tried, 1..15; 0: all four */
    uint32_t combinations; /* GPUCHAR_BARRIER_COMBINATIONS_... */
    uint32_t turns;        /* of each kernel's outer loop, 1..1024; 0: 32 */
    uint32_t launches;     /* of each run, 3..64; 0: 5. One more goes before them, whose cycles do not count */
    uint32_t spin_limit;   /* how often a lane asks in one turn at most, 1..65536; 0: 1024 */
    uint32_t limit_ms;     /* for the launches of one run, then its process is ended, 10..60000; 0: 2000 */
    uint32_t lost_limit;   /* so many runs may not come to their end; the rest is left out. 1..10000; 0: 16 */
    uint32_t counters;     /* GPUCHAR_COUNTERS_...; there are none: the kernels run in another process */
    uint32_t require;      /* GPUCHAR_REQUIRE_...; STABLE: see gpuchar_barrier_class_experiment */
    uint32_t reserved;
} gpuchar_barrier_class_experiment_options;

/* The kernels. */
enum {
    GPUCHAR_BARRIER_PROBE_JOIN = 0, /* a branch in a loop, joined in each turn */
    GPUCHAR_BARRIER_PROBE_EXIT = 1, /* lanes leave two nested loops early: holds BREAK */
    GPUCHAR_BARRIER_PROBE_WAIT = 2, /* the two sides of a branch wait for each other in each turn */
    GPUCHAR_BARRIER_PROBES = 3
};

/* How a run ended. */
enum {
    GPUCHAR_BARRIER_NOT_RUN = 0,
    GPUCHAR_BARRIER_ENDED = 1,
    GPUCHAR_BARRIER_TIMED_OUT = 2, /* launched, and not ended after limit_ms; its process was ended */
    GPUCHAR_BARRIER_FAILED = 3     /* launched, and broke the context of its process */
};

/* Bits of gpuchar_barrier_run.known. */
enum {
    GPUCHAR_BARRIER_RUN_COUNTS = 1u << 0, /* launches came to their end: all but end and native_code */
    GPUCHAR_BARRIER_RUN_NATIVE = 1u << 1  /* native_code: FAILED */
};

/*
 * What the launches of one cubin and shape did. Each thread leaves three words: what it worked out with what its partners
 * gave it, how many lanes were there behind each join, and in how many turns it saw the other side. "Differing" are launches
 * in which a thread left another word than in the first launch of the unpatched cubin in this shape. Frozen.
 */
typedef struct gpuchar_barrier_run {
    uint32_t end; /* GPUCHAR_BARRIER_..., of several runs the worst */
    uint32_t known;
    uint32_t runs;             /* made: each loads the cubin and launches it */
    uint32_t launches;         /* that came to their end, those of the warm-up among them */
    uint32_t differing;        /* in any of the three words: the output */
    uint32_t values_differing; /* in what was worked out and exchanged */
    uint32_t met_differing;    /* in how many lanes had met */
    uint32_t seen_differing;   /* in the turns in which the other side was seen */
    uint64_t met_min;          /* lanes there behind the joins, all threads together; fewest of all launches */
    uint64_t met_max;
    uint64_t seen_min; /* turns in which a thread saw the other side, all threads together */
    uint64_t seen_max;
    uint64_t spins_min; /* how often the threads asked, all together: may differ from launch to launch */
    uint64_t spins_max;
    int64_t native_code; /* the driver's; its name is in the log */
    gpuchar_stat cycles; /* of the longest warp of each launch, without warm-ups */
} gpuchar_barrier_run;

/* Bits of gpuchar_barrier_kernel.known. */
enum { GPUCHAR_BARRIER_CODE = 1u << 0 /* what the machine code holds */ };

/* One kernel as it was compiled, and its control. Frozen. */
typedef struct gpuchar_barrier_kernel {
    uint32_t probe;
    gpuchar_status proof_status; /* GPUCHAR_OK: proved, see gpuchar_barrier_class_experiment */
    uint32_t known;              /* GPUCHAR_BARRIER_CODE */
    uint32_t instructions;
    uint32_t bssy[4]; /* how many have each class, as compiled */
    uint32_t bsync[4];
    uint32_t breaks[4];
    uint32_t bssy_in_loops; /* between the two clock reads, and come to more than once */
    uint32_t bsync_in_loops;
    uint32_t breaks_in_loops;
    uint32_t stores_disabled;  /* in the control */
    gpuchar_barrier_run store; /* the control: with its store disabled every launch must differ */
} gpuchar_barrier_kernel;

/* Bits of gpuchar_barrier_shape.known. */
enum { GPUCHAR_BARRIER_NOISE = 1u << 0 /* median_min to noise_cycles */ };

/* The unpatched cubin in one shape: one run more than patched ones, at random among them. Frozen. */
typedef struct gpuchar_barrier_shape {
    uint32_t probe;
    uint32_t warps;
    uint32_t blocks;
    uint32_t known;
    gpuchar_barrier_run run;
    double median_cycles; /* of the runs' medians: the median, lowest, highest */
    double median_min_cycles;
    double median_max_cycles;
    double noise_cycles; /* their standard deviation: how much a run's median moves when nothing was changed */
} gpuchar_barrier_shape;

#define GPUCHAR_BARRIER_AS_COMPILED 4

/* Bits of gpuchar_barrier_case.known. */
enum {
    GPUCHAR_BARRIER_DIFFERENCE = 1u << 0, /* difference_cycles and outside */
    GPUCHAR_BARRIER_UNITS = 1u << 1       /* difference_noise: there was noise, or no difference */
};

/* One edit in one shape. Frozen. */
typedef struct gpuchar_barrier_case {
    uint32_t probe;
    uint32_t warps;
    uint32_t bssy; /* the class they got, 0..3, or GPUCHAR_BARRIER_AS_COMPILED */
    uint32_t bsync;
    uint32_t breaks;
    uint32_t edited;  /* instructions that got a class */
    uint32_t changed; /* of them those that had another one */
    uint32_t known;
    uint32_t outside; /* 1: its median lies beyond all medians of unpatched runs in this shape */
    uint32_t reserved;
    double difference_cycles; /* its median less that of the unpatched runs */
    double difference_noise;  /* the same in units of their noise_cycles */
    gpuchar_barrier_run run;
} gpuchar_barrier_case;

/* Bits of gpuchar_barrier_class_experiment_result.known. */
enum { GPUCHAR_BARRIER_LAUNCHED = 1u << 0 /* launches_ns and the sums over cases */ };

typedef struct gpuchar_barrier_class_experiment_result {
    size_t struct_size;
    uint32_t blocks; /* the options in force */
    uint32_t classes;
    uint32_t combinations;
    uint32_t turns;
    uint32_t launches;
    uint32_t spin_limit;
    uint32_t limit_ms;
    uint32_t lost_limit;
    uint32_t
        field_exists; /* 1: the chip has the class field. 0: before sm_100; what was changed are reserved bits, and */
                      /* this is not the paper's experiment */
    uint32_t known;
    uint32_t cases_run;       /* cases whose run was made */
    uint32_t cases_not_ended; /* of them those that did not end or broke their context */
    uint32_t cases_differing; /* those that ended, with another output in some launch */
    uint32_t cases_outside;   /* those that ended, with a median of cycles outside of the unpatched runs' */
    double
        cases_outside_by_chance; /* how many there would be, were the patched runs like the unpatched: 2 / (runs + 1) each */
    gpuchar_barrier_kernel kernels[3];
    gpuchar_barrier_shape *shapes; /* each kernel in each shape; owned by the result */
    size_t shape_count;
    gpuchar_barrier_case *cases; /* owned by the result */
    size_t case_count;
    uint64_t compile_ns; /* 0 when the kernels came from the cache */
    uint64_t prove_ns;
    uint64_t launches_ns; /* host time of the launches in the other process, from when it is ready */
    uint64_t call_ns;
    gpuchar_evidence evidence; /* no counts */
} gpuchar_barrier_class_experiment_result;

GPUCHAR_DEFINE_MAKER(gpuchar_barrier_class_experiment_options)
GPUCHAR_DEFINE_MAKER(gpuchar_barrier_class_experiment_result)
#define GPUCHAR_BARRIER_CLASS_EXPERIMENT_OPTIONS_INIT gpuchar_barrier_class_experiment_options_make()
#define GPUCHAR_BARRIER_CLASS_EXPERIMENT_RESULT_INIT gpuchar_barrier_class_experiment_result_make()
GPUCHAR_API void gpuchar_barrier_class_experiment_options_init(gpuchar_barrier_class_experiment_options *options,
                                                               size_t size);
GPUCHAR_API void gpuchar_barrier_class_experiment_result_init(gpuchar_barrier_class_experiment_result *result,
                                                              size_t size);
GPUCHAR_API void gpuchar_barrier_class_experiment_result_free(gpuchar_barrier_class_experiment_result *result);

/*
 * From sm_100 on BSSY, BSYNC and BREAK carry a class of two bits: none, .RELIABLE, .RECONVERGENT. Three kernels of divergence
 * inside loops are compiled, the classes changed in place, each patched cubin run in gpuchar-worker, and compared with runs
 * of the unpatched one among them, in random order: whether it ends, the output of every thread, how many lanes meet behind each join, whether
 * the sides of a branch see each other, and cycles. The control is a store of the same cubin disabled by its
 * guard: when the output stays, the driver runs other bytes than it is given. On chips before sm_100 the same is done to the
 * reserved bits. Source: "Characterizing Warp Divergence from Pascal to Blackwell", section V-C, which leaves out
 * divergence in loops and more than one warp. Since 0.1.
 *
 * That a patched cubin differs, does not end or breaks its context is a result, not an error. Cycles are not judged: the
 * difference stands in units of what unpatched runs differ among themselves. GPUCHAR_FLAG_UNSTABLE: unpatched launches
 * differed among themselves, or those of one edit did, or runs were left out (lost_limit). GPUCHAR_FLAG_OFF_LAW: an unpatched
 * kernel did not come to its end, or the control did not change every launch. GPUCHAR_CAVEAT: one of these, not proved, throttled or
 * compile-only.
 *
 * Proved is: each kernel holds BSSY and BSYNC (GPUCHAR_BARRIER_PROBE_EXIT: BREAK too) between its two clock reads in a cycle of its
 * control flow; and each patched cubin is the compiled one but for the class bits of the instructions that the case names,
 * instruction by instruction, and byte by byte around them. Not proved: what else the kernels do, which the unpatched runs
 * show, and what the driver makes of a cubin, which the control shows.
 *
 * Errors: those of gpuchar_divergence_sweep (the driver of the worker's process included, with its native code),
 * E_NO_WORKER, E_WORKER, E_WORKER_VERSION, E_TIMEOUT (the worker gives no sign of life, or loading takes minutes),
 * E_NOT_APPLICABLE (counters required; a chip before sm_70, which has no such barriers), E_MEASUREMENT (an unpatched
 * launch left what its kernel cannot leave).
 */
GPUCHAR_API gpuchar_status gpuchar_barrier_class_experiment(gpuchar_session *session,
                                                            const gpuchar_barrier_class_experiment_options *options,
                                                            gpuchar_barrier_class_experiment_result *result);

GPUCHAR_END_DECLS

#endif
