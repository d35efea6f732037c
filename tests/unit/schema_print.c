/* Prints every table, one field a line, for schema_coverage.py. */
#include <gpuchar/schema.h>
#include <stdio.h>

int main(void) {
    const gpuchar_schema *schema;
    for (size_t i = 0; (schema = gpuchar_schema_at(i)) != NULL; i++) {
        printf("struct %s %u %u\n", schema->name, schema->size, schema->has_struct_size);
        for (uint32_t j = 0; j < schema->field_count; j++) {
            const gpuchar_field *field = &schema->fields[j];
            printf("field %s %u %u %u %u %u %u %u %s %s\n", field->name, field->type, field->flags, field->offset,
                   field->size, field->count, field->count_offset, field->known_offset,
                   field->element ? field->element->name : "-", field->doc && field->doc[0] ? "doc" : "-");
        }
    }
    return 0;
}
