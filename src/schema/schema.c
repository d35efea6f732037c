/* The tables by name and in turn. */
#include "schema/table.h"

#include <string.h>

const gpuchar_schema *gpuchar_schema_get(const char *struct_name) {
    for (size_t i = 0; struct_name && gc_schemas[i]; i++) {
        if (strcmp(gc_schemas[i]->name, struct_name) == 0) {
            return gc_schemas[i];
        }
    }
    return NULL;
}

const gpuchar_schema *gpuchar_schema_at(size_t index) {
    size_t count = 0;
    while (gc_schemas[count]) {
        count++;
    }
    return index < count ? gc_schemas[index] : NULL;
}
