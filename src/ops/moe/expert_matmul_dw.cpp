// SPDX-License-Identifier: Apache-2.0
// expert_matmul_dw(first, second, ends): for each expert, the sum over its rows of their products:
// [expert, dims of first, dims of second]. An expert without rows has zeros.
#include "ops/matmul/gemm_blocking.h"
#include "ops/moe/expert_contraction.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType &first = call.operand(0), &second = call.operand(1);
  require_pool(call, 0);
  require_pool(call, 1);
  require_ends(call, 2, 0);
  call.require(first.dtype == second.dtype && first.dims[0] == second.dims[0] &&
                   first.dims[1] == second.dims[1],
               "first {} and second {} are not of the same pool", to_string(first),
               to_string(second));
  TensorType dw{require_product_dtype(call), {first.dims[0]}};
  for (const TensorType* type : {&first, &second})
    for (const Dim& dim : row_dims(*type)) {
      call.require(!dw.has(dim.name), "both operands have {}", dim.name);
      dw.dims.push_back(dim);
    }
  return {dw};
}

// Of a full pool.
Cost cost(const OpCall& call) {
  return cost_of(
      call, 2 * pool_rows(call.operand(0)) * row_size(call.operand(0)) * row_size(call.operand(1)));
}

int64_t workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const TensorType &first = call.operand(0), &second = call.operand(1);
  return grouped_gemm_workspace_bytes(first.dims[0].size, row_size(first), row_size(second),
                                      pool_rows(first), size_bytes(accumulator_of(first.dtype)),
                                      profile.threads);
}

}  // namespace

const OpDef& expert_matmul_dw_def() {
  static const OpDef def{
      .name = "expert_matmul_dw",
      .summary = "gradient of each expert's weights, summed over its rows",
      .operands = {{"first"}, {"second"}, {"ends"}},
      .results = {"dw"},
      .attributes = {{"dtype", "same"}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .accumulates = {0},
      .reads_own = {2},
  };
  return def;
}

}  // namespace tessera
