/* Structs to and from JSON values, by their tables. */
#ifndef GC_SCHEMA_JSON_H
#define GC_SCHEMA_JSON_H

#include <gpuchar/schema.h>
#include <jansson.h>

/* The fields as an object, without "schema", "type" and "units". NULL with E_OUT_OF_MEMORY or E_STRUCT_SIZE set. */
json_t *gc_json_from_struct(const gpuchar_schema *schema, const void *object);
/* The unit of each field that has one, by its dotted name; an empty object when none has. NULL when memory is short. */
json_t *gc_json_units(const gpuchar_schema *schema);
/* Any bytes: what is not UTF-8 becomes '?'. NULL when memory is short. */
json_t *gc_json_text(const char *text, size_t length);
/* What begins every document: "schema", "type". NULL when memory is short. */
json_t *gc_json_document(const char *type);

/*
 * Zeroes the struct (its struct_size kept) and fills it; on failure it is zero and owns nothing. `where` names the
 * value in messages.
 */
gpuchar_status gc_json_to_struct(const json_t *json, const gpuchar_schema *schema, void *object, const char *where);
/* Checks "schema" and "type". */
gpuchar_status gc_json_check_document(const json_t *json, const char *type);

/* Text to value; E_FORMAT tells the line. `length` is bounded. */
gpuchar_status gc_json_parse(const char *text, size_t length, json_t **json);
/* Value to text: one line per member, values that hold no other containers in one line. Ends with a newline. */
gpuchar_status gc_json_format(const json_t *json, char **text);

#endif
