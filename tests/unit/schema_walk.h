/* Random contents for any struct with a table, and its comparison and release. For tests. */
#ifndef TEST_SCHEMA_WALK_H
#define TEST_SCHEMA_WALK_H

#include <core/util.h>
#include <gpuchar/status.h>
#include <math.h>
#include <schema/access.h>
#include <schema/table.h>
#include <stdlib.h>
#include <string.h>

static inline double walk_real(gc_random *random) {
    static const double special[] = {0.0,  -0.0, 1.0, 0.1, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
                                     -1e22};
    if (gc_random_below(random, 4) == 0) {
        return special[gc_random_below(random, GC_COUNT(special))];
    }
    for (;;) {
        uint64_t bits = gc_random_u64(random);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            return value;
        }
    }
}

static inline void walk_text(char *to, size_t size, gc_random *random) {
    static const char *const pieces[] = {"a", "Z9", "\"", "\\", "/", "\n", "\x01", "\xc3\xa4", "\xf0\x9f\x98\x80", " "};
    size_t wanted = gc_random_below(random, (uint32_t)size);
    size_t length = 0;
    for (;;) {
        const char *piece = pieces[gc_random_below(random, GC_COUNT(pieces))];
        if (length + strlen(piece) > wanted) {
            return;
        }
        memcpy(to + length, piece, strlen(piece));
        length += strlen(piece);
    }
}

static inline void walk_fill(const gpuchar_schema *schema, void *object, gc_random *random);

static inline void walk_fill_element(const gpuchar_field *field, char *to, gc_random *random) {
    uint64_t number = gc_random_u64(random) >> gc_random_below(random, 64);
    static const int32_t statuses[] = {0, 1, -1, -28, -99, 12345, INT32_MIN};
    gpuchar_field element = {.size = field->size};
    double real = walk_real(random);
    switch (field->type) {
    case GPUCHAR_TYPE_U32:
    case GPUCHAR_TYPE_U64:
    case GPUCHAR_TYPE_I64:
        gc_field_set_number(&element, to, number);
        break;
    case GPUCHAR_TYPE_I32:
        memcpy(to, &statuses[gc_random_below(random, GC_COUNT(statuses))], 4);
        break;
    case GPUCHAR_TYPE_F64:
        memcpy(to, &real, sizeof real);
        break;
    case GPUCHAR_TYPE_TEXT:
        walk_text(to, field->size, random);
        break;
    case GPUCHAR_TYPE_STRING:
        if (field->flags & GPUCHAR_FIELD_OWNED) {
            char *text = calloc(1, 40);
            walk_text(text, 40, random);
            memcpy(to, &text, sizeof text);
        }
        break;
    case GPUCHAR_TYPE_STRUCT:
        if (field->element->has_struct_size) {
            size_t size = field->element->size;
            memcpy(to, &size, sizeof size);
        }
        walk_fill(field->element, to, random);
        break;
    default:
        break;
    }
}

static inline const gpuchar_field *walk_field_at(const gpuchar_schema *schema, uint32_t offset) {
    return gc_field_counter(schema, offset, schema->size);
}

static inline bool walk_is_many(const gpuchar_field *field) {
    return (field->flags & (GPUCHAR_FIELD_ARRAY | GPUCHAR_FIELD_POINTED)) != 0;
}

/* Strings of the caller's are not read back: their arrays stay empty. */
static inline bool walk_is_foreign(const gpuchar_field *field) {
    return field->type == GPUCHAR_TYPE_STRING && !(field->flags & GPUCHAR_FIELD_OWNED);
}

/* Small numbers for all arrays, before any of them is made: several may share one. */
static inline void walk_fill_counts(const gpuchar_schema *schema, void *object, gc_random *random) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        if (!walk_is_many(field) || field->count_offset == GC_NONE || walk_is_foreign(field)) {
            continue;
        }
        uint32_t most = field->flags & GPUCHAR_FIELD_ARRAY ? field->count : 3;
        gc_field_set_number(walk_field_at(schema, field->count_offset), object, gc_random_below(random, most + 1));
    }
}

static inline void walk_fill_many(const gpuchar_schema *schema, const gpuchar_field *field, char *object,
                                  gc_random *random) {
    char *first = object + field->offset;
    size_t count = gc_field_elements(schema, field, object, schema->size);
    if (walk_is_foreign(field)) {
        return;
    }
    if (field->flags & GPUCHAR_FIELD_POINTED) {
        char *allocated = count ? calloc(count, field->size) : NULL;
        memcpy(first, &allocated, sizeof allocated);
        first = allocated;
    }
    for (size_t i = 0; i < count; i++) {
        walk_fill_element(field, first + i * field->size, random);
    }
}

/* An unknown value is zero: so a copy that went through JSON can be compared. */
static inline void walk_clear_unknown(const gpuchar_schema *schema, char *object) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        if (!gc_field_known(field, object, schema->size)) {
            size_t bytes = field->flags & GPUCHAR_FIELD_ARRAY ? (size_t)field->size * field->count : field->size;
            memset(object + field->offset, 0, bytes);
        }
    }
}

/* `object` is zero but for its struct_size. */
static inline void walk_fill(const gpuchar_schema *schema, void *object, gc_random *random) {
    if (schema->samples_offset != GC_NONE && gc_random_below(random, 4) == 0) {
        return;
    }
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        if (!walk_is_many(field) && !(field->flags & GPUCHAR_FIELD_COUNT)) {
            walk_fill_element(field, (char *)object + field->offset, random);
        }
    }
    walk_fill_counts(schema, object, random);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        if (walk_is_many(&schema->fields[i])) {
            walk_fill_many(schema, &schema->fields[i], object, random);
        }
    }
    if (schema->samples_offset != GC_NONE) {
        uint64_t samples = 1 + gc_random_u64(random) / 2;
        memcpy((char *)object + schema->samples_offset, &samples, sizeof samples);
    }
    walk_clear_unknown(schema, object);
}

static inline void walk_release(const gpuchar_schema *schema, void *object) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        char *at = (char *)object + field->offset;
        char *first = at;
        size_t limit = gc_schema_limit(schema, object);
        if (!gc_field_covered(field, limit) || walk_is_foreign(field) || field->type == GPUCHAR_TYPE_POINTER) {
            continue;
        }
        size_t count = 1;
        if (field->flags & GPUCHAR_FIELD_POINTED) {
            memcpy(&first, at, sizeof first);
            count = first ? gc_field_elements(schema, field, object, limit) : 0;
        } else if (field->flags & GPUCHAR_FIELD_ARRAY) {
            count = field->count;
        }
        for (size_t j = 0; j < count; j++) {
            char *element = first + j * field->size;
            if (field->type == GPUCHAR_TYPE_STRUCT) {
                walk_release(field->element, element);
            } else if (field->type == GPUCHAR_TYPE_STRING) {
                char *text;
                memcpy(&text, element, sizeof text);
                free(text);
            }
        }
        if (field->flags & GPUCHAR_FIELD_POINTED) {
            free(first);
        }
    }
}

static inline bool walk_equal(const gpuchar_schema *schema, const void *left, const void *right);

static inline bool walk_equal_element(const gpuchar_field *field, const char *left, const char *right) {
    if (field->type == GPUCHAR_TYPE_STRUCT) {
        return walk_equal(field->element, left, right);
    }
    if (field->type == GPUCHAR_TYPE_STRING) {
        const char *a, *b;
        memcpy(&a, left, sizeof a);
        memcpy(&b, right, sizeof b);
        return walk_is_foreign(field) || (!a && !b) || (a && b && strcmp(a, b) == 0);
    }
    return field->type == GPUCHAR_TYPE_POINTER || memcmp(left, right, field->size) == 0;
}

static inline bool walk_equal(const gpuchar_schema *schema, const void *left, const void *right) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        const char *a = (const char *)left + field->offset, *b = (const char *)right + field->offset;
        size_t count = 1;
        if (field->flags & GPUCHAR_FIELD_POINTED) {
            count = gc_field_elements(schema, field, left, schema->size);
            memcpy(&a, (const void *)a, sizeof a);
            memcpy(&b, (const void *)b, sizeof b);
        } else if (field->flags & GPUCHAR_FIELD_ARRAY) {
            count = field->count;
        }
        for (size_t j = 0; j < count && !walk_is_foreign(field); j++) {
            if (!walk_equal_element(field, a + j * field->size, b + j * field->size)) {
                return false;
            }
        }
    }
    return true;
}

#endif
