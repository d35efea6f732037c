/* Holds the headers against the ABI record; compiling is the test. The record is the first include found of that name. */
#include <gpuchar/gpuchar.h>

#define RECORD_TYPE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type ": size");
#define RECORD_FIELD(type, member, declared, at, bytes)                                                                \
    _Static_assert(offsetof(struct type, member) == (at), #type "." #member ": offset");                               \
    _Static_assert(sizeof(((struct type *)0)->member) == (bytes), #type "." #member ": size");                         \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((struct type *)0)->member), declared),                     \
                   #type "." #member ": type");
#define RECORD_CONSTANT(name, value) _Static_assert((name) == (value), #name);
#define RECORD_FUNCTION(name) _Static_assert(sizeof(&name) == sizeof(void *), #name);

#include <abi_record.h>
