/* The frame around every experiment: sizes, defaults, recorded answers, the session's bracket, the way back. */
#include <core/error.h>
#include <experiments/experiment.h>
#include <stdlib.h>

const char gc_answer_no_memory[] = "(out of memory)";

/* A recorded session compares what the caller asked for: a field left at 0 accepts what was recorded. Wrong values are refused
 * as on a GPU; that replaces defaults, so it happens on a copy. */
static gpuchar_status answer(const gc_experiment *experiment, gpuchar_session *session, const void *options,
                             void *result) {
    void *copy = malloc(experiment->about.options_size_bytes);
    if (!copy || !options) {
        free(copy);
        return gc_fail_memory(experiment->about.options_size_bytes);
    }
    memcpy(copy, options, experiment->about.options_size_bytes);
    gpuchar_status status = experiment->resolve(copy);
    free(copy);
    return status == GPUCHAR_OK ? session->answer(session, experiment->about.name, options, result) : status;
}

static gpuchar_status answer_or_run(const gc_experiment *experiment, gpuchar_session *session, void *options,
                                    void *result) {
    if (session->kind == GC_SESSION_RECORDED) return answer(experiment, session, options, result);
    gpuchar_status status = experiment->resolve(options);
    return status == GPUCHAR_OK ? gc_experiment_steps(experiment, session, options, result) : status;
}

gpuchar_status gc_experiment_options(const gc_experiment *experiment, const void *caller, void *known) {
    const gpuchar_experiment *about = &experiment->about;
    gpuchar_status status =
        gc_options_read(caller, known, about->options_size_bytes, experiment->options_min_size, about->options_struct);
    return status == GPUCHAR_OK ? experiment->resolve(known) : status;
}

static gpuchar_status run_known(const gc_experiment *experiment, gpuchar_session *session, void *options,
                                void *result) {
    gc_scope scope;
    gpuchar_status status = gc_session_enter(session, &scope);
    if (status != GPUCHAR_OK) return status;
    status = answer_or_run(experiment, session, options, result);
    gc_session_leave(&scope);
    return status;
}

gpuchar_status gc_experiment_run(const gc_experiment *experiment, gpuchar_session *session, const void *options,
                                 void *result) {
    const gpuchar_experiment *about = &experiment->about;
    gpuchar_status status = gc_result_check(result, experiment->result_min_size, about->result_struct);
    if (status != GPUCHAR_OK) return status;
    if (!session)
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "session is NULL"),
                         "open one with gpuchar_session_open, and look at its status");
    void *known_options = calloc(1, about->options_size_bytes);
    void *known_result = calloc(1, about->result_size_bytes);
    if (!known_options || !known_result) {
        status = gc_fail_memory(about->options_size_bytes + about->result_size_bytes);
    } else {
        gc_struct_init(known_result, about->result_size_bytes);
        status = gc_options_read(options, known_options, about->options_size_bytes, experiment->options_min_size,
                                 about->options_struct);
    }
    if (status == GPUCHAR_OK) status = run_known(experiment, session, known_options, known_result);
    if (status >= 0) {
        gc_result_write(result, known_result, about->result_size_bytes);
    } else if (known_result) {
        experiment->result_free(known_result);
    }
    free(known_options);
    free(known_result);
    return status;
}
