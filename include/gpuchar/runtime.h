/*
 * The runtime: NVIDIA's libraries found on this machine, the log callback and the cubin cache. It serves device
 * listing, compilation and sessions. Functions take NULL for the process's default runtime, made at its first use.
 *
 * Thread safety: a runtime may be used from any number of threads at once. Sessions keep their runtime alive: it goes
 * with the last of them when it is closed before.
 */
#ifndef GPUCHAR_RUNTIME_H
#define GPUCHAR_RUNTIME_H

#include <gpuchar/status.h>

GPUCHAR_BEGIN_DECLS

typedef struct gpuchar_runtime gpuchar_runtime;

enum { GPUCHAR_LOG_ERROR = 1, GPUCHAR_LOG_WARNING = 2, GPUCHAR_LOG_INFO = 3, GPUCHAR_LOG_DEBUG = 4 };

/*
 * Called on the thread that logs, by several at once where several work; must not call the library. What fails while
 * something is given back (memory, a context, a profiler) takes nothing from a result: it is a warning here, and nowhere
 * else.
 */
typedef void (*gpuchar_log_function)(void *user, uint32_t level, const char *message);

/*
 * Paths: NULL means search (environment variable GPUCHAR_LIBCUDA, GPUCHAR_LIBNVRTC, GPUCHAR_LIBCUPTI, GPUCHAR_LIBNVML;
 * already loaded; soname; Python wheel folders; CUDA_HOME and the usual toolkit folders). The strings are copied; what is
 * relative is so to the working directory of now, later changes of it are not followed.
 *
 * gpuchar-worker is the program in which kernels run that could hang or break a CUDA context; only calls that need it
 * start it. NULL means search: GPUCHAR_WORKER (read by each such call: give a whole path), then beside this library, then
 * where it is installed.
 *
 * The cache folder may be shared by processes and machines: its files are told apart by source, flags, architecture, and
 * NVRTC's version and build. Of its path only the last folder is made when absent. The oldest files are removed beyond
 * 256 MiB or 4096 files. Once it is open, a full or lost folder is a line in the log, and kernels are compiled.
 */
typedef struct gpuchar_runtime_options {
    size_t struct_size;
    const char *cuda_path;    /* libcuda.so.1 */
    const char *nvrtc_path;   /* libnvrtc.so.N */
    const char *cupti_path;   /* libcupti.so.N */
    const char *nvml_path;    /* libnvidia-ml.so.1 */
    const char *cache_dir;    /* folder for compiled kernels; NULL or "": memory only */
    gpuchar_log_function log; /* NULL: silent */
    void *log_user;
    uint32_t log_level; /* highest level to report; 0: GPUCHAR_LOG_WARNING */
    uint32_t reserved;
    const char *worker_path; /* the program gpuchar-worker */
} gpuchar_runtime_options;

/* One of NVIDIA's libraries as found, or why not. Frozen. */
typedef struct gpuchar_library_info {
    char path[512]; /* "" when not found; the first 511 characters of a longer one */
    /*
     * As the library numbers itself: 13000 for CUDA driver API 13.0 and NVRTC 13.0; CUPTI's API version; for NVML the
     * major number of the display driver, 580, or 0 when its file's name does not tell.
     */
    uint32_t version;
    gpuchar_status status; /* GPUCHAR_OK, or why it cannot be used */
    char message[240];     /* the detail of that failure; "" when usable */
} gpuchar_library_info;

typedef struct gpuchar_runtime_info {
    size_t struct_size;
    gpuchar_library_info cuda;
    gpuchar_library_info nvrtc;
    gpuchar_library_info cupti;
    gpuchar_library_info nvml;
} gpuchar_runtime_info;

GPUCHAR_DEFINE_MAKER(gpuchar_runtime_options)
GPUCHAR_DEFINE_MAKER(gpuchar_runtime_info)
#define GPUCHAR_RUNTIME_OPTIONS_INIT gpuchar_runtime_options_make()
#define GPUCHAR_RUNTIME_INFO_INIT gpuchar_runtime_info_make()
GPUCHAR_API void gpuchar_runtime_options_init(gpuchar_runtime_options *options, size_t size);
GPUCHAR_API void gpuchar_runtime_info_init(gpuchar_runtime_info *info, size_t size);

/*
 * Makes a runtime. Libraries are opened at their first use. Errors: E_INVALID_ARGUMENT, E_STRUCT_SIZE, E_LIMIT, E_IO (the
 * cache folder cannot be made, is none, or cannot be written), E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_runtime_open(const gpuchar_runtime_options *options, gpuchar_runtime **runtime);
/* NULL is allowed and leaves the default runtime alone. */
GPUCHAR_API void gpuchar_runtime_close(gpuchar_runtime *runtime);

/* Loads what can be loaded (no GPU is touched) and tells what was found. Missing libraries are entries, not failures. */
GPUCHAR_API gpuchar_status gpuchar_runtime_get_info(gpuchar_runtime *runtime, gpuchar_runtime_info *info);

/*
 * The architectures NVRTC compiles for, ascending (75 for sm_75). Writes up to `capacity` of them and their number to
 * `count`; `architectures` may be NULL with capacity 0. Errors: E_NO_NVRTC, E_NVRTC_TOO_OLD.
 */
GPUCHAR_API gpuchar_status gpuchar_runtime_architectures(gpuchar_runtime *runtime, uint32_t *architectures,
                                                         size_t capacity, size_t *count);

/* Frees text that the library returned (JSON, tables). NULL is allowed. */
GPUCHAR_API void gpuchar_string_free(char *text);

GPUCHAR_END_DECLS

#endif
