// SPDX-License-Identifier: Apache-2.0
// The iteration that makes a matrix nearly orthogonal (Jordan et al. 2024, "Muon"): with X the
// matrix over its norm, wide rather than tall, and A = X X^T, five times
// X <- a X + (b A + c A^2) X. Singular values above a hundredth of the norm come to lie between
// 0.68 and 1.21, those that are far smaller grow by a^5, 485 times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/optimizer/matrix_view.h"

namespace tessera {

struct NewtonSchulz {
  static constexpr int kSteps = 5;
  static constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  static constexpr double kEpsilon = 1e-7;  // added to the norm

  int64_t m, n;  // of X: the shorter side, the longer

  explicit NewtonSchulz(const MatrixView& view) : m(view.outer().size()), n(view.inner().size()) {}

  // Norm and scales 4 m n; of a step A and the last product 2 m^2 n each, A^2 2 m^3, the sum of A
  // and A^2 3 m^2, a X with its sum 2 m n.
  int64_t flops() const {
    return 4 * m * n + kSteps * (4 * m * m * n + 2 * m * m * m + 3 * m * m + 2 * m * n);
  }
};

// How many of `matrices` of one shape a GPU works on at once, as long as they are small, so that
// each time they are about as many.
inline int64_t matrices_at_once(const NewtonSchulz& sizes, int64_t matrices) {
  constexpr int64_t kElements = 1 << 24;
  const int64_t most = std::max<int64_t>(1, kElements / (sizes.m * sizes.n));
  const int64_t times = std::max<int64_t>(1, (matrices + most - 1) / most);
  return std::max<int64_t>(1, (matrices + times - 1) / times);
}

// A matrix's part of the workspace, in elements of `width` bytes; each begins at 64 bytes.
struct NewtonSchulzBuffers {
  int64_t x, square, norms;  // bytes of X, of A, and of the partial sums of the norm

  NewtonSchulzBuffers(const NewtonSchulz& sizes, int64_t width)
      : x(aligned(sizes.m * sizes.n * width)),
        square(aligned(sizes.m * sizes.m * width)),
        norms(aligned(sizes.m * int64_t{sizeof(double)})) {}
  int64_t bytes() const { return 2 * x + 2 * square + norms; }

 private:
  static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }
};

// By which the orthogonal matrix is multiplied. `matched_rms` above 0: that times the root of the
// longer side, so that the root of the mean square of an update is about it whatever the shape (Liu
// et al. 2025); 0: the root of columns over rows, at least 1 (Jordan).
inline double orthogonal_scale(const MatrixView& view, double matched_rms) {
  const auto rows = static_cast<double>(view.rows.size()),
             cols = static_cast<double>(view.cols.size());
  return matched_rms > 0 ? matched_rms * std::sqrt(std::max(rows, cols))
                         : std::sqrt(std::max(1.0, cols / rows));
}

}  // namespace tessera
