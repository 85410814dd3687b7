// SPDX-License-Identifier: Apache-2.0
// expert_matmul_fp8(x, w, x_scale, w_scale, ends): expert_matmul of scaled 8-bit floats, as
// quantize_pool and quantize give them: the rows of the pool as they lie, and the weights of each
// expert with what is summed over innermost. Created by use_fp8, after the gradients.
#include "ops/matmul/gemm_blocking.h"
#include "ops/moe/expert_fp8_product.h"

namespace tessera {
namespace {

constexpr size_t kEnds = 4;

void require_fp8(const OpCall& call, size_t i) {
  const TensorType& type = call.operand(i);
  call.require(fp8_from_dtype(type.dtype).has_value(), "{} is {}, not e4m3 or e5m2",
               operand_name(call, i), name(type.dtype));
}

DType require_fp8_result_dtype(const OpCall& call) {
  const std::string& word = call.attributes.word("dtype");
  const std::optional<DType> dtype = dtype_from_name(word);
  call.require(dtype && is_float(*dtype), "dtype = {} is not one of fp64, fp32, bf16", word);
  return *dtype;
}

std::vector<TensorType> infer_types(const OpCall& call) {
  for (const size_t i : {0, 1}) require_fp8(call, i);
  const TensorType &x = call.operand(0), &w = call.operand(1);
  call.require(x.dims.size() > 2, "x {} has no dims of experts, slots and entries", to_string(x));
  require_ends(call, kEnds, 0);
  call.require(!w.dims.empty() && w.dims[0] == x.dims[0], "w {} does not begin with {}={}",
               to_string(w), x.dims[0].name, x.dims[0].size);
  const Dims summed = row_dims(x), inner(w.dims.begin() + 1, w.dims.end());
  call.require(summed.size() < inner.size() && ends_with(inner, summed),
               "the dims {} of x are not the innermost of {} in w", to_string(summed),
               to_string(inner));
  TensorType y{require_fp8_result_dtype(call), {x.dims[0], x.dims[1]}};
  y.dims.insert(y.dims.end(), inner.begin(), inner.end() - std::ssize(summed));
  const ExpertFp8Product p = expert_fp8_product(call.operands, false);
  require_type(call, 2, fp8_scale_type(p.first.scaling, p.first.rows, p.first.k));
  require_type(call, 3, fp8_scale_type(p.second.scaling, p.second.rows, p.second.k, {x.dims[0]}));
  return {y};
}

ShardingRule sharding(const OpCall& call) {
  ShardingRule rule;
  for (const TensorType& operand : call.operands)
    for (const Dim& dim : operand.dims) rule.whole.push_back(dim.name);
  return rule;
}

// Of a full pool.
Cost cost(const OpCall& call) {
  const ExpertFp8Product p = expert_fp8_product(call.operands, false);
  return cost_of(call, 2 * p.rows * p.second.rows * p.first.k);
}

int64_t workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const ExpertFp8Product p = expert_fp8_product(call.operands, false);
  const DType decoded = decoded_dtype(call.result(0).dtype);
  return ExpertFp8Workspace(p, decoded).bytes +
         grouped_gemm_workspace_bytes(p.experts, p.rows, p.second.rows, p.first.k,
                                      size_bytes(accumulator_of(decoded)), profile.threads);
}

}  // namespace

const OpDef& expert_matmul_fp8_def() {
  static const OpDef def{
      .name = "expert_matmul_fp8",
      .summary = "the rows of each expert times its own weights, both scaled 8-bit floats",
      .operands = {{"x"}, {"w"}, {"x_scale"}, {"w_scale"}, {"ends"}},
      .results = {"y"},
      .attributes = {{"dtype", "bf16"}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .sharding = sharding,
      .reads_own = {kEnds},
  };
  return def;
}

// expert_matmul_dw_fp8(first, second, first_scale, second_scale, ends): expert_matmul_dw of rows
// that are turned: [dims of a row, expert, slot].
namespace {

Dims turned_row_dims(const TensorType& turned) {
  return {turned.dims.begin(), turned.dims.end() - 2};
}

std::vector<TensorType> infer_dw_types(const OpCall& call) {
  for (const size_t i : {0, 1}) require_fp8(call, i);
  const TensorType &first = call.operand(0), &second = call.operand(1);
  for (const TensorType* type : {&first, &second})
    call.require(type->dims.size() > 2, "{} has no dims of entries, experts and slots",
                 to_string(*type));
  const Dims pool(first.dims.end() - 2, first.dims.end());
  call.require(ends_with(second.dims, pool), "first {} and second {} are not of the same pool",
               to_string(first), to_string(second));
  require_type(call, kEnds, {DType::Int32, {pool[0]}});
  TensorType dw{require_fp8_result_dtype(call), {pool[0]}};
  for (const TensorType* type : {&first, &second})
    for (const Dim& dim : turned_row_dims(*type)) {
      call.require(!dw.has(dim.name), "both operands have {}", dim.name);
      dw.dims.push_back(dim);
    }
  const ExpertFp8Product p = expert_fp8_product(call.operands, true);
  require_type(call, 2, fp8_scale_type(p.first.scaling, p.first.rows, p.first.k));
  require_type(call, 3, fp8_scale_type(p.second.scaling, p.second.rows, p.second.k));
  return {dw};
}

// Of a full pool.
Cost dw_cost(const OpCall& call) {
  const ExpertFp8Product p = expert_fp8_product(call.operands, true);
  return cost_of(call, 2 * p.rows * p.first.rows * p.second.rows);
}

int64_t dw_workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const ExpertFp8Product p = expert_fp8_product(call.operands, true);
  const DType decoded = decoded_dtype(call.result(0).dtype);
  return ExpertFp8Workspace(p, decoded).bytes +
         grouped_gemm_workspace_bytes(p.experts, p.first.rows, p.second.rows, p.rows,
                                      size_bytes(accumulator_of(decoded)), profile.threads);
}

}  // namespace

const OpDef& expert_matmul_dw_fp8_def() {
  static const OpDef def{
      .name = "expert_matmul_dw_fp8",
      .summary = "gradient of each expert's weights, from scaled 8-bit floats",
      .operands = {{"first"}, {"second"}, {"first_scale"}, {"second_scale"}, {"ends"}},
      .results = {"dw"},
      .attributes = {{"dtype", "bf16"}},
      .infer_types = infer_dw_types,
      .cost = dw_cost,
      .workspace_bytes = dw_workspace_bytes,
      .accumulates = {0},
      .sharding = sharding,
      .reads_own = {kEnds},
  };
  return def;
}

}  // namespace tessera
