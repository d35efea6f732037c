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
/* An experiment to come. `options` NULL: all defaults. Frozen. */
typedef struct gpuchar_experiment_request {
    const char *name;
    const void *options;
} gpuchar_experiment_request;

/*
 * Does beforehand and at once what these experiments would do one after the other: compiles their kernels, on several
 * threads that end with the call, and lets CUPTI load what the first reading of counters waits for. Nothing is launched. The
 * calls that follow, with the same options and on the same runtime, find their kernels compiled and report compile_ns 0.
 * Never needed: a call that was not prepared gives the same numbers later. All options are checked first, as by the
 * experiments. A recorded session has nothing to prepare: GPUCHAR_OK. Other failures: those of compiling.
 */
GPUCHAR_API gpuchar_status gpuchar_experiment_prepare(gpuchar_session *session,
                                                      const gpuchar_experiment_request *requests, size_t count);
/* Runs an experiment: the same as calling its function. `options` may be NULL. */
GPUCHAR_API gpuchar_status gpuchar_experiment_run(gpuchar_session *session, const char *name, const void *options,
                                                  void *result);
/* Frees what a result owns. NULL is allowed. */
GPUCHAR_API void gpuchar_experiment_result_free(const char *name, void *result);
/* A result as text for people, a few lines; free it with gpuchar_string_free. */
GPUCHAR_API gpuchar_status gpuchar_experiment_text(const char *name, const void *result, char **text);

GPUCHAR_END_DECLS

#endif
