// SPDX-License-Identifier: Apache-2.0
// bias_add(x, b): b is added along the innermost dims of x.
#include "ir/op_list.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType &x = call.operand(0), &bias = call.operand(1);
  require_float(call, 0);
  call.require(bias.dtype == x.dtype && ends_with(x.dims, bias.dims),
               "bias {} does not match the innermost dims of x {}", to_string(bias), to_string(x));
  return {x};
}

void gradient(GradientBuilder& g) {
  if (g.needs(0)) pass_gradient(g, 0);
  if (!g.needs(1)) return;
  const auto keep = static_cast<int64_t>(g.type(g.operand(1)).dims.size());
  const std::string dtype(name(g.gradient_dtype(1)));
  g.set(1, g.emit(1, OpKind::reduce_to, {g.result_gradient(0)},
                  {{"keep", keep}, {"dtype", dtype}})[0]);
}

Cost cost(const OpCall& call) { return pointwise_cost(call, 1); }

}  // namespace

const OpDef& bias_add_def() {
  static const OpDef def{
      .name = "bias_add",
      .summary = "x + bias, broadcast over the outer dims",
      .operands = {{"x"}, {"bias"}},
      .results = {"y"},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
  };
  return def;
}

}  // namespace tessera
