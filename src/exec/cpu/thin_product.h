// SPDX-License-Identifier: Apache-2.0
// The inner part of products of very few rows. Every element is summed in an order that depends on
// k alone.
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
  bool b_transposed;  // B lies as [columns, k]
  S* sums;            // row after row
};
void add_thin_tile(const ThinTile<float, float>& tile);
void add_thin_tile(const ThinTile<float, Bf16>& tile);
void add_thin_tile(const ThinTile<double, double>& tile);

}  // namespace tessera
