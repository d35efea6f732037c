/* Reaching into a struct by its table. `limit` is always the number of bytes of the struct that may be touched. */
#ifndef GC_SCHEMA_ACCESS_H
#define GC_SCHEMA_ACCESS_H

#include <gpuchar/schema.h>
#include <stdbool.h>

/* All of the struct, or as far as its struct_size covers what the table knows. */
size_t gc_schema_limit(const gpuchar_schema *schema, const void *object);
bool gc_schema_unknown(const gpuchar_schema *schema, const void *object, size_t limit); /* by samples_offset */

bool gc_field_covered(const gpuchar_field *field, size_t limit);
bool gc_field_known(const gpuchar_field *field, const void *object, size_t limit);
/* The field that holds the number of elements; NULL when there is none or the struct ends before it. */
const gpuchar_field *gc_field_counter(const gpuchar_schema *schema, uint32_t offset, size_t limit);
/* The number of elements of an array or of what a pointer points to. */
size_t gc_field_elements(const gpuchar_schema *schema, const gpuchar_field *field, const void *object, size_t limit);
/* A number of type U32 or U64. */
uint64_t gc_field_number(const gpuchar_field *field, const void *object);
void gc_field_set_number(const gpuchar_field *field, void *object, uint64_t value);

/* Whether a double of the struct, nested and pointed ones too, is not finite; then `name` becomes the field's ("slope.value"). */
bool gc_schema_find_infinite(const gpuchar_schema *schema, const void *object, char *name, size_t size);

#endif
