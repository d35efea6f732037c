/* Experiments by name, for tools and bindings. */
#include <core/error.h>
#include <experiments/experiment.h>
#include <stdlib.h>

const gpuchar_experiment *gpuchar_experiment_at(size_t index) {
    for (size_t i = 0; gc_experiments[i]; ++i) {
        if (i == index) return &gc_experiments[i]->about;
    }
    return NULL;
}

static const gc_experiment *find(const char *name) {
    for (size_t i = 0; name && gc_experiments[i]; ++i) {
        if (strcmp(gc_experiments[i]->about.name, name) == 0) return gc_experiments[i];
    }
    return NULL;
}

gpuchar_status gc_experiment_find(const char *name, const gc_experiment **experiment) {
    *experiment = find(name);
    if (*experiment) return GPUCHAR_OK;
    gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "no experiment \"%s\"", name ? name : "(NULL)");
    gc_hint("gpuchar_experiment_at lists them");
    return GPUCHAR_E_INVALID_ARGUMENT;
}

const gpuchar_experiment *gpuchar_experiment_get(const char *name) {
    const gc_experiment *experiment = find(name);
    return experiment ? &experiment->about : NULL;
}

gpuchar_status gpuchar_experiment_preset(const char *name, uint32_t preset, void *options) {
    const gc_experiment *experiment = NULL;
    gpuchar_status status = gc_experiment_find(name, &experiment);
    if (status != GPUCHAR_OK) return status;
    status = gc_result_check(options, experiment->options_min_size, experiment->about.options_struct);
    if (status != GPUCHAR_OK) return status;
    if (preset > GPUCHAR_PRESET_FULL)
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "no preset %u", preset),
                         "the presets are GPUCHAR_PRESET_QUICK and GPUCHAR_PRESET_FULL");
    void *known = calloc(1, experiment->about.options_size_bytes);
    if (!known) return gc_fail_memory(experiment->about.options_size_bytes);
    gc_struct_init(known, experiment->about.options_size_bytes);
    experiment->preset(preset, known);
    gc_result_write(options, known, experiment->about.options_size_bytes);
    free(known);
    return GPUCHAR_OK;
}

gpuchar_status gpuchar_experiment_run(gpuchar_session *session, const char *name, const void *options, void *result) {
    const gc_experiment *experiment = NULL;
    gpuchar_status status = gc_experiment_find(name, &experiment);
    return status == GPUCHAR_OK ? gc_experiment_run(experiment, session, options, result) : status;
}

void gpuchar_experiment_result_free(const char *name, void *result) {
    const gc_experiment *experiment = find(name);
    if (experiment && result) experiment->result_free(result);
}

gpuchar_status gpuchar_experiment_text(const char *name, const void *result, char **text) {
    const gc_experiment *experiment = NULL;
    gc_text made = {0};
    gpuchar_status status = gc_experiment_find(name, &experiment);
    if (status != GPUCHAR_OK) return status;
    if (!result || !text)
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "result or text is NULL"),
                         "pass a filled result and the address of a char pointer");
    *text = NULL;
    /* An older caller's struct is shorter than the one the writer reads. */
    void *known = calloc(1, experiment->about.result_size_bytes);
    if (!known) return gc_fail_memory(experiment->about.result_size_bytes);
    status = gc_options_read(result, known, experiment->about.result_size_bytes, experiment->result_min_size,
                             experiment->about.result_struct);
    if (status == GPUCHAR_OK) experiment->text(known, &made);
    free(known);
    if (status != GPUCHAR_OK) return status;
    if (made.failed || !made.data) {
        gc_text_free(&made);
        return gc_fail_memory(made.length);
    }
    *text = made.data;
    return GPUCHAR_OK;
}
