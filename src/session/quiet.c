/* Hiding failures that are no failures of the call. */
#include <session/runtime_internal.h>

gc_quiet gc_quiet_begin(void) {
    gpuchar_status status = gpuchar_last_error()->status;
    return (gc_quiet){.saved = gc_error_take(), .status = status};
}

void gc_quiet_end(gc_quiet quiet) {
    gc_error_put(gc_error_take(), GPUCHAR_OK);
    if (quiet.saved) {
        gc_error_put(quiet.saved, quiet.status);
    }
}
