// SPDX-License-Identifier: Apache-2.0
// The inner part of products of very few rows. Every element is one chain of multiply-adds in the
// order of k, as in gemm_kernels.h.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace tessera {

inline constexpr int64_t kThinRows = 4;  // with more, packing B is repaid

// sums[rows, columns] += A[rows, k] B[k, columns], in the accumulator's type S.
template <typename S, typename B>
struct ThinTile {
  int64_t rows, columns, k;
  const S* a;  // row after row
  const B* b;
  int64_t b_stride;
  S* sums;  // row after row
};
void add_thin_tile(const ThinTile<float, float>& tile);
void add_thin_tile(const ThinTile<float, Bf16>& tile);
void add_thin_tile(const ThinTile<double, double>& tile);

}  // namespace tessera
