// SPDX-License-Identifier: Apache-2.0
// One block of threads per row, as many as a row keeps busy.
#pragma once

#include <algorithm>

#include "exec/cuda/kernel_launch.h"

namespace tessera {

inline Grid row_grid(int64_t rows, int64_t cols) {
  const int64_t threads = std::clamp<int64_t>((cols / 4 + 31) / 32 * 32, 32, 256);
  return {.blocks = static_cast<unsigned>(rows), .threads = static_cast<int>(threads)};
}

}  // namespace tessera
