/* A struct as a JSON value. */
#include "core/error.h"
#include "core/structs.h"
#include "core/util.h"
#include "schema/access.h"
#include "schema/json.h"
#include "schema/table.h"

#include <gpuchar/stat.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above it a reader that keeps numbers as doubles (JavaScript) would round. */
#define EXACT_INTEGER_MAX ((uint64_t)1 << 53)

static json_t *struct_to_json(const gpuchar_schema *schema, const void *object);

static json_t *number_to_json(uint64_t value, uint32_t flags) {
    if ((flags & GPUCHAR_FIELD_HEX) || value > EXACT_INTEGER_MAX) {
        char text[32];
        snprintf(text, sizeof text, "0x%" PRIx64, value);
        return json_string(text);
    }
    return json_integer((json_int_t)value);
}

static json_t *status_to_json(int32_t status) {
    const char *name = gpuchar_status_name(status);
    return strncmp(name, "GPUCHAR_", 8) == 0 ? json_string(name) : json_integer(status);
}

static json_t *real_to_json(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* A driver's name for a device may be in any encoding; JSON is UTF-8. */
json_t *gc_json_text(const char *text, size_t length) {
    json_t *json = json_stringn(text, length);
    if (json) {
        return json;
    }
    char *ascii = malloc(length + 1);
    if (!ascii) {
        return NULL;
    }
    for (size_t i = 0; i < length; i++) {
        ascii[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    }
    json = json_stringn(ascii, length);
    free(ascii);
    return json;
}

static json_t *string_to_json(const void *at) {
    const char *text;
    memcpy(&text, at, sizeof text);
    return text ? gc_json_text(text, strlen(text)) : json_null();
}

static json_t *element_to_json(const gpuchar_field *field, const char *at) {
    int32_t status;
    int64_t integer;
    double real;
    gpuchar_field number = {.offset = 0, .size = field->size};
    switch (field->type) {
    case GPUCHAR_TYPE_U32:
    case GPUCHAR_TYPE_U64:
        return number_to_json(gc_field_number(&number, at), field->flags);
    case GPUCHAR_TYPE_I32:
        memcpy(&status, at, sizeof status);
        return status_to_json(status);
    case GPUCHAR_TYPE_I64:
        memcpy(&integer, at, sizeof integer);
        return json_integer(integer);
    case GPUCHAR_TYPE_F64:
        memcpy(&real, at, sizeof real);
        return real_to_json(real);
    case GPUCHAR_TYPE_TEXT:
        return gc_json_text(at, strnlen(at, field->size));
    case GPUCHAR_TYPE_STRING:
        return string_to_json(at);
    case GPUCHAR_TYPE_STRUCT:
        if (gc_schema_unknown(field->element, at, gc_schema_limit(field->element, at))) {
            return json_null();
        }
        return struct_to_json(field->element, at);
    default:
        return json_null();
    }
}

static json_t *array_to_json(const gpuchar_field *field, const char *first, size_t count) {
    json_t *array = json_array();
    for (size_t i = 0; array && i < count; i++) {
        if (json_array_append_new(array, element_to_json(field, first + i * field->size)) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

/* The one unknown that no bit tells: the interval of a fit through too few points. */
static bool is_missing_interval(const gpuchar_schema *schema, const gpuchar_field *field, const void *object) {
    if (schema != &gc_schema_fit || ((const gpuchar_fit *)object)->points >= GPUCHAR_FIT_INTERVAL_POINTS) {
        return false;
    }
    return field->offset == offsetof(gpuchar_fit, ci95_low) || field->offset == offsetof(gpuchar_fit, ci95_high);
}

static json_t *field_to_json(const gpuchar_schema *schema, const gpuchar_field *field, const void *object,
                             size_t limit) {
    const char *at = (const char *)object + field->offset;
    if (!gc_field_known(field, object, limit) || is_missing_interval(schema, field, object)) {
        return json_null();
    }
    if (field->flags & GPUCHAR_FIELD_ARRAY) {
        return array_to_json(field, at, gc_field_elements(schema, field, object, limit));
    }
    if (field->flags & GPUCHAR_FIELD_POINTED) {
        const char *first;
        memcpy(&first, at, sizeof first);
        return array_to_json(field, first, first ? gc_field_elements(schema, field, object, limit) : 0);
    }
    return element_to_json(field, at);
}

static bool is_written(const gpuchar_field *field) {
    return field->type != GPUCHAR_TYPE_POINTER && !(field->flags & GPUCHAR_FIELD_COUNT);
}

static json_t *struct_to_json(const gpuchar_schema *schema, const void *object) {
    size_t limit = gc_schema_limit(schema, object);
    json_t *json = json_object();
    for (uint32_t i = 0; json && i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        if (!is_written(field) || !gc_field_covered(field, limit)) {
            continue;
        }
        if (json_object_set_new(json, field->name, field_to_json(schema, field, object, limit)) != 0) {
            json_decref(json);
            json = NULL;
        }
    }
    return json;
}

json_t *gc_json_from_struct(const gpuchar_schema *schema, const void *object) {
    if (schema->has_struct_size) {
        size_t size;
        memcpy(&size, object, sizeof size);
        if (size < sizeof size || size > GC_STRUCT_SIZE_MAX) {
            gc_fail(GPUCHAR_E_STRUCT_SIZE, "struct_size of %s is %zu, which no version of the library has",
                    schema->name, size);
            return NULL;
        }
    }
    json_t *json = struct_to_json(schema, object);
    if (!json) {
        gc_fail_memory(schema->size);
    }
    return json;
}

/* Units. */

static bool add_units(json_t *units, const gpuchar_schema *schema, const char *prefix) {
    bool added = true;
    for (uint32_t i = 0; added && i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        bool many = (field->flags & (GPUCHAR_FIELD_ARRAY | GPUCHAR_FIELD_POINTED)) != 0;
        gc_text name = {0};
        gc_text_add(&name, "%s%s%s", prefix, field->name, many ? "[]" : "");
        added = !name.failed;
        if (added && is_written(field) && field->unit && field->unit[0]) {
            added = json_object_set_new(units, name.data, json_string(field->unit)) == 0;
        }
        /* A summary's fields have the unit of the field that holds it. */
        if (added && field->type == GPUCHAR_TYPE_STRUCT && field->element->samples_offset == GC_NONE) {
            gc_text_add(&name, ".");
            added = !name.failed && add_units(units, field->element, name.data);
        }
        gc_text_free(&name);
    }
    return added;
}

json_t *gc_json_units(const gpuchar_schema *schema) {
    json_t *units = json_object();
    if (units && !add_units(units, schema, "")) {
        json_decref(units);
        return NULL;
    }
    return units;
}

json_t *gc_json_document(const char *type) {
    json_t *json = json_object();
    if (json && (json_object_set_new(json, "schema", json_integer(GPUCHAR_SCHEMA_VERSION)) != 0 ||
                 json_object_set_new(json, "type", json_string(type)) != 0)) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* One document. */

static gpuchar_status make_document(const gpuchar_schema *schema, const void *object, json_t *document) {
    json_t *fields = gc_json_from_struct(schema, object);
    if (!fields) {
        return gpuchar_last_error()->status;
    }
    json_t *units = gc_json_units(schema);
    bool made = document && units;
    if (made && json_object_size(units) > 0) {
        made = json_object_set(document, "units", units) == 0;
    }
    made = made && json_object_update(document, fields) == 0;
    json_decref(units);
    json_decref(fields);
    return made ? GPUCHAR_OK : gc_fail_memory(schema->size);
}

gpuchar_status gpuchar_json_write(const char *struct_name, const void *object, char **text) {
    if (text) {
        *text = NULL;
    }
    if (!struct_name || !object || !text) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "gpuchar_json_write: an argument is NULL"),
                         "the header says which arguments may be NULL");
    }
    const gpuchar_schema *schema = gpuchar_schema_get(struct_name);
    if (!schema) {
        return gc_advise(gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "there is no struct %s with a table", struct_name),
                         "gpuchar_schema_at lists them");
    }
    json_t *document = gc_json_document(schema->name);
    gpuchar_status status = make_document(schema, object, document);
    if (!status) {
        status = gc_json_format(document, text);
    }
    json_decref(document);
    return status;
}
