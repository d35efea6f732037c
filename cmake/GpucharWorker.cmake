# gpuchar-worker, the program in which kernels run that could hang or break a CUDA context. It holds what it needs of the
# library and depends on nothing but the C library. In the build tree it lies beside the shared library.
add_executable(gpuchar_worker ${GPUCHAR_WORKER_SOURCES})
add_executable(gpuchar::worker ALIAS gpuchar_worker)
gpuchar_use_c11(gpuchar_worker)
set_target_properties(gpuchar_worker PROPERTIES
  OUTPUT_NAME gpuchar-worker EXPORT_NAME worker RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
target_include_directories(gpuchar_worker PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
# The archive without the libraries it names: the link fails as soon as the worker would need one of them.
target_link_libraries(gpuchar_worker PRIVATE
  gpuchar_flags gpuchar_cuda_headers $<TARGET_FILE:gpuchar_internal> Threads::Threads ${CMAKE_DL_LIBS} m)
add_dependencies(gpuchar_worker gpuchar_internal)
