// SPDX-License-Identifier: Apache-2.0
// What a product of two matrices is, for those who measure them.
#pragma once

#include <cstdint>

namespace tessera {

// C[m, n] = A[m, k] B[k, n], row after row; a transposed operand lies in memory as its transpose.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;

  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  bool operator==(const MatmulShape&) const = default;
};

}  // namespace tessera
