/* Profiles: documents of results. */
#include "profile/profile_internal.h"

#include "profile/file_io.h"
#include "schema/access.h"
#include "schema/json.h"
#include "schema/table.h"

#include <core/error.h>
#include <gpuchar/version.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILE_BYTES_MAX ((size_t)256 << 20)

static const char document_type[] = "gpuchar_profile";

static gpuchar_status fail_null(const char *function) {
    return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s: an argument is NULL", function),
                     "the header says which arguments may be NULL");
}

static json_t *text_value(const char *text) {
    return gc_json_text(text, strlen(text));
}

static const gpuchar_schema *device_schema(void) {
    return gpuchar_schema_get("gpuchar_device_info");
}

/* Results. */

const gc_experiment *gc_profile_experiment(const char *name) {
    for (size_t i = 0; gc_experiments[i]; i++) {
        if (strcmp(gc_experiments[i]->about.name, name) == 0) {
            return gc_experiments[i];
        }
    }
    return NULL;
}

const json_t *gc_profile_results(const gpuchar_profile *profile, const char *experiment) {
    return json_object_get(json_object_get(profile->document, "results"), experiment);
}

gpuchar_status gc_profile_result_read(const gc_experiment *experiment, const json_t *json, void **result) {
    *result = NULL;
    const gpuchar_schema *schema = gpuchar_schema_get(experiment->about.result_struct);
    if (!schema) {
        return gc_fail(GPUCHAR_E_INTERNAL, "%s has no table", experiment->about.result_struct);
    }
    size_t size = schema->size;
    void *made = calloc(1, size);
    if (!made) {
        return gc_fail_memory(size);
    }
    memcpy(made, &size, sizeof size);
    gpuchar_status status = gc_json_to_struct(json, schema, made, experiment->about.name);
    if (status) {
        free(made);
        return status;
    }
    *result = made;
    return GPUCHAR_OK;
}

void gc_profile_result_free(const gc_experiment *experiment, void *result) {
    if (result) {
        experiment->result_free(result);
        free(result);
    }
}

/* Whether a result can be true. */

gpuchar_evidence *gc_profile_evidence(const gc_experiment *experiment, void *result) {
    const gpuchar_schema *schema = gpuchar_schema_get(experiment->about.result_struct);
    for (uint32_t i = 0; schema && i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        if (field->element == &gc_schema_evidence && field->flags == 0) {
            return (gpuchar_evidence *)(void *)((char *)result + field->offset);
        }
    }
    return NULL;
}

/* Machine code of another architecture did not run on this device. */
static bool is_of_device(const gpuchar_profile *profile, const gc_experiment *experiment, void *result) {
    const gpuchar_evidence *evidence = gc_profile_evidence(experiment, result);
    const uint32_t own = profile->device.architecture;
    return !evidence || !evidence->arch || !own || evidence->arch == own;
}

/*
 * The field that no measurement on the profile's device can have filled so; NULL: none. Every sound recording answers a
 * call without options.
 */
static const char *find_wrong(const gpuchar_profile *profile, const gc_experiment *experiment, void *recorded) {
    if (!is_of_device(profile, experiment, recorded)) {
        return "evidence.arch";
    }
    if (!experiment->answer) {
        return NULL;
    }
    void *options = calloc(1, experiment->about.options_size_bytes);
    void *answer = calloc(1, experiment->about.result_size_bytes);
    const char *wrong = options && answer ? experiment->answer(options, recorded, answer) : gc_answer_no_memory;
    gc_profile_result_free(experiment, answer);
    free(options);
    return wrong;
}

/* `json` is one recording, in the list at `index`; `status` is what a wrong one is here. */
static gpuchar_status check_result(const gpuchar_profile *profile, const gc_experiment *experiment, const json_t *json,
                                   size_t index, gpuchar_status status) {
    void *result = NULL;
    gpuchar_status read = gc_profile_result_read(experiment, json, &result);
    if (read) {
        return read;
    }
    const char *wrong = find_wrong(profile, experiment, result);
    gc_profile_result_free(experiment, result);
    if (wrong == gc_answer_no_memory) {
        return gc_fail_memory(experiment->about.result_size_bytes);
    }
    if (!wrong) {
        return GPUCHAR_OK;
    }
    return gc_advise(
        gc_fail(status, "%s[%zu].%s: the value is outside of what it can be", experiment->about.name, index, wrong),
        "results come from a call that ended with 0 or above, unchanged");
}

/* Making. */

static json_t *time_value(void) {
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        return json_null();
    }
    return json_string(text);
}

/* Where the numbers of a session come from. */
static const char *source_of(const gpuchar_session *session) {
    switch (session->kind) {
    case GC_SESSION_COMPILE_ONLY:
        return "compiled";
    case GC_SESSION_RECORDED:
        return "recorded";
    case GC_SESSION_LIVE:
        break;
    }
    return "measured";
}

static json_t *new_document(const gpuchar_session *session) {
    json_t *fields = gc_json_from_struct(device_schema(), &session->info);
    json_t *document = fields ? gc_json_document(document_type) : NULL;
    bool made = document && json_object_set_new(document, "library_version", json_string(gpuchar_version())) == 0 &&
                json_object_set_new(document, "created_utc", time_value()) == 0 &&
                json_object_set_new(document, "source", json_string(source_of(session))) == 0 &&
                json_object_set_new(document, "command", json_string("")) == 0 &&
                json_object_set(document, "device", fields) == 0 &&
                json_object_set_new(document, "results", json_object()) == 0;
    json_decref(fields);
    if (!made) {
        json_decref(document);
        return NULL;
    }
    return document;
}

gpuchar_status gpuchar_profile_create(gpuchar_session *session, gpuchar_profile **profile) {
    if (profile) {
        *profile = NULL;
    }
    if (!session || !profile) {
        return fail_null("gpuchar_profile_create");
    }
    gpuchar_profile *made = calloc(1, sizeof *made);
    if (!made) {
        return gc_fail_memory(sizeof *made);
    }
    made->device = session->info;
    made->document = new_document(session);
    if (!made->document) {
        free(made);
        return gc_fail_memory(sizeof *made);
    }
    *profile = made;
    return GPUCHAR_OK;
}

void gpuchar_profile_free(gpuchar_profile *profile) {
    if (profile) {
        json_decref(profile->document);
        free(profile);
    }
}

/* The list of an experiment's recordings, made when absent. Borrowed; NULL when memory is short. */
static json_t *results_of(gpuchar_profile *profile, const char *experiment) {
    json_t *results = json_object_get(profile->document, "results");
    json_t *list = json_object_get(results, experiment);
    if (!list && json_object_set_new(results, experiment, json_array()) == 0) {
        list = json_object_get(results, experiment);
    }
    return list;
}

/* A document has null for what is not finite, and would not tell that it was there. */
static gpuchar_status check_numbers(const gc_experiment *experiment, const gpuchar_schema *schema, const void *result) {
    char name[128];
    if (!gc_schema_find_infinite(schema, result, name, sizeof name)) {
        return GPUCHAR_OK;
    }
    return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "%s.%s is not a finite number", experiment->about.name, name),
                     "results come from a call that ended with 0 or above, unchanged");
}

gpuchar_status gpuchar_profile_add(gpuchar_profile *profile, const char *experiment, const void *result) {
    if (!profile || !experiment || !result) {
        return fail_null("gpuchar_profile_add");
    }
    const gc_experiment *known = gc_profile_experiment(experiment);
    const gpuchar_schema *schema = known ? gpuchar_schema_get(known->about.result_struct) : NULL;
    if (!schema) {
        gpuchar_status status = gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "there is no experiment \"%s\"", experiment);
        gc_hint("gpuchar_experiment_at lists them");
        return status;
    }
    json_t *json = gc_json_from_struct(schema, result);
    if (!json) {
        return gpuchar_last_error()->status;
    }
    gpuchar_status status = check_numbers(known, schema, result);
    if (!status) {
        const size_t index = json_array_size(gc_profile_results(profile, experiment));
        status = check_result(profile, known, json, index, GPUCHAR_E_INVALID_ARGUMENT);
    }
    if (!status) {
        json_t *list = results_of(profile, experiment);
        status = list && json_array_append(list, json) == 0 ? GPUCHAR_OK : gc_fail_memory(schema->size);
    }
    json_decref(json);
    return status;
}

gpuchar_status gpuchar_profile_set_command(gpuchar_profile *profile, const char *command) {
    if (!profile || !command) {
        return fail_null("gpuchar_profile_set_command");
    }
    if (json_object_set_new(profile->document, "command", text_value(command)) != 0) {
        return gc_fail_memory(strlen(command));
    }
    return GPUCHAR_OK;
}

/* Writing. */

static bool add_units(json_t *units, const gpuchar_schema *schema) {
    return schema && json_object_set_new(units, schema->name, gc_json_units(schema)) == 0;
}

/* Of the device and of each experiment that has a result. */
static json_t *units_of(const gpuchar_profile *profile) {
    json_t *units = json_object();
    bool made = units && add_units(units, device_schema());
    for (size_t i = 0; made && gc_experiments[i]; i++) {
        if (gc_profile_results(profile, gc_experiments[i]->about.name)) {
            made = add_units(units, gpuchar_schema_get(gc_experiments[i]->about.result_struct));
        }
    }
    if (!made) {
        json_decref(units);
        return NULL;
    }
    return units;
}

/* The units of structs that only a newer library knows stay as they were read. */
static bool refresh_units(const gpuchar_profile *profile, json_t *document) {
    json_t *units = units_of(profile);
    const json_t *old = json_object_get(profile->document, "units");
    json_t *merged = json_is_object(old) ? json_copy((json_t *)(uintptr_t)old) : json_object();
    bool made = units && merged && json_object_update(merged, units) == 0;
    json_decref(units);
    made = json_object_set_new(document, "units", merged) == 0 && made;
    return made;
}

gpuchar_status gpuchar_profile_text(const gpuchar_profile *profile, char **text) {
    if (text) {
        *text = NULL;
    }
    if (!profile || !text) {
        return fail_null("gpuchar_profile_text");
    }
    json_t *document = json_copy(profile->document);
    json_t *results = json_incref(json_object_get(profile->document, "results"));
    /* The results last: the short parts can then be read without scrolling. */
    bool made = document && json_object_del(document, "results") == 0 && refresh_units(profile, document) &&
                json_object_set(document, "results", results) == 0;
    gpuchar_status status = made ? gc_json_format(document, text) : gc_fail_memory(sizeof *profile);
    json_decref(results);
    json_decref(document);
    return status;
}

gpuchar_status gpuchar_profile_save(const gpuchar_profile *profile, const char *path) {
    if (!profile || !path) {
        return fail_null("gpuchar_profile_save");
    }
    char *text = NULL;
    gpuchar_status status = gpuchar_profile_text(profile, &text);
    if (!status) {
        status = gc_file_write(path, text, strlen(text));
    }
    gpuchar_string_free(text);
    return status;
}

/* Reading. */

static gpuchar_status check_list(const gpuchar_profile *profile, const char *name, const json_t *list) {
    const gc_experiment *experiment = gc_profile_experiment(name);
    if (!json_is_array(list)) {
        return gc_fail(GPUCHAR_E_FORMAT, "results.%s: an array is expected", name);
    }
    for (size_t i = 0; experiment && i < json_array_size(list); i++) {
        gpuchar_status status = check_result(profile, experiment, json_array_get(list, i), i, GPUCHAR_E_FORMAT);
        if (status) {
            return status;
        }
    }
    return GPUCHAR_OK;
}

static gpuchar_status check_results(const gpuchar_profile *profile) {
    json_t *results = json_object_get(profile->document, "results");
    if (!json_is_object(results)) {
        return gc_fail(GPUCHAR_E_FORMAT, "results: an object is expected");
    }
    const char *name;
    json_t *list;
    json_object_foreach(results, name, list) {
        gpuchar_status status = check_list(profile, name, list);
        if (status) {
            return status;
        }
    }
    return GPUCHAR_OK;
}

static gpuchar_status read_document(const gc_text *text, gpuchar_profile *profile) {
    gpuchar_status status = gc_json_parse(text->data ? text->data : "", text->length, &profile->document);
    if (!status) {
        status = gc_json_check_document(profile->document, document_type);
    }
    if (!status) {
        profile->device = gpuchar_device_info_make();
        status = gc_json_to_struct(json_object_get(profile->document, "device"), device_schema(), &profile->device,
                                   "device");
    }
    return status ? status : check_results(profile);
}

gpuchar_status gpuchar_profile_load(const char *path, gpuchar_profile **profile) {
    if (profile) {
        *profile = NULL;
    }
    if (!path || !profile) {
        return fail_null("gpuchar_profile_load");
    }
    gpuchar_profile *made = calloc(1, sizeof *made);
    if (!made) {
        return gc_fail_memory(sizeof *made);
    }
    gc_text text = {0};
    gpuchar_status status = gc_file_read(path, FILE_BYTES_MAX, &text);
    if (!status) {
        status = read_document(&text, made);
        if (status) {
            gc_hint("the file is %s", path);
        }
    }
    gc_text_free(&text);
    if (status) {
        gpuchar_profile_free(made);
        return status;
    }
    *profile = made;
    return GPUCHAR_OK;
}
