# Makes the target gpuchar::jansson. Used by the build, and installed for consumers of the static library.
# jansson is shared: Debian's archive of it is not position-independent.
if(NOT TARGET gpuchar::jansson)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND AND NOT CMAKE_CROSSCOMPILING)
    pkg_check_modules(GPUCHAR_PC_JANSSON QUIET jansson>=2.12)
  endif()
  set(_gpuchar_jansson_hints "")
  if(DEFINED GPUCHAR_JANSSON_ROOT)
    set(_gpuchar_jansson_hints "${GPUCHAR_JANSSON_ROOT}")
  elseif(PROJECT_NAME STREQUAL "gpuchar")
    # Unpacked by scripts/common.sh for a user who cannot install packages.
    set(_gpuchar_jansson_hints "${PROJECT_SOURCE_DIR}/.deps/root/usr")
  endif()
  find_path(GPUCHAR_JANSSON_INCLUDE_DIR jansson.h
    HINTS ${_gpuchar_jansson_hints} ${GPUCHAR_PC_JANSSON_INCLUDE_DIRS} PATH_SUFFIXES include)
  find_library(GPUCHAR_JANSSON_LIBRARY NAMES libjansson.so jansson
    HINTS ${_gpuchar_jansson_hints} ${GPUCHAR_PC_JANSSON_LIBRARY_DIRS} PATH_SUFFIXES lib lib/${CMAKE_LIBRARY_ARCHITECTURE})
  mark_as_advanced(GPUCHAR_JANSSON_INCLUDE_DIR GPUCHAR_JANSSON_LIBRARY)
  if(GPUCHAR_JANSSON_INCLUDE_DIR AND GPUCHAR_JANSSON_LIBRARY)
    add_library(gpuchar::jansson UNKNOWN IMPORTED GLOBAL)
    set_target_properties(gpuchar::jansson PROPERTIES
      IMPORTED_LOCATION "${GPUCHAR_JANSSON_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${GPUCHAR_JANSSON_INCLUDE_DIR}")
  elseif(PROJECT_NAME STREQUAL "gpuchar")
    message(FATAL_ERROR "libgpuchar needs jansson (Debian and Ubuntu: apt-get install libjansson-dev).")
  endif()
endif()
