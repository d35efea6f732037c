/* What experiments need before they run, for several of them at once. */
#include <core/error.h>
#include <core/threads.h>
#include <experiments/experiment.h>
#include <measure/range_counters.h>
#include <stdlib.h>

/* The kernels of all requests. */
typedef struct preparation {
    gpuchar_session *session;
    gc_template *templates;
    size_t count, room;
    bool counts; /* one of them reads counters */
} preparation;

static gpuchar_status add(preparation *p, const gc_kernel_list *list) {
    if (p->count + list->count > p->room) {
        const size_t room = 2 * p->room + list->count;
        gc_template *larger = realloc(p->templates, room * sizeof *larger);
        if (!larger) return gc_fail_memory(room * sizeof *larger);
        p->templates = larger;
        p->room = room;
    }
    for (size_t i = 0; i < list->count; ++i) p->templates[p->count++] = list->templates[i];
    return GPUCHAR_OK;
}

/* `options` is zeroed and of this library's size. */
static gpuchar_status add_kernels(preparation *p, const gc_experiment *experiment, const void *caller, void *options) {
    uint32_t counters;
    gpuchar_status status = gc_experiment_options(experiment, caller, options);
    if (status != GPUCHAR_OK) return status;
    gc_kernel_list *list = calloc(1, sizeof *list);
    if (!list) return gc_fail_memory(sizeof *list);
    memcpy(&counters, (const char *)options + experiment->fields.counters, sizeof counters);
    p->counts = p->counts || (experiment->count && counters != GPUCHAR_COUNTERS_OFF);
    experiment->kernels(options, list);
    status = add(p, list);
    free(list);
    return status;
}

static gpuchar_status add_request(preparation *p, const gpuchar_experiment_request *request) {
    const gc_experiment *experiment = NULL;
    gpuchar_status status = gc_experiment_find(request->name, &experiment);
    if (status != GPUCHAR_OK) return status;
    void *options = calloc(1, experiment->about.options_size_bytes);
    if (!options) return gc_fail_memory(experiment->about.options_size_bytes);
    status = add_kernels(p, experiment, request->options, options);
    free(options);
    return status;
}

static gpuchar_status compile(preparation *p) {
    gc_image **images = calloc(p->count + 1, sizeof *images);
    if (!images) return gc_fail_memory((p->count + 1) * sizeof *images);
    gpuchar_status status = gc_templates_compile(p->session, p->templates, p->count, images);
    /* The runtime's cache keeps them. */
    for (size_t i = 0; i < p->count; ++i) gc_image_release(images[i]);
    free(images);
    return status;
}

/* The counters' own thread: what fails there fails again, and is told, where counters are read. */
typedef struct warming {
    gpuchar_session *session;
    const gc_cupti *cupti;
    pthread_t thread;
    bool began;
} warming;

static void *warm(void *user) {
    const warming *w = user;
    gc_counters_warm(w->session, w->cupti);
    return NULL;
}

static void begin_warming(const preparation *p, warming *w) {
    *w = (warming){.session = p->session};
    if (!p->counts || p->session->kind != GC_SESSION_LIVE) return;
    gc_error_box *before = gc_error_take();
    if (gc_runtime_cupti(p->session->runtime, &w->cupti) == GPUCHAR_OK) {
        w->began = gc_threads_start(&w->thread, 1, warm, w) == 1;
    }
    gc_error_restore(before);
}

static gpuchar_status prepare(preparation *p) {
    gc_scope scope;
    warming counters;
    gpuchar_status status = gc_session_enter(p->session, &scope);
    if (status != GPUCHAR_OK) return status;
    begin_warming(p, &counters);
    status = compile(p);
    if (counters.began) pthread_join(counters.thread, NULL);
    if (status == GPUCHAR_OK) gc_session_progress(p->session, "compile", 1);
    gc_session_leave(&scope);
    return status;
}

gpuchar_status gpuchar_experiment_prepare(gpuchar_session *session, const gpuchar_experiment_request *requests,
                                          size_t count) {
    preparation p = {.session = session};
    if (!session || (count > 0 && !requests))
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s is NULL", session ? "requests" : "session"),
                         "pass an open session and an array of `count` requests");
    gpuchar_status status = GPUCHAR_OK;
    for (size_t i = 0; i < count && status == GPUCHAR_OK; ++i) status = add_request(&p, &requests[i]);
    if (status == GPUCHAR_OK && session->kind != GC_SESSION_RECORDED) status = prepare(&p);
    free(p.templates);
    return status;
}
