/* Field tables of runtime.h. */
#include <gpuchar/runtime.h>
#include <schema/table.h>

#define FIELD(member, kind, doc) GC_FIELD(gpuchar_runtime_options, member, kind, "", doc)
static const gpuchar_field option_fields[] = {
    FIELD(cuda_path, STRING, "libcuda.so.1; NULL: search"),
    FIELD(nvrtc_path, STRING, "libnvrtc.so.N; NULL: search"),
    FIELD(cupti_path, STRING, "libcupti.so.N; NULL: search"),
    FIELD(nvml_path, STRING, "libnvidia-ml.so.1; NULL: search"),
    FIELD(cache_dir, STRING, "folder for compiled kernels; NULL: memory only"),
    FIELD(log, POINTER, "called with each log line; NULL: silent"),
    FIELD(log_user, POINTER, "handed to log"),
    FIELD(log_level, U32, "highest level to report; 0: warnings"),
    FIELD(reserved, U32, "0"),
    FIELD(worker_path, STRING, "the program gpuchar-worker; NULL: search"),
};
#undef FIELD
const gpuchar_schema gc_schema_runtime_options =
    GC_SCHEMA(gpuchar_runtime_options, option_fields, 1, GC_NONE, "Where libraries and caches are, and who logs.");

#define FIELD(member, kind, doc) GC_FIELD(gpuchar_library_info, member, kind, "", doc)
static const gpuchar_field library_fields[] = {
    FIELD(path, TEXT, "real path; empty when not found"),
    FIELD(version, U32, "as the library numbers itself"),
    FIELD(status, I32, "GPUCHAR_OK, or why it cannot be used"),
    FIELD(message, TEXT, "detail of that failure"),
};
#undef FIELD
const gpuchar_schema gc_schema_library_info =
    GC_SCHEMA(gpuchar_library_info, library_fields, 0, GC_NONE, "One of NVIDIA's libraries as found, or why not.");

#define LIBRARY(member, doc) GC_FIELD_STRUCT(gpuchar_runtime_info, member, gc_schema_library_info, "", doc)
static const gpuchar_field info_fields[] = {
    LIBRARY(cuda, "the CUDA driver"),
    LIBRARY(nvrtc, "the run-time compiler"),
    LIBRARY(cupti, "the hardware counters"),
    LIBRARY(nvml, "clocks, power and other processes"),
};
#undef LIBRARY
const gpuchar_schema gc_schema_runtime_info =
    GC_SCHEMA(gpuchar_runtime_info, info_fields, 1, GC_NONE, "What was found on this machine.");
