/* NVRTC, found and loaded at run time. */
#ifndef GC_PLATFORM_NVRTC_H
#define GC_PLATFORM_NVRTC_H

#include <nvrtc.h>
#include <platform/library.h>

/* X(member, return type, parameters): exported as "nvrtc" #member. */
#define GC_NVRTC_FUNCTIONS(X)                                                                                          \
    X(Version, nvrtcResult, (int *major, int *minor))                                                                  \
    X(GetErrorString, const char *, (nvrtcResult result))                                                              \
    X(GetNumSupportedArchs, nvrtcResult, (int *count))                                                                 \
    X(GetSupportedArchs, nvrtcResult, (int *archs))                                                                    \
    X(CreateProgram, nvrtcResult,                                                                                      \
      (nvrtcProgram * program, const char *source, const char *name, int headers, const char *const *header_texts,     \
       const char *const *header_names))                                                                               \
    X(DestroyProgram, nvrtcResult, (nvrtcProgram * program))                                                           \
    X(CompileProgram, nvrtcResult, (nvrtcProgram program, int options, const char *const *option_texts))               \
    X(GetCUBINSize, nvrtcResult, (nvrtcProgram program, size_t * size))                                                \
    X(GetCUBIN, nvrtcResult, (nvrtcProgram program, char *cubin))                                                      \
    X(GetProgramLogSize, nvrtcResult, (nvrtcProgram program, size_t * size))                                           \
    X(GetProgramLog, nvrtcResult, (nvrtcProgram program, char *log))

typedef struct gc_nvrtc {
    gc_library library;
    uint32_t version; /* 13000 for 13.0 */
    gc_hash build;    /* updates of one version differ in it */
#define GC_NVRTC_MEMBER(member, result, parameters) result(*member) parameters;
    GC_NVRTC_FUNCTIONS(GC_NVRTC_MEMBER)
#undef GC_NVRTC_MEMBER
} gc_nvrtc;

/*
 * Loads NVRTC from `path` (NULL: search). `highest_major` is the driver's CUDA major, 0 when there is no driver: newer
 * libraries are passed over in a search and are E_NVRTC_TOO_NEW when named by path. libnvrtc-builtins is loaded first from the same folder.
 */
gpuchar_status gc_nvrtc_load(const char *path, uint32_t highest_major, gc_nvrtc *nvrtc);

/* E_NVRTC (or E_COMPILE for a compilation error) with NVRTC's path, version, the code's name and the call. */
gpuchar_status gc_nvrtc_fail(const gc_nvrtc *nvrtc, nvrtcResult result, const char *call);

#endif
