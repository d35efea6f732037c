# Install rules: the libraries, the worker, the headers, a CMake package (gpuchar::gpuchar, gpuchar::gpuchar_static), pkg-config.
include(CMakePackageConfigHelpers)
set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/gpuchar")

install(TARGETS gpuchar EXPORT gpucharTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development)
# The library finds it relative to itself: see locate.c.
install(TARGETS gpuchar_worker EXPORT gpucharTargets
  RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/gpuchar" COMPONENT runtime)
# A set of its own: who uses the shared library need not have jansson's development files.
install(TARGETS gpuchar_static EXPORT gpucharStaticTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/gpuchar" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT development FILES_MATCHING PATTERN "*.h")
foreach(_set IN ITEMS gpucharTargets gpucharStaticTargets)
  install(EXPORT ${_set} NAMESPACE gpuchar:: DESTINATION "${_package}" COMPONENT development)
endforeach()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/gpucharConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/gpucharConfig.cmake" INSTALL_DESTINATION "${_package}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/gpucharConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/gpucharConfig.cmake" "${PROJECT_BINARY_DIR}/gpucharConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/GpucharJansson.cmake" "${PROJECT_SOURCE_DIR}/cmake/GpucharPacking.cmake" DESTINATION "${_package}" COMPONENT development)

# Folders relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH GPUCHAR_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" GPUCHAR_PC_PREFIX "${GPUCHAR_PC_PREFIX}")
set(GPUCHAR_PC_PACKING "")
foreach(_name IN LISTS GPUCHAR_PACKINGS)
  string(APPEND GPUCHAR_PC_PACKING "-l${_name} ")
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/pkgconfig/gpuchar.pc.in" "${PROJECT_BINARY_DIR}/gpuchar.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/gpuchar.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
