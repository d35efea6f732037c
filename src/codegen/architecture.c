/* Whether NVRTC compiles for a chip, and what would if it does not. */
#include "codegen/codegen_internal.h"

#include <stdlib.h>

typedef struct known_range {
    bool exact;
    uint32_t lowest, highest;
} known_range;

static known_range look_up(const int *archs, size_t count, uint32_t arch) {
    known_range range = {.lowest = UINT32_MAX};
    for (size_t i = 0; i < count; i++) {
        uint32_t known = (uint32_t)archs[i];
        range.exact = range.exact || known == arch;
        range.lowest = known < range.lowest ? known : range.lowest;
        range.highest = known > range.highest ? known : range.highest;
    }
    return range;
}

static gpuchar_status unsupported(const gc_nvrtc *nvrtc, uint32_t arch, const known_range *range) {
    gpuchar_status status = gc_fail(
        GPUCHAR_E_ARCH_UNSUPPORTED, "NVRTC %u.%u (%s) does not compile for sm_%u, only for sm_%u to sm_%u",
        nvrtc->version / 1000, nvrtc->version % 1000 / 10, nvrtc->library.path, arch, range->lowest, range->highest);
    if (arch >= range->lowest) {
        gc_hint("sm_%u needs a newer NVRTC", arch);
    } else if (nvrtc->version >= 13000 && arch >= 50) {
        gc_hint("sm_%u needs NVRTC 12.x: version 13 dropped chips before sm_75", arch);
    } else {
        gc_hint("sm_%u is older than every NVRTC that this library can use", arch);
    }
    return status;
}

gpuchar_status gc_compile_check_arch(const gc_nvrtc *nvrtc, uint32_t arch) {
    int count = 0;
    nvrtcResult result = nvrtc->GetNumSupportedArchs(&count);
    if (result != NVRTC_SUCCESS || count <= 0) {
        return gc_nvrtc_fail(nvrtc, result, "nvrtcGetNumSupportedArchs");
    }
    int *archs = calloc((size_t)count, sizeof *archs);
    if (!archs) {
        return gc_fail_memory((size_t)count * sizeof *archs);
    }
    gpuchar_status status = GPUCHAR_OK;
    result = nvrtc->GetSupportedArchs(archs);
    if (result != NVRTC_SUCCESS) {
        status = gc_nvrtc_fail(nvrtc, result, "nvrtcGetSupportedArchs");
    } else {
        known_range range = look_up(archs, (size_t)count, arch);
        status = range.exact ? GPUCHAR_OK : unsupported(nvrtc, arch, &range);
    }
    free(archs);
    return status;
}
