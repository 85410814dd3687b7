// SPDX-License-Identifier: Apache-2.0
// expert_matmul(x, w, ends): the rows of each expert times its own weights. Every inner dim of x is
// summed over; in w [expert, ...] these are outermost or innermost, and its other dims remain.
#include "ir/op_list.h"
#include "ops/matmul/gemm_blocking.h"
#include "ops/moe/expert_contraction.h"

namespace tessera {
namespace {

// Result dtype of products: that of operand 0, or its accumulator's.
DType require_product_dtype(const OpCall& call) {
  const DType dtype = dtype_attribute(call, "dtype", 0), own = call.operand(0).dtype;
  call.require(dtype == own || dtype == accumulator_of(own),
               "dtype = {} cannot be computed from {}: use same or {}", name(dtype), name(own),
               name(accumulator_of(own)));
  return dtype;
}

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType &x = call.operand(0), &w = call.operand(1);
  require_pool(call, 0);
  require_ends(call, 2, 0);
  call.require(x.dtype == w.dtype, "x is {} and w is {}", name(x.dtype), name(w.dtype));
  call.require(!w.dims.empty() && w.dims[0] == x.dims[0], "w {} does not begin with {}={}",
               to_string(w), x.dims[0].name, x.dims[0].size);
  const Dims summed = row_dims(x), inner(w.dims.begin() + 1, w.dims.end());
  call.require(!summed.empty() && summed.size() < inner.size() &&
                   (begins_with(inner, summed) || ends_with(inner, summed)),
               "the dims {} of x are neither the innermost nor the outermost of {} in w",
               to_string(summed), to_string(inner));
  TensorType y{require_product_dtype(call), {x.dims[0], x.dims[1]}};
  const auto first = inner.begin() + (begins_with(inner, summed) ? std::ssize(summed) : 0);
  y.dims.insert(y.dims.end(), first, first + std::ssize(inner) - std::ssize(summed));
  return {y};
}

void gradient(GradientBuilder& g) {
  const ValueId x = g.operand(0), w = g.operand(1), ends = g.operand(2), dy = g.result_gradient(0);
  const auto word = [&](size_t i) {
    const DType dtype = g.gradient_dtype(i);
    return dtype == g.type(dy).dtype ? std::string("same") : std::string(name(dtype));
  };
  if (g.needs(0))
    g.set(0, g.emit(0, OpKind::expert_matmul, {dy, w, ends}, {{"dtype", word(0)}})[0]);
  if (!g.needs(1)) return;
  const bool x_first = expert_contraction_of(g.type(x), g.type(w)).w_outermost;
  g.set(1, g.emit(1, OpKind::expert_matmul_dw, {x_first ? x : dy, x_first ? dy : x, ends},
                  {{"dtype", word(1)}})[0]);
}

// Of a full pool.
Cost cost(const OpCall& call) {
  const ExpertContraction c = expert_contraction_of(call.operand(0), call.operand(1));
  return cost_of(call, 2 * c.rows * c.n * c.k);
}

int64_t workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const ExpertContraction c = expert_contraction_of(call.operand(0), call.operand(1));
  return grouped_gemm_workspace_bytes(c.experts, c.rows, c.n, c.k,
                                      size_bytes(accumulator_of(call.operand(0).dtype)),
                                      profile.threads);
}

}  // namespace

const OpDef& expert_matmul_def() {
  static const OpDef def{
      .name = "expert_matmul",
      .summary = "the rows of each expert times its own weights",
      .operands = {{"x"}, {"w"}, {"ends"}},
      .results = {"y"},
      .attributes = {{"dtype", "same"}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .reads_own = {2},
  };
  return def;
}

// expert_matmul_dw(first, second, ends): for each expert, the sum over its rows of their products:
// [expert, dims of first, dims of second]. An expert without rows has zeros.
namespace {

std::vector<TensorType> infer_dw_types(const OpCall& call) {
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
Cost dw_cost(const OpCall& call) {
  return cost_of(
      call, 2 * pool_rows(call.operand(0)) * row_size(call.operand(0)) * row_size(call.operand(1)));
}

int64_t dw_workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
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
      .infer_types = infer_dw_types,
      .cost = dw_cost,
      .workspace_bytes = dw_workspace_bytes,
      .accumulates = {0},
      .reads_own = {2},
  };
  return def;
}

}  // namespace tessera
