/* JSON of structs: round trips of everything that has a table, and documents that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/schema_walk.h"

#include <gpuchar/gpuchar.h>
#include <schema/json.h>
#include <stdio.h>

/* Every shape that a table can describe. */
typedef struct part {
    double value;
    uint64_t *numbers;
    uint64_t number_count;
    gpuchar_stat stat;
} part;

typedef struct sink {
    size_t struct_size;
    uint32_t u32;
    int32_t status;
    uint64_t u64;
    uint64_t hex;
    double real;
    double maybe;
    char text[24];
    char *owned;
    const char *foreign;
    void *pointer;
    uint32_t some[8];
    uint32_t some_count;
    uint32_t known;
    double all[3];
    gpuchar_fit fits[2];
    part *parts;
    size_t part_count;
    double *left;
    double *right;
    size_t shared_count;
    double *values;
    size_t value_count;
    int64_t i64;
    char **names;
    size_t name_count;
    gpuchar_evidence evidence;
} sink;

static const gpuchar_field part_fields[] = {
    GC_FIELD(part, value, F64, "cycles", "value"),
    GC_FIELD_POINTED(part, numbers, U64, number_count, "bytes", "numbers"),
    GC_FIELD_COUNT(part, number_count, U64, "number of numbers"),
    GC_FIELD_STRUCT(part, stat, gc_schema_stat, "ns", "stat"),
};
static const gpuchar_schema part_schema = GC_SCHEMA(part, part_fields, 0, GC_NONE, "part");

static const gpuchar_field sink_fields[] = {
    GC_FIELD(sink, u32, U32, "cycles", ""),
    GC_FIELD(sink, status, I32, "", ""),
    GC_FIELD(sink, u64, U64, "bytes", ""),
    GC_FIELD_ANY(sink, hex, U64, GPUCHAR_FIELD_HEX, NULL, 8, 1, GC_NONE, "", ""),
    GC_FIELD(sink, real, F64, "", ""),
    GC_FIELD_KNOWN(sink, maybe, F64, "", known, 4, ""),
    GC_FIELD_KNOWN(sink, text, TEXT, "", known, 2, ""),
    GC_FIELD_OWNED_STRING(sink, owned, ""),
    GC_FIELD(sink, foreign, STRING, "", ""),
    GC_FIELD(sink, pointer, POINTER, "", ""),
    GC_FIELD_COUNTED_ARRAY(sink, some, U32, some_count, "", ""),
    GC_FIELD_COUNT(sink, some_count, U32, ""),
    GC_FIELD(sink, known, U32, "", ""),
    GC_FIELD_ARRAY(sink, all, F64, "ns", ""),
    GC_FIELD_STRUCT_ARRAY(sink, fits, gc_schema_fit, "", ""),
    GC_FIELD_STRUCT_POINTED(sink, parts, part_schema, part_count, "", ""),
    GC_FIELD_COUNT(sink, part_count, U64, ""),
    GC_FIELD_POINTED(sink, left, F64, shared_count, "", ""),
    GC_FIELD_POINTED(sink, right, F64, shared_count, "", ""),
    GC_FIELD_COUNT(sink, shared_count, U64, ""),
    GC_FIELD_POINTED(sink, values, F64, value_count, "", ""),
    GC_FIELD(sink, value_count, U64, "", ""), /* not flagged as a count: in the document, and believed only if true */
    GC_FIELD(sink, i64, I64, "", ""),
    GC_FIELD_ANY(sink, names, STRING, GPUCHAR_FIELD_POINTED | GPUCHAR_FIELD_OWNED, NULL, sizeof(char *), 1,
                 (uint32_t)offsetof(sink, name_count), "", ""),
    GC_FIELD_COUNT(sink, name_count, U64, ""),
    GC_FIELD_STRUCT(sink, evidence, gc_schema_evidence, "", ""),
};
static const gpuchar_schema sink_schema = GC_SCHEMA(sink, sink_fields, 1, GC_NONE, "sink");

static void *new_object(const gpuchar_schema *schema, size_t size) {
    void *object = calloc(1, size);
    assert_non_null(object);
    if (schema->has_struct_size) {
        memcpy(object, &size, sizeof size);
    }
    return object;
}

static char *write_sink(const sink *object) {
    json_t *json = gc_json_from_struct(&sink_schema, object);
    assert_non_null(json);
    char *text = NULL;
    assert_int_equal(gc_json_format(json, &text), GPUCHAR_OK);
    json_decref(json);
    return text;
}

/* Any text: reads, or fails with E_FORMAT and leaves nothing. */
static gpuchar_status read_sink(const char *text, size_t length, sink *object) {
    json_t *json = NULL;
    *object = (sink){.struct_size = sizeof *object};
    gpuchar_status status = gc_json_parse(text, length, &json);
    if (!status) {
        status = gc_json_to_struct(json, &sink_schema, object, "");
    }
    json_decref(json);
    if (status) {
        assert_int_equal(status, GPUCHAR_E_FORMAT);
        sink empty = {.struct_size = sizeof empty};
        assert_memory_equal(object, &empty, sizeof empty);
    }
    return status;
}

static void expect_refused(const char *text) {
    sink object;
    if (read_sink(text, strlen(text), &object) == GPUCHAR_OK) {
        walk_release(&sink_schema, &object);
        fail_msg("accepted: %s", text);
    }
}

static sink read_accepted(const char *text) {
    sink object;
    if (read_sink(text, strlen(text), &object) != GPUCHAR_OK) {
        fail_msg("%s: %s", text, gpuchar_last_error()->message);
    }
    return object;
}

static void round_trip(const gpuchar_schema *schema, gc_random *random) {
    void *object = new_object(schema, schema->size), *copy = new_object(schema, schema->size);
    walk_fill(schema, object, random);
    json_t *json = gc_json_from_struct(schema, object);
    assert_non_null(json);
    char *text = NULL;
    assert_int_equal(gc_json_format(json, &text), GPUCHAR_OK);
    json_t *parsed = NULL;
    assert_int_equal(gc_json_parse(text, strlen(text), &parsed), GPUCHAR_OK);
    assert_true(json_equal(json, parsed));
    if (gc_json_to_struct(parsed, schema, copy, "") != GPUCHAR_OK) {
        fail_msg("%s: %s\n%s", schema->name, gpuchar_last_error()->message, text);
    }
    if (!walk_equal(schema, object, copy)) {
        fail_msg("%s differs:\n%s", schema->name, text);
    }
    walk_release(schema, object);
    walk_release(schema, copy);
    free(object);
    free(copy);
    gpuchar_string_free(text);
    json_decref(json);
    json_decref(parsed);
}

static void test_round_trips(void **state) {
    (void)state;
    gc_random random = gc_random_seed(20240607);
    size_t count = 0;
    for (const gpuchar_schema *schema; (schema = gpuchar_schema_at(count)); count++) {
        assert_ptr_equal(gpuchar_schema_get(schema->name), schema);
        for (int i = 0; i < 50; i++) {
            round_trip(schema, &random);
        }
    }
    assert_true(count >= 3);
    for (int i = 0; i < 500; i++) {
        round_trip(&sink_schema, &random);
    }
    assert_null(gpuchar_schema_get("gpuchar_nothing"));
    assert_null(gpuchar_schema_get(NULL));
    assert_null(gpuchar_schema_at(SIZE_MAX));
}

static void test_documents(void **state) {
    (void)state;
    gpuchar_evidence evidence = {.intended_count = UINT64_MAX,
                                 .sm_clock_hz = 0.1,
                                 .known = GPUCHAR_EVIDENCE_CLOCK,
                                 .proof_status = GPUCHAR_E_NO_CUPTI,
                                 .counters_status = 77};
    char *text = NULL;
    assert_int_equal(gpuchar_json_write("gpuchar_evidence", &evidence, &text), GPUCHAR_OK);
    assert_non_null(strstr(text, "\"schema\": 1"));
    assert_non_null(strstr(text, "\"type\": \"gpuchar_evidence\""));
    assert_non_null(strstr(text, "\"sm_clock_hz\": \"Hz\""));
    assert_non_null(strstr(text, "\"intended_count\": \"0xffffffffffffffff\""));
    assert_non_null(strstr(text, "\"decoded_count\": null"));
    assert_non_null(strstr(text, "\"proof_status\": \"GPUCHAR_E_NO_CUPTI\""));
    assert_non_null(strstr(text, "\"counters_status\": 77"));
    gpuchar_evidence copy;
    assert_int_equal(gpuchar_json_read("gpuchar_evidence", text, &copy), GPUCHAR_OK);
    assert_memory_equal(&copy, &evidence, sizeof copy);
    gpuchar_stat stat;
    assert_int_equal(gpuchar_json_read("gpuchar_stat", text, &stat), GPUCHAR_E_FORMAT);
    assert_int_equal(gpuchar_json_read("gpuchar_evidence", NULL, &copy), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_json_read("gpuchar_nothing", text, &copy), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_json_read("gpuchar_evidence", "{\"schema\": 2, \"type\": \"gpuchar_evidence\"}", &copy),
                     GPUCHAR_E_FORMAT);
    assert_string_not_equal(gpuchar_last_error()->hint, "");
    assert_int_equal(gpuchar_json_read("gpuchar_evidence", "{\"type\": \"gpuchar_evidence\"}", &copy),
                     GPUCHAR_E_FORMAT);
    assert_int_equal(gpuchar_json_read("gpuchar_evidence", "[]", &copy), GPUCHAR_E_FORMAT);
    assert_int_equal(gpuchar_json_read("gpuchar_evidence", "", &copy), GPUCHAR_E_FORMAT);
    gpuchar_string_free(text);
    assert_int_equal(gpuchar_json_write("gpuchar_nothing", &evidence, &text), GPUCHAR_E_INVALID_ARGUMENT);
    assert_null(text);
    assert_int_equal(gpuchar_json_write("gpuchar_stat", NULL, &text), GPUCHAR_E_INVALID_ARGUMENT);
    assert_int_equal(gpuchar_json_write("gpuchar_stat", &evidence, NULL), GPUCHAR_E_INVALID_ARGUMENT);
}

static void test_units(void **state) {
    (void)state;
    json_t *units = gc_json_units(&sink_schema);
    assert_string_equal(json_string_value(json_object_get(units, "u32")), "cycles");
    assert_string_equal(json_string_value(json_object_get(units, "all[]")), "ns");
    assert_string_equal(json_string_value(json_object_get(units, "parts[].value")), "cycles");
    assert_string_equal(json_string_value(json_object_get(units, "parts[].numbers[]")), "bytes");
    assert_string_equal(json_string_value(json_object_get(units, "parts[].stat")), "ns");
    assert_null(json_object_get(units, "parts[].stat.cv"));
    assert_string_equal(json_string_value(json_object_get(units, "evidence.sm_clock_hz")), "Hz");
    json_decref(units);
}

static void test_unknown(void **state) {
    (void)state;
    sink object = read_accepted("{\"maybe\": 2.5, \"text\": null, \"future\": {\"a\": [1, {}]}}");
    assert_int_equal(object.known, 4); /* no word of known bits: what is there is known */
    assert_true(object.maybe == 2.5);
    object = read_accepted("{\"known\": 6, \"maybe\": null}");
    assert_int_equal(object.known, 0); /* the word lies */
    object = read_accepted("{\"known\": 14, \"maybe\": 1, \"text\": \"\"}");
    assert_int_equal(object.known, 14); /* bits of a newer library stay */
    object = read_accepted("{\"status\": \"GPUCHAR_E_OF_THE_FUTURE\"}");
    assert_int_equal(object.status, GPUCHAR_CAVEAT);
    object = read_accepted("{\"all\": [1, null], \"fits\": [null, null]}");
    assert_true(object.all[0] == 1 && object.all[1] == 0);
    assert_int_equal(object.fits[0].points, 0);

    object = (sink){.struct_size = sizeof object, .real = NAN, .maybe = INFINITY, .known = 4};
    memset(object.text, 0xff, sizeof object.text); /* no NUL, no UTF-8, but unknown */
    char *text = write_sink(&object);
    assert_non_null(strstr(text, "\"real\": null"));
    assert_non_null(strstr(text, "\"maybe\": null"));
    assert_non_null(strstr(text, "\"text\": null"));
    gpuchar_string_free(text);
    object.known = 2;
    text = write_sink(&object);
    assert_non_null(strstr(text, "\"text\": \"????????????????????????\""));
    gpuchar_string_free(text);
}

static void test_numbers(void **state) {
    (void)state;
    sink object = {.struct_size = sizeof object, .u64 = (uint64_t)1 << 53, .hex = 31};
    char *text = write_sink(&object);
    assert_non_null(strstr(text, "\"u64\": 9007199254740992,"));
    assert_non_null(strstr(text, "\"hex\": \"0x1f\""));
    gpuchar_string_free(text);
    object.u64++;
    text = write_sink(&object);
    assert_non_null(strstr(text, "\"u64\": \"0x20000000000001\""));
    gpuchar_string_free(text);
    object = read_accepted("{\"hex\": 31, \"u64\": \"0xFFFFffffFFFFffff\", \"u32\": 4294967295, \"real\": 3}");
    assert_true(object.hex == 31 && object.u64 == UINT64_MAX && object.u32 == UINT32_MAX && object.real == 3.0);
    static const char *const refused[] = {
        "{\"u32\": 4294967296}",
        "{\"u32\": -1}",
        "{\"u32\": 1.0}",
        "{\"u32\": true}",
        "{\"u32\": \"1\"}",
        "{\"u64\": \"0x\"}",
        "{\"u64\": \"0x1g\"}",
        "{\"u64\": \"0x12345678901234567\"}",
        "{\"u64\": \" 0x1\"}",
        "{\"u64\": 99999999999999999999}",
        "{\"u64\": []}",
        "{\"real\": \"1\"}",
        "{\"real\": 1e999}",
        "{\"real\": NaN}",
        "{\"real\": {}}",
        "{\"status\": \"OK\"}",
        "{\"status\": 1.5}",
        "{\"status\": 2147483648}",
        "{\"text\": 1}",
        "{\"text\": \"1234567890123456789012345\"}",
        "{\"text\": \"\\u0000\"}",
        "{\"owned\": 1}",
        "{\"evidence\": 1}",
        "{\"evidence\": []}",
        "{\"u32\": 1, \"u32\": 1}",
        "{\"evidence\": {\"arch\": 1, \"arch\": 1}}",
        "{\"some\": 1}",
        "{\"some\": {}}",
        "{\"all\": [1, 2, 3, 4]}",
        "{\"all\": [true]}",
        "{\"some\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}",
        "{\"fits\": [1]}",
        "{\"known\": null, \"parts\": [1]}",
        "{\"i64\": 0.5}",
        "{\"i64\": 9223372036854775808}",
    };
    for (size_t i = 0; i < GC_COUNT(refused); i++) {
        expect_refused(refused[i]);
    }
}

static void test_counts_that_lie(void **state) {
    (void)state;
    expect_refused("{\"left\": [1, 2], \"right\": [1]}");
    expect_refused("{\"left\": [1], \"right\": [1, 2]}");
    expect_refused("{\"left\": [], \"right\": [1, 2]}");
    expect_refused("{\"left\": [1, 2]}");
    expect_refused("{\"value_count\": 4, \"values\": [1, 2, 3]}");
    expect_refused("{\"value_count\": 2}");
    expect_refused("{\"value_count\": \"0x8000000000000001\", \"values\": [1]}");
    expect_refused("{\"values\": [1]}");
    expect_refused("{\"parts\": [{\"numbers\": [1]}, {\"numbers\": [1, 2, true]}]}");
    expect_refused("{\"names\": [\"a\", \"b\", 3]}");
    expect_refused("{\"owned\": \"x\", \"names\": [\"a\"], \"evidence\": 4}");
    sink object = read_accepted("{\"value_count\": 0, \"values\": [], \"part_count\": 99}");
    assert_true(!object.values && !object.parts && object.part_count == 0);
    object = read_accepted("{\"some\": [1, 2], \"some_count\": 8, \"names\": [\"a\", null]}");
    assert_true(object.some_count == 2 && object.name_count == 2 && !object.names[1]);
    walk_release(&sink_schema, &object);

    object = (sink){.struct_size = sizeof object, .some_count = 1000, .part_count = 5, .value_count = SIZE_MAX};
    char *text = write_sink(&object); /* a count without its array, or beyond it, is not believed */
    assert_non_null(strstr(text, "\"parts\": []"));
    gpuchar_string_free(text);
}

static void test_too_many_elements(void **state) {
    (void)state;
    gc_text text = {0};
    gc_text_add(&text, "{\"left\": [0");
    for (int i = 0; i < 10000000; i++) {
        gc_text_append(&text, ",0", 2);
    }
    gc_text_add(&text, "]}");
    assert_false(text.failed);
    expect_refused(text.data);
    gc_text_free(&text);
}

static void test_nesting(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    static const char *const openings[] = {"[", "{\"a\":"};
    for (size_t i = 0; i < GC_COUNT(openings); i++) {
        gc_text deep = {0};
        gc_text_add(&deep, "{\"future\": ");
        for (int j = 0; j < DEPTH; j++) {
            gc_text_append(&deep, openings[i], strlen(openings[i]));
        }
        expect_refused(deep.data);
        gc_text_free(&deep);
    }
}

static sink random_sink(gc_random *random) {
    sink object = {.struct_size = sizeof object};
    walk_fill(&sink_schema, &object, random);
    return object;
}

static void test_truncated(void **state) {
    (void)state;
    gc_random random = gc_random_seed(3);
    for (int round = 0; round < 5; round++) {
        sink object = random_sink(&random), copy;
        char *text = write_sink(&object);
        size_t length = strlen(text);
        for (size_t cut = 0; cut + 1 < length; cut++) {
            /* In memory of its own, so that a read past the end is seen. */
            char *part_of_it = malloc(cut ? cut : 1);
            assert_non_null(part_of_it);
            memcpy(part_of_it, text, cut);
            assert_int_equal(read_sink(part_of_it, cut, &copy), GPUCHAR_E_FORMAT);
            free(part_of_it);
        }
        gpuchar_string_free(text);
        walk_release(&sink_schema, &object);
    }
}

static void test_mutated(void **state) {
    (void)state;
    static const char alphabet[] = "{}[]\",:0123456789.eE+-xnul \\\x01\xff";
    gc_random random = gc_random_seed(4);
    size_t accepted = 0;
    for (int round = 0; round < 20; round++) {
        sink object = random_sink(&random), copy;
        char *text = write_sink(&object);
        size_t length = strlen(text);
        for (int i = 0; i < 500; i++) {
            size_t at = gc_random_below(&random, (uint32_t)length);
            char before = text[at];
            text[at] = alphabet[gc_random_below(&random, sizeof alphabet - 1)];
            if (read_sink(text, length, &copy) == GPUCHAR_OK) {
                accepted++;
                walk_release(&sink_schema, &copy);
            }
            text[at] = before;
        }
        gpuchar_string_free(text);
        walk_release(&sink_schema, &object);
    }
    assert_true(accepted > 0);
}

/* Each member replaced by each other kind of value. */
static void test_wrong_types(void **state) {
    (void)state;
    static const char *const values[] = {"true",  "-1",     "0.5", "\"x\"",      "[]",
                                         "[[1]]", "[null]", "{}",  "{\"a\": 1}", "null"};
    gc_random random = gc_random_seed(5);
    sink object = random_sink(&random), copy;
    json_t *json = gc_json_from_struct(&sink_schema, &object);
    for (uint32_t i = 0; i < sink_schema.field_count; i++) {
        for (size_t j = 0; j < GC_COUNT(values); j++) {
            json_t *changed = json_deep_copy(json);
            json_object_set_new(changed, sink_fields[i].name, json_loads(values[j], JSON_DECODE_ANY, NULL));
            copy = (sink){.struct_size = sizeof copy};
            gpuchar_status status = gc_json_to_struct(changed, &sink_schema, &copy, "root");
            assert_true(status == GPUCHAR_OK || status == GPUCHAR_E_FORMAT);
            if (status) {
                assert_non_null(strstr(gpuchar_last_error()->message, "root"));
            }
            walk_release(&sink_schema, &copy);
            json_decref(changed);
        }
    }
    json_decref(json);
    walk_release(&sink_schema, &object);
}

static void test_messages(void **state) {
    (void)state;
    expect_refused("{\"parts\": [{}, {\"stat\": {\"samples\": 1, \"median\": \"x\"}}]}");
    assert_non_null(strstr(gpuchar_last_error()->message, "parts[1].stat.median: a number is expected"));
    expect_refused("{\n\"u32\": 1,\n}");
    assert_non_null(strstr(gpuchar_last_error()->message, "line 3"));
}

/* Every struct_size from the first byte on: neither more is touched than the caller has, nor less understood. */
static void test_struct_sizes(void **state) {
    (void)state;
    gc_random random = gc_random_seed(6);
    sink full = random_sink(&random);
    while (!full.parts || !full.left || !full.values) {
        walk_release(&sink_schema, &full);
        full = random_sink(&random);
    }
    char *text = write_sink(&full);
    json_t *json = NULL;
    assert_int_equal(gc_json_parse(text, strlen(text), &json), GPUCHAR_OK);
    for (size_t size = 0; size < sizeof(sink) + 64; size++) {
        size_t allocated = size < sizeof(size_t) ? sizeof(size_t) : size;
        char *object = malloc(allocated);
        assert_non_null(object);
        memset(object, 0xa5, allocated);
        memcpy(object, &size, sizeof size);
        gpuchar_status status = gc_json_to_struct(json, &sink_schema, object, "");
        assert_int_equal(status, size < sizeof(size_t) ? GPUCHAR_E_STRUCT_SIZE : GPUCHAR_OK);
        json_t *again = gc_json_from_struct(&sink_schema, object);
        assert_true((again != NULL) == (status == GPUCHAR_OK));
        if (status == GPUCHAR_OK) {
            size_t kept;
            memcpy(&kept, object, sizeof kept);
            assert_int_equal(kept, size);
            for (size_t i = sizeof(sink); i < size; i++) {
                assert_int_equal(object[i], 0);
            }
            assert_true(size < sizeof(sink) || json_equal(json, again));
            walk_release(&sink_schema, object);
        }
        json_decref(again);
        free(object);
    }
    json_decref(json);
    gpuchar_string_free(text);
    walk_release(&sink_schema, &full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_counts_that_lie),
        cmocka_unit_test(test_too_many_elements),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_mutated),
        cmocka_unit_test(test_wrong_types),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_struct_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
