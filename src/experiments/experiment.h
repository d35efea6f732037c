/* The descriptor of an experiment, and the frame that run.c, jobs.c and call.c put around all of them. */
#ifndef GC_EXPERIMENTS_EXPERIMENT_H
#define GC_EXPERIMENTS_EXPERIMENT_H

#include <core/structs.h>
#include <core/util.h>
#include <gpuchar/experiment.h>
#include <gpuchar/schema.h>
#include <gpuchar/stat.h>
#include <measure/kernel.h>
#include <session/session_internal.h>

enum { GC_KERNELS_MAX = 64 };

/* What an experiment compiles. */
typedef struct gc_kernel_list {
    gc_template templates[GC_KERNELS_MAX];
    size_t count;
} gc_kernel_list;

/* One call of an experiment, as far as all of them are the same. An experiment's own state begins with it. */
typedef struct gc_call {
    const struct gc_experiment *experiment;
    gpuchar_session *session;
    const void *options; /* resolved */
    void *result;
    gpuchar_evidence *evidence; /* in the result */
    uint32_t counters, require; /* of the options */
    gc_kernel_list kernels;
    gc_image *images[GC_KERNELS_MAX]; /* in the order of the kernel list, once `compiled` */
    size_t ranges;                    /* of counters that `count` reads: told by `begin` */
    bool begun, compiled;
    const char *reason; /* why the first kernel without proof has none; "" */
    uint64_t busy_ns;   /* of its steps so far */
} gc_call;

/* Where the fields lie that all options and all results have. */
typedef struct gc_call_fields {
    size_t counters, require;
    size_t evidence, compile_ns, prove_ns, call_ns;
} gc_call_fields;

typedef struct gc_experiment {
    gpuchar_experiment about;
    size_t options_min_size; /* of the first release */
    size_t result_min_size;
    gc_call_fields fields;
    /* Replaces 0 by defaults and checks ranges. */
    gpuchar_status (*resolve)(void *options);
    void (*preset)(uint32_t preset, void *options);
    /*
     * The steps in their order; those of other calls may lie between them. `state` is zeroed and begins with a gc_call;
     * the result is a zeroed struct of this library's size. A live session's context is current. Once begun, `release`
     * follows, after a failure at once.
     */
    size_t state_bytes;
    gpuchar_status (*begin)(void *state); /* fills what is known beforehand */
    void (*kernels)(const void *options, gc_kernel_list *list);
    gpuchar_status (*prove)(void *state);   /* the images; and what their machine code says */
    gpuchar_status (*ready)(void *state);   /* NULL; waits for what was begun beside: nothing else is timed meanwhile */
    gpuchar_status (*measure)(void *state); /* live sessions only */
    gpuchar_status (*count)(void *state);   /* NULL: never counts */
    size_t counters_ns;                     /* where the result says how long that took */
    void (*release)(void *state);           /* all that the steps took but images; sessions of every kind */
    void (*result_free)(void *result);
    void (*text)(const void *result, gc_text *text);
    /*
     * Recorded sessions: whether `recorded` answers `options`, writing the answer; NULL when it does, else the option that
     * differs, or gc_answer_no_memory. Options all at 0 accept each recording but one that cannot be true: of that, the
     * field that cannot be. So a profile is checked when it is read.
     */
    const char *(*answer)(const void *options, const void *recorded, void *result);
} gc_experiment;

extern const char gc_answer_no_memory[];

/* All of them, NULL-terminated; generated from the files of this folder. */
extern const gc_experiment *const gc_experiments[];

/* The one of this name, or E_INVALID_ARGUMENT. */
gpuchar_status gc_experiment_find(const char *name, const gc_experiment **experiment);

gpuchar_status gc_experiment_run(const gc_experiment *experiment, gpuchar_session *session, const void *options,
                                 void *result);

/* The descriptor's part in which only names differ. */
#define GC_EXPERIMENT(name_, title_)                                                                                   \
    .about = {#name_,                                                                                                  \
              title_,                                                                                                  \
              "gpuchar_" #name_ "_options",                                                                            \
              "gpuchar_" #name_ "_result",                                                                             \
              sizeof(gpuchar_##name_##_options),                                                                       \
              sizeof(gpuchar_##name_##_result)},                                                                       \
    .options_min_size = sizeof(gpuchar_##name_##_options), .result_min_size = sizeof(gpuchar_##name_##_result),        \
    .fields = {offsetof(gpuchar_##name_##_options, counters), offsetof(gpuchar_##name_##_options, require),            \
               offsetof(gpuchar_##name_##_result, evidence),  offsetof(gpuchar_##name_##_result, compile_ns),          \
               offsetof(gpuchar_##name_##_result, prove_ns),  offsetof(gpuchar_##name_##_result, call_ns)}

/* The public functions of an experiment. */
#define GC_EXPERIMENT_FUNCTIONS(name_)                                                                                 \
    GC_DEFINE_INIT(gpuchar_##name_##_options)                                                                          \
    GC_DEFINE_INIT(gpuchar_##name_##_result)                                                                           \
    void gpuchar_##name_##_result_free(gpuchar_##name_##_result *result) {                                             \
        if (result) gc_experiment_##name_.result_free(result);                                                         \
    }                                                                                                                  \
    gpuchar_status gpuchar_##name_(gpuchar_session *session, const gpuchar_##name_##_options *options,                 \
                                   gpuchar_##name_##_result *result) {                                                 \
        return gc_experiment_run(&gc_experiment_##name_, session, options, result);                                    \
    }

#endif
