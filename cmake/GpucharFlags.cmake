# gpuchar_flags: what every C file of this project is compiled with. Private: it never reaches a consumer.
find_package(Threads REQUIRED)

add_library(gpuchar_flags INTERFACE)
target_compile_options(gpuchar_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wvla -Wwrite-strings
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)
if(GPUCHAR_WERROR)
  target_compile_options(gpuchar_flags INTERFACE -Werror)
endif()
# Strict C11 with the interfaces of Linux (dladdr, posix_spawn, clock_gettime, ...).
target_compile_definitions(gpuchar_flags INTERFACE _GNU_SOURCE)

if(GPUCHAR_SANITIZE)
  string(REPLACE ";" "," _sanitizers "${GPUCHAR_SANITIZE}")
  target_compile_options(gpuchar_flags INTERFACE
    -fsanitize=${_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  target_link_options(gpuchar_flags INTERFACE -fsanitize=${_sanitizers})
endif()
if(GPUCHAR_COVERAGE)
  target_compile_options(gpuchar_flags INTERFACE --coverage -O0 -g)
  target_link_options(gpuchar_flags INTERFACE --coverage)
endif()

# Sets the language level the same way for each target.
function(gpuchar_use_c11 target)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
endfunction()
