// SPDX-License-Identifier: Apache-2.0
// The product of one expert's rows with its own weights, as plain sizes.
#pragma once

#include "ops/moe/pool.h"

namespace tessera {

struct ExpertContraction {
  int64_t experts, rows;  // rows: of the whole pool
  int64_t k, n;           // of one row: summed over, and given
  bool w_outermost;       // an expert's weights lie in memory as [k, n], else as [n, k]
};

// For types that expert_matmul has accepted. Allocates nothing, because kernels call it too.
inline ExpertContraction expert_contraction_of(const TensorType& x, const TensorType& w) {
  const int64_t experts = x.dims[0].size, k = row_size(x);
  return {.experts = experts,
          .rows = pool_rows(x),
          .k = k,
          .n = w.num_elements() / experts / k,
          .w_outermost = x.has(w.dims[1].name)};
}

}  // namespace tessera
