# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: component `runtime` is the program, `development` the library, its headers, and how
# CMake and pkg-config find it. docs/library.md is for who uses it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tessera_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(TARGETS tessera EXPORT tessera ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

# Only include/ is ever on a user's path: the public headers are copied as they are, and what they include goes below
# tessera/internal, under names that say so.
install(
  CODE "set(TESSERA_HEADERS_FROM \"${PROJECT_SOURCE_DIR}/src\")
        set(TESSERA_HEADERS_BESIDE \"${PROJECT_BINARY_DIR}/installed_headers\")
        set(TESSERA_HEADERS_TO \"${CMAKE_INSTALL_INCLUDEDIR}\")"
  COMPONENT development)
install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(EXPORT tessera NAMESPACE tessera:: FILE tesseraTargets.cmake DESTINATION ${package_dir} COMPONENT development)

# Libraries that this build links, by the names that the linker knows.
set(TESSERA_LINKED pcre2-8 utf8proc z zstd)
if(TESSERA_STUDIO AND TESSERA_MICROHTTPD AND TESSERA_MICROHTTPD_INCLUDE)
  list(APPEND TESSERA_LINKED microhttpd)
endif()
if(TESSERA_ZEROMQ AND TESSERA_LIBZMQ AND TESSERA_LIBZMQ_INCLUDE)
  list(APPEND TESSERA_LINKED zmq)
endif()
set(TESSERA_LINKS_MPI ${MPI_CXX_FOUND})

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/tesseraConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/tesseraConfig.cmake ${PROJECT_BINARY_DIR}/generated/tesseraConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)

# Relative, so that the tree may be moved.
file(RELATIVE_PATH PKG_CONFIG_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PKG_CONFIG_TO_PREFIX "${PKG_CONFIG_TO_PREFIX}")
list(TRANSFORM TESSERA_LINKED PREPEND -l OUTPUT_VARIABLE pkg_config_libs)
if(MPI_CXX_FOUND)
  list(APPEND pkg_config_libs ${MPI_CXX_LIBRARIES})
endif()
if(TESSERA_CUDA)
  list(APPEND pkg_config_libs ${CUDA_cublasLt_LIBRARY} ${CUDA_cudart_static_LIBRARY} -lrt)
else()
  list(APPEND pkg_config_libs -ltomlplusplus)
endif()
list(JOIN pkg_config_libs " " PKG_CONFIG_LIBS)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tessera.pc.in ${PROJECT_BINARY_DIR}/generated/tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
