/* A profile with one result, written past gpuchar_profile_add: a file may say what that would refuse. */
#ifndef TEST_DOCUMENT_H
#define TEST_DOCUMENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <gpuchar/gpuchar.h>
#include <profile/profile_internal.h>
#include <schema/json.h>
#include <session/session_internal.h>

static inline void write_document(const char *path, const char *experiment, const void *result) {
    const gpuchar_schema *schema = gpuchar_schema_get(gpuchar_experiment_get(experiment)->result_struct);
    gpuchar_session *compile_only = NULL;
    gpuchar_profile *profile = NULL;
    json_t *list = json_array();
    assert_int_equal(gc_session_new(NULL, GC_SESSION_COMPILE_ONLY, &compile_only), GPUCHAR_OK);
    assert_int_equal(gpuchar_profile_create(compile_only, &profile), GPUCHAR_OK);
    assert_int_equal(json_array_append_new(list, gc_json_from_struct(schema, result)), 0);
    assert_int_equal(json_object_set_new(json_object_get(profile->document, "results"), experiment, list), 0);
    assert_int_equal(gpuchar_profile_save(profile, path), GPUCHAR_OK);
    gpuchar_profile_free(profile);
    gpuchar_session_close(compile_only);
}

#endif
