/*
 * Only cuGetProcAddress_v2 is looked up by name. It gives each function at the version it was written against, so a
 * driver that maps a plain name to a newer signature changes nothing here.
 */
#include <platform/cuda_driver.h>

#include <core/error.h>
#include <core/util.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef CUresult (*get_proc_address)(const char *symbol, void **function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *found);

typedef struct versioned_symbol {
    const char *name;
    int version;
    size_t offset;
} versioned_symbol;

static const versioned_symbol symbols[] = {
#define SYMBOL(member, version, parameters) {"cu" #member, version, offsetof(gc_cuda, member)},
    GC_CUDA_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const char *const sonames[] = {"libcuda.so.1", NULL};
/* WSL2, NixOS: places of the driver that a loader may not know. */
static const char *const folders[] = {"/usr/lib/wsl/lib", "/run/opengl-driver/lib", NULL};

static gpuchar_status fail_stub(const gc_library *library) {
    gc_native native = {.domain = GPUCHAR_DOMAIN_CUDA,
                        .code = CUDA_ERROR_STUB_LIBRARY,
                        .name = "CUDA_ERROR_STUB_LIBRARY",
                        .call = "cuDriverGetVersion"};
    gpuchar_status status = gc_fail_native(GPUCHAR_E_NO_DRIVER, native,
                                           "%s is a toolkit stub, for linking only, not the driver", library->path);
    gc_hint("the driver's library is libcuda.so.1, installed with the NVIDIA driver; take the toolkit's stubs folder "
            "out of LD_LIBRARY_PATH and of GPUCHAR_LIBCUDA");
    return status;
}

static gpuchar_status fail_too_old(const gc_library *library, int version) {
    gpuchar_status status =
        gc_fail(GPUCHAR_E_DRIVER_TOO_OLD, "the driver %s has CUDA %d.%d, 12.0 is the oldest that works", library->path,
                version / 1000, version % 1000 / 10);
    gc_hint("install an NVIDIA driver 525 or newer");
    return status;
}

/* A driver from before CUDA 12.0, a stub of that time, or another library altogether: only its version can tell. */
static gpuchar_status fail_without_entry(const gc_library *library) {
    void *address = NULL;
    gpuchar_status status = gc_library_symbol(library, "cuDriverGetVersion", &address);
    if (status) {
        gc_hint("this is not libcuda.so.1 of an NVIDIA driver");
        return status;
    }
    CUresult (*get_version)(int *);
    memcpy(&get_version, &address, sizeof get_version);
    int version = 0;
    CUresult result = get_version(&version);
    if (result == CUDA_ERROR_STUB_LIBRARY) {
        return fail_stub(library);
    }
    if (result == CUDA_SUCCESS && version < GC_CUDA_OLDEST) {
        return fail_too_old(library, version);
    }
    return gc_library_symbol(library, "cuGetProcAddress_v2", &address);
}

/* While the table is not filled yet. NULL when the driver does not tell. */
static const char *name_of(get_proc_address get, CUresult result) {
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    void *function = NULL;
    if (!get || get("cuGetErrorName", &function, 6000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found) != CUDA_SUCCESS ||
        !function) {
        return NULL;
    }
    CUresult (*get_name)(CUresult, const char **);
    memcpy(&get_name, &function, sizeof get_name);
    const char *name = NULL;
    return get_name(result, &name) == CUDA_SUCCESS ? name : NULL;
}

static gpuchar_status look_up(const gc_library *library, get_proc_address get, const char *name, int version,
                              void **function) {
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    *function = NULL;
    if (!get) return gc_fail(GPUCHAR_E_INTERNAL, "no cuGetProcAddress_v2");
    CUresult result = get(name, function, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found);
    if (result == CUDA_ERROR_STUB_LIBRARY) {
        return fail_stub(library);
    }
    if (result == CUDA_SUCCESS && found == CU_GET_PROC_ADDRESS_SUCCESS && *function) {
        return GPUCHAR_OK;
    }
    *function = NULL;
    gc_native native = {
        .domain = GPUCHAR_DOMAIN_CUDA, .code = result, .name = name_of(get, result), .call = "cuGetProcAddress_v2"};
    gpuchar_status status = gc_fail_native(GPUCHAR_E_SYMBOL_MISSING, native, "the driver %s lacks %s of CUDA %d.%d",
                                           library->path, name, version / 1000, version % 1000 / 10);
    gc_hint(found == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT ? "install a newer NVIDIA driver"
                                                                : "the driver's installation may be damaged");
    return status;
}

static gpuchar_status find_entry(const gc_library *library, get_proc_address *get) {
    void *address = NULL;
    if (gc_library_symbol(library, "cuGetProcAddress_v2", &address) != GPUCHAR_OK) {
        return fail_without_entry(library);
    }
    memcpy(get, &address, sizeof *get);
    return GPUCHAR_OK;
}

static gpuchar_status read_version(const gc_library *library, get_proc_address get, int *version) {
    void *function = NULL;
    gpuchar_status status = look_up(library, get, "cuDriverGetVersion", 2020, &function);
    if (status) {
        return status;
    }
    CUresult (*get_version)(int *);
    memcpy(&get_version, &function, sizeof get_version);
    CUresult result = get_version(version);
    if (result == CUDA_ERROR_STUB_LIBRARY) {
        return fail_stub(library);
    }
    if (result != CUDA_SUCCESS) {
        gc_native native = {
            .domain = GPUCHAR_DOMAIN_CUDA, .code = result, .name = name_of(get, result), .call = "cuDriverGetVersion"};
        return gc_fail_native(GPUCHAR_E_CUDA, native, "the driver %s does not tell its version", library->path);
    }
    return *version < GC_CUDA_OLDEST ? fail_too_old(library, *version) : GPUCHAR_OK;
}

/* Passes over stubs and old drivers in a search. */
static gpuchar_status accept_driver(const gc_library *library, void *user) {
    gc_cuda *cuda = user;
    get_proc_address get = NULL;
    int version = 0;
    gpuchar_status status = find_entry(library, &get);
    if (!status) {
        status = read_version(library, get, &version);
    }
    for (size_t i = 0; i < GC_COUNT(symbols) && !status; i++) {
        void *function = NULL;
        status = look_up(library, get, symbols[i].name, symbols[i].version, &function);
        memcpy((char *)cuda + symbols[i].offset, &function, sizeof function);
    }
    cuda->version = (uint32_t)version;
    return status;
}

static const char *missing_hint(void) {
    if (access("/dev/nvidiactl", F_OK) == 0 || access("/proc/driver/nvidia/version", F_OK) == 0) {
        return "the kernel driver is there but its library is not visible: in a container, start it with the NVIDIA "
               "runtime (--gpus all) and the capability compute; else name libcuda.so.1 with GPUCHAR_LIBCUDA";
    }
    return "install the NVIDIA driver, or name its libcuda.so.1 with GPUCHAR_LIBCUDA; what needs no GPU works without";
}

gpuchar_status gc_cuda_load(const char *path, gc_cuda *cuda) {
    const gc_library_spec spec = {
        .environment = "GPUCHAR_LIBCUDA",
        .sonames = sonames,
        .folders = folders,
        .domain = GPUCHAR_DOMAIN_CUDA,
        .missing = GPUCHAR_E_NO_DRIVER,
        .hint = missing_hint(),
        .accept = accept_driver,
        .accept_user = cuda,
    };
    return gc_library_load(&spec, path, cuda, sizeof *cuda);
}

static void hint_no_device(void) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible) {
        gc_hint("CUDA_VISIBLE_DEVICES is \"%s\", which may hide every GPU", visible);
    } else if (access("/dev/nvidiactl", F_OK) != 0 && access("/dev/dxg", F_OK) != 0) {
        gc_hint(
            "there is no /dev/nvidiactl: load the kernel driver (nvidia-smi shows its state), or start the container "
            "with its GPUs (--gpus all)");
    } else {
        gc_hint("nvidia-smi shows which GPUs the driver sees");
    }
}

static void hint_init(CUresult result) {
    switch ((int)result) {
    case CUDA_ERROR_NO_DEVICE:
        hint_no_device();
        break;
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        gc_hint(
            "libcuda and the kernel driver are of different versions: restart the machine (or the container) after a "
            "driver update");
        break;
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
        gc_hint("a forward-compatibility libcuda (cuda-compat) was loaded, which this GPU does not support: take its "
                "folder "
                "out of LD_LIBRARY_PATH");
        break;
    case CUDA_ERROR_SYSTEM_NOT_READY:
        gc_hint("a service of the system is not running, such as nvidia-fabricmanager on NVSwitch machines");
        break;
    case CUDA_ERROR_MPS_CONNECTION_FAILED:
    case CUDA_ERROR_MPS_SERVER_NOT_READY:
        gc_hint("the MPS control daemon named by CUDA_MPS_PIPE_DIRECTORY does not answer");
        break;
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_UNKNOWN:
        gc_hint("check that /dev/nvidiactl, /dev/nvidia0 and /dev/nvidia-uvm exist and that this user may open them");
        break;
    default:
        break;
    }
}

static gpuchar_status fail_forked(void) {
    gpuchar_status status =
        gc_fail(GPUCHAR_E_FORKED, "CUDA was initialized before this process was forked, and does not survive a fork");
    gc_hint("start workers with spawn or forkserver instead of fork, or fork before the first use of CUDA");
    return status;
}

gpuchar_status gc_cuda_init(gc_cuda *cuda) {
    pid_t self = getpid();
    if (cuda->initialized_by == self) {
        return GPUCHAR_OK;
    }
    if (cuda->initialized_by != 0) {
        return fail_forked();
    }
    CUresult result = cuda->Init(0);
    if (result == CUDA_SUCCESS) {
        cuda->initialized_by = self;
        return GPUCHAR_OK;
    }
    /* What cuInit says in the child of a process that used CUDA. */
    if (result == CUDA_ERROR_NOT_INITIALIZED) {
        return fail_forked();
    }
    if (result == CUDA_ERROR_STUB_LIBRARY) {
        return fail_stub(&cuda->library);
    }
    gpuchar_status status = gc_cuda_check(cuda, result, "cuInit");
    hint_init(result);
    return status;
}

/* Errors after which every call on the context fails. */
static bool is_sticky(CUresult result) {
    switch ((int)result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case 226: /* CUDA_ERROR_CONTAINED, since CUDA 13.0 */
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case 721: /* CUDA_ERROR_TENSOR_MEMORY_LEAK, since CUDA 12.9 */
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
        return true;
    default:
        return false;
    }
}

static gpuchar_status status_of(CUresult result) {
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        return GPUCHAR_E_OUT_OF_DEVICE_MEMORY;
    }
    if (result == CUDA_ERROR_NO_DEVICE) {
        return GPUCHAR_E_NO_DEVICE;
    }
    return is_sticky(result) ? GPUCHAR_E_CONTEXT_LOST : GPUCHAR_E_CUDA;
}

static void hint_call(CUresult result) {
    switch ((int)result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        gc_hint("other programs or this one hold the GPU's memory; nvidia-smi shows them");
        break;
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
        gc_hint("the GPU is in exclusive or prohibited compute mode, or another process holds it");
        break;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
        gc_hint("the machine code was compiled for another architecture");
        break;
    case CUDA_ERROR_LAUNCH_TIMEOUT:
        gc_hint("a GPU that drives a display ends kernels after a few seconds; the context must be made anew");
        break;
    default:
        if (is_sticky(result)) {
            gc_hint("the context cannot be used any more: close the session and make the context anew");
        } else {
            gc_hint(
                "nvidia-smi shows whether the GPU works; the kernel log (dmesg, \"NVRM: Xid\") tells what it reported");
        }
        break;
    }
}

static const char *error_name(const gc_cuda *cuda, CUresult result) {
    const char *name = NULL;
    bool told = cuda->GetErrorName && cuda->GetErrorName(result, &name) == CUDA_SUCCESS && name;
    return told ? name : "unknown CUDA error";
}

void gc_cuda_give_back(const gc_cuda *cuda, const gc_log *log, CUresult result, const char *call) {
    if (result != CUDA_SUCCESS) {
        gc_log_write(log, GPUCHAR_LOG_WARNING, "%s failed while giving back: %s", call, error_name(cuda, result));
    }
}

gpuchar_status gc_cuda_check(const gc_cuda *cuda, CUresult result, const char *call) {
    if (result == CUDA_SUCCESS) {
        return GPUCHAR_OK;
    }
    const char *name = error_name(cuda, result), *text = NULL;
    if (!cuda->GetErrorString || cuda->GetErrorString(result, &text) != CUDA_SUCCESS || !text) {
        text = name;
    }
    gc_native native = {.domain = GPUCHAR_DOMAIN_CUDA, .code = result, .name = name, .call = call};
    gpuchar_status status = gc_fail_native(status_of(result), native, "%s failed: %s", call, text);
    hint_call(result);
    return status;
}
