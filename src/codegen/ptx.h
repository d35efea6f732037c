/* PTX instead of machine code: for assemblers that are not NVRTC's own. */
#ifndef GC_CODEGEN_PTX_H
#define GC_CODEGEN_PTX_H

#include <codegen/compile.h>

/*
 * Compiles to PTX for the virtual architecture of request->architecture ("sm_75": compute_75), whose rules are those of
 * gc_compile_many. Without a cache. `*text` is the caller's to free, NUL-terminated, of `*length` characters.
 */
gpuchar_status gc_ptx_make(const gc_nvrtc *nvrtc, const gc_compile_request *request, char **text, size_t *length);

#endif
