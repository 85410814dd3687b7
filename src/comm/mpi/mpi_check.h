// SPDX-License-Identifier: Apache-2.0
// The wrapper of every call into MPI.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <stdexcept>

namespace tessera {

inline void mpi_check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(fmt::format("{}: {} (code {})", call, text, code));
}

}  // namespace tessera
