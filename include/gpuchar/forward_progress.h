/* Forward progress inside a warp: whether lanes that wait for other lanes of their own warp ever go on. */
#ifndef GPUCHAR_FORWARD_PROGRESS_H
#define GPUCHAR_FORWARD_PROGRESS_H

#include <gpuchar/counters.h>
#include <gpuchar/experiment.h>
#include <gpuchar/stat.h>

GPUCHAR_BEGIN_DECLS

typedef struct gpuchar_forward_progress_options {
    size_t struct_size;
    uint64_t producer_turns[8];    /* lengths of the producer's work, dependent multiply-adds, each 1..2^32 - 1 */
    uint32_t producer_turns_count; /* 0: 10, 1000, 100000, 10000000 */
    uint32_t spin_limit; /* how often a lane asks at most, 1..2^30; 0: 2^16. Consumers: at least the producer's turns */
    uint32_t launches;   /* of each probe, 1..100; 0: 3. The worst one is told */
    uint32_t limit_ms;   /* from a launch to the kernel's end, then its process is ended, 10..60000; 0: 5000 */
    uint32_t counters;   /* GPUCHAR_COUNTERS_...; there are none: the kernels run in another process */
    uint32_t require;    /* GPUCHAR_REQUIRE_...; STABLE: see gpuchar_forward_progress */
} gpuchar_forward_progress_options;

/* How a probe ended. */
enum {
    GPUCHAR_PROGRESS_NOT_RUN = 0,
    GPUCHAR_PROGRESS_ENDED = 1,      /* every lane got what it waited for */
    GPUCHAR_PROGRESS_SPIN_LIMIT = 2, /* a lane gave up after spin_limit */
    GPUCHAR_PROGRESS_TIMED_OUT =
        3,                      /* the kernel was launched and had not ended after limit_ms; its process was ended */
    GPUCHAR_PROGRESS_FAILED = 4 /* the kernel was launched and broke the context of its process */
};

/* Bits of gpuchar_progress_run.known. */
enum {
    GPUCHAR_PROGRESS_RUN_COUNTS = 1u << 0, /* lanes, spins, cycles and time: every launch came to its end */
    GPUCHAR_PROGRESS_RUN_NATIVE = 1u << 1  /* native_code: FAILED */
};

/* One probe, the worst of all its launches. Frozen. */
typedef struct gpuchar_progress_run {
    uint32_t end;        /* GPUCHAR_PROGRESS_... */
    uint32_t known;      /* GPUCHAR_PROGRESS_RUN_... */
    uint32_t launches;   /* made: none follows one that did not end, or failed */
    uint32_t lanes_done; /* of 32: those that got what they waited for, fewest of all launches */
    uint32_t spins_min;  /* how often a lane asked, over all lanes that ask and all launches */
    uint32_t spins_max;
    uint64_t cycles;     /* of the whole region, last launch */
    uint64_t elapsed_ns; /* of the kernel, by events, last launch */
    int64_t native_code; /* the driver's, CUDA_ERROR_ILLEGAL_ADDRESS is 700; its name is in the log */
} gpuchar_progress_run;

/* Bit of gpuchar_progress_code.known: everything but yields_removed, when proof_status is GPUCHAR_OK. */
enum { GPUCHAR_PROGRESS_CODE_COUNTS = 1u << 0 };

/* What the machine code of a probe's spin loop holds; of a peer wait its two loops, one on each side, added. Frozen. */
typedef struct gpuchar_progress_code {
    gpuchar_status proof_status; /* GPUCHAR_OK: proved; E_NOT_APPLICABLE: a peer wait that holds no YIELD to take out */
    uint32_t instructions;       /* of the loop or loops, padding included */
    uint32_t yields;             /* YIELD: lets other threads of the warp go on */
    uint32_t barriers;           /* BSSY and BSYNC */
    uint32_t breaks;
    uint32_t warpsyncs;
    uint32_t sleeps;         /* NANOSLEEP */
    uint32_t spins_first;    /* 1: the code of the lanes that only wait lies before the other side's */
    uint32_t yields_removed; /* YIELD made NOP before the launch, in the whole kernel */
    uint32_t known;          /* GPUCHAR_PROGRESS_CODE_... */
} gpuchar_progress_code;

/* One length of the producer's work. Frozen. */
typedef struct gpuchar_progress_producer {
    uint64_t turns;
    gpuchar_progress_run run;
} gpuchar_progress_producer;

/*
 * One form of the peer wait: lane 0 calls and waits for the answer, the other lanes wait for the call, and one answers. Whichever
 * side of the branch runs first, it cannot end before the other one has run: without a switch between the two
 * in the middle nobody goes on. Frozen.
 */
typedef struct gpuchar_progress_peer {
    gpuchar_progress_run run;
    gpuchar_progress_code code;
} gpuchar_progress_peer;

/* Bits of gpuchar_forward_progress_result.known. */
enum {
    GPUCHAR_PROGRESS_LAUNCHED = 1u << 0, /* launches_ns */
    GPUCHAR_PROGRESS_LOCK = 1u << 1      /* lock_served, lock_broken and lock_turns: every launch of that probe ended */
};

typedef struct gpuchar_forward_progress_result {
    size_t struct_size;
    uint32_t spin_limit; /* the options in force */
    uint32_t launches;
    uint32_t limit_ms;
    uint32_t known; /* GPUCHAR_PROGRESS_... */
    uint32_t
        lock_served; /* lanes that had the lock, each alone and once; of the worst launch: one in which it broke, */
    uint32_t
        lock_broken; /* and of those and of others the one that served the fewest. Launches in which lanes had it */
    uint32_t
        lock_turns[32]; /* together (two with one turn). When each lane had it in that launch, 1 the first; 0: never */
    gpuchar_progress_run lock;
    gpuchar_progress_code lock_code;
    gpuchar_progress_producer *producers; /* one for each length, in the order asked; owned by the result */
    size_t producer_count;
    gpuchar_progress_code producer_code;
    gpuchar_progress_peer peers[4]; /* two orders of the sides in the source; the same two without YIELD */
    uint64_t compile_ns;            /* 0 when the kernels came from the cache */
    uint64_t prove_ns;
    uint64_t launches_ns; /* host time of the launches in the other process, from when it is ready */
    uint64_t call_ns;
    gpuchar_evidence evidence; /* no counts: what is proved is where the loops stand, see the codes */
} gpuchar_forward_progress_result;

GPUCHAR_DEFINE_MAKER(gpuchar_forward_progress_options)
GPUCHAR_DEFINE_MAKER(gpuchar_forward_progress_result)
#define GPUCHAR_FORWARD_PROGRESS_OPTIONS_INIT gpuchar_forward_progress_options_make()
#define GPUCHAR_FORWARD_PROGRESS_RESULT_INIT gpuchar_forward_progress_result_make()
GPUCHAR_API void gpuchar_forward_progress_options_init(gpuchar_forward_progress_options *options, size_t size);
GPUCHAR_API void gpuchar_forward_progress_result_init(gpuchar_forward_progress_result *result, size_t size);
GPUCHAR_API void gpuchar_forward_progress_result_free(gpuchar_forward_progress_result *result);

/*
 * Three probes of one warp, all bounded inside their kernels, all in gpuchar-worker, so that neither the caller's context
 * nor the GPU can be lost: 32 lanes that want one lock; one lane that works while the others ask for its result; lanes
 * that wait for a lane of the other side of a branch which waits for them, in both orders of the code, and again with YIELD
 * taken out of the machine code. Source: "Characterizing Warp Divergence from Pascal to Blackwell", section IV-E, which
 * leaves the last one out. Since 0.1.
 *
 * A probe that gives up or does not end is a result, not an error. Stable means that of each probe all launches were made
 * and all ended alike, with as many lanes done; GPUCHAR_FLAG_UNSTABLE: they did not, or no launch followed one that did
 * not end. How often lanes asked may differ. GPUCHAR_FLAG_OFF_LAW: something that the machine code cannot do, a lock that
 * two lanes had together, or a kernel that broke its context. GPUCHAR_CAVEAT: one of these, not proved, throttled or
 * compile-only.
 *
 * Proved is what the lanes do, each followed through the machine code with others who answer at once, later or never: what
 * they ask, where, and that they give up at spin_limit; each store, fence and swap of the probe in its order, and no other
 * one; the clocks around it. The producer's turns are followed to their end up to 1000, of more turns the beginning; that
 * a launch took so many is only bounded by its cycles. Not proved: the order in which the hardware runs the lanes, which is
 * what is measured, the scheduling that the assembler wrote into the instructions, and YIELD, which is counted.
 *
 * Errors: those of gpuchar_divergence_sweep (the driver of the worker's process included, with its native code),
 * E_NO_WORKER, E_WORKER, E_WORKER_VERSION, E_TIMEOUT (the worker gives no sign of life, or loading takes minutes),
 * E_NOT_APPLICABLE (counters required), E_MEASUREMENT (a probe left what its kernel cannot leave).
 */
GPUCHAR_API gpuchar_status gpuchar_forward_progress(gpuchar_session *session,
                                                    const gpuchar_forward_progress_options *options,
                                                    gpuchar_forward_progress_result *result);

GPUCHAR_END_DECLS

#endif
