// SPDX-License-Identifier: Apache-2.0
// The products of experts whose operands are 8-bit floats, as plain sizes; bytes lie in rows of
// what is summed over. What becomes of sizes that tensor cores do not take: both operands are
// decoded.
#pragma once

#include <span>

#include "ops/matmul/fp8_product.h"
#include "ops/moe/pool.h"

namespace tessera {

// [matrices, rows, k], and where their scales are.
struct Fp8Matrices {
  int64_t matrices, rows, k;
  Fp8Scaling scaling;

  int64_t elements() const { return matrices * rows * k; }
};

struct ExpertFp8Product {
  Fp8Matrices first, second;
  int64_t experts, rows;  // rows: of the whole pool
};

// expert_matmul_fp8: x [rows, k] of the pool, and for each expert w [n, k].
inline ExpertFp8Product expert_fp8_product_of(const TensorType& x, const TensorType& w,
                                              const TensorType& x_scale,
                                              const TensorType& w_scale) {
  const int64_t experts = x.dims[0].size, rows = pool_rows(x), k = row_size(x);
  return {.first = {1, rows, k, fp8_scaling_of(x_scale)},
          .second = {experts, w.num_elements() / experts / k, k, fp8_scaling_of(w_scale)},
          .experts = experts,
          .rows = rows};
}

// expert_matmul_dw_fp8: both [columns, rows of the pool], turned.
inline ExpertFp8Product expert_fp8_dw_of(const TensorType& first, const TensorType& second,
                                         const TensorType& first_scale,
                                         const TensorType& second_scale) {
  const int64_t experts = first.dims[first.dims.size() - 2].size,
                rows = experts * first.dims.back().size;
  return {.first = {1, first.num_elements() / rows, rows, fp8_scaling_of(first_scale)},
          .second = {1, second.num_elements() / rows, rows, fp8_scaling_of(second_scale)},
          .experts = experts,
          .rows = rows};
}

// Of a call of either op.
inline ExpertFp8Product expert_fp8_product(std::span<const TensorType> operands, bool dw) {
  const auto of = dw ? expert_fp8_dw_of : expert_fp8_product_of;
  return of(operands[0], operands[1], operands[2], operands[3]);
}

// Where the decoded operands begin in the workspace, and both.
struct ExpertFp8Workspace {
  int64_t second, bytes;

  ExpertFp8Workspace(const ExpertFp8Product& p, DType decoded) {
    const auto aligned = [](int64_t size) { return (size + 255) / 256 * 256; };
    second = aligned(p.first.elements() * size_bytes(decoded));
    bytes = second + aligned(p.second.elements() * size_bytes(decoded));
  }
};

}  // namespace tessera
