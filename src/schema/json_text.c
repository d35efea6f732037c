/* JSON values to and from text. */
#include "core/error.h"
#include "core/util.h"
#include "schema/json.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX ((size_t)256 << 20)
/* 17 digits carry a double bit for bit. */
#define DUMP_FLAGS (JSON_ENCODE_ANY | JSON_REAL_PRECISION(17))

/*
 * For lack of memory jansson calls a good document malformed, or drops a character of a long number or text and reads on.
 * So each document is read twice: the two readings differ, unless memory stays short, and that shows by asking for some.
 */
static bool is_same_error(const json_error_t *a, const json_error_t *b) {
    return a->line >= 0 && a->text[0] && a->position == b->position && strcmp(a->text, b->text) == 0 &&
           json_error_code(a) != json_error_out_of_memory;
}

static bool has_memory(size_t bytes) {
    void *some = malloc(bytes + 1);
    free(some);
    return some != NULL;
}

gpuchar_status gc_json_parse(const char *text, size_t length, json_t **json) {
    *json = NULL;
    if (length > TEXT_BYTES_MAX) {
        return gc_fail(GPUCHAR_E_FORMAT, "the document has %zu bytes, more than the limit of %zu", length,
                       TEXT_BYTES_MAX);
    }
    json_error_t error, again;
    *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    json_t *second = json_loadb(text, length, JSON_REJECT_DUPLICATES, &again);
    bool agree = *json && second ? json_equal(*json, second) : !*json && !second && is_same_error(&error, &again);
    json_decref(second);
    if (agree && *json) {
        return GPUCHAR_OK;
    }
    json_decref(*json);
    *json = NULL;
    if (!agree || !has_memory(length)) {
        return gc_fail_memory(length);
    }
    return gc_fail(GPUCHAR_E_FORMAT, "line %d, column %d of the document: %s", error.line, error.column, error.text);
}

static int append(const char *bytes, size_t length, void *text) {
    gc_text_append(text, bytes, length);
    return ((gc_text *)text)->failed ? -1 : 0;
}

static bool is_container(const json_t *json) {
    return json_is_object(json) || json_is_array(json);
}

/* Holds no other containers: it goes into one line. */
static bool is_flat(const json_t *json) {
    if (json_is_array(json)) {
        for (size_t i = 0; i < json_array_size(json); i++) {
            if (is_container(json_array_get(json, i))) {
                return false;
            }
        }
    } else if (json_is_object(json)) {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)json, key, value) {
            if (is_container(value)) {
                return false;
            }
        }
    }
    return true;
}

static void format_value(gc_text *text, const json_t *json, int depth);

static void format_line(gc_text *text, int depth) {
    gc_text_add(text, "\n%*s", depth * 2, "");
}

static void format_scalar(gc_text *text, const json_t *json) {
    if (json_dump_callback(json, append, text, DUMP_FLAGS) != 0) {
        text->failed = true;
    }
}

static void format_object(gc_text *text, const json_t *object, int depth) {
    const char *key;
    json_t *value;
    const char *separator = "{";
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        json_t *name = json_string(key);
        gc_text_add(text, "%s", separator);
        format_line(text, depth + 1);
        format_scalar(text, name);
        json_decref(name);
        gc_text_add(text, ": ");
        format_value(text, value, depth + 1);
        separator = ",";
    }
    format_line(text, depth);
    gc_text_add(text, "}");
}

static void format_value(gc_text *text, const json_t *json, int depth) {
    if (is_flat(json)) {
        format_scalar(text, json);
        return;
    }
    if (json_is_object(json)) {
        format_object(text, json, depth);
        return;
    }
    for (size_t i = 0; i < json_array_size(json); i++) {
        gc_text_add(text, i ? "," : "[");
        format_line(text, depth + 1);
        format_value(text, json_array_get(json, i), depth + 1);
    }
    format_line(text, depth);
    gc_text_add(text, "]");
}

gpuchar_status gc_json_format(const json_t *json, char **text) {
    gc_text buffer = {0};
    format_value(&buffer, json, 0);
    gc_text_add(&buffer, "\n");
    if (buffer.failed) {
        gpuchar_status status = gc_fail_memory(buffer.capacity);
        gc_text_free(&buffer);
        return status;
    }
    *text = buffer.data;
    return GPUCHAR_OK;
}
