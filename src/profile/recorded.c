/* Sessions that answer from a profile. */
#include "profile/profile_internal.h"

#include <core/error.h>
#include <experiments/evidence.h>
#include <gpuchar/stat.h>
#include <string.h>

/* The profile's place among the session's attachments. */
static const char attachment_key;

/* What the measuring call had returned, by its evidence. */
static gpuchar_status mark_recorded(const gc_experiment *experiment, void *result) {
    gpuchar_evidence *evidence = gc_profile_evidence(experiment, result);
    if (!evidence) {
        return GPUCHAR_OK;
    }
    evidence->flags |= GPUCHAR_FLAG_RECORDED;
    return gc_evidence_settle(evidence, 0, "");
}

static gpuchar_status fail_different(const gc_experiment *experiment, size_t count, const char *option) {
    gpuchar_status status =
        gc_fail(GPUCHAR_E_NOT_RECORDED, "the profile holds %zu recording%s of %s, none with these options", count,
                count == 1 ? "" : "s", experiment->about.name);
    gc_hint("the newest differs in the option \"%s\"", option);
    return status;
}

/* From the newest on. `option` becomes what the newest differs in; it stays NULL once one answers. */
static gpuchar_status search(const gc_experiment *experiment, const json_t *list, const void *options, void *result,
                             const char **option) {
    for (size_t i = json_array_size(list); i-- > 0;) {
        void *recorded = NULL;
        gpuchar_status status = gc_profile_result_read(experiment, json_array_get(list, i), &recorded);
        if (status) {
            return status;
        }
        const char *differs = experiment->answer(options, recorded, result);
        gc_profile_result_free(experiment, recorded);
        if (differs == gc_answer_no_memory) {
            return gc_fail_memory(experiment->about.result_size_bytes);
        }
        if (!differs) {
            *option = NULL;
            return mark_recorded(experiment, result);
        }
        *option = *option ? *option : differs;
    }
    return GPUCHAR_OK;
}

static gpuchar_status answer(gpuchar_session *session, const char *name, const void *options, void *result) {
    const gpuchar_profile *profile = gc_session_attached(session, &attachment_key);
    const gc_experiment *experiment = gc_profile_experiment(name);
    if (!profile || !experiment || !experiment->answer) {
        return gc_fail(GPUCHAR_E_NOT_RECORDED, "%s cannot be answered from a recording", name);
    }
    const json_t *list = gc_profile_results(profile, name);
    if (json_array_size(list) == 0) {
        gpuchar_status status = gc_fail(GPUCHAR_E_NOT_RECORDED, "the profile holds no recording of %s", name);
        gc_hint("measure it on the GPU and add it with gpuchar_profile_add");
        return status;
    }
    const char *option = NULL;
    gpuchar_status status = search(experiment, list, options, result, &option);
    return option && !(status < 0) ? fail_different(experiment, json_array_size(list), option) : status;
}

static void release_profile(gpuchar_session *session, void *value) {
    (void)session;
    gpuchar_profile_free(value);
}

static gpuchar_status set_up(gpuchar_session *session, gpuchar_profile *profile) {
    gpuchar_status status = gc_session_attach(session, &attachment_key, profile, release_profile);
    if (status) {
        gpuchar_profile_free(profile);
        return status;
    }
    session->info = profile->device;
    session->architecture = profile->device.architecture;
    session->sm_count = profile->device.sm_count;
    session->answer = answer;
    return GPUCHAR_OK;
}

gpuchar_status gpuchar_session_open_recorded(gpuchar_runtime *runtime, const char *path, gpuchar_session **session) {
    if (session) {
        *session = NULL;
    }
    if (!session) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "gpuchar_session_open_recorded: session is NULL"),
                         "pass the address of a gpuchar_session pointer, which becomes the session");
    }
    gpuchar_profile *profile = NULL;
    gpuchar_session *made = NULL;
    gpuchar_status status = gpuchar_profile_load(path, &profile);
    if (status) {
        return status;
    }
    status = gc_runtime_resolve(runtime, &runtime);
    if (!status) {
        status = gc_session_new(runtime, GC_SESSION_RECORDED, &made);
    }
    if (status) {
        gpuchar_profile_free(profile);
        return status;
    }
    status = set_up(made, profile);
    if (status) {
        gpuchar_session_close(made);
        return status;
    }
    *session = made;
    return GPUCHAR_OK;
}
