// A host program in C++.
#include <gpuchar/gpuchar.h>
#include <cstdio>
#include <cstring>

int main() {
    gpuchar_session_options options = GPUCHAR_SESSION_OPTIONS_INIT;
    if (std::strcmp(gpuchar_version(), GPUCHAR_VERSION_STRING) != 0 || options.struct_size != sizeof options)
        return 1;
    if (gpuchar_session_open(nullptr, nullptr, nullptr, nullptr) >= 0)
        return 2;
    std::printf("%s host\n", gpuchar_version());
    return 0;
}
