// SPDX-License-Identifier: Apache-2.0
// dispatch(x, chosen, place, source, gates): the pool whose row place[t, k] is x[t], for every
// token t and choice k, and in the same order their gates. Without gates: the rows alone.
#include "ir/op_list.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType &x = call.operand(0), &chosen = call.operand(1);
  require_float(call, 0);
  require_routes(call, 1);
  const Dims tokens(chosen.dims.begin(), chosen.dims.end() - 1);
  call.require(begins_with(x.dims, tokens), "x {} does not begin with the tokens {}", to_string(x),
               to_string(tokens));
  TensorType rows{x.dtype, call.operand(3).dims};
  for (size_t i = tokens.size(); i < x.dims.size(); ++i) rows.dims.push_back(x.dims[i]);
  if (call.operands.size() < 5) return {rows};
  const DType dtype = accumulator_of(x.dtype);
  require_type(call, 4, {dtype, chosen.dims});
  return {rows, {dtype, call.operand(3).dims}};
}

void gradient(GradientBuilder& g) {
  const ValueId d_rows = g.result_gradient(0), d_gate_rows = g.result_gradient(1);
  if (d_rows == kNone) return;
  std::vector<ValueId> operands{d_rows, g.operand(1), g.operand(2), g.operand(3)};
  if (d_gate_rows != kNone) operands.push_back(d_gate_rows);
  const auto results = g.emit(0, OpKind::combine, std::move(operands));
  g.set(0, results[0]);
  if (d_gate_rows != kNone) g.set(4, results[1]);
}

Cost cost(const OpCall& call) { return cost_of(call, 0); }

}  // namespace

const OpDef& dispatch_def() {
  static const OpDef def{
      .name = "dispatch",
      .summary = "copies tokens into the pool of the experts that they chose",
      .operands = {{"x"}, {"chosen"}, {"place"}, {"source"}, {"gates", true}},
      .results = {"rows", "gate_rows"},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .sharding = moving_sharding,
      .reads_own = {2},
  };
  return def;
}

}  // namespace tessera
