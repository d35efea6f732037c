# `docs`: the reference by Doxygen.
find_program(GPUCHAR_DOXYGEN doxygen)
mark_as_advanced(GPUCHAR_DOXYGEN)
if(GPUCHAR_DOXYGEN)
  configure_file("${PROJECT_SOURCE_DIR}/docs/Doxyfile.in" "${PROJECT_BINARY_DIR}/Doxyfile" @ONLY)
  add_custom_target(docs COMMAND "${GPUCHAR_DOXYGEN}" "${PROJECT_BINARY_DIR}/Doxyfile"
    WORKING_DIRECTORY "${PROJECT_BINARY_DIR}" COMMENT "Reference documentation in docs/html" VERBATIM)
endif()
