# SPDX-License-Identifier: MIT
# One static library per folder under src/, one doctest program per folder under tests/.

add_library(lanner_options INTERFACE)
target_compile_options(lanner_options INTERFACE -Wall -Wextra -Wconversion -Werror -ffp-contract=off)
target_include_directories(lanner_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(LANNER_SANITIZE)
  # GCC warns of uninitialized values in its own headers once it instruments them.
  target_compile_options(lanner_options INTERFACE -fsanitize=${LANNER_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all -Wno-maybe-uninitialized)
  target_link_options(lanner_options INTERFACE -fsanitize=${LANNER_SANITIZE})
endif()

# lanner_library(core SOURCES a.cpp b.cpp DEPENDS io ... LINK fmt::fmt)
function(lanner_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(lanner_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(lanner_${name} PUBLIC lanner_options ${ARG_LINK})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(lanner_${name} PUBLIC lanner_${dependency})
  endforeach()
endfunction()

# lanner_test(text SOURCES tokenizer_test.cpp ... DEPENDS text): program test_text, CTest entry "text".
# Tests find data in LANNER_GOLDEN_DIR (tests/golden), LANNER_MODELS_DIR (models), LANNER_SHARED_DIR (optional originals).
function(lanner_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_executable(test_${name} ${PROJECT_SOURCE_DIR}/tests/main.cpp ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE lanner_options doctest::doctest ${ARG_LINK})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(test_${name} PRIVATE lanner_${dependency})
  endforeach()
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE
    LANNER_GOLDEN_DIR="${PROJECT_SOURCE_DIR}/tests/golden"
    LANNER_MODELS_DIR="${PROJECT_SOURCE_DIR}/models"
    LANNER_TALE_ORIGINALS="${PROJECT_SOURCE_DIR}/../shared/models")
  add_test(NAME ${name} COMMAND test_${name})
  # Asking for more than there is fails as it does without the sanitizer.
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1")
endfunction()

# lanner_isa_sources(target AVX2 file.avx2.cpp ...): per-file ISA flags and -O3 in every preset: at -O2 GCC keeps tiles of
# vectors (arrays with constant loops) in memory instead of registers, a factor of 4.
function(lanner_isa_sources target)
  cmake_parse_arguments(ARG "" "" "AVX2;AVX512;AVX512VNNI;AVX512BF16;NEON;NEONDOT" ${ARGN})
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_sources(${target} PRIVATE ${ARG_AVX2} ${ARG_AVX512} ${ARG_AVX512VNNI} ${ARG_AVX512BF16})
    set_source_files_properties(${ARG_AVX2} PROPERTIES COMPILE_OPTIONS "-O3;-mavx2;-mfma;-mf16c")
    # GCC 12 warns inside its own AVX-512 headers (GCC bug 105593).
    set(avx512 "-O3;-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mprefer-vector-width=512;$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>;$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>")
    set_source_files_properties(${ARG_AVX512} PROPERTIES COMPILE_OPTIONS "${avx512}")
    set_source_files_properties(${ARG_AVX512VNNI} PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vnni")
    set_source_files_properties(${ARG_AVX512BF16} PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512bf16")
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    target_sources(${target} PRIVATE ${ARG_NEON} ${ARG_NEONDOT})
    set_source_files_properties(${ARG_NEON} PROPERTIES COMPILE_OPTIONS "-O3")
    set_source_files_properties(${ARG_NEONDOT} PROPERTIES COMPILE_OPTIONS "-O3;-march=armv8.2-a+dotprod")
  endif()
endfunction()

# lanner_program(lanner SOURCES main.cpp DEPENDS cli): a program in the top of the build folder, installed to bin/.
function(lanner_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE lanner_options ${ARG_LINK})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${name} PRIVATE lanner_${dependency})
  endforeach()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()
