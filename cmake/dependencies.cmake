# SPDX-License-Identifier: Apache-2.0
# System packages only, nothing is downloaded. tools/setup.sh installs them on Debian.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest QUIET)
find_package(benchmark QUIET)

# The machines with GPUs that binaries are carried to lack toml++'s library: src/files/toml_library.cpp compiles it in.
add_library(tessera_toml INTERFACE)
if(TESSERA_CUDA)
  find_package(CUDAToolkit REQUIRED)
  # The library itself is looked for when the program runs: src/exec/cuda/cudnn_library.cpp.
  find_path(TESSERA_CUDNN_INCLUDE cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(NOT TESSERA_CUDNN_INCLUDE)
    message(FATAL_ERROR "cuDNN 9's header cudnn_graph.h is not found beside CUDA: install cuDNN's headers there, "
                        "or give their folder with -DTESSERA_CUDNN_INCLUDE=<folder>")
  endif()
  target_compile_options(tessera_toml INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-DTOML_HEADER_ONLY=0>
                                                $<$<COMPILE_LANGUAGE:CXX>:-DTOML_SHARED_LIB=1>)
else()
  find_package(tomlplusplus REQUIRED)
  target_link_libraries(tessera_toml INTERFACE tomlplusplus::tomlplusplus)
endif()

# Linked statically: binaries are carried to machines that lack them.
find_library(TESSERA_PCRE2 NAMES libpcre2-8.a pcre2-8 REQUIRED)
find_path(TESSERA_PCRE2_INCLUDE pcre2.h REQUIRED)
find_library(TESSERA_UTF8PROC NAMES libutf8proc.a utf8proc REQUIRED)
find_path(TESSERA_UTF8PROC_INCLUDE utf8proc.h REQUIRED)
add_library(tessera_unicode INTERFACE)
target_link_libraries(tessera_unicode INTERFACE ${TESSERA_PCRE2} ${TESSERA_UTF8PROC})
target_include_directories(tessera_unicode SYSTEM INTERFACE ${TESSERA_PCRE2_INCLUDE} ${TESSERA_UTF8PROC_INCLUDE})

# What unpacks text, linked statically as well.
add_library(tessera_unpacking INTERFACE)
foreach(library z zstd)
  string(TOUPPER TESSERA_${library} found)
  find_library(${found} NAMES lib${library}.a ${library} REQUIRED)
  target_link_libraries(tessera_unpacking INTERFACE ${${found}})
endforeach()
find_path(TESSERA_ZLIB_INCLUDE zlib.h REQUIRED)
find_path(TESSERA_ZSTD_INCLUDE zstd.h REQUIRED)
target_include_directories(tessera_unpacking SYSTEM INTERFACE ${TESSERA_ZLIB_INCLUDE} ${TESSERA_ZSTD_INCLUDE})

# Headers alone: src/files/digest.cpp compiles it in.
find_path(TESSERA_XXHASH_INCLUDE xxhash.h REQUIRED)

# Headers alone: src/exec/cpu/cpu_target.cpp chooses which version of a kernel runs.
find_path(TESSERA_HIGHWAY_INCLUDE hwy/highway.h REQUIRED)

if(TESSERA_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND)
    message(STATUS "MPI is left out: not found (tools/setup.sh mpi)")
  endif()
endif()

if(TESSERA_STUDIO)
  find_library(TESSERA_MICROHTTPD microhttpd)
  find_path(TESSERA_MICROHTTPD_INCLUDE microhttpd.h)
  if(NOT TESSERA_MICROHTTPD OR NOT TESSERA_MICROHTTPD_INCLUDE)
    message(STATUS "the server of tessera studio is left out: libmicrohttpd not found (tools/setup.sh build)")
  endif()
endif()

if(TESSERA_ZEROMQ)
  find_library(TESSERA_LIBZMQ zmq)
  find_path(TESSERA_LIBZMQ_INCLUDE zmq.h)
  if(NOT TESSERA_LIBZMQ OR NOT TESSERA_LIBZMQ_INCLUDE)
    message(STATUS "islands as jobs of their own are left out: libzmq not found (tools/setup.sh build)")
  endif()
endif()

# For Debian's own Python, whatever comes first in PATH: its packages, NumPy among them, belong to it. A sanitizer would
# have to be in that Python too.
if(TESSERA_PYTHON AND NOT TESSERA_SANITIZE)
  if(NOT Python_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python_EXECUTABLE /usr/bin/python3)
  endif()
  find_package(Python QUIET COMPONENTS Interpreter Development.Module)
  if(Python_FOUND)
    find_package(pybind11 QUIET CONFIG)
  endif()
  if(NOT pybind11_FOUND)
    message(STATUS "the Python module is left out: pybind11 or Python's headers not found (tools/setup.sh python)")
  endif()
endif()

if(NOT GTest_FOUND)
  message(STATUS "tests are left out: GoogleTest not found (tools/setup.sh test)")
endif()
if(NOT benchmark_FOUND)
  message(STATUS "benchmarks are left out: Google Benchmark not found (tools/setup.sh test)")
endif()
