/*
 * Where compilers let divergent threads meet again: one corpus through many compilers, assemblers and architectures.
 *
 * Everything here is static: it needs NVRTC libraries (or ready cubins), no GPU, no driver and no session.
 */
#ifndef GPUCHAR_RECONVERGENCE_STUDY_H
#define GPUCHAR_RECONVERGENCE_STUDY_H

#include <gpuchar/runtime.h>

GPUCHAR_BEGIN_DECLS

/* Asked on the calling thread between two compilations: not 0 ends the call with E_CANCELLED. Must not call the library. */
typedef uint32_t (*gpuchar_reconvergence_cancel)(void *user);

/* A source of the caller's, compiled for each architecture. Frozen. */
typedef struct gpuchar_reconvergence_source {
    const char *name; /* NULL: "kernel.cu" */
    const char *text; /* CUDA C++ */
    const char *const *
        flags; /* further NVRTC options, under the rules of gpuchar_compile; PTX for the assemblers is made with them too */
    size_t flag_count;
} gpuchar_reconvergence_source;

/* Ready machine code. Frozen. */
typedef struct gpuchar_reconvergence_cubin {
    const char *name; /* shown in its row; NULL: "cubin" */
    const void *bytes;
    size_t size_bytes;
} gpuchar_reconvergence_cubin;

enum {
    GPUCHAR_RECONVERGENCE_NO_LINES = 1u << 0,    /* compile without -lineinfo: branches are not matched by line */
    GPUCHAR_RECONVERGENCE_NO_COMPILERS = 1u << 1 /* only cubins, or only PTX through assemblers */
};

typedef struct gpuchar_reconvergence_study_options {
    size_t struct_size;
    const char *const *compilers; /* paths of libnvrtc.so.N, at most 64; none: the runtime's */
    size_t compiler_count;
    const char *const *assemblers; /* paths of ptxas programs, at most 64: one PTX goes through each of them. A
                                    path without a slash is not searched for */
    size_t assembler_count;
    const uint32_t *architectures; /* 90 for sm_90, at most 64; none: all that each compiler knows */
    size_t architecture_count;
    const gpuchar_reconvergence_source *sources; /* at most 4096; none, and no cubins: the corpus of 38 kernels */
    size_t source_count;
    const gpuchar_reconvergence_cubin *cubins; /* at most 65536: one row each */
    size_t cubin_count;
    gpuchar_reconvergence_cancel cancel; /* NULL: never */
    void *cancel_user;
    uint32_t ptx_compiler; /* index of the compiler whose PTX the assemblers get. PTX of a newer one is refused by older
                                  assemblers */
    uint32_t ptx_architecture; /* the PTX is made for this one, and runs on it and all later ones; 0: 75 */
    uint32_t deep;             /* 1: the deep nests as well */
    uint32_t keep_kernels;     /* 1: a record of each kernel in each row; 0: of the deep nests' only */
    uint32_t threads;          /* that compile, 1 to 64; 0: as many as the process may use cores */
    uint32_t rounds;           /* resamplings behind each interval, 100 to 1000000; 0: 2000 */
    uint32_t seed;             /* of the resampling; 0: 1 */
    uint32_t work;             /* steps of straight-line work in each arm of the corpus, 1 to 32; 0: 3 */
    uint32_t flags;            /* GPUCHAR_RECONVERGENCE_... */
    uint32_t reserved;
} gpuchar_reconvergence_study_options;

/*
 * Divergent branches by the placement under one rule, GPUCHAR_SASS_PLACED_...: none, at, before, after, aside. Those that
 * close a loop are apart, and of the others those around which no interval is. Frozen.
 */
typedef struct gpuchar_reconvergence_placing {
    uint64_t inside[5];
    uint64_t outside[5];
    uint64_t back[5];
} gpuchar_reconvergence_placing;

/* Reachable intervals of one class, with or without a BREAK of their barrier in them. Frozen. */
typedef struct gpuchar_reconvergence_barrier {
    uint64_t intervals;
    uint64_t innermost[5]; /* divergent branches of which such a one is the innermost, by placement under that rule */
    uint64_t primary[5];   /* and those that the primary rule matches with one */
} gpuchar_reconvergence_barrier;

/* WARPSYNC by what it waits for. Frozen. */
typedef struct gpuchar_reconvergence_warpsync {
    uint64_t all;     /* all 32 threads */
    uint64_t partial; /* another mask, or one in a register */
    uint64_t collective;
    uint64_t exclusive;
} gpuchar_reconvergence_warpsync;

/* What stands in the machine code of one kernel, or of all. A kernel holds the functions in its section. Frozen. */
typedef struct gpuchar_reconvergence_counts {
    uint64_t kernels;
    uint64_t functions; /* that kernels call */
    uint64_t instructions;
    uint64_t unknown; /* of these, with an opcode that is not known */
    uint64_t guarded; /* instructions under a predicate, without control flow */
    uint64_t unread;  /* functions whose control flow could not be read: they count as instructions only */
    /* Reachable branches with two or more ways. */
    uint64_t branches;
    uint64_t divergent;     /* not proved uniform */
    uint64_t uniform_form;  /* uniform by their form */
    uint64_t uniform_data;  /* by their predicate's origin, own analysis */
    uint64_t partial_joins; /* inner intervals around divergent branches whose BSYNC does not post-dominate them */
    uint64_t joined_partly; /* divergent branches with such a one */
    uint64_t irreducible;   /* edges into loops beside their head */
    uint64_t loops;
    gpuchar_reconvergence_placing placings[5]; /* by GPUCHAR_SASS_RULE_... */
    gpuchar_reconvergence_barrier barriers[8]; /* class, then without and with BREAK: 2 * class + broken */
    uint64_t unmatched;                        /* intervals whose BSYNC does not stand where they say */
    uint64_t bssy[4];                          /* instructions by class: bare, reliable, reconvergent, unnamed */
    uint64_t bsync[4];
    uint64_t breaks[4];
    uint64_t bra_u;                 /* BRA.U of opcode 947 */
    uint64_t bra_uniform_predicate; /* BRA of opcode 1547 */
    uint64_t bra_uniform_register;  /* BRA of opcode 1947 */
    uint64_t bra_uniform_compare;   /* of those by uniform predicate, behind a UISETP of it in their block */
    uint64_t bra_div;               /* BRA.DIV */
    uint64_t bra_conv;              /* BRA.CONV */
    gpuchar_reconvergence_warpsync warpsync_kernels;   /* in kernels */
    gpuchar_reconvergence_warpsync warpsync_functions; /* in functions that they call */
    uint64_t bmov;                                     /* BMOV, moves of barrier registers */
    uint64_t bmov_clear;                               /* of these .CLEAR */
    uint64_t bmov_saves;    /* into a general register that is not RZ: a barrier is spilled */
    uint64_t bmov_restores; /* back into a barrier register */
    uint64_t calls;
    uint64_t call_branches; /* CALL.REL.NOINC as a conditional branch */
    uint64_t indirect_branches;
    uint64_t ssy; /* sm_50 to sm_62 */
    uint64_t sync;
    uint64_t pbk;
    uint64_t brk;
    uint64_t pcnt;
    uint64_t cont;
    /* The greatest, not sums. */
    uint64_t depth;         /* intervals around a reachable point */
    uint64_t live_barriers; /* distinct barrier registers among these */
} gpuchar_reconvergence_counts;

/* Branches that meet at their immediate post-dominator, of those inside intervals that match, without back edges. Frozen. */
typedef struct gpuchar_reconvergence_rate {
    double rate;
    double low; /* 95 % interval by resampling kernels */
    double high;
    uint64_t samples; /* branches that match; 0: the rate is unknown */
} gpuchar_reconvergence_rate;

/* How machine code was made. */
enum {
    GPUCHAR_RECONVERGENCE_BY_COMPILER = 0,  /* NVRTC, with its own assembler */
    GPUCHAR_RECONVERGENCE_BY_ASSEMBLER = 1, /* NVRTC to PTX, and that through an assembler */
    GPUCHAR_RECONVERGENCE_READY = 2         /* a cubin of the caller's */
};

/*
 * What the deep nests become. A level is a nested statement of the source. One has no interval when the compiler made it
 * without a barrier: predicated, by a branch outside of all intervals, or joined with another. Frozen.
 */
typedef struct gpuchar_reconvergence_deep {
    uint64_t kernels;           /* whose control flow could be read */
    uint64_t spilled;           /* kernels that save barrier registers: bmov_saves is not 0 */
    uint64_t fewer_levels;      /* kernels whose deepest nest of intervals has fewer levels than the source */
    uint64_t fewer_unspilled;   /* of these, those that save no barrier: a level is given up instead of spilled */
    uint64_t deepest_unspilled; /* most levels of a kernel that saves none */
} gpuchar_reconvergence_deep;

/* One front end, one assembler, one architecture. Frozen. */
typedef struct gpuchar_reconvergence_row {
    char compiler[64]; /* "NVRTC 13.0"; the cubin's name when it was ready */
    char assembler
        [128];     /* as the cubin tells it, "Cuda compilation tools, release 13.0, V13.0.88"; else by its program */
    uint32_t made; /* GPUCHAR_RECONVERGENCE_BY_..., _READY */
    uint32_t compiler_index;    /* in the options; of a ready cubin its index */
    uint32_t assembler_index;   /* in the options, of a row by an assembler */
    uint32_t compiler_version;  /* 13000 for 13.0; 0: not known */
    uint32_t assembler_version; /* the same */
    uint32_t architecture;      /* 90: sm_90 */
    uint32_t ptx_architecture;  /* of a row by an assembler */
    gpuchar_status status;      /* why there is nothing in this row */
    char message[240];          /* and in words */
    uint64_t compile_ns;        /* processor threads' time, all texts; 0 from the cache */
    uint64_t analyze_ns;
    gpuchar_reconvergence_counts counts; /* of the corpus, the sources or the cubin */
    gpuchar_reconvergence_counts nests;  /* of the deep nests */
    gpuchar_reconvergence_deep deep;     /* and what they become */
    gpuchar_reconvergence_rate rates[5]; /* by GPUCHAR_SASS_RULE_..., of `counts` */
} gpuchar_reconvergence_row;

/* One kernel in one row. Frozen. */
typedef struct gpuchar_reconvergence_kernel {
    char name[64];
    uint32_t row;
    uint32_t levels; /* nested statements, of a deep nest; else 0 */
    gpuchar_reconvergence_counts counts;
} gpuchar_reconvergence_kernel;

/*
 * Two rows, by line: the divergent branches of one line of one kernel, without those that close a loop, in the one row
 * and in the other. Frozen.
 */
typedef struct gpuchar_reconvergence_pair {
    uint32_t row_a;
    uint32_t row_b;
    uint64_t alike;     /* placed alike under the primary rule */
    uint64_t otherwise; /* placed otherwise */
    uint64_t only_a;    /* more branches in that line than the other row has: predicated there, uniform, or not made */
    uint64_t only_b;
} gpuchar_reconvergence_pair;

typedef struct gpuchar_reconvergence_study_result {
    size_t struct_size;
    gpuchar_reconvergence_row *rows; /* by compilers, then assemblers, then cubins; by architecture in each */
    size_t row_count;
    gpuchar_reconvergence_kernel *kernels; /* by row */
    size_t kernel_count;
    gpuchar_reconvergence_pair *pairs; /* rows of one compiler and assembler, and rows of one
                                          architecture; none with ready cubins */
    size_t pair_count;
    uint32_t threads; /* in force */
    uint32_t rounds;
    uint32_t seed;
    uint32_t work;
    uint64_t load_ns;     /* opening the libraries */
    uint64_t compile_ns;  /* processor threads' time of all compilations */
    uint64_t analyze_ns;  /* and of reading the machine code */
    uint64_t resample_ns; /* resampling and matching */
    uint64_t call_ns;
} gpuchar_reconvergence_study_result;

GPUCHAR_DEFINE_MAKER(gpuchar_reconvergence_study_options)
GPUCHAR_DEFINE_MAKER(gpuchar_reconvergence_study_result)
#define GPUCHAR_RECONVERGENCE_STUDY_OPTIONS_INIT gpuchar_reconvergence_study_options_make()
#define GPUCHAR_RECONVERGENCE_STUDY_RESULT_INIT gpuchar_reconvergence_study_result_make()
GPUCHAR_API void gpuchar_reconvergence_study_options_init(gpuchar_reconvergence_study_options *options, size_t size);
GPUCHAR_API void gpuchar_reconvergence_study_result_init(gpuchar_reconvergence_study_result *result, size_t size);
GPUCHAR_API void gpuchar_reconvergence_study_result_free(gpuchar_reconvergence_study_result *result);

/*
 * Compiles the corpus, or the caller's sources, by each compiler for each architecture, in parallel and through the
 * runtime's cache, makes PTX once and puts it through each assembler, reads what came out, and counts. `runtime` may be
 * NULL: the default one. Each cell that fails (an architecture that a compiler does not know, a source that does not
 * compile) is a row with its status; the others are whole. PTX and what assemblers make of it are not cached.
 * A line table that cannot be read is none.
 * Placements, rules and intervals are those of gpuchar_sass_reconvergence_get. Source: "Characterizing Warp Divergence from
 * Pascal to Blackwell", section V. Since 0.1.
 * GPUCHAR_CAVEAT: a row has a status, or holds a function that could not be read (counts.unread). Errors:
 * E_INVALID_ARGUMENT, E_STRUCT_SIZE, E_LIMIT, E_CANCELLED, E_OUT_OF_MEMORY, and, of a library that is named and cannot be
 * used, or of the runtime's own when none is named: E_NO_NVRTC, E_NVRTC_TOO_OLD, E_SYMBOL_MISSING, E_NVRTC;
 * E_IO: an assembler cannot be run.
 */
GPUCHAR_API gpuchar_status gpuchar_reconvergence_study(gpuchar_runtime *runtime,
                                                       const gpuchar_reconvergence_study_options *options,
                                                       gpuchar_reconvergence_study_result *result);

GPUCHAR_END_DECLS

#endif
