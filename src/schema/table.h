/* Macros that write the field tables. Each public struct has one table: `const gpuchar_schema gc_schema_NAME`. */
#ifndef GC_SCHEMA_TABLE_H
#define GC_SCHEMA_TABLE_H

#include <gpuchar/schema.h>
#include <stddef.h>

#define GC_MEMBER_SIZE(type, member) ((uint32_t)sizeof(((type *)0)->member))
#define GC_NONE UINT32_MAX

/* Plain members. `kind` is U32, I32, U64, I64, F64, TEXT, STRING or POINTER. */
#define GC_FIELD(type, member, kind, unit, doc)                                                                        \
    {                                                                                                                  \
#member, unit, doc, NULL, GPUCHAR_TYPE_##kind, 0, (uint32_t)offsetof(type, member),                            \
            GC_MEMBER_SIZE(type, member), 1, GC_NONE, GC_NONE, 0                                                       \
    }
/* The same, unknown (null) unless `bit` is set in `known_member`. */
#define GC_FIELD_KNOWN(type, member, kind, unit, known_member, bit, doc)                                               \
    {                                                                                                                  \
#member, unit, doc, NULL, GPUCHAR_TYPE_##kind, 0, (uint32_t)offsetof(type, member),                            \
            GC_MEMBER_SIZE(type, member), 1, GC_NONE, (uint32_t)offsetof(type, known_member), bit                      \
    }
/* Any shape: flags, element table, size of one element, counts. */
#define GC_FIELD_ANY(type, member, kind, flags, element, element_size, count, count_offset, unit, doc)                 \
    {                                                                                                                  \
#member, unit, doc, element, GPUCHAR_TYPE_##kind, flags, (uint32_t)offsetof(type, member),                     \
            (uint32_t)(element_size), count, count_offset, GC_NONE, 0                                                  \
    }
/* A string that the struct's _free function gives back. */
#define GC_FIELD_OWNED_STRING(type, member, doc)                                                                       \
    GC_FIELD_ANY(type, member, STRING, GPUCHAR_FIELD_OWNED, NULL, GC_MEMBER_SIZE(type, member), 1, GC_NONE, "", doc)
/* The number of elements of another field: size_t, uint64_t or uint32_t. */
#define GC_FIELD_COUNT(type, member, kind, doc)                                                                        \
    GC_FIELD_ANY(type, member, kind, GPUCHAR_FIELD_COUNT, NULL, GC_MEMBER_SIZE(type, member), 1, GC_NONE, "", doc)
/* An array in the struct, all of it. */
#define GC_FIELD_ARRAY(type, member, kind, unit, doc)                                                                  \
    GC_FIELD_ANY(type, member, kind, GPUCHAR_FIELD_ARRAY, NULL, GC_MEMBER_SIZE(type, member[0]),                       \
                 GC_MEMBER_SIZE(type, member) / GC_MEMBER_SIZE(type, member[0]), GC_NONE, unit, doc)
#define GC_FIELD_KNOWN_ARRAY(type, member, kind, unit, known_member, bit, doc)                                         \
    {                                                                                                                  \
#member, unit, doc, NULL, GPUCHAR_TYPE_##kind, GPUCHAR_FIELD_ARRAY, (uint32_t)offsetof(type, member),          \
            GC_MEMBER_SIZE(type, member[0]), GC_MEMBER_SIZE(type, member) / GC_MEMBER_SIZE(type, member[0]), GC_NONE,  \
            (uint32_t)offsetof(type, known_member), bit                                                                \
    }
#define GC_FIELD_STRUCT_ARRAY(type, member, element, unit, doc)                                                        \
    GC_FIELD_ANY(type, member, STRUCT, GPUCHAR_FIELD_ARRAY, &(element), GC_MEMBER_SIZE(type, member[0]),               \
                 GC_MEMBER_SIZE(type, member) / GC_MEMBER_SIZE(type, member[0]), GC_NONE, unit, doc)
/* An array in the struct, as far as `count_member` says. */
#define GC_FIELD_COUNTED_ARRAY(type, member, kind, count_member, unit, doc)                                            \
    GC_FIELD_ANY(type, member, kind, GPUCHAR_FIELD_ARRAY, NULL, GC_MEMBER_SIZE(type, member[0]),                       \
                 GC_MEMBER_SIZE(type, member) / GC_MEMBER_SIZE(type, member[0]),                                       \
                 (uint32_t)offsetof(type, count_member), unit, doc)
/* A pointer to `count_member` elements. */
#define GC_FIELD_POINTED(type, member, kind, count_member, unit, doc)                                                  \
    GC_FIELD_ANY(type, member, kind, GPUCHAR_FIELD_POINTED, NULL, sizeof(*((type *)0)->member), 1,                     \
                 (uint32_t)offsetof(type, count_member), unit, doc)
#define GC_FIELD_STRUCT_POINTED(type, member, element, count_member, unit, doc)                                        \
    GC_FIELD_ANY(type, member, STRUCT, GPUCHAR_FIELD_POINTED, &(element), sizeof(*((type *)0)->member), 1,             \
                 (uint32_t)offsetof(type, count_member), unit, doc)
#define GC_FIELD_STRUCT(type, member, element, unit, doc)                                                              \
    GC_FIELD_ANY(type, member, STRUCT, 0, &(element), GC_MEMBER_SIZE(type, member), 1, GC_NONE, unit, doc)

#define GC_SCHEMA(type, table, sized, samples, text)                                                                   \
    { #type, text, table, (uint32_t)(sizeof(table) / sizeof((table)[0])), (uint32_t)sizeof(type), sized, samples }

extern const gpuchar_schema gc_schema_stat;
extern const gpuchar_schema gc_schema_fit;
extern const gpuchar_schema gc_schema_evidence;

/* All of them, NULL-terminated; generated. */
extern const gpuchar_schema *const gc_schemas[];

#endif
