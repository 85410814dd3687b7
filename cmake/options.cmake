# SPDX-License-Identifier: Apache-2.0
# What can be chosen at configure time, and the flags that follow: everything links `tessera_options`.
option(TESSERA_WERROR "treat warnings as errors" OFF)
option(TESSERA_CUDA "build the CUDA kernels (needs nvcc 13)" OFF)
option(TESSERA_MPI "build the MPI communicators where MPI is installed" ON)
option(TESSERA_STUDIO "build the server of `tessera studio` where libmicrohttpd is installed" ON)
option(TESSERA_ZEROMQ "build islands as jobs of their own where libzmq is installed" ON)
option(TESSERA_PYTHON "build the Python module where pybind11 is installed; the library is then position-independent" OFF)
option(TESSERA_FUZZ "build the fuzz targets (needs clang)" OFF)
option(TESSERA_CHECKED "check indices of standard containers" OFF)
# Faster from nothing, but ccache then shares nothing between build folders: on in the presets only.
option(TESSERA_PRECOMPILE "precompile the headers that nearly every file reads" OFF)
# Three times faster from nothing; an edit recompiles its neighbours too. What neighbours then hide, tools/check_includes.py finds.
option(TESSERA_UNITY "compile the files of a folder together, a few at a time" OFF)
set(TESSERA_SANITIZE "" CACHE STRING "sanitizers, as in -fsanitize=<list>")

set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(TESSERA_CCACHE ccache)
if(TESSERA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache keeps objects made with a precompiled header only when told that macros there may be ignored.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
                                  ${TESSERA_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${TESSERA_CCACHE})
endif()

if(TESSERA_CUDA)
  enable_language(CUDA)
endif()

add_library(tessera_options INTERFACE)
target_compile_features(tessera_options INTERFACE cxx_std_20)
target_include_directories(tessera_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(
  tessera_options
  INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall
    -Wextra
    -Wshadow
    -Wnon-virtual-dtor
    # No kernel reads errno or traps; the bits of a result do not change with these two.
    -fno-math-errno
    -fno-trapping-math
    $<$<BOOL:${TESSERA_PRECOMPILE}>:-fpch-preprocess>>)
# CMake 3.25 knows no C++20 flag for nvcc 13, so it is given by hand; constexpr functions run on GPUs too; fmt 9
# switches constexpr off under nvcc, which its own C++20 code then lacks.
target_compile_options(tessera_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr>)
target_compile_definitions(tessera_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>)
if(TESSERA_WERROR)
  target_compile_options(tessera_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(TESSERA_CHECKED)
  target_compile_definitions(tessera_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

# Seconds that a test may take; sanitizers and kernels that are not optimised slow them down tenfold and more.
set(TESSERA_TEST_SECONDS 120)
set(TESSERA_LONG_TEST_SECONDS 600)
if(TESSERA_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL Debug)
  set(TESSERA_TEST_SECONDS 1200)
  set(TESSERA_LONG_TEST_SECONDS 6000)
endif()
if(TESSERA_SANITIZE)
  target_compile_definitions(tessera_options INTERFACE TESSERA_SANITIZED)
  target_compile_options(tessera_options INTERFACE -fsanitize=${TESSERA_SANITIZE}
                                                   -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(tessera_options INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()
