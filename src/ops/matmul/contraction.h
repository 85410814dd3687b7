// SPDX-License-Identifier: Apache-2.0
// Named dims as one matmul: every dim that both operands have is contracted. In each operand the
// shared dims are adjacent, innermost or outermost, in the same order, so nothing is moved in
// memory.
#pragma once

#include "ops/matmul/gemm_blocking.h"
#include "ops/type_rules.h"

namespace tessera {

struct Contraction {
  int64_t m = 1, n = 1, k = 1;
  bool x_outermost = false;  // x lies in memory as [k, m]
  bool w_outermost = false;  // w lies in memory as [k, n]
};

// For types that require_contraction() has accepted. Allocates nothing, because kernels call it
// too.
inline Contraction contraction_of(const TensorType& x, const TensorType& w) {
  Contraction c;
  for (const Dim& dim : x.dims) (w.has(dim.name) ? c.k : c.m) *= dim.size;
  for (const Dim& dim : w.dims)
    if (!x.has(dim.name)) c.n *= dim.size;
  c.x_outermost = w.has(x.dims.front().name);
  c.w_outermost = x.has(w.dims.front().name);
  return c;
}

// Whether operands 0 and 1 are multiplied so, whatever comes after.
bool is_contraction(OpKind op);

// Checks operands 0 and 1 and gives the result's dims: x's own, then w's own.
Dims require_contraction(const OpCall& call);

// The same of operands whose dtypes may differ.
Dims require_contracted_dims(const OpCall& call);

// Operand i is a bias of the result: it has w's own dims.
void require_bias(const OpCall& call, size_t i, const TensorType& result);

// Of what comes after the whole sum.
ShardingRule after_whole_sum(const OpCall& call);

int64_t matmul_workspace_bytes(const OpCall& call, const DeviceProfile& profile);

}  // namespace tessera
