# SPDX-License-Identifier: MIT
# Decides whether kernels for NVIDIA GPUs are built; sets LANNER_HAS_CUDA. nvcc is called by rules of our own: CMake 3.25
# does not know the C++ standards of newer compilers.

set(LANNER_HAS_CUDA OFF)
# AUTO asks for CUDACXX, since the kernels take minutes to build: an nvcc that happens to be there is not a wish.
if(LANNER_CUDA STREQUAL "ON" OR
   (LANNER_CUDA STREQUAL "AUTO" AND DEFINED ENV{CUDACXX} AND NOT LANNER_SANITIZE AND NOT CMAKE_CROSSCOMPILING))
  if(DEFINED ENV{CUDACXX})
    set(LANNER_NVCC $ENV{CUDACXX})
  else()
    find_program(LANNER_NVCC nvcc PATHS /usr/local/cuda/bin)
  endif()
  if(LANNER_NVCC)
    get_filename_component(LANNER_CUDA_ROOT ${LANNER_NVCC} REALPATH)
    get_filename_component(LANNER_CUDA_ROOT ${LANNER_CUDA_ROOT} DIRECTORY)
    get_filename_component(LANNER_CUDA_ROOT ${LANNER_CUDA_ROOT} DIRECTORY)
    find_library(LANNER_CUDART cudart_static REQUIRED
      HINTS ${LANNER_CUDA_ROOT}/lib64 ${LANNER_CUDA_ROOT}/targets/x86_64-linux/lib)
    set(LANNER_HAS_CUDA ON)
  elseif(LANNER_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LANNER_CUDA is ON, but there is no nvcc on the PATH nor in /usr/local/cuda/bin; set CUDACXX to it")
  endif()
endif()

# Warpgroup instructions are there in machine code for 90a alone.
set(LANNER_CUDA_WARPGROUPS 0)
if("90a-real" IN_LIST LANNER_CUDA_ARCHITECTURES)
  set(LANNER_CUDA_WARPGROUPS 1)
endif()

# "80-real;90-virtual" as nvcc's own options: machine code for one kind of card, or PTX for newer ones.
set(LANNER_NVCC_TARGETS "")
foreach(architecture IN LISTS LANNER_CUDA_ARCHITECTURES)
  string(REGEX REPLACE "-.*" "" number ${architecture})
  if(architecture MATCHES "-real$")
    list(APPEND LANNER_NVCC_TARGETS -gencode arch=compute_${number},code=sm_${number})
  else()
    list(APPEND LANNER_NVCC_TARGETS -gencode arch=compute_${number},code=compute_${number})
  endif()
endforeach()

# lanner_cuda_sources(target a.cu ... [SEPARATE b.cu ...]): device code with its compiler's own flags. SEPARATE: products and
# sums are rounded one by one, as on the CPU.
function(lanner_cuda_sources target)
  cmake_parse_arguments(ARG "" "" "SEPARATE" ${ARGN})
  foreach(source IN LISTS ARG_UNPARSED_ARGUMENTS ARG_SEPARATE)
    set(rounding "")
    if(source IN_LIST ARG_SEPARATE)
      set(rounding -fmad=false)
    endif()
    set(from ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${object}
      COMMAND ${LANNER_NVCC} -c -O3 -std=c++20 --expt-relaxed-constexpr ${rounding} ${LANNER_NVCC_TARGETS} -I${PROJECT_SOURCE_DIR}/src
              -Xcompiler=-fPIC -MD -MF ${object}.d -o ${object} ${from}
      DEPENDS ${from} DEPFILE ${object}.d
      COMMENT "Building GPU kernels ${source}" VERBATIM)
    target_sources(${target} PRIVATE ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  endforeach()
endfunction()
