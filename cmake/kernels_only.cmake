# SPDX-License-Identifier: MIT
# src/core, src/kernels and their tests alone: all that differs between architectures, and a cross build of it needs no
# library of the target but the C++ one. What the build machine has as headers only is taken from there.
find_package(Threads REQUIRED)
set(host_headers ${PROJECT_BINARY_DIR}/host_headers)
file(MAKE_DIRECTORY ${host_headers})
foreach(folder fmt doctest)
  find_path(LANNER_HOST_${folder} ${folder} PATHS /usr/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  file(CREATE_LINK ${LANNER_HOST_${folder}}/${folder} ${host_headers}/${folder} SYMBOLIC)
  add_library(host_${folder} INTERFACE)
  target_include_directories(host_${folder} SYSTEM INTERFACE ${host_headers})
endforeach()
target_compile_definitions(host_fmt INTERFACE FMT_HEADER_ONLY)
add_library(fmt::fmt ALIAS host_fmt)
add_library(doctest::doctest ALIAS host_doctest)

enable_testing()
set(CMAKE_UNITY_BUILD ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
add_subdirectory(src/core)
add_subdirectory(src/kernels)
set(CMAKE_UNITY_BUILD OFF)
add_subdirectory(tests/kernels)
