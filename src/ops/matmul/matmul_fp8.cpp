// SPDX-License-Identifier: Apache-2.0
// matmul_fp8(x, w, x_scale, w_scale, addend?): matmul of scaled 8-bit floats, as quantize gives
// them, and addend + that. Both lie in rows of the dims that are summed over. Created by use_fp8,
// after the gradients; the addend by fuse. Sums and result as in matmul, accumulation included;
// with fast = 1 a GPU may keep sums in about 14 bits on the way.
#include "ops/matmul/fp8_product.h"

namespace tessera {
namespace {

void require_bytes(const OpCall& call, size_t i, const TensorType& other) {
  const TensorType& type = call.operand(i);
  call.require(fp8_from_dtype(type.dtype).has_value(), "{} is {}, not e4m3 or e5m2",
               operand_name(call, i), name(type.dtype));
  call.require(other.has(type.dims.back().name), "{} {} does not lie in rows of what is summed",
               operand_name(call, i), to_string(type));
  int64_t rows = 1, k = 1;
  for (const Dim& dim : type.dims) (other.has(dim.name) ? k : rows) *= dim.size;
  require_type(call, i + 2, fp8_scale_type(fp8_scaling_of(call.operand(i + 2)), rows, k));
}

std::vector<TensorType> infer_types(const OpCall& call) {
  const std::string& word = call.attributes.word("dtype");
  const std::optional<DType> dtype = dtype_from_name(word);
  call.require(dtype && is_float(*dtype), "dtype = {} is not one of fp64, fp32, bf16", word);
  TensorType y{*dtype, require_contracted_dims(call)};
  require_bytes(call, 0, call.operand(1));
  require_bytes(call, 1, call.operand(0));
  if (call.operands.size() > 4) require_type(call, 4, y);
  return {std::move(y)};
}

ShardingRule sharding(const OpCall& call) {
  ShardingRule rule;
  for (const TensorType& operand : call.operands)
    for (const Dim& dim : operand.dims) rule.whole.push_back(dim.name);
  return rule;
}

Cost cost(const OpCall& call) {
  const Contraction c = contraction_of(call.operand(0), call.operand(1));
  return cost_of(call, 2 * c.m * c.n * c.k + (call.operands.size() > 4 ? c.m * c.n : 0));
}

int64_t workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const Contraction c = contraction_of(call.operand(0), call.operand(1));
  const int64_t accumulator_bytes = size_bytes(accumulator_of(decoded_dtype(call.result(0).dtype)));
  return Fp8Workspace(fp8_operands(call)).bytes +
         gemm_workspace_bytes(c.m, c.n, c.k, accumulator_bytes, profile.threads);
}

}  // namespace

const OpDef& matmul_fp8_def() {
  static const OpDef def{
      .name = "matmul_fp8",
      .summary = "matmul of scaled 8-bit floats, added to a tensor or not",
      .operands = {{"x"}, {"w"}, {"x_scale"}, {"w_scale"}, {.name = "addend", .optional = true}},
      .results = {"y"},
      .attributes = {{"dtype", "bf16"}, {"fast", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .accumulates = {0},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
