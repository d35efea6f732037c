# Three libraries from one set of objects: the shared one (only the names of the map), the static one (one object,
# its internal symbols made local) and gpuchar_internal, which the unit tests link to reach inside.
add_library(gpuchar_objects OBJECT ${GPUCHAR_SOURCES} ${GPUCHAR_GENERATED_SOURCES})
add_dependencies(gpuchar_objects gpuchar_tables)
gpuchar_use_c11(gpuchar_objects)
# Where the library, moved or not, finds its installed helper.
file(RELATIVE_PATH _libexec "${CMAKE_INSTALL_FULL_LIBDIR}" "${CMAKE_INSTALL_FULL_LIBEXECDIR}/gpuchar")
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/worker/locate.c" PROPERTIES
  COMPILE_DEFINITIONS "GC_LIBEXEC_FROM_LIBRARY=\"${_libexec}\"")
set_target_properties(gpuchar_objects PROPERTIES
  POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_include_directories(gpuchar_objects PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
set(GPUCHAR_PACKING_LIBRARIES "")
foreach(_name IN LISTS GPUCHAR_PACKINGS)
  string(TOUPPER "GC_HAVE_${_name}" _macro)
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/src/sass/unpack.c" APPEND PROPERTY COMPILE_DEFINITIONS "${_macro}")
  list(APPEND GPUCHAR_PACKING_LIBRARIES gpuchar::${_name})
endforeach()
target_link_libraries(gpuchar_objects PUBLIC
  ${GPUCHAR_PACKING_LIBRARIES} gpuchar_flags gpuchar_cuda_headers gpuchar::jansson Threads::Threads ${CMAKE_DL_LIBS} m)

set(_public_include
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
file(GLOB GPUCHAR_HEADERS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/gpuchar/*.h")
set(GPUCHAR_MAP "${PROJECT_SOURCE_DIR}/src/gpuchar.map")

# ---- shared
add_library(gpuchar SHARED $<TARGET_OBJECTS:gpuchar_objects>)
add_library(gpuchar::gpuchar ALIAS gpuchar)
# Before 1.0 each minor version may break the ABI, so it is part of the SONAME: libgpuchar.so.0.1.
set_target_properties(gpuchar PROPERTIES
  LINKER_LANGUAGE C BUILD_RPATH "$ORIGIN" VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}"
  LINK_DEPENDS "${GPUCHAR_MAP}")
target_include_directories(gpuchar INTERFACE ${_public_include})
target_link_libraries(gpuchar PRIVATE
  $<BUILD_INTERFACE:gpuchar_flags> $<BUILD_INTERFACE:gpuchar::jansson> "$<BUILD_INTERFACE:${GPUCHAR_PACKING_LIBRARIES}>" Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_options(gpuchar PRIVATE "LINKER:--version-script=${GPUCHAR_MAP}")
# A dlclose must not unmap the code: the fork handler and NVIDIA's libraries, which are never closed, keep pointers into
# it, and the default runtime lives as long as the process.
target_link_options(gpuchar PRIVATE LINKER:-z,nodelete)
if(NOT GPUCHAR_SANITIZE)
  target_link_options(gpuchar PRIVATE LINKER:--no-undefined)
endif()

# ---- static
set(_merged "${PROJECT_BINARY_DIR}/gpuchar_static.o")
add_custom_command(
  OUTPUT "${_merged}"
  COMMAND "${CMAKE_LINKER}" -r -o "${_merged}" $<TARGET_OBJECTS:gpuchar_objects>
  COMMAND "${CMAKE_OBJCOPY}" --localize-hidden "${_merged}"
  DEPENDS gpuchar_objects $<TARGET_OBJECTS:gpuchar_objects>
  COMMENT "Making internal symbols local" COMMAND_EXPAND_LISTS VERBATIM)
set_source_files_properties("${_merged}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
add_library(gpuchar_static STATIC "${_merged}")
add_library(gpuchar::gpuchar_static ALIAS gpuchar_static)
set_target_properties(gpuchar_static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME gpuchar)
target_include_directories(gpuchar_static INTERFACE ${_public_include})
target_link_libraries(gpuchar_static PRIVATE
  $<BUILD_INTERFACE:gpuchar_flags> gpuchar::jansson ${GPUCHAR_PACKING_LIBRARIES} Threads::Threads ${CMAKE_DL_LIBS} m)

# ---- internal, for tests
add_library(gpuchar_internal STATIC $<TARGET_OBJECTS:gpuchar_objects>)
set_target_properties(gpuchar_internal PROPERTIES LINKER_LANGUAGE C)
target_include_directories(gpuchar_internal INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(gpuchar_internal INTERFACE
  gpuchar_flags gpuchar_cuda_headers gpuchar::jansson ${GPUCHAR_PACKING_LIBRARIES} Threads::Threads ${CMAKE_DL_LIBS} m)

# The map and the headers must name the same functions, or a function would be missing from the shared library.
add_custom_command(
  OUTPUT "${PROJECT_BINARY_DIR}/map.stamp"
  COMMAND "${CMAKE_COMMAND}" -D "MAP=${GPUCHAR_MAP}" -D "INCLUDE=${PROJECT_SOURCE_DIR}/include/gpuchar"
          -D "STAMP=${PROJECT_BINARY_DIR}/map.stamp" -P "${PROJECT_SOURCE_DIR}/cmake/check_map.cmake"
  DEPENDS "${GPUCHAR_MAP}" ${GPUCHAR_HEADERS} "${PROJECT_SOURCE_DIR}/cmake/check_map.cmake"
  COMMENT "Comparing the symbol map with the headers" VERBATIM)
add_custom_target(gpuchar_map_check ALL DEPENDS "${PROJECT_BINARY_DIR}/map.stamp")
add_dependencies(gpuchar gpuchar_map_check)
