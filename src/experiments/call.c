/* The steps of every experiment: compile, prove, measure, count, and what the evidence makes of it. */
#include <core/error.h>
#include <experiments/evidence.h>
#include <stdlib.h>

static void *at(void *object, size_t offset) {
    return (char *)object + offset;
}

static uint32_t option(const void *options, size_t offset) {
    uint32_t value;
    memcpy(&value, (const char *)options + offset, sizeof value);
    return value;
}

static gpuchar_status compile(const gc_experiment *experiment, gc_call *call) {
    gc_kernel_list *list = calloc(1, sizeof *list);
    uint64_t *compile_ns = at(call->result, experiment->fields.compile_ns);
    if (!list) return gc_fail_memory(sizeof *list);
    experiment->kernels(call->options, list);
    call->image_count = (uint32_t)list->count;
    gpuchar_status status = gc_templates_compile(call->session, list->templates, list->count, call->images);
    for (size_t i = 0; i < list->count && status == GPUCHAR_OK; ++i) *compile_ns += call->images[i]->compile_ns;
    free(list);
    if (status == GPUCHAR_OK) gc_session_progress(call->session, "compile", 1);
    return status;
}

static gpuchar_status prove(const gc_experiment *experiment, gc_call *call) {
    uint64_t *prove_ns = at(call->result, experiment->fields.prove_ns);
    const uint64_t begin = gc_now_ns();
    gpuchar_status status = experiment->prove(call);
    *prove_ns = gc_now_ns() - begin;
    if (status == GPUCHAR_OK) gc_session_progress(call->session, "proof", 1);
    return status == GPUCHAR_OK ? gc_session_check_cancel(call->session) : status;
}

static gpuchar_status measure(const gc_experiment *experiment, gc_call *call) {
    if (call->session->kind == GC_SESSION_LIVE) return experiment->measure(call);
    call->evidence->flags |= GPUCHAR_FLAG_COMPILE_ONLY;
    return GPUCHAR_OK;
}

static gpuchar_status count(const gc_experiment *experiment, gc_call *call) {
    if (!experiment->count) return GPUCHAR_OK;
    uint64_t *counters_ns = at(call->result, experiment->counters_ns);
    const uint64_t begin = gc_now_ns();
    gpuchar_status status = experiment->count(call);
    *counters_ns = gc_now_ns() - begin;
    return status;
}

static const struct {
    const char *name;
    gpuchar_status (*run)(const gc_experiment *experiment, gc_call *call);
} steps[] = {{"compile", compile}, {"prove", prove}, {"measure", measure}, {"count", count}};

static gpuchar_status all_steps(const gc_experiment *experiment, gc_call *call) {
    const gc_log *log = gc_runtime_log(call->session->runtime);
    gpuchar_status status = experiment->begin(call);
    if (status == GPUCHAR_OK) status = gc_evidence_possible(call);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == GPUCHAR_OK; ++i) {
        const uint64_t begin = gc_now_ns();
        status = steps[i].run(experiment, call);
        gc_log_write(log, GPUCHAR_LOG_DEBUG, "%s: %s took %.1f ms", experiment->about.name, steps[i].name,
                     (double)(gc_now_ns() - begin) * 1e-6);
    }
    return status == GPUCHAR_OK ? gc_evidence_settle(call->evidence, call->require, call->reason) : status;
}

gpuchar_status gc_experiment_steps(const gc_experiment *experiment, gpuchar_session *session, const void *options,
                                   void *result) {
    const gc_call_fields *fields = &experiment->fields;
    const uint64_t begin = gc_now_ns();
    gc_call *call = calloc(1, experiment->state_bytes);
    uint64_t *call_ns = at(result, fields->call_ns);
    if (!call) return gc_fail_memory(experiment->state_bytes);
    call->session = session;
    call->options = options;
    call->result = result;
    call->evidence = at(result, fields->evidence);
    call->counters = option(options, fields->counters);
    call->require = option(options, fields->require);
    call->reason = "";
    gpuchar_status status = all_steps(experiment, call);
    experiment->release(call);
    for (size_t i = 0; i < call->image_count; ++i) gc_image_release(call->images[i]);
    *call_ns = gc_now_ns() - begin;
    free(call);
    return status;
}
