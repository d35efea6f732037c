# Cross build for aarch64 with Debian's compiler; scripts/aarch64_deps.sh puts what is linked into .deps/aarch64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(_arm "${CMAKE_CURRENT_LIST_DIR}/../.deps/aarch64/usr")
set(GPUCHAR_JANSSON_ROOT "${_arm}")
set(CMAKE_PREFIX_PATH "${_arm}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# The host's own libraries must not be taken for the target's.
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
