# Sources made at build time: the kernels as constants, and the tables of experiments and schemas.
set(GPUCHAR_GENERATED "${PROJECT_BINARY_DIR}/generated")
file(MAKE_DIRECTORY "${GPUCHAR_GENERATED}")

file(GLOB GPUCHAR_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*/*.c")
# The inside of gpuchar-worker is no part of the library; see GpucharWorker.cmake.
set(GPUCHAR_WORKER_SOURCES "${GPUCHAR_SOURCES}")
list(FILTER GPUCHAR_WORKER_SOURCES INCLUDE REGEX "/src/worker/program_")
list(FILTER GPUCHAR_SOURCES EXCLUDE REGEX "/src/worker/program_")
file(GLOB GPUCHAR_KERNELS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/kernels/*.cu")

# Lists go through a file: a command line would have to escape them.
string(REPLACE ";" "\n" _lines "${GPUCHAR_KERNELS}")
file(CONFIGURE OUTPUT "${GPUCHAR_GENERATED}/kernels.txt" CONTENT "@_lines@\n" @ONLY)
string(REPLACE ";" "\n" _lines "${GPUCHAR_SOURCES}")
file(CONFIGURE OUTPUT "${GPUCHAR_GENERATED}/sources.txt" CONTENT "@_lines@\n" @ONLY)

add_custom_command(
  OUTPUT "${GPUCHAR_GENERATED}/embedded.c"
  COMMAND "${CMAKE_COMMAND}" -D "LIST=${GPUCHAR_GENERATED}/kernels.txt" -D "OUTPUT=${GPUCHAR_GENERATED}/embedded.c"
          -P "${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake"
  DEPENDS ${GPUCHAR_KERNELS} "${GPUCHAR_GENERATED}/kernels.txt" "${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake"
  COMMENT "Embedding kernels" VERBATIM)

# Scanned at each build in which a source changed; the tables themselves change only with a descriptor, so that an
# edit elsewhere does not recompile them. The stamp is what the build tool compares.
set(_tables "${GPUCHAR_GENERATED}/experiments_table.c" "${GPUCHAR_GENERATED}/schemas_table.c")
add_custom_command(
  OUTPUT "${GPUCHAR_GENERATED}/tables.stamp"
  BYPRODUCTS ${_tables}
  COMMAND "${CMAKE_COMMAND}" -D "LIST=${GPUCHAR_GENERATED}/sources.txt" -D "OUTPUT_FOLDER=${GPUCHAR_GENERATED}"
          -P "${PROJECT_SOURCE_DIR}/cmake/scan_tables.cmake"
  DEPENDS ${GPUCHAR_SOURCES} "${GPUCHAR_GENERATED}/sources.txt" "${PROJECT_SOURCE_DIR}/cmake/scan_tables.cmake"
  COMMENT "Scanning for experiments and schemas" VERBATIM)
add_custom_target(gpuchar_tables DEPENDS "${GPUCHAR_GENERATED}/tables.stamp")
set_source_files_properties(${_tables} PROPERTIES GENERATED TRUE)
set(GPUCHAR_GENERATED_SOURCES "${GPUCHAR_GENERATED}/embedded.c" ${_tables})
