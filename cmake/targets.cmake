# SPDX-License-Identifier: Apache-2.0
# The targets that folders add to: library `tessera`, `tessera_kernels` within it, and `tessera_tests`, which exists only
# where GoogleTest does.

# What runs for every element, byte or word is optimised as the preset says. All else is quick at -O1 too, and compiled a
# third faster.
add_library(tessera_kernels OBJECT)
target_link_libraries(tessera_kernels PRIVATE tessera_options fmt::fmt tessera_unicode)
target_include_directories(tessera_kernels SYSTEM PRIVATE ${TESSERA_HIGHWAY_INCLUDE})
function(tessera_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endfunction()

add_library(tessera STATIC $<TARGET_OBJECTS:tessera_kernels>)
# The Python module contains it. Nothing is visible outside of that, so that functions are inlined as they are in a binary.
if(TESSERA_PYTHON)
  set_target_properties(tessera_kernels tessera PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                           VISIBILITY_INLINES_HIDDEN ON)
endif()
tessera_compile_quickly(tessera)
# What an installed library links instead is in tesseraConfig.cmake.in.
target_compile_features(tessera PUBLIC cxx_std_20)
target_include_directories(tessera INTERFACE $<INSTALL_INTERFACE:include>)
target_link_libraries(
  tessera
  PUBLIC $<BUILD_INTERFACE:tessera_options> $<BUILD_INTERFACE:fmt::fmt> $<BUILD_INTERFACE:Threads::Threads>
  PRIVATE $<BUILD_INTERFACE:tessera_toml> $<BUILD_INTERFACE:tessera_unicode> $<BUILD_INTERFACE:tessera_unpacking>
          $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:${CMAKE_DL_LIBS}>
  INTERFACE $<INSTALL_INTERFACE:tessera::dependencies>)

if(TESSERA_CUDA)
  target_link_libraries(tessera PRIVATE $<BUILD_INTERFACE:$<LINK_ONLY:CUDA::cudart_static>>
                                        $<BUILD_INTERFACE:$<LINK_ONLY:CUDA::cublasLt>>)
endif()

if(GTest_FOUND)
  add_executable(tessera_tests)
  tessera_compile_quickly(tessera_tests)
  target_link_libraries(tessera_tests PRIVATE tessera tessera_unicode tessera_unpacking nlohmann_json::nlohmann_json GTest::gtest
                                              GTest::gtest_main)
  target_include_directories(tessera_tests SYSTEM PRIVATE ${TESSERA_HIGHWAY_INCLUDE})
endif()

# System headers only, so that no edit of ours rebuilds everything. tools/check_includes.py finds an include that is
# forgotten because of them. Each target has its own, since its flags must be the same.
function(tessera_precompile target)
  if(NOT TESSERA_PRECOMPILE)
    return()
  endif()
  set(often_read
      algorithm array chrono condition_variable cstdint filesystem fstream functional map memory mutex numeric optional span
      sstream string string_view thread unordered_map variant vector fmt/format.h fmt/ranges.h ${ARGN})
  list(TRANSFORM often_read REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  target_precompile_headers(${target} PRIVATE ${often_read})
endfunction()

tessera_precompile(tessera_kernels)
tessera_precompile(tessera)
if(TARGET tessera_tests)
  tessera_precompile(tessera_tests gtest/gtest.h)
endif()

# Adds the calling folder's tests: tessera_add_tests(graph_test.cpp ...)
function(tessera_add_tests)
  if(TARGET tessera_tests)
    target_sources(tessera_tests PRIVATE ${ARGN})
  endif()
endfunction()

# Adds the calling folder's micro-benchmarks to `tessera_bench`, which exists only where Google Benchmark does.
function(tessera_add_benchmarks)
  if(NOT benchmark_FOUND)
    return()
  endif()
  if(NOT TARGET tessera_bench)
    add_executable(tessera_bench)
    target_link_libraries(tessera_bench PRIVATE tessera benchmark::benchmark benchmark::benchmark_main)
    set_target_properties(tessera_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  endif()
  target_sources(tessera_bench PRIVATE ${ARGN})
endfunction()

# CTest sees every TEST. Its label is `unit`, unless the suite (or the instance of a TEST_P) begins with Slow,
# Distributed or Gpu.
function(tessera_finish_tests)
  if(NOT TARGET tessera_tests)
    return()
  endif()
  include(GoogleTest)
  set(other_labels "")
  foreach(prefix Slow Distributed Gpu)
    set(filter "${prefix}*:*/${prefix}*")
    string(APPEND other_labels ":${filter}")
    string(TOLOWER ${prefix} label)
    gtest_discover_tests(
      tessera_tests
      TEST_FILTER ${filter}
      TEST_LIST tessera_${label}_tests
      DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${label} TIMEOUT ${TESSERA_LONG_TEST_SECONDS})
  endforeach()
  # Kernels once more with each instruction set below the best; what the processor lacks is skipped.
  set(kernels Gemm.*:*Attention*:UnseenKeys.*:OpConformance/EveryOp.*:OpConformance/AccumulatingOp.*:OpConformance/InPlaceOp.*)
  set(kernels ${kernels}:OpConformance/DifferentiableOp.*:KnownValues.*:OutputLoss.*:ShardedLoss.*:TrainStep.*:CpuTarget.*)
  foreach(target base avx2 avx512)
    add_test(NAME KernelsOf.${target} COMMAND tessera_tests --gtest_brief=1 --gtest_filter=${kernels})
    set_tests_properties(
      KernelsOf.${target}
      PROPERTIES ENVIRONMENT TESSERA_CPU_TARGET=${target}
                 SKIP_REGULAR_EXPRESSION "but this processor has"
                 LABELS unit
                 TIMEOUT ${TESSERA_LONG_TEST_SECONDS})
  endforeach()
  string(SUBSTRING "${other_labels}" 1 -1 other_labels)
  gtest_discover_tests(
    tessera_tests
    TEST_FILTER "-${other_labels}"
    TEST_LIST tessera_unit_tests
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS unit TIMEOUT ${TESSERA_TEST_SECONDS})
endfunction()
