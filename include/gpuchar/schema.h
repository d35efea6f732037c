/*
 * What each public struct holds: the same tables drive the JSON, the Python package and the reference documentation.
 */
#ifndef GPUCHAR_SCHEMA_H
#define GPUCHAR_SCHEMA_H

#include <gpuchar/status.h>

GPUCHAR_BEGIN_DECLS

/* Version of the JSON documents; grows when a field changes its meaning, not when one is added. */
#define GPUCHAR_SCHEMA_VERSION 1

typedef struct gpuchar_schema gpuchar_schema;

enum {
    GPUCHAR_TYPE_U32 = 1,
    GPUCHAR_TYPE_I32 =
        2, /* gpuchar_status: JSON holds its name; a name that this library does not know reads as CAVEAT */
    GPUCHAR_TYPE_U64 = 3,
    GPUCHAR_TYPE_F64 = 4,
    GPUCHAR_TYPE_TEXT = 5,    /* char array inside the struct, `size` bytes */
    GPUCHAR_TYPE_STRING = 6,  /* const char * */
    GPUCHAR_TYPE_STRUCT = 7,  /* nested, described by `element` */
    GPUCHAR_TYPE_POINTER = 8, /* function or foreign pointer: not in JSON */
    GPUCHAR_TYPE_I64 = 9
};

enum {
    GPUCHAR_FIELD_ARRAY =
        1u << 0, /* `count` elements inside the struct (all of them, or the number in the field at count_offset) */
    GPUCHAR_FIELD_POINTED = 1u << 1, /* a pointer to elements; their number is the size_t or uint64_t at count_offset */
    GPUCHAR_FIELD_HEX = 1u << 2,     /* JSON holds a hexadecimal string */
    GPUCHAR_FIELD_COUNT = 1u << 3,   /* the number of elements of another field: not in JSON, derived when read */
    GPUCHAR_FIELD_OWNED =
        1u << 4 /* of a string: the struct's _free function gives it back; strings of others are written, not read */
};

/* One field. Frozen. */
typedef struct gpuchar_field {
    const char *name;
    const char *unit;              /* "cycles", "bytes", "1"; "" where it has none */
    const char *doc;               /* one line */
    const gpuchar_schema *element; /* of GPUCHAR_TYPE_STRUCT */
    uint32_t type;
    uint32_t flags;
    uint32_t offset;
    uint32_t size;         /* of one element, bytes */
    uint32_t count;        /* of GPUCHAR_FIELD_ARRAY */
    uint32_t count_offset; /* offset of the number of elements; UINT32_MAX: `count` itself */
    uint32_t known_offset; /* offset of a uint32_t that tells which values are known; UINT32_MAX: always known */
    uint32_t known_bit;    /* the bit (mask) in it */
} gpuchar_field;

struct gpuchar_schema {
    const char *name; /* of the C struct, "gpuchar_stat" */
    const char *doc;
    const gpuchar_field *fields;
    uint32_t field_count;
    uint32_t size;
    uint32_t has_struct_size; /* the first member is struct_size (not a field of the table) */
    uint32_t
        samples_offset; /* offset of a uint64_t that is 0 when the whole struct is unknown (null in JSON); UINT32_MAX: none */
};

/* The table of a public struct by its C name; NULL when there is none. */
GPUCHAR_API const gpuchar_schema *gpuchar_schema_get(const char *struct_name);
/* All tables in turn: index from 0; NULL past the end. */
GPUCHAR_API const gpuchar_schema *gpuchar_schema_at(size_t index);

/*
 * A struct as JSON text ({"schema":..., "type":..., "units": {...}, fields}); free it with gpuchar_string_free. Numbers are
 * written so that they read back bit for bit; unknown values are null; an unsigned integer above 2^53 is a hexadecimal string.
 * "units" names the unit of each field that has one, nested ones like "points[].cycles"; it is not read.
 * Errors: E_INVALID_ARGUMENT (no such struct, NULL), E_STRUCT_SIZE, E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_json_write(const char *struct_name, const void *object, char **text);
/*
 * Fills a struct from JSON text. `object` has its struct_size set (or none); pointed arrays are allocated and given
 * back by the struct's own _free function. Unknown members are skipped; a missing one is unknown (zero). What the struct
 * held before is overwritten, not freed. Texts over 256 MiB and arrays over 10,000,000 elements are refused.
 * Errors: E_FORMAT (syntax, type, duplicate key, schema version above this library's, another struct; the message names
 * the place), E_INVALID_ARGUMENT, E_STRUCT_SIZE, E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_json_read(const char *struct_name, const char *text, void *object);

GPUCHAR_END_DECLS

#endif
