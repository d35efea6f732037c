/* Field tables of compile.h. */
#include <gpuchar/compile.h>
#include <schema/table.h>

#define FIELD(member, kind, unit, doc) GC_FIELD(gpuchar_compile_options, member, kind, unit, doc)
static const gpuchar_field option_fields[] = {
    FIELD(source, STRING, "", "CUDA C++ text"),
    FIELD(name, STRING, "", "shown in the log; NULL: kernel.cu"),
    FIELD(architecture, STRING, "", "sm_90, sm_90a, sm_120f"),
    FIELD(flags, POINTER, "", "further NVRTC options"),
    GC_FIELD_ANY(gpuchar_compile_options, flag_count, U64, GPUCHAR_FIELD_COUNT, NULL, sizeof(size_t), 1, GC_NONE, "1",
                 "number of flags"),
};
#undef FIELD
const gpuchar_schema gc_schema_compile_options =
    GC_SCHEMA(gpuchar_compile_options, option_fields, 1, GC_NONE, "One source to compile.");

#define FIELD(member, kind, unit, doc) GC_FIELD(gpuchar_compile_result, member, kind, unit, doc)
static const gpuchar_field result_fields[] = {
    FIELD(cubin, POINTER, "", "machine code, an ELF file"),
    GC_FIELD_COUNT(gpuchar_compile_result, cubin_size_bytes, U64, "size of the machine code"),
    GC_FIELD_OWNED_STRING(gpuchar_compile_result, log, "NVRTC's log"),
    FIELD(compile_ns, U64, "ns", "what compiling took; 0 from the cache"),
    FIELD(nvrtc_version, U32, "", "13000 for 13.0"),
    FIELD(from_cache, U32, "", "0: compiled now, 1: memory, 2: disk"),
};
#undef FIELD
const gpuchar_schema gc_schema_compile_result =
    GC_SCHEMA(gpuchar_compile_result, result_fields, 1, GC_NONE, "Machine code for one architecture.");
