/*
 * Status codes and error detail.
 *
 * Every function that can fail returns a gpuchar_status:
 *   0    complete and proved;
 *   > 0  GPUCHAR_CAVEAT: the result is filled, read its evidence before using the numbers;
 *   < 0  failed: the result is zeroed and gpuchar_last_error() tells more.
 */
#ifndef GPUCHAR_STATUS_H
#define GPUCHAR_STATUS_H

#include <gpuchar/export.h>

GPUCHAR_BEGIN_DECLS

typedef int32_t gpuchar_status;

/* X(name, number, text). Numbers are part of the ABI: never changed, never reused; the gaps are for later codes. */
#define GPUCHAR_STATUS_LIST(X)                                                                                         \
    X(OK, 0, "complete and proved")                                                                                    \
    X(CAVEAT, 1, "result filled, read its evidence first")                                                             \
    /* the caller's side */                                                                                            \
    X(E_INVALID_ARGUMENT, -1, "invalid argument")                                                                      \
    X(E_STRUCT_SIZE, -2, "struct_size is wrong, or the struct carries fields this library does not know")              \
    X(E_LIMIT, -3, "a value is outside its documented range")                                                          \
    X(E_BUSY, -4, "the session is busy in another call")                                                               \
    X(E_CANCELLED, -5, "cancelled")                                                                                    \
    X(E_OUT_OF_MEMORY, -6, "out of host memory")                                                                       \
    X(E_FORKED, -7, "the session belongs to the parent process")                                                       \
    X(E_NOT_APPLICABLE, -8, "this chip or session lacks what the call needs")                                          \
    X(E_NOT_REQUESTED, -9, "not requested")                                                                            \
    /* what the machine lacks */                                                                                       \
    X(E_NO_DRIVER, -20, "no NVIDIA driver")                                                                            \
    X(E_DRIVER_TOO_OLD, -21, "the NVIDIA driver is too old")                                                           \
    X(E_NO_DEVICE, -22, "no GPU")                                                                                      \
    X(E_DEVICE_NOT_FOUND, -23, "no such GPU")                                                                          \
    X(E_NO_NVRTC, -24, "NVRTC not found")                                                                              \
    X(E_NVRTC_TOO_OLD, -25, "NVRTC is too old")                                                                        \
    X(E_NVRTC_TOO_NEW, -26, "NVRTC is newer than the driver accepts")                                                  \
    X(E_ARCH_UNSUPPORTED, -27, "NVRTC does not know this architecture")                                                \
    X(E_NO_CUPTI, -28, "CUPTI not found")                                                                              \
    X(E_CUPTI_TOO_OLD, -29, "CUPTI is too old")                                                                        \
    X(E_NO_NVML, -30, "NVML not found")                                                                                \
    X(E_NO_PERMISSION, -31, "no permission to read hardware counters")                                                 \
    X(E_PROFILER_ACTIVE, -32, "another profiler is using the counters")                                                \
    X(E_COUNTERS_UNSUPPORTED, -33, "hardware counters are not available on this device")                               \
    X(E_METRIC_UNKNOWN, -34, "this chip has no such metric")                                                           \
    X(E_SYMBOL_MISSING, -35, "a library lacks a function")                                                             \
    X(E_NO_WORKER, -36, "gpuchar-worker not found")                                                                    \
    X(E_WORKER_VERSION, -37, "gpuchar-worker is of another version")                                                   \
    /* what went wrong */                                                                                              \
    X(E_COMPILE, -50, "the kernel did not compile")                                                                    \
    X(E_NOT_PROVED, -51, "the machine code is not what the kernel intends")                                            \
    X(E_SASS_FORMAT, -52, "malformed cubin")                                                                           \
    X(E_SASS_UNKNOWN, -53, "unknown machine code")                                                                     \
    X(E_CUDA, -60, "a CUDA driver call failed")                                                                        \
    X(E_CONTEXT_LOST, -61, "the CUDA context is lost")                                                                 \
    X(E_OUT_OF_DEVICE_MEMORY, -62, "out of GPU memory")                                                                \
    X(E_TIMEOUT, -63, "a time limit ran out")                                                                          \
    X(E_NVRTC, -64, "an NVRTC call failed")                                                                            \
    X(E_CUPTI, -65, "a CUPTI call failed")                                                                             \
    X(E_NVML, -66, "an NVML call failed")                                                                              \
    X(E_MEASUREMENT, -67, "the samples break a physical bound")                                                        \
    X(E_CALLBACK, -68, "the caller's callback failed")                                                                 \
    X(E_WORKER, -69, "gpuchar-worker failed")                                                                          \
    X(E_IO, -80, "a file could not be read or written")                                                                \
    X(E_FORMAT, -81, "malformed document")                                                                             \
    X(E_NOT_RECORDED, -82, "the recorded profile does not hold this measurement")                                      \
    X(E_INTERNAL, -99, "internal error, please report")

enum {
#define GPUCHAR_STATUS_ENUM(name, number, text) GPUCHAR_##name = number,
    GPUCHAR_STATUS_LIST(GPUCHAR_STATUS_ENUM)
#undef GPUCHAR_STATUS_ENUM
};

/* Whose code `native_code` is. */
enum {
    GPUCHAR_DOMAIN_NONE = 0,
    GPUCHAR_DOMAIN_OS = 1,
    GPUCHAR_DOMAIN_CUDA = 2,
    GPUCHAR_DOMAIN_NVRTC = 3,
    GPUCHAR_DOMAIN_CUPTI = 4,
    GPUCHAR_DOMAIN_NVML = 5,
    GPUCHAR_DOMAIN_CUBLASLT = 6
};

/* Detail of a failure. Strings are never NULL; an empty string means "nothing to say". */
typedef struct gpuchar_error {
    size_t struct_size;
    gpuchar_status status;
    uint32_t domain;         /* GPUCHAR_DOMAIN_... */
    int64_t native_code;     /* errno, CUresult, nvrtcResult, CUptiResult, nvmlReturn_t; 0 without a domain */
    const char *native_name; /* "CUDA_ERROR_OUT_OF_MEMORY" */
    const char *call;        /* the foreign function that failed, "cuMemAlloc" */
    const char *message;     /* one sentence */
    const char *hint;        /* what to do about it */
    const char *log;         /* NVRTC's whole log */
} gpuchar_error;

/* "GPUCHAR_E_BUSY"; "unknown status" for a number this library does not know. Never NULL. */
GPUCHAR_API const char *gpuchar_status_name(gpuchar_status status);
/* A short English text for a status. Never NULL. */
GPUCHAR_API const char *gpuchar_status_text(gpuchar_status status);
/* "CUDA", "NVRTC", ...; "" for GPUCHAR_DOMAIN_NONE. Never NULL. */
GPUCHAR_API const char *gpuchar_domain_name(uint32_t domain);

/*
 * The last failure on this thread: never NULL, set by each failing call, untouched by success, valid until the next
 * gpuchar call on this thread. Before the first failure its status is GPUCHAR_OK.
 */
GPUCHAR_API const gpuchar_error *gpuchar_last_error(void);
/* A copy of the last failure that lives until gpuchar_error_free; NULL when memory is short. */
GPUCHAR_API gpuchar_error *gpuchar_error_copy(void);
GPUCHAR_API void gpuchar_error_free(gpuchar_error *error);

GPUCHAR_END_DECLS

#endif
