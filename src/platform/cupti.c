/*
 * CUPTI. The Range Profiler came with CUDA 12.6 Update 2. CUPTI's version number does not tell the updates of 12.6
 * apart (both are 24), so that its functions decide.
 */
#include <platform/cupti.h>

#include <core/error.h>
#include <core/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const gc_symbol symbols[] = {
#define SYMBOL(member, parameters) {"cupti" #member, NULL, offsetof(gc_cupti, member), false},
    GC_CUPTI_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12", NULL};
static const char *const wheel_folders[] = {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib", NULL};
static const char *const toolkit_folders[] = {"extras/CUPTI/lib64",     "lib64", "lib", "targets/x86_64-linux/lib",
                                              "targets/sbsa-linux/lib", NULL};

/* The toolkit that a CUPTI API version belongs to; see cupti_version.h. */
static uint32_t toolkit_major(uint32_t version) {
    if (version >= 10000) {
        return version / 10000;
    }
    return version >= 19 ? 12 : 11;
}

static gpuchar_status fail_too_old(const gc_library *library, uint32_t version) {
    gpuchar_status status =
        gc_fail(GPUCHAR_E_CUPTI_TOO_OLD, "%s (API version %u) has no Range Profiler", library->path, version);
    gc_hint(
        "use CUPTI of CUDA 12.6 Update 2 or newer: pip install nvidia-cuda-cupti-cu12 (or nvidia-cuda-cupti), or name "
        "it with GPUCHAR_LIBCUPTI");
    return status;
}

static gpuchar_status fail_version(const gc_library *library, CUptiResult result) {
    void *address = NULL;
    const char *name = NULL;
    if (gc_library_symbol(library, "cuptiGetResultString", &address) == GPUCHAR_OK) {
        CUptiResult (*get_name)(CUptiResult, const char **);
        memcpy(&get_name, &address, sizeof get_name);
        name = get_name(result, &name) == CUPTI_SUCCESS ? name : NULL;
    }
    gc_native native = {.domain = GPUCHAR_DOMAIN_CUPTI, .code = result, .name = name, .call = "cuptiGetVersion"};
    return gc_fail_native(GPUCHAR_E_CUPTI, native, "%s does not tell its version", library->path);
}

static gpuchar_status accept_cupti(const gc_library *library, void *user) {
    const gc_toolkit_search *search = user;
    gc_cupti *cupti = search->table;
    void *address = NULL;
    gpuchar_status status = gc_library_symbol(library, "cuptiGetVersion", &address);
    if (status) {
        return status;
    }
    CUptiResult (*get_version)(uint32_t *);
    memcpy(&get_version, &address, sizeof get_version);
    uint32_t version = 0;
    CUptiResult result = get_version(&version);
    if (result != CUPTI_SUCCESS) {
        return fail_version(library, result);
    }
    cupti->version = version;
    if (gc_library_symbol(library, "cuptiRangeProfilerEnable", &address) != GPUCHAR_OK) {
        return fail_too_old(library, version);
    }
    uint32_t major = toolkit_major(version);
    if (search->highest_major != 0 && major > search->highest_major) {
        status = gc_fail(GPUCHAR_E_NO_CUPTI, "%s is CUPTI of CUDA %u, but the driver is of CUDA %u", library->path,
                         major, search->highest_major);
        gc_hint("use CUPTI of CUDA %u: pip install nvidia-cuda-cupti-cu%u, or a newer driver", search->highest_major,
                search->highest_major);
        return status;
    }
    /* Opened by its bare name when profiling starts. */
    gc_library_open_sibling(library, "libnvperf_host.so");
    return gc_library_fill(library, symbols, GC_COUNT(symbols), cupti);
}

gpuchar_status gc_cupti_load(const char *path, uint32_t highest_major, gc_cupti *cupti) {
    static const gc_library_spec spec = {
        .environment = "GPUCHAR_LIBCUPTI",
        .sonames = sonames,
        .wheel_folders = wheel_folders,
        .toolkit_folders = toolkit_folders,
        .domain = GPUCHAR_DOMAIN_CUPTI,
        .missing = GPUCHAR_E_NO_CUPTI,
        .hint = "pip install nvidia-cuda-cupti, a CUDA toolkit, or name the library with GPUCHAR_LIBCUPTI",
        .accept = accept_cupti,
    };
    static const char hint_12[] = "the driver is of CUDA 12, so CUPTI 12.x is needed: pip install "
                                  "nvidia-cuda-cupti-cu12, a CUDA toolkit 12.6 Update 2 or newer, or name it with "
                                  "GPUCHAR_LIBCUPTI";
    return gc_toolkit_load(&spec, hint_12, path, (gc_toolkit_search){cupti, highest_major}, sizeof *cupti);
}

/* What a code means for the caller. */
static gpuchar_status status_of(CUptiResult result) {
    switch ((int)result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return GPUCHAR_E_NO_PERMISSION;
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
        return GPUCHAR_E_PROFILER_ACTIVE;
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
    case 46: /* CUPTI_ERROR_INVALID_CHIP_NAME, since CUDA 12.9 */
        return GPUCHAR_E_COUNTERS_UNSUPPORTED;
    case CUPTI_ERROR_INVALID_METRIC_ID:
    case CUPTI_ERROR_INVALID_METRIC_NAME:
        return GPUCHAR_E_METRIC_UNKNOWN;
    case CUPTI_ERROR_OUT_OF_MEMORY:
        return GPUCHAR_E_OUT_OF_MEMORY;
    default:
        return GPUCHAR_E_CUPTI;
    }
}

/* The kernel driver's switch: 1 reserves the counters for administrators; -1 when it cannot be read. */
static int admin_only(void) {
    FILE *file = fopen("/proc/driver/nvidia/params", "re");
    if (!file) {
        return -1;
    }
    char line[256];
    int value = -1;
    while (value < 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, "RmProfilingAdminOnly:", 21) == 0) {
            value = line[21] ? (int)strtol(line + 21, NULL, 10) : -1;
        }
    }
    fclose(file);
    return value;
}

static void hint_permission(void) {
    static const char *const remedy =
        "run with CAP_SYS_ADMIN (in a container: --cap-add=SYS_ADMIN), or let the administrator set the module option "
        "NVreg_RestrictProfilingToAdminUsers=0 for nvidia and reload the driver";
    int value = admin_only();
    if (value < 0) {
        gc_hint("RmProfilingAdminOnly in /proc/driver/nvidia/params cannot be read: %s", remedy);
    } else {
        gc_hint("RmProfilingAdminOnly is %d in /proc/driver/nvidia/params: %s", value, remedy);
    }
}

static void hint_result(CUptiResult result) {
    switch ((int)result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
        hint_permission();
        break;
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        gc_hint("profiling is not enabled for this virtual GPU: its host's administrator sets the vGPU plugin's "
                "enable_profiling");
        break;
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        gc_hint("another profiler is active in this process, such as Nsight or a framework's profiler: end it first");
        break;
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
        gc_hint("this process uses CUPTI's old event and metric API: end it first");
        break;
    case CUPTI_ERROR_HARDWARE_BUSY:
        gc_hint("another process reads this GPU's counters: a profiler, or monitoring by DCGM (dcgmi profile --pause; "
                "afterwards --resume)");
        break;
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
        gc_hint("counters are not available on this MIG slice");
        break;
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
        gc_hint("allow access to the counters in the NVIDIA control panel of Windows (developer settings)");
        break;
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
        gc_hint("confidential computing hides the counters");
        break;
    case CUPTI_ERROR_NOT_COMPATIBLE:
        gc_hint(
            "this CUPTI does not fit the driver, or does not know the chip: try a CUPTI of the driver's CUDA version");
        break;
    case CUPTI_ERROR_UNKNOWN:
        gc_hint(
            "seen without a driver, in containers without all driver libraries (capability \"all\"), and while DCGM "
            "profiles the GPU (dcgmi profile --pause)");
        break;
    default:
        break;
    }
}

static const char *result_name(const gc_cupti *cupti, CUptiResult result) {
    const char *name = NULL;
    bool told = cupti->GetResultString && cupti->GetResultString(result, &name) == CUPTI_SUCCESS && name;
    return told ? name : "unknown CUPTI error";
}

void gc_cupti_give_back(const gc_cupti *cupti, const gc_log *log, CUptiResult result, const char *call) {
    if (result != CUPTI_SUCCESS) {
        gc_log_write(log, GPUCHAR_LOG_WARNING, "%s failed while giving back: %s", call, result_name(cupti, result));
    }
}

gpuchar_status gc_cupti_check(const gc_cupti *cupti, CUptiResult result, const char *call) {
    if (result == CUPTI_SUCCESS) {
        return GPUCHAR_OK;
    }
    const char *name = result_name(cupti, result), *text = NULL;
    if (!cupti->GetErrorMessage || cupti->GetErrorMessage(result, &text) != CUPTI_SUCCESS || !text) {
        text = name;
    }
    gc_native native = {.domain = GPUCHAR_DOMAIN_CUPTI, .code = result, .name = name, .call = call};
    gpuchar_status status = gc_fail_native(status_of(result), native, "%s failed: %s", call, text);
    hint_result(result);
    return status;
}
