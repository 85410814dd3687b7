// SPDX-License-Identifier: Apache-2.0
// matmul(x, w): sums over every dim that both have. The result has x's other dims, then w's. With
// an addend, which fuse puts there, it is the addend plus that; on the CPU bits as without fusion.
#include "ir/op_list.h"
#include "ops/matmul/contraction.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  Dims dims = require_contraction(call);
  const DType dtype = dtype_attribute(call, "dtype", 0), own = call.operand(0).dtype;
  call.require(dtype == own || dtype == accumulator_of(own),
               "dtype = {} cannot be computed from {}: use same or {}", name(dtype), name(own),
               name(accumulator_of(own)));
  const TensorType y{dtype, std::move(dims)};
  if (call.operands.size() > 2) require_type(call, 2, y);
  return {y};
}

// The gradient of a result that is wider than the operands is rounded to their dtype.
ValueId gradient_in_operands_dtype(GradientBuilder& g) {
  const ValueId dy = g.result_gradient(0);
  const DType own = g.type(g.operand(0)).dtype;
  if (g.type(dy).dtype == own) return dy;
  return g.emit(GradientBuilder::kBoth, OpKind::accumulate, {dy},
                {{"dtype", std::string(name(own))}})[0];
}

// dx sums over w's own dims, dw over x's; the order of operands gives the dims of x and w.
void gradient(GradientBuilder& g) {
  const ValueId x = g.operand(0), w = g.operand(1), dy = gradient_in_operands_dtype(g);
  const Contraction c = contraction_of(g.type(x), g.type(w));
  const auto give = [&](size_t i, ValueId first, ValueId second) {
    const DType dtype = g.gradient_dtype(i);
    const std::string word = dtype == g.type(dy).dtype ? "same" : std::string(name(dtype));
    g.set(i, g.emit(i, OpKind::matmul, {first, second}, {{"dtype", word}}).front());
  };
  if (g.needs(0)) c.x_outermost ? give(0, w, dy) : give(0, dy, w);
  if (g.needs(1)) c.w_outermost ? give(1, x, dy) : give(1, dy, x);
  if (g.operand(2) != kNone && g.needs(2)) pass_gradient(g, 2);
}

Cost cost(const OpCall& call) {
  const Contraction c = contraction_of(call.operand(0), call.operand(1));
  return cost_of(call, (2 * c.k + (call.operands.size() > 2 ? 1 : 0)) * c.m * c.n);
}

ShardingRule sharding(const OpCall& call) {
  return call.operands.size() > 2 ? after_whole_sum(call) : ShardingRule{};
}

}  // namespace

const OpDef& matmul_def() {
  static const OpDef def{
      .name = "matmul",
      .summary = "contracts every dim that both operands have; their other dims remain",
      .operands = {{"x"}, {"w"}, {"addend", true}},
      .results = {"y"},
      .attributes = {{"dtype", "same"}},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .workspace_bytes = matmul_workspace_bytes,
      .accumulates = {0},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
