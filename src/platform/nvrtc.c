/* NVRTC: a library of the toolkit or of a wheel, whose machine code the driver must accept. */
#include <platform/nvrtc.h>

#include <core/error.h>
#include <core/util.h>
#include <stdio.h>
#include <string.h>

enum { OLDEST = 12000 };

static const gc_symbol symbols[] = {
#define SYMBOL(member, result, parameters) {"nvrtc" #member, NULL, offsetof(gc_nvrtc, member), false},
    GC_NVRTC_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
static const char *const wheel_folders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", NULL};
static const char *const toolkit_folders[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib",
                                              NULL};

static gpuchar_status check_version(const gc_library *library, uint32_t version, uint32_t highest_major) {
    if (version < OLDEST) {
        gpuchar_status status = gc_fail(GPUCHAR_E_NVRTC_TOO_OLD, "%s is NVRTC %u.%u, 12.0 is the oldest that works",
                                        library->path, version / 1000, version % 1000 / 10);
        gc_hint("pip install nvidia-cuda-nvrtc-cu12, or name a newer one with GPUCHAR_LIBNVRTC");
        return status;
    }
    if (highest_major != 0 && version / 1000 > highest_major) {
        gpuchar_status status = gc_fail(GPUCHAR_E_NVRTC_TOO_NEW, "%s is NVRTC %u.%u, but the driver is of CUDA %u",
                                        library->path, version / 1000, version % 1000 / 10, highest_major);
        gc_hint("use NVRTC %u.x (pip install \"nvidia-cuda-nvrtc-cu%u\"), or a newer driver", highest_major,
                highest_major);
        return status;
    }
    return GPUCHAR_OK;
}

static gpuchar_status fail_version(const gc_library *library, nvrtcResult result) {
    void *address = NULL;
    const char *name = NULL;
    if (gc_library_symbol(library, "nvrtcGetErrorString", &address) == GPUCHAR_OK) {
        const char *(*get_name)(nvrtcResult);
        memcpy(&get_name, &address, sizeof get_name);
        name = get_name(result);
    }
    gc_native native = {.domain = GPUCHAR_DOMAIN_NVRTC, .code = result, .name = name, .call = "nvrtcVersion"};
    return gc_fail_native(GPUCHAR_E_NVRTC, native, "%s does not tell its version", library->path);
}

static gpuchar_status accept_nvrtc(const gc_library *library, void *user) {
    const gc_toolkit_search *search = user;
    gc_nvrtc *nvrtc = search->table;
    void *address = NULL;
    gpuchar_status status = gc_library_symbol(library, "nvrtcVersion", &address);
    if (status) {
        return status;
    }
    nvrtcResult (*get_version)(int *, int *);
    memcpy(&get_version, &address, sizeof get_version);
    int major = 0, minor = 0;
    nvrtcResult result = get_version(&major, &minor);
    if (result != NVRTC_SUCCESS || major <= 0 || minor < 0) {
        return fail_version(library, result);
    }
    /* Before the other symbols: what is too old may lack some, and its age is the better answer. */
    nvrtc->version = (uint32_t)(major * 1000 + minor * 10);
    status = check_version(library, nvrtc->version, search->highest_major);
    if (status) {
        return status;
    }
    /* NVRTC opens this by its bare name at the first compilation; the copy of its own folder is then loaded already. */
    char builtins[64];
    snprintf(builtins, sizeof builtins, "libnvrtc-builtins.so.%d.%d", major, minor);
    gc_library_open_sibling(library, builtins);
    return gc_library_fill(library, symbols, GC_COUNT(symbols), nvrtc);
}

gpuchar_status gc_nvrtc_load(const char *path, uint32_t highest_major, gc_nvrtc *nvrtc) {
    static const gc_library_spec spec = {
        .environment = "GPUCHAR_LIBNVRTC",
        .sonames = sonames,
        .wheel_folders = wheel_folders,
        .toolkit_folders = toolkit_folders,
        .domain = GPUCHAR_DOMAIN_NVRTC,
        .missing = GPUCHAR_E_NO_NVRTC,
        .hint = "pip install nvidia-cuda-nvrtc, a CUDA toolkit, or name the library with GPUCHAR_LIBNVRTC",
        .accept = accept_nvrtc,
    };
    static const char hint_12[] = "the driver is of CUDA 12, so NVRTC 12.x is needed: pip install "
                                  "nvidia-cuda-nvrtc-cu12, a CUDA toolkit 12.x, or name it with GPUCHAR_LIBNVRTC";
    gpuchar_status status =
        gc_toolkit_load(&spec, hint_12, path, (gc_toolkit_search){nvrtc, highest_major}, sizeof *nvrtc);
    if (!status) {
        nvrtc->build = gc_library_build(&nvrtc->library);
    }
    return status;
}

gpuchar_status gc_nvrtc_fail(const gc_nvrtc *nvrtc, nvrtcResult result, const char *call) {
    const char *name = nvrtc->GetErrorString ? nvrtc->GetErrorString(result) : NULL;
    gc_native native = {
        .domain = GPUCHAR_DOMAIN_NVRTC, .code = result, .name = name ? name : "unknown NVRTC error", .call = call};
    gpuchar_status status = GPUCHAR_E_NVRTC;
    if (result == NVRTC_ERROR_COMPILATION) {
        status = GPUCHAR_E_COMPILE;
    } else if (result == NVRTC_ERROR_OUT_OF_MEMORY) {
        status = GPUCHAR_E_OUT_OF_MEMORY;
    }
    gc_fail_native(status, native, "%s of NVRTC %u.%u (%s) failed", call, nvrtc->version / 1000,
                   nvrtc->version % 1000 / 10, nvrtc->library.path);
    if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) {
        gc_hint("libnvrtc-builtins.so.%u.%u must lie in the folder of libnvrtc", nvrtc->version / 1000,
                nvrtc->version % 1000 / 10);
    } else if (result == NVRTC_ERROR_INVALID_OPTION) {
        gc_hint("this version of NVRTC does not know one of the options or the architecture");
    } else if (result == NVRTC_ERROR_COMPILATION) {
        gc_hint("the compiler's messages are in the log of this error");
    }
    return status;
}
