/* The steps of one call of an experiment: compile, prove, measure, count, and what the evidence makes of it. */
#include <core/error.h>
#include <experiments/evidence.h>
#include <experiments/jobs.h>
#include <stdlib.h>

static void *at(void *object, size_t offset) {
    return (char *)object + offset;
}

static uint32_t option(const void *options, size_t offset) {
    uint32_t value;
    memcpy(&value, (const char *)options + offset, sizeof value);
    return value;
}

/* ---- steps ---- */

static gpuchar_status begin(gc_call *call) {
    call->begun = true;
    gpuchar_status status = call->experiment->begin(call);
    if (status == GPUCHAR_OK) status = gc_evidence_possible(call);
    if (status == GPUCHAR_OK) call->experiment->kernels(call->options, &call->kernels);
    return status;
}

/* Images that are there already come from a compilation together with other calls. */
static gpuchar_status compile(gc_call *call) {
    uint64_t *compile_ns = at(call->result, call->experiment->fields.compile_ns);
    gpuchar_status status = GPUCHAR_OK;
    if (!call->compiled) {
        status = gc_templates_compile(call->session, call->kernels.templates, call->kernels.count, call->images);
    }
    call->compiled = status == GPUCHAR_OK;
    for (size_t i = 0; i < call->kernels.count && call->compiled; ++i) *compile_ns += call->images[i]->compile_ns;
    if (call->compiled) gc_session_progress(call->session, "compile", 1);
    return status;
}

static gpuchar_status prove(gc_call *call) {
    uint64_t *prove_ns = at(call->result, call->experiment->fields.prove_ns);
    const uint64_t begin_ns = gc_now_ns();
    gpuchar_status status = call->experiment->prove(call);
    *prove_ns = gc_now_ns() - begin_ns;
    if (status == GPUCHAR_OK) gc_session_progress(call->session, "proof", 1);
    return status == GPUCHAR_OK ? gc_session_check_cancel(call->session) : status;
}

static gpuchar_status ready(gc_call *call) {
    const bool waits = call->experiment->ready && call->session->kind == GC_SESSION_LIVE;
    return waits ? call->experiment->ready(call) : GPUCHAR_OK;
}

static gpuchar_status measure(gc_call *call) {
    if (call->session->kind == GC_SESSION_LIVE) return call->experiment->measure(call);
    call->evidence->flags |= GPUCHAR_FLAG_COMPILE_ONLY;
    return GPUCHAR_OK;
}

static gpuchar_status count(gc_call *call) {
    if (!call->experiment->count) return GPUCHAR_OK;
    uint64_t *counters_ns = at(call->result, call->experiment->counters_ns);
    const uint64_t begin_ns = gc_now_ns();
    gpuchar_status status = call->experiment->count(call);
    *counters_ns = gc_now_ns() - begin_ns;
    return status;
}

static gpuchar_status settle(gc_call *call) {
    return gc_evidence_settle(call->evidence, call->require, call->reason);
}

gpuchar_status gc_call_step(gc_call *call, gc_step which) {
    static const struct {
        const char *name;
        gpuchar_status (*run)(gc_call *call);
    } steps[] = {[GC_STEP_BEGIN] = {"begin", begin},       [GC_STEP_COMPILE] = {"compile", compile},
                 [GC_STEP_PROVE] = {"prove", prove},       [GC_STEP_READY] = {"ready", ready},
                 [GC_STEP_MEASURE] = {"measure", measure}, [GC_STEP_COUNT] = {"count", count},
                 [GC_STEP_SETTLE] = {"settle", settle}};
    const uint64_t begin_ns = gc_now_ns();
    gpuchar_status status = steps[which].run(call);
    const uint64_t took_ns = gc_now_ns() - begin_ns;
    call->busy_ns += took_ns;
    gc_log_write(gc_runtime_log(call->session->runtime), GPUCHAR_LOG_DEBUG, "%s: %s took %.1f ms",
                 call->experiment->about.name, steps[which].name, (double)took_ns * 1e-6);
    return status;
}

/* ---- the call ---- */

gpuchar_status gc_call_new(const gc_experiment *experiment, gpuchar_session *session, const void *options, void *result,
                           gc_call **made) {
    const gc_call_fields *fields = &experiment->fields;
    gc_call *call = *made = calloc(1, experiment->state_bytes);
    if (!call) return gc_fail_memory(experiment->state_bytes);
    call->experiment = experiment;
    call->session = session;
    call->options = options;
    call->result = result;
    call->evidence = at(result, fields->evidence);
    call->counters = option(options, fields->counters);
    call->require = option(options, fields->require);
    call->reason = "";
    return GPUCHAR_OK;
}

void gc_call_end(gc_call *call) {
    if (!call) return;
    uint64_t *call_ns = at(call->result, call->experiment->fields.call_ns);
    const uint64_t begin_ns = gc_now_ns();
    if (call->begun) call->experiment->release(call);
    for (size_t i = 0; i < call->kernels.count && call->compiled; ++i) gc_image_release(call->images[i]);
    *call_ns = call->busy_ns + gc_now_ns() - begin_ns;
    free(call);
}
