/* The experiments of this library by name: what a tool or a binding needs to offer all of them without knowing each. */
#ifndef GPUCHAR_EXPERIMENT_H
#define GPUCHAR_EXPERIMENT_H

#include <gpuchar/session.h>

GPUCHAR_BEGIN_DECLS

/* Which preset gpuchar_experiment_preset fills in. */
enum { GPUCHAR_PRESET_QUICK = 0, GPUCHAR_PRESET_FULL = 1 };

/* Bits of the `require` option of an experiment: what may not be missing. */
enum { GPUCHAR_REQUIRE_PROVED = 1u << 0, GPUCHAR_REQUIRE_COUNTED = 1u << 1, GPUCHAR_REQUIRE_STABLE = 1u << 2 };

/* Strings are static. Frozen. */
typedef struct gpuchar_experiment {
    const char *name;           /* "divergence_sweep": the function is gpuchar_divergence_sweep */
    const char *title;          /* one line for people */
    const char *options_struct; /* "gpuchar_divergence_sweep_options" */
    const char *result_struct;  /* "gpuchar_divergence_sweep_result" */
    size_t options_size_bytes;
    size_t result_size_bytes;
} gpuchar_experiment;

/* All experiments in turn: index from 0; NULL past the end. */
GPUCHAR_API const gpuchar_experiment *gpuchar_experiment_at(size_t index);
/* One by its name; NULL when there is none. */
GPUCHAR_API const gpuchar_experiment *gpuchar_experiment_get(const char *name);

/* Fills an options struct (its struct_size set) with a preset. */
GPUCHAR_API gpuchar_status gpuchar_experiment_preset(const char *name, uint32_t preset, void *options);

/* Runs an experiment: the same as calling its function. `options` may be NULL. */
GPUCHAR_API gpuchar_status gpuchar_experiment_run(gpuchar_session *session, const char *name, const void *options,
                                                  void *result);

/* One experiment among several. Frozen. */
typedef struct gpuchar_experiment_job {
    const char *name;
    const void *options;   /* NULL: all defaults */
    void *result;          /* of the experiment's type, its struct_size set; no two jobs share one */
    gpuchar_status status; /* written: what gpuchar_experiment_run would have returned */
    uint32_t reserved;
} gpuchar_experiment_job;

/*
 * A job is over: its status and its result are written, and the thread's last error is its error when it failed. Called on
 * the thread that runs the jobs. Of the library it may use what needs no session, and gpuchar_session_cancel.
 */
typedef void (*gpuchar_experiment_ended_function)(void *user, size_t index);

/*
 * Runs several experiments in one call, with the numbers of single calls in less time: all kernels are compiled at once, on
 * threads that end with the call, while CUPTI is made ready; then all experiments are timed, one after the other; then
 * counters are read, for which CUPTI is set up once. Each job succeeds or fails by itself, but a cancel ends all of them.
 * What several jobs share is not in their times: call_ns is that of a job's own steps, without compiling, and counters_ns holds
 * the set-up of CUPTI in the first job that reads counters. `ended` may be NULL.
 * Returns GPUCHAR_OK, GPUCHAR_CAVEAT when a job did, or the status of the first job that failed, with its error. Before any
 * job: E_INVALID_ARGUMENT, E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_experiment_run_all(gpuchar_session *session, gpuchar_experiment_job *jobs,
                                                      size_t count, gpuchar_experiment_ended_function ended,
                                                      void *user);
/* Frees what a result owns. NULL is allowed. */
GPUCHAR_API void gpuchar_experiment_result_free(const char *name, void *result);
/* A result as text for people, a few lines; free it with gpuchar_string_free. */
GPUCHAR_API gpuchar_status gpuchar_experiment_text(const char *name, const void *result, char **text);

GPUCHAR_END_DECLS

#endif
