#include <gpuchar/version.h>

const char *gpuchar_version(void) {
    return GPUCHAR_VERSION_STRING;
}
