/* Every double that a struct holds, nested and pointed ones too, is finite. For tests. */
#ifndef TEST_FINITE_WALK_H
#define TEST_FINITE_WALK_H

#include <math.h>
#include <schema/access.h>
#include <schema/table.h>
#include <string.h>

/* The first field with a value that is not; NULL when there is none. `seen` counts the doubles that were looked at. */
static inline const char *find_infinite(const gpuchar_schema *schema, const void *object, size_t *seen) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const gpuchar_field *field = &schema->fields[i];
        const char *first = (const char *)object + field->offset, *found = NULL;
        size_t count = 1;
        if (field->flags & GPUCHAR_FIELD_POINTED) {
            count = gc_field_elements(schema, field, object, schema->size);
            memcpy(&first, (const void *)first, sizeof first);
        } else if (field->flags & GPUCHAR_FIELD_ARRAY) {
            count = field->count;
        }
        for (size_t j = 0; j < count; j++) {
            const char *element = first + j * field->size;
            double value = 0;
            if (field->type == GPUCHAR_TYPE_STRUCT) found = find_infinite(field->element, element, seen);
            if (field->type == GPUCHAR_TYPE_F64) {
                memcpy(&value, element, sizeof value);
                ++*seen;
            }
            if (found || !isfinite(value)) return found ? found : field->name;
        }
    }
    return NULL;
}

#endif
