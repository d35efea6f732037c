/* Reaching into a struct by its table. */
#include "schema/access.h"
#include "schema/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

size_t gc_schema_limit(const gpuchar_schema *schema, const void *object) {
    if (!schema->has_struct_size) {
        return schema->size;
    }
    size_t size;
    memcpy(&size, object, sizeof size);
    return size < schema->size ? size : schema->size;
}

bool gc_schema_unknown(const gpuchar_schema *schema, const void *object, size_t limit) {
    uint64_t samples;
    if (schema->samples_offset == GC_NONE || schema->samples_offset + sizeof samples > limit) {
        return false;
    }
    memcpy(&samples, (const char *)object + schema->samples_offset, sizeof samples);
    return samples == 0;
}

bool gc_field_covered(const gpuchar_field *field, size_t limit) {
    size_t bytes = field->size;
    if (field->flags & GPUCHAR_FIELD_POINTED) {
        bytes = sizeof(void *);
    } else if (field->flags & GPUCHAR_FIELD_ARRAY) {
        bytes = (size_t)field->size * field->count;
    }
    return field->offset + bytes <= limit;
}

bool gc_field_known(const gpuchar_field *field, const void *object, size_t limit) {
    uint32_t known;
    if (field->known_offset == GC_NONE) {
        return true;
    }
    if (field->known_offset + sizeof known > limit) {
        return false;
    }
    memcpy(&known, (const char *)object + field->known_offset, sizeof known);
    return (known & field->known_bit) != 0;
}

const gpuchar_field *gc_field_counter(const gpuchar_schema *schema, uint32_t offset, size_t limit) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        if (field->offset == offset) {
            return gc_field_covered(field, limit) ? field : NULL;
        }
    }
    return NULL;
}

uint64_t gc_field_number(const gpuchar_field *field, const void *object) {
    const char *at = (const char *)object + field->offset;
    if (field->size == sizeof(uint32_t)) {
        uint32_t value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

void gc_field_set_number(const gpuchar_field *field, void *object, uint64_t value) {
    char *at = (char *)object + field->offset;
    if (field->size == sizeof(uint32_t)) {
        uint32_t narrow = (uint32_t)value;
        memcpy(at, &narrow, sizeof narrow);
    } else {
        memcpy(at, &value, sizeof value);
    }
}

size_t gc_field_elements(const gpuchar_schema *schema, const gpuchar_field *field, const void *object, size_t limit) {
    if (field->count_offset == GC_NONE) {
        return field->count;
    }
    const gpuchar_field *counter = gc_field_counter(schema, field->count_offset, limit);
    size_t count = counter ? (size_t)gc_field_number(counter, object) : 0;
    bool inside = (field->flags & GPUCHAR_FIELD_ARRAY) != 0;
    return inside && count > field->count ? field->count : count;
}

/* One element; `name` becomes the field's, with those of the fields below it. */
static bool is_infinite(const gpuchar_field *field, const char *element, char *name, size_t size) {
    char below[64];
    double value = 0;
    if (field->type == GPUCHAR_TYPE_STRUCT && gc_schema_find_infinite(field->element, element, below, sizeof below)) {
        snprintf(name, size, "%s.%s", field->name, below);
        return true;
    }
    if (field->type == GPUCHAR_TYPE_F64) {
        memcpy(&value, element, sizeof value);
    }
    if (!isfinite(value)) {
        snprintf(name, size, "%s", field->name);
    }
    return !isfinite(value);
}

bool gc_schema_find_infinite(const gpuchar_schema *schema, const void *object, char *name, size_t size) {
    const size_t limit = gc_schema_limit(schema, object);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        const char *first = (const char *)object + field->offset;
        size_t count = 1;
        if (!gc_field_covered(field, limit)) {
            continue;
        }
        if (field->flags & (GPUCHAR_FIELD_POINTED | GPUCHAR_FIELD_ARRAY)) {
            count = gc_field_elements(schema, field, object, limit);
        }
        if (field->flags & GPUCHAR_FIELD_POINTED) {
            memcpy(&first, (const char *)object + field->offset, sizeof first);
        }
        for (size_t j = 0; first && j < count; j++) {
            if (is_infinite(field, first + j * field->size, name, size)) {
                return true;
            }
        }
    }
    return false;
}
