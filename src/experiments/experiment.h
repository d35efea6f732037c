/* The descriptor of an experiment, and the frame that run.c puts around all of them. */
#ifndef GC_EXPERIMENTS_EXPERIMENT_H
#define GC_EXPERIMENTS_EXPERIMENT_H

#include <core/structs.h>
#include <core/util.h>
#include <gpuchar/experiment.h>
#include <gpuchar/schema.h>
#include <session/session_internal.h>

typedef struct gc_experiment {
    gpuchar_experiment about;
    size_t options_min_size; /* of the first release */
    size_t result_min_size;
    /* Replaces 0 by defaults and checks ranges. */
    gpuchar_status (*resolve)(void *options);
    void (*preset)(uint32_t preset, void *options);
    /* The experiment proper; `result` is a zeroed struct of this library's size. A live session's context is current. */
    gpuchar_status (*run)(gpuchar_session *session, const void *options, void *result);
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

gpuchar_status gc_experiment_run(const gc_experiment *experiment, gpuchar_session *session, const void *options,
                                 void *result);

#endif
