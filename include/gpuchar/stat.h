/*
 * Summaries and evidence: the frozen building blocks of every result. They carry no struct_size and never change.
 * A summary with samples == 0 is unknown; no field is ever NaN or infinite.
 */
#ifndef GPUCHAR_STAT_H
#define GPUCHAR_STAT_H

#include <gpuchar/status.h>

GPUCHAR_BEGIN_DECLS

/* Flags of a gpuchar_stat and of a gpuchar_evidence. */
enum {
    GPUCHAR_FLAG_PROVED = 1u << 0,       /* the decoded machine code holds exactly what was intended */
    GPUCHAR_FLAG_COUNTED = 1u << 1,      /* the hardware counters agree */
    GPUCHAR_FLAG_EMULATED = 1u << 2,     /* the instruction is executed as other instructions */
    GPUCHAR_FLAG_THROTTLED = 1u << 3,    /* NVML named a throttle reason during the measurement */
    GPUCHAR_FLAG_UNSTABLE = 1u << 4,     /* spread above the experiment's bound, or the SM clock did not keep still, */
                                         /* or launches that ended in different ways */
    GPUCHAR_FLAG_COMPILE_ONLY = 1u << 5, /* generated, compiled and proved, not run */
    GPUCHAR_FLAG_RECORDED = 1u << 6,     /* read from a recorded profile */
    GPUCHAR_FLAG_OFF_LAW = 1u << 7       /* the samples do not follow the law that was fitted to them, or that the */
                                         /* machine code sets */
};

/* Robust summary of one sampled quantity; the unit is in the name of the field that holds it. */
typedef struct gpuchar_stat {
    double median;
    double mean;
    double min;
    double max;
    double mad;        /* median absolute deviation from the median, not scaled */
    double cv;         /* standard deviation / mean; 0 when the mean is 0 */
    double ci95_low;   /* order-statistic 95 % confidence interval of the median */
    double ci95_high;  /* (min and max when there are too few samples for 95 %) */
    uint64_t samples;  /* 0: unknown */
    uint32_t outliers; /* modified z-score above 3.5, or any deviation when mad is 0; kept, not dropped */
    uint32_t flags;    /* GPUCHAR_FLAG_UNSTABLE */
} gpuchar_stat;

/* A fit through fewer points has no interval: a line meets any two points, which says nothing about its error. */
#define GPUCHAR_FIT_INTERVAL_POINTS 3

/* One fitted parameter of a line or law. */
typedef struct gpuchar_fit {
    double value;
    double ci95_low;  /* 95 % confidence interval by Student's t; with points < GPUCHAR_FIT_INTERVAL_POINTS it is */
    double ci95_high; /* unknown: both are 0 here, null in JSON */
    double r2;        /* coefficient of determination of the whole fit */
    uint64_t points;  /* 0: unknown */
} gpuchar_fit;

/* Bits of gpuchar_evidence.known. */
enum {
    GPUCHAR_EVIDENCE_DECODED = 1u << 0,  /* decoded_count, scaffold_count and mnemonic are known */
    GPUCHAR_EVIDENCE_EXECUTED = 1u << 1, /* executed_count is known */
    GPUCHAR_EVIDENCE_CLOCK = 1u << 2,    /* sm_clock_hz is known */
    GPUCHAR_EVIDENCE_THROTTLE = 1u << 3  /* NVML was asked: no GPUCHAR_FLAG_THROTTLED means not throttled */
};

/*
 * What stands behind a result. Counts are warp instructions of the kind under test that one launch (of the largest
 * point, where there are several) executes in the timed region.
 */
typedef struct gpuchar_evidence {
    uint64_t intended_count;        /* what the kernel's author meant to be there */
    uint64_t decoded_count;         /* what the machine code holds */
    uint64_t executed_count;        /* derived: what the hardware counters saw, less scaffold_count */
    uint64_t scaffold_count;        /* other instructions that the loops around them execute: control, padding. What
                                       stands outside of the loops (dispatch, padding) is proved and not counted */
    double sm_clock_hz;             /* mean SM clock while measuring: elapsed clock64 / elapsed globaltimer */
    char mnemonic[32];              /* of the instruction under test as found in the machine code, "FFMA" */
    gpuchar_status proof_status;    /* GPUCHAR_OK: proved; else why not */
    gpuchar_status counters_status; /* GPUCHAR_OK: counted; else why not */
    uint32_t counter_passes;        /* how often the kernels ran again for the counters */
    uint32_t flags;                 /* GPUCHAR_FLAG_... */
    uint32_t known;                 /* GPUCHAR_EVIDENCE_... */
    uint32_t arch;                  /* architecture of the machine code, 90 for sm_90 */
} gpuchar_evidence;

GPUCHAR_END_DECLS

#endif
