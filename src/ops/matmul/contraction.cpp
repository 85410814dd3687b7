// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/contraction.h"

#include "ir/op_list.h"

namespace tessera {
namespace {

// The dims that `other` has too, or has not, in order.
Dims select(const Dims& dims, const TensorType& other, bool shared) {
  Dims selected;
  for (const Dim& dim : dims)
    if (other.has(dim.name) == shared) selected.push_back(dim);
  return selected;
}

}  // namespace

bool is_contraction(OpKind op) {
  return op == OpKind::matmul || op == OpKind::matmul_epilogue || op == OpKind::matmul_fp8;
}

Dims require_contraction(const OpCall& call) {
  require_float(call, 0);
  const TensorType &x = call.operand(0), &w = call.operand(1);
  call.require(x.dtype == w.dtype, "x is {} and w is {}", name(x.dtype), name(w.dtype));
  return require_contracted_dims(call);
}

Dims require_contracted_dims(const OpCall& call) {
  const TensorType &x = call.operand(0), &w = call.operand(1);
  const Dims shared = select(x.dims, w, true);
  call.require(!shared.empty(), "x {} and w {} share no dim to sum over", to_string(x.dims),
               to_string(w.dims));
  for (const Dim& dim : shared)
    call.require(w.size_of(dim.name) == dim.size, "{} is {} in x and {} in w", dim.name, dim.size,
                 w.size_of(dim.name));
  const Dims shared_in_w = select(w.dims, x, true);
  call.require(shared == shared_in_w, "the shared dims are {} in x and {} in w: use the same order",
               to_string(shared), to_string(shared_in_w));
  for (const TensorType* type : {&x, &w})
    call.require(begins_with(type->dims, shared) || ends_with(type->dims, shared),
                 "the shared dims {} are neither the innermost nor the outermost of {}",
                 to_string(shared), to_string(type->dims));
  Dims result = select(x.dims, w, false);
  const Dims w_free = select(w.dims, x, false);
  call.require(!result.empty() && !w_free.empty(),
               "x {} and w {} must each keep a dim of their own", to_string(x.dims),
               to_string(w.dims));
  result.insert(result.end(), w_free.begin(), w_free.end());
  return result;
}

void require_bias(const OpCall& call, size_t i, const TensorType& result) {
  require_type(call, i, {result.dtype, select(result.dims, call.operand(0), false)});
}

ShardingRule after_whole_sum(const OpCall& call) {
  ShardingRule rule;
  for (const Dim& dim : call.operand(0).dims)
    if (!call.result(0).has(dim.name)) rule.whole.push_back(dim.name);
  return rule;
}

int64_t matmul_workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const Contraction c = contraction_of(call.operand(0), call.operand(1));
  const int64_t accumulator_bytes = size_bytes(accumulator_of(call.operand(0).dtype));
  return gemm_workspace_bytes(c.m, c.n, c.k, accumulator_bytes, profile.threads);
}

}  // namespace tessera
