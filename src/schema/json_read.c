/* A JSON value into a struct. The document may come from anywhere: nothing in it is trusted. */
#include "core/error.h"
#include "core/structs.h"
#include "core/util.h"
#include "schema/access.h"
#include "schema/json.h"
#include "schema/table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS_MAX ((size_t)10000000)
#define ARRAY_BYTES_MAX ((size_t)1 << 30)

/* Where a value stands in the document, for messages; lives on the stack. */
typedef struct place {
    const struct place *up;
    const char *name; /* NULL: an element */
    size_t index;
} place;

static gpuchar_status read_struct(const json_t *json, const gpuchar_schema *schema, void *object, const place *at);
static void release_struct(const gpuchar_schema *schema, void *object);

/* Messages. */

static void add_place(gc_text *text, const place *at) {
    if (at->up) {
        add_place(text, at->up);
    }
    if (!at->name) {
        gc_text_add(text, "[%zu]", at->index);
    } else if (at->name[0]) {
        gc_text_add(text, "%s%s", text->length ? "." : "", at->name);
    }
}

static gpuchar_status fail_at(const place *at, const char *what) {
    gc_text text = {0};
    add_place(&text, at);
    gpuchar_status status =
        gc_fail(GPUCHAR_E_FORMAT, "%s: %s", text.length && !text.failed ? text.data : "the document", what);
    gc_text_free(&text);
    return status;
}

/* Single values. */

static bool parse_hex(const char *text, uint64_t *value) {
    if (text[0] != '0' || text[1] != 'x') {
        return false;
    }
    size_t digits = strspn(text + 2, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > 16 || text[2 + digits]) {
        return false;
    }
    *value = strtoull(text + 2, NULL, 16);
    return true;
}

static gpuchar_status read_number(const json_t *json, const gpuchar_field *field, char *to, const place *at) {
    uint64_t value = 0;
    if (json_is_string(json)) {
        if (!parse_hex(json_string_value(json), &value)) {
            return fail_at(at, "a number or a string like \"0x1f\" is expected");
        }
    } else if (json_is_integer(json)) {
        if (json_integer_value(json) < 0) {
            return fail_at(at, "the number must not be negative");
        }
        value = (uint64_t)json_integer_value(json);
    } else {
        return fail_at(at, "a whole number is expected");
    }
    if (field->size == sizeof(uint32_t) && value > UINT32_MAX) {
        return fail_at(at, "the number does not fit into 32 bits");
    }
    gpuchar_field element = {.offset = 0, .size = field->size};
    gc_field_set_number(&element, to, value);
    return GPUCHAR_OK;
}

static gpuchar_status read_signed(const json_t *json, char *to, const place *at) {
    if (!json_is_integer(json)) {
        return fail_at(at, "a whole number is expected");
    }
    int64_t value = json_integer_value(json);
    memcpy(to, &value, sizeof value);
    return GPUCHAR_OK;
}

static bool status_by_name(const char *name, int32_t *status) {
    static const int32_t statuses[] = {
#define STATUS_NUMBER(symbol, number, text) number,
        GPUCHAR_STATUS_LIST(STATUS_NUMBER)
#undef STATUS_NUMBER
    };
    for (size_t i = 0; i < GC_COUNT(statuses); i++) {
        if (strcmp(gpuchar_status_name(statuses[i]), name) == 0) {
            *status = statuses[i];
            return true;
        }
    }
    return false;
}

static gpuchar_status read_status(const json_t *json, char *to, const place *at) {
    int32_t status = 0;
    if (json_is_string(json)) {
        const char *name = json_string_value(json);
        if (!status_by_name(name, &status)) {
            if (strncmp(name, "GPUCHAR_", 8) != 0) {
                return fail_at(at, "the name of a status is expected");
            }
            /* Of a newer library. What it says is not known, only that it is not plain success. */
            status = GPUCHAR_CAVEAT;
        }
    } else if (json_is_integer(json) && json_integer_value(json) >= INT32_MIN &&
               json_integer_value(json) <= INT32_MAX) {
        status = (int32_t)json_integer_value(json);
    } else {
        return fail_at(at, "the name of a status is expected");
    }
    memcpy(to, &status, sizeof status);
    return GPUCHAR_OK;
}

static gpuchar_status read_real(const json_t *json, char *to, const place *at) {
    if (!json_is_number(json)) {
        return fail_at(at, "a number is expected");
    }
    double value = json_number_value(json);
    memcpy(to, &value, sizeof value);
    return GPUCHAR_OK;
}

static gpuchar_status read_text(const json_t *json, const gpuchar_field *field, char *to, const place *at) {
    if (!json_is_string(json)) {
        return fail_at(at, "a string is expected");
    }
    size_t length = json_string_length(json);
    if (length >= field->size) {
        return fail_at(at, "the string is too long");
    }
    memcpy(to, json_string_value(json), length + 1);
    return GPUCHAR_OK;
}

static gpuchar_status read_string(const json_t *json, char *to, const place *at) {
    if (!json_is_string(json)) {
        return fail_at(at, "a string is expected");
    }
    char *copy = strdup(json_string_value(json));
    if (!copy) {
        return gc_fail_memory(json_string_length(json));
    }
    memcpy(to, &copy, sizeof copy);
    return GPUCHAR_OK;
}

static gpuchar_status read_nested(const json_t *json, const gpuchar_schema *schema, char *to, const place *at) {
    if (schema->has_struct_size) {
        size_t size = schema->size;
        memcpy(to, &size, sizeof size);
    }
    return read_struct(json, schema, to, at);
}

/* `to` is zero. An absent value leaves it so. */
static gpuchar_status read_element(const json_t *json, const gpuchar_field *field, char *to, const place *at) {
    if (!json || json_is_null(json)) {
        return GPUCHAR_OK;
    }
    switch (field->type) {
    case GPUCHAR_TYPE_U32:
    case GPUCHAR_TYPE_U64:
        return read_number(json, field, to, at);
    case GPUCHAR_TYPE_I32:
        return read_status(json, to, at);
    case GPUCHAR_TYPE_I64:
        return read_signed(json, to, at);
    case GPUCHAR_TYPE_F64:
        return read_real(json, to, at);
    case GPUCHAR_TYPE_TEXT:
        return read_text(json, field, to, at);
    case GPUCHAR_TYPE_STRING:
        return read_string(json, to, at);
    case GPUCHAR_TYPE_STRUCT:
        return read_nested(json, field->element, to, at);
    default:
        return GPUCHAR_OK;
    }
}

/* Arrays. */

static bool is_many(const gpuchar_field *field) {
    return (field->flags & (GPUCHAR_FIELD_ARRAY | GPUCHAR_FIELD_POINTED)) != 0;
}

static bool is_read(const gpuchar_field *field, size_t limit) {
    bool foreign_string = field->type == GPUCHAR_TYPE_STRING && !(field->flags & GPUCHAR_FIELD_OWNED);
    return field->type != GPUCHAR_TYPE_POINTER && !(field->flags & GPUCHAR_FIELD_COUNT) && !foreign_string &&
           gc_field_covered(field, limit);
}

static gpuchar_status read_elements(const json_t *json, const gpuchar_field *field, char *first, const place *at) {
    for (size_t i = 0; i < json_array_size(json); i++) {
        place element = {.up = at, .index = i};
        gpuchar_status status = read_element(json_array_get(json, i), field, first + i * field->size, &element);
        if (status) {
            return status;
        }
    }
    return GPUCHAR_OK;
}

/* False for a caller whose struct ends before the number of elements. */
static bool counts_covered(const gpuchar_schema *schema, const gpuchar_field *field, size_t limit) {
    return field->count_offset == GC_NONE || gc_field_counter(schema, field->count_offset, limit);
}

/*
 * Makes the struct's number of elements and the array's length one, before anything is allocated: whoever walks or
 * frees the array trusts that number.
 */
static gpuchar_status agree_on_count(const gpuchar_schema *schema, const gpuchar_field *field, void *object,
                                     size_t limit, size_t length, const place *at) {
    const gpuchar_field *counter = gc_field_counter(schema, field->count_offset, limit);
    if (counter && (counter->flags & GPUCHAR_FIELD_COUNT) && gc_field_number(counter, object) == 0) {
        gc_field_set_number(counter, object, length);
    }
    if (gc_field_elements(schema, field, object, limit) != length) {
        return fail_at(at, "the number of elements contradicts another field");
    }
    return GPUCHAR_OK;
}

static gpuchar_status read_pointed(const json_t *json, const gpuchar_field *field, char *to, const place *at) {
    size_t length = json_array_size(json);
    if (length == 0) {
        return GPUCHAR_OK;
    }
    if (length > ELEMENTS_MAX || length > ARRAY_BYTES_MAX / field->size) {
        return fail_at(at, "too many elements");
    }
    char *first = calloc(length, field->size);
    if (!first) {
        return gc_fail_memory(length * field->size);
    }
    memcpy(to, &first, sizeof first);
    return read_elements(json, field, first, at);
}

static gpuchar_status read_many(const json_t *json, const gpuchar_schema *schema, const gpuchar_field *field,
                                void *object, size_t limit, const place *at) {
    char *to = (char *)object + field->offset;
    size_t length = json_array_size(json); /* 0 when absent */
    if (json && !json_is_null(json) && !json_is_array(json)) {
        return fail_at(at, "an array is expected");
    }
    bool pointed = (field->flags & GPUCHAR_FIELD_POINTED) != 0;
    if (!pointed && length > field->count) {
        return fail_at(at, "too many elements");
    }
    if (!counts_covered(schema, field, limit)) {
        return GPUCHAR_OK; /* the caller could not tell what is there */
    }
    if (field->count_offset != GC_NONE) {
        gpuchar_status status = agree_on_count(schema, field, object, limit, length, at);
        if (status) {
            return status;
        }
    }
    return pointed ? read_pointed(json, field, to, at) : read_elements(json, field, to, at);
}

/* An array read as empty may share its number with one that is not. */
static gpuchar_status check_empty_arrays(const json_t *json, const gpuchar_schema *schema, const void *object,
                                         size_t limit, const place *up) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        if (!is_many(field) || field->count_offset == GC_NONE || !is_read(field, limit)) {
            continue;
        }
        if (json_array_size(json_object_get(json, field->name)) == 0 &&
            gc_field_elements(schema, field, object, limit) != 0) {
            place at = {.up = up, .name = field->name};
            return fail_at(&at, "the number of elements contradicts another field");
        }
    }
    return GPUCHAR_OK;
}

/* Structs. */

static bool is_given(const json_t *json, const gpuchar_field *field) {
    const json_t *value = json_object_get(json, field->name);
    return value && !json_is_null(value);
}

/* The words of known bits say what the document says: a value that is null or missing is not known. */
static void settle_known(const json_t *json, const gpuchar_schema *schema, void *object, size_t limit) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        const gpuchar_field *word =
            field->known_offset == GC_NONE ? NULL : gc_field_counter(schema, field->known_offset, limit);
        if (word && gc_field_covered(field, limit) && !is_given(json, word)) {
            gc_field_set_number(word, object, gc_field_number(word, object) | field->known_bit);
        }
    }
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        const gpuchar_field *word =
            field->known_offset == GC_NONE ? NULL : gc_field_counter(schema, field->known_offset, limit);
        if (word && gc_field_covered(field, limit) && !is_given(json, field)) {
            gc_field_set_number(word, object, gc_field_number(word, object) & ~(uint64_t)field->known_bit);
        }
    }
}

/* The plain fields first: arrays may ask them for their number of elements. */
static gpuchar_status read_fields(const json_t *json, const gpuchar_schema *schema, void *object, size_t limit,
                                  bool many, const place *up) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        if (is_many(field) != many || !is_read(field, limit)) {
            continue;
        }
        place at = {.up = up, .name = field->name};
        const json_t *value = json_object_get(json, field->name);
        gpuchar_status status = many ? read_many(value, schema, field, object, limit, &at)
                                     : read_element(value, field, (char *)object + field->offset, &at);
        if (status) {
            return status;
        }
    }
    return GPUCHAR_OK;
}

static gpuchar_status read_struct(const json_t *json, const gpuchar_schema *schema, void *object, const place *at) {
    if (!json_is_object(json)) {
        return fail_at(at, "an object is expected");
    }
    size_t limit = gc_schema_limit(schema, object);
    gpuchar_status status = read_fields(json, schema, object, limit, false, at);
    if (!status) {
        status = read_fields(json, schema, object, limit, true, at);
    }
    if (!status) {
        status = check_empty_arrays(json, schema, object, limit, at);
    }
    if (!status) {
        settle_known(json, schema, object, limit);
    }
    return status;
}

/* Frees what a read that failed half-way had allocated. */

static void release_elements(const gpuchar_field *field, char *first, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *at = first + i * field->size;
        if (field->type == GPUCHAR_TYPE_STRUCT) {
            release_struct(field->element, at);
        } else if (field->type == GPUCHAR_TYPE_STRING && (field->flags & GPUCHAR_FIELD_OWNED)) {
            char *text;
            memcpy(&text, at, sizeof text);
            free(text);
        }
    }
}

static void release_struct(const gpuchar_schema *schema, void *object) {
    size_t limit = gc_schema_limit(schema, object);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        char *at = (char *)object + field->offset;
        if (!is_read(field, limit)) {
            continue;
        }
        if (field->flags & GPUCHAR_FIELD_POINTED) {
            char *first;
            memcpy(&first, at, sizeof first);
            if (first) {
                release_elements(field, first, gc_field_elements(schema, field, object, limit));
            }
            free(first);
        } else {
            release_elements(field, at, field->flags & GPUCHAR_FIELD_ARRAY ? field->count : 1);
        }
    }
}

/* Entries. */

/* All zero but the struct's size, which is checked first. */
static gpuchar_status clear_struct(const gpuchar_schema *schema, void *object) {
    if (schema->has_struct_size) {
        return gc_result_check(object, sizeof(size_t), schema->name);
    }
    memset(object, 0, schema->size);
    return GPUCHAR_OK;
}

gpuchar_status gc_json_to_struct(const json_t *json, const gpuchar_schema *schema, void *object, const char *where) {
    gpuchar_status status = clear_struct(schema, object);
    if (status) {
        return status;
    }
    place at = {.name = where};
    status = read_struct(json, schema, object, &at);
    if (status) {
        release_struct(schema, object);
        clear_struct(schema, object);
    }
    return status;
}

gpuchar_status gc_json_check_document(const json_t *json, const char *type) {
    const json_t *version = json_object_get(json, "schema");
    const json_t *name = json_object_get(json, "type");
    if (!json_is_integer(version) || json_integer_value(version) < 1 || !json_is_string(name)) {
        return gc_advise(gc_fail(GPUCHAR_E_FORMAT, "not a document of libgpuchar: \"schema\" or \"type\" is missing"),
                         "only what gpuchar_profile_save or gpuchar_json_write wrote can be read");
    }
    if (json_integer_value(version) > GPUCHAR_SCHEMA_VERSION) {
        gpuchar_status status =
            gc_fail(GPUCHAR_E_FORMAT, "the document has schema version %" JSON_INTEGER_FORMAT ", this library knows %d",
                    json_integer_value(version), GPUCHAR_SCHEMA_VERSION);
        gc_hint("use a newer libgpuchar");
        return status;
    }
    if (strcmp(json_string_value(name), type) != 0) {
        return gc_advise(gc_fail(GPUCHAR_E_FORMAT, "the document is a %s, not a %s", json_string_value(name), type),
                         "read it with the function for its type");
    }
    return GPUCHAR_OK;
}

gpuchar_status gpuchar_json_read(const char *struct_name, const char *text, void *object) {
    if (!struct_name || !text || !object) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "gpuchar_json_read: an argument is NULL"),
                         "the header says which arguments may be NULL");
    }
    const gpuchar_schema *schema = gpuchar_schema_get(struct_name);
    if (!schema) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "there is no struct %s with a table", struct_name),
                         "gpuchar_schema_at lists them");
    }
    gpuchar_status status = clear_struct(schema, object);
    if (status) {
        return status;
    }
    json_t *json = NULL;
    status = gc_json_parse(text, strlen(text), &json);
    if (!status) {
        status = gc_json_check_document(json, schema->name);
    }
    if (!status) {
        status = gc_json_to_struct(json, schema, object, "");
    }
    json_decref(json);
    return status;
}
