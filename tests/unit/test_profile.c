/* Profiles and recorded sessions, on an experiment of this test's own: what is tested here is the same for all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/temp_folder.h"

#include <gpuchar/gpuchar.h>
#include <profile/file_io.h>
#include <profile/profile_internal.h>
#include <schema/table.h>

/* The experiment. */

typedef struct toy_options {
    size_t struct_size;
    uint32_t body;
    uint32_t launches;
} toy_options;

typedef struct toy_result {
    size_t struct_size;
    double *samples;
    size_t sample_count;
    gpuchar_stat cycles;
    uint32_t body;
    uint32_t launches;
    gpuchar_evidence evidence;
} toy_result;

static const gpuchar_field toy_fields[] = {
    GC_FIELD_POINTED(toy_result, samples, F64, sample_count, "cycles", "cycles of each launch"),
    GC_FIELD_COUNT(toy_result, sample_count, U64, "number of samples"),
    GC_FIELD_STRUCT(toy_result, cycles, gc_schema_stat, "cycles", "their summary"),
    GC_FIELD(toy_result, body, U32, "1", "option in force"),
    GC_FIELD(toy_result, launches, U32, "1", "option in force"),
    GC_FIELD_STRUCT(toy_result, evidence, gc_schema_evidence, "", "evidence"),
};
static const gpuchar_schema toy_schema = GC_SCHEMA(toy_result, toy_fields, 1, GC_NONE, "a toy");

static void toy_free(void *result) {
    toy_result *toy = result;
    free(toy->samples);
    *toy = (toy_result){.struct_size = toy->struct_size};
}

static const char *toy_answer(const void *options, const void *recorded, void *result) {
    const toy_options *wanted = options;
    const toy_result *had = recorded;
    toy_result *toy = result;
    if (had->body > 1000) {
        return "body"; /* nothing has such a body */
    }
    if (wanted->body && wanted->body != had->body) {
        return "body";
    }
    if (wanted->launches && wanted->launches != had->launches) {
        return "launches";
    }
    *toy = *had;
    toy->samples = had->sample_count ? calloc(had->sample_count, sizeof *toy->samples) : NULL;
    if (toy->samples) {
        memcpy(toy->samples, had->samples, had->sample_count * sizeof *toy->samples);
    }
    return NULL;
}

static const gc_experiment toy_experiment = {
    .about = {"toy", "a toy", "toy_options", "toy_result", sizeof(toy_options), sizeof(toy_result)},
    .result_free = toy_free,
    .answer = toy_answer,
};

/* In place of the generated lists. */
extern const gpuchar_schema gc_schema_device_info;
const gc_experiment *const gc_experiments[] = {&toy_experiment, NULL};
const gpuchar_schema *const gc_schemas[] = {&gc_schema_device_info, &gc_schema_evidence, &gc_schema_stat, &toy_schema,
                                            NULL};

/* Help. */

static char path[128];

static int make_path(void **state) {
    int made = make_folder(state);
    snprintf(path, sizeof path, "%s/profile.json", folder);
    return made;
}

static gpuchar_session *new_session(void) {
    gpuchar_session *session = NULL;
    assert_int_equal(gc_session_new(NULL, GC_SESSION_COMPILE_ONLY, &session), GPUCHAR_OK);
    snprintf(session->info.name, sizeof session->info.name, "Toy GPU \xff");
    session->info.architecture = 90;
    session->info.sm_count = 132;
    session->info.memory_bytes = (uint64_t)144 << 30;
    session->info.power_limit_watts = 700.1;
    session->info.known = GPUCHAR_DEVICE_POWER_LIMIT;
    return session;
}

static toy_result new_result(uint32_t body, double median, uint32_t flags) {
    toy_result result = {.struct_size = sizeof result, .body = body, .launches = 201, .sample_count = 3};
    result.samples = calloc(3, sizeof *result.samples);
    assert_non_null(result.samples);
    result.samples[0] = 0.1;
    result.samples[2] = median;
    result.cycles = (gpuchar_stat){.median = median, .samples = 3};
    result.evidence.flags = flags;
    return result;
}

static void add_result(gpuchar_profile *profile, uint32_t body, double median, uint32_t flags) {
    toy_result result = new_result(body, median, flags);
    assert_int_equal(gpuchar_profile_add(profile, "toy", &result), GPUCHAR_OK);
    toy_free(&result);
}

static gpuchar_profile *new_profile(void) {
    gpuchar_session *session = new_session();
    gpuchar_profile *profile = NULL;
    assert_int_equal(gpuchar_profile_create(session, &profile), GPUCHAR_OK);
    gpuchar_session_close(session); /* the profile outlives it */
    return profile;
}

static void write_text(const char *text) {
    assert_int_equal(gc_file_write(path, text, strlen(text)), GPUCHAR_OK);
}

static char *profile_text(const gpuchar_profile *profile) {
    char *text = NULL;
    assert_int_equal(gpuchar_profile_text(profile, &text), GPUCHAR_OK);
    return text;
}

/* Tests. */

static void test_document(void **state) {
    (void)state;
    gpuchar_profile *profile = new_profile();
    add_result(profile, 128, 1000.5, GPUCHAR_FLAG_PROVED);
    assert_int_equal(gpuchar_profile_set_command(profile, "quick_char --full \xfe"), GPUCHAR_OK);
    char *text = profile_text(profile);
    static const char *const parts[] = {"\"schema\": 1",
                                        "\"type\": \"gpuchar_profile\"",
                                        ("\"library_version\": \"" GPUCHAR_VERSION_STRING "\""),
                                        "\"created_utc\": \"20",
                                        "\"source\": \"compiled\"",
                                        "\"command\": \"quick_char --full ?\"",
                                        "\"name\": \"Toy GPU ?\"",
                                        "\"samples[]\": \"cycles\"",
                                        "\"memory_bytes\": \"bytes\"",
                                        "\"temperature_celsius\": null",
                                        "\"samples\": [0.10000000000000001, 0.0, 1000.5]"};
    for (size_t i = 0; i < GC_COUNT(parts); i++) {
        if (!strstr(text, parts[i])) {
            fail_msg("%s is not in\n%s", parts[i], text);
        }
    }
    gpuchar_string_free(text);
    gpuchar_profile_free(profile);
    gpuchar_profile_free(NULL);
}

static void test_save_and_load(void **state) {
    (void)state;
    char last[512];
    gpuchar_profile *profile = new_profile(), *loaded = NULL;
    add_result(profile, 128, 1000.5, GPUCHAR_FLAG_PROVED);
    for (int i = 0; i < 2; i++) { /* the second replaces the first */
        assert_int_equal(gpuchar_profile_save(profile, path), GPUCHAR_OK);
        assert_int_equal(count_files(folder, last, sizeof last), 1);
    }
    assert_int_equal(gpuchar_profile_load(path, &loaded), GPUCHAR_OK);
    char *before = profile_text(profile), *after = profile_text(loaded);
    assert_string_equal(before, after);
    add_result(loaded, 64, 500, 0);
    assert_int_equal(json_array_size(gc_profile_results(loaded, "toy")), 2);
    gpuchar_string_free(before);
    gpuchar_string_free(after);
    gpuchar_profile_free(profile);
    gpuchar_profile_free(loaded);
}

/* What a newer library wrote is kept. */
static void test_newer_document(void **state) {
    (void)state;
    write_text(
        "{\"schema\": 1, \"type\": \"gpuchar_profile\", \"note\": [1], \"device\": {\"name\": \"X\", \"new\": 1}, "
        "\"units\": {\"gpuchar_new\": {\"a\": \"b\"}}, \"results\": {\"new\": [{\"a\": 1}], \"toy\": [{\"new\": 2}]}}");
    gpuchar_profile *profile = NULL;
    assert_int_equal(gpuchar_profile_load(path, &profile), GPUCHAR_OK);
    char *text = profile_text(profile);
    static const char *const parts[] = {"\"note\": [1]", "\"new\": 1",   "\"gpuchar_new\"",
                                        "{\"a\": 1}",    "{\"new\": 2}", "\"toy_result\""};
    for (size_t i = 0; i < GC_COUNT(parts); i++) {
        assert_non_null(strstr(text, parts[i]));
    }
    gpuchar_string_free(text);
    gpuchar_profile_free(profile);
}

static void test_bad_documents(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"schema\": 1, \"type\": \"gpuchar_stat\"}",
        "{\"schema\": 99, \"type\": \"gpuchar_profile\", \"device\": {}, \"results\": {}}",
        "{\"schema\": 1, \"type\": \"gpuchar_profile\", \"results\": {}}",
        "{\"schema\": 1, \"type\": \"gpuchar_profile\", \"device\": {}}",
        "{\"schema\": 1, \"type\": \"gpuchar_profile\", \"device\": {\"sm_count\": \"x\"}, \"results\": {}}",
        "{\"schema\": 1, \"type\": \"gpuchar_profile\", \"device\": {}, \"results\": []}",
        "{\"schema\": 1, \"type\": \"gpuchar_profile\", \"device\": {}, \"results\": {\"toy\": {}}}",
        "{\"schema\": 1, \"type\": \"gpuchar_profile\", \"device\": {}, \"results\": {\"toy\": [1]}}",
        "{\"schema\": 1, \"type\": \"gpuchar_profile\", \"device\": {}, \"results\": {\"toy\": [{\"body\": \"\"}]}}",
        "{\"schema\": 1, \"type\": \"gpuchar_profile\", \"device\": {}, \"results\": {\"toy\": [{\"body\": 1001}]}}",
    };
    for (size_t i = 0; i < GC_COUNT(bad); i++) {
        write_text(bad[i]);
        gpuchar_profile *profile = (gpuchar_profile *)1;
        gpuchar_session *session = (gpuchar_session *)1;
        assert_int_equal(gpuchar_profile_load(path, &profile), GPUCHAR_E_FORMAT);
        assert_null(profile);
        assert_int_equal(gpuchar_session_open_recorded(NULL, path, &session), GPUCHAR_E_FORMAT);
        assert_null(session);
        assert_non_null(strstr(gpuchar_last_error()->hint, path));
    }
}

static void test_truncated_documents(void **state) {
    (void)state;
    gpuchar_profile *profile = new_profile();
    add_result(profile, 128, 1000.5, GPUCHAR_FLAG_PROVED);
    char *text = profile_text(profile);
    for (size_t cut = 0; cut + 1 < strlen(text); cut += 3) {
        gpuchar_profile *loaded = NULL;
        assert_int_equal(gc_file_write(path, text, cut), GPUCHAR_OK);
        assert_int_equal(gpuchar_profile_load(path, &loaded), GPUCHAR_E_FORMAT);
    }
    gpuchar_string_free(text);
    gpuchar_profile_free(profile);
}

static void test_bad_calls(void **state) {
    (void)state;
    gpuchar_profile *profile = new_profile(), *other = NULL;
    gpuchar_session *session = NULL;
    toy_result result = new_result(1, 1, 0);
    char *text = NULL;
    assert_int_equal(gpuchar_profile_create(NULL, &other), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_profile_add(profile, "nothing", &result), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_profile_add(profile, "toy", NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_profile_add(NULL, "toy", &result), GPUCHAR_E_INVALID_ARGUMENT);
    result.struct_size = 3;
    assert_int_equal(gpuchar_profile_add(profile, "toy", &result), GPUCHAR_E_STRUCT_SIZE);
    assert_int_equal(gpuchar_profile_set_command(profile, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_profile_text(NULL, &text), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_profile_save(profile, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_profile_save(profile, ""), GPUCHAR_E_INVALID_ARGUMENT);
    assert_true(gpuchar_last_error()->hint[0]);
    assert_int_equal(gpuchar_profile_load("", &other), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_profile_save(profile, "/nonexistent/folder/x.json"), GPUCHAR_E_IO);
    assert_int_equal(gpuchar_last_error()->domain, GPUCHAR_DOMAIN_OS);
    assert_true(gpuchar_last_error()->hint[0]);
    assert_int_equal(gpuchar_profile_save(profile, folder), GPUCHAR_E_IO);
    assert_int_equal(gpuchar_profile_save(profile, "/dev/null"), GPUCHAR_OK); /* written to, not replaced */
    struct stat about;
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
    assert_int_equal(gpuchar_profile_load(NULL, &other), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_profile_load("/nonexistent", &other), GPUCHAR_E_IO);
    assert_int_equal(gpuchar_profile_load(folder, &other), GPUCHAR_E_IO);
    assert_int_equal(gpuchar_session_open_recorded(NULL, NULL, &session), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_session_open_recorded(NULL, path, NULL), GPUCHAR_E_INVALID_ARGUMENT);
    toy_free(&result);
    gpuchar_profile_free(profile);
}

static void test_symbolic_link(void **state) {
    (void)state;
    char link[160];
    snprintf(link, sizeof link, "%s/link.json", folder);
    write_text("old");
    assert_int_equal(symlink(path, link), 0);
    gpuchar_profile *profile = new_profile();
    assert_int_equal(gpuchar_profile_save(profile, link), GPUCHAR_OK);
    struct stat about;
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISREG(about.st_mode) && about.st_size > 100);
    gpuchar_profile_free(profile);
}

static gpuchar_status ask(gpuchar_session *session, uint32_t body, uint32_t launches, toy_result *result) {
    toy_options options = {sizeof options, body, launches};
    *result = (toy_result){.struct_size = sizeof *result};
    return session->answer(session, "toy", &options, result);
}

static void test_recorded(void **state) {
    (void)state;
    gpuchar_profile *profile = new_profile();
    add_result(profile, 128, 1, GPUCHAR_FLAG_PROVED);
    add_result(profile, 128, 2, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED);
    add_result(profile, 64, 3, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE);
    assert_int_equal(gpuchar_profile_save(profile, path), GPUCHAR_OK);
    gpuchar_profile_free(profile);

    gpuchar_session *session = NULL;
    assert_int_equal(gpuchar_session_open_recorded(NULL, path, &session), GPUCHAR_OK);
    assert_int_equal(session->kind, GC_SESSION_RECORDED);
    assert_int_equal(session->architecture, 90);
    gpuchar_device_info info = GPUCHAR_DEVICE_INFO_INIT;
    assert_int_equal(gpuchar_device_info_get(session, &info), GPUCHAR_OK);
    assert_string_equal(info.name, "Toy GPU ?");
    assert_int_equal(info.sm_count, 132);
    assert_int_equal(info.known, GPUCHAR_DEVICE_POWER_LIMIT);
    assert_true(info.power_limit_watts == 700.1 && info.memory_bytes == (uint64_t)144 << 30);

    toy_result result;
    assert_int_equal(ask(session, 128, 201, &result), GPUCHAR_OK);
    assert_true(result.cycles.median == 2 && result.sample_count == 3 && result.samples[2] == 2); /* the newest */
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_COUNTED | GPUCHAR_FLAG_RECORDED);
    toy_free(&result);
    assert_int_equal(ask(session, 64, 201, &result), GPUCHAR_CAVEAT);
    assert_int_equal(result.evidence.flags, GPUCHAR_FLAG_PROVED | GPUCHAR_FLAG_UNSTABLE | GPUCHAR_FLAG_RECORDED);
    toy_free(&result);
    assert_int_equal(ask(session, 96, 201, &result), GPUCHAR_E_NOT_RECORDED);
    assert_non_null(strstr(gpuchar_last_error()->hint, "\"body\""));
    assert_non_null(strstr(gpuchar_last_error()->message, "3 recordings"));
    assert_null(result.samples);
    assert_int_equal(ask(session, 64, 5, &result), GPUCHAR_E_NOT_RECORDED);
    assert_non_null(strstr(gpuchar_last_error()->hint, "\"launches\""));
    assert_int_equal(session->answer(session, "nothing", NULL, NULL), GPUCHAR_E_NOT_RECORDED);
    gpuchar_session_close(session);
}

static void test_nothing_recorded(void **state) {
    (void)state;
    gpuchar_profile *profile = new_profile();
    assert_int_equal(gpuchar_profile_save(profile, path), GPUCHAR_OK);
    gpuchar_profile_free(profile);
    gpuchar_session *session = NULL;
    assert_int_equal(gpuchar_session_open_recorded(NULL, path, &session), GPUCHAR_OK);
    toy_result result;
    assert_int_equal(ask(session, 128, 201, &result), GPUCHAR_E_NOT_RECORDED);
    assert_non_null(strstr(gpuchar_last_error()->message, "no recording of toy"));
    gpuchar_session_close(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document),
        cmocka_unit_test_setup_teardown(test_save_and_load, make_path, remove_folder),
        cmocka_unit_test_setup_teardown(test_newer_document, make_path, remove_folder),
        cmocka_unit_test_setup_teardown(test_bad_documents, make_path, remove_folder),
        cmocka_unit_test_setup_teardown(test_truncated_documents, make_path, remove_folder),
        cmocka_unit_test_setup_teardown(test_bad_calls, make_path, remove_folder),
        cmocka_unit_test_setup_teardown(test_symbolic_link, make_path, remove_folder),
        cmocka_unit_test_setup_teardown(test_recorded, make_path, remove_folder),
        cmocka_unit_test_setup_teardown(test_nothing_recorded, make_path, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
