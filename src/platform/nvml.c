/* NVML: what the display driver knows of clocks, power and neighbours. */
#include <platform/nvml.h>

#include <core/error.h>
#include <core/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL for "": the table has no way to leave a column out. */
static const gc_symbol symbols[] = {
#define SYMBOL(member, symbol, older, optional, parameters)                                                            \
    {"nvml" symbol, sizeof(older) > 1 ? "nvml" older : NULL, offsetof(gc_nvml, member), optional},
    GC_NVML_FUNCTIONS(SYMBOL)
#undef SYMBOL
        {"nvmlErrorString", NULL, offsetof(gc_nvml, ErrorString), true},
};

static const char *const sonames[] = {"libnvidia-ml.so.1", NULL};
static const char *const folders[] = {"/usr/lib/wsl/lib", "/run/opengl-driver/lib", NULL};

static gpuchar_status accept_nvml(const gc_library *library, void *user) {
    return gc_library_fill(library, symbols, GC_COUNT(symbols), user);
}

/* "libnvidia-ml.so.580.159.04" is the file behind the soname. */
static uint32_t major_of(const char *path) {
    const char *found = strstr(path, "libnvidia-ml.so.");
    unsigned long major = found ? strtoul(found + strlen("libnvidia-ml.so."), NULL, 10) : 0;
    return major > 1 && major < 100000 ? (uint32_t)major : 0;
}

gpuchar_status gc_nvml_load(const char *path, gc_nvml *nvml) {
    const gc_library_spec spec = {
        .environment = "GPUCHAR_LIBNVML",
        .sonames = sonames,
        .folders = folders,
        .domain = GPUCHAR_DOMAIN_NVML,
        .missing = GPUCHAR_E_NO_NVML,
        .hint =
            "libnvidia-ml.so.1 is installed with the NVIDIA driver; in a container it needs the capability utility. "
            "Without it clocks, power limits and throttling are unknown",
        .accept = accept_nvml,
        .accept_user = nvml,
    };
    gpuchar_status status = gc_library_load(&spec, path, nvml, sizeof *nvml);
    nvml->driver_major = major_of(nvml->library.path); /* 0 for "" */
    return status;
}

gpuchar_status gc_nvml_check(const gc_nvml *nvml, int result, const char *call) {
    if (result == GC_NVML_SUCCESS) {
        return GPUCHAR_OK;
    }
    const char *text = nvml->ErrorString ? nvml->ErrorString(result) : NULL;
    gc_native native = {
        .domain = GPUCHAR_DOMAIN_NVML, .code = result, .name = text ? text : "unknown NVML error", .call = call};
    return gc_fail_native(GPUCHAR_E_NVML, native, "%s failed: %s", call, native.name);
}

gpuchar_status gc_nvml_init(const gc_nvml *nvml) {
    gpuchar_status status = gc_nvml_check(nvml, nvml->Init(), "nvmlInit_v2");
    if (status) {
        gc_hint("nvidia-smi, which uses the same library, should tell the same");
    }
    return status;
}
