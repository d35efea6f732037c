/* A host program. It has a function called like one inside the library, which must not clash. */
#include <gpuchar/gpuchar.h>
#include <stdio.h>
#include <string.h>

const char *gc_fail(void);
const char *gc_fail(void) {
    return "host";
}

int main(void) {
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    if (strcmp(gpuchar_version(), GPUCHAR_VERSION_STRING) != 0 || options.struct_size != sizeof options) return 1;
    /* Fails inside the library, through its own gc_fail. */
    if (gpuchar_session_open(NULL, NULL, NULL, NULL) >= 0 || gpuchar_last_error()->status >= 0) return 2;
    printf("%s %s\n", gpuchar_version(), gc_fail());
    return 0;
}
