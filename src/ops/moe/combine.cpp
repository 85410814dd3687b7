// SPDX-License-Identifier: Apache-2.0
// combine(y, chosen, place, source, gate_rows): for every token the sum of its rows y[place[t, k]],
// in order of k; with gate_rows also gate_rows[place[t, k]], by choice. The transpose of dispatch.
#include "ir/op_list.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType &y = call.operand(0), &chosen = call.operand(1), &source = call.operand(3);
  require_pool(call, 0);
  require_routes(call, 1);
  call.require(begins_with(y.dims, source.dims), "y {} does not begin with the pool {}",
               to_string(y), to_string(source.dims));
  TensorType out{y.dtype, {chosen.dims.begin(), chosen.dims.end() - 1}};
  for (const Dim& dim : row_dims(y)) out.dims.push_back(dim);
  if (call.operands.size() < 5) return {out};
  const DType dtype = accumulator_of(y.dtype);
  require_type(call, 4, {dtype, source.dims});
  return {out, {dtype, chosen.dims}};
}

void gradient(GradientBuilder& g) {
  const ValueId d_out = g.result_gradient(0), d_gates = g.result_gradient(1);
  if (d_out == kNone) return;
  std::vector<ValueId> operands{d_out, g.operand(1), g.operand(2), g.operand(3)};
  if (d_gates != kNone) operands.push_back(d_gates);
  const auto results = g.emit(0, OpKind::dispatch, std::move(operands));
  g.set(0, results[0]);
  if (d_gates != kNone) g.set(4, results[1]);
}

// An addition for every choice but the first.
Cost cost(const OpCall& call) {
  return cost_of(call, (call.operand(1).dims.back().size - 1) * call.result(0).num_elements());
}

}  // namespace

const OpDef& combine_def() {
  static const OpDef def{
      .name = "combine",
      .summary = "the sum of each token's rows in the pool",
      .operands = {{"y"}, {"chosen"}, {"place"}, {"source"}, {"gate_rows", true}},
      .results = {"out", "gates"},
      .infer_types = infer_types,
      .gradient = gradient,
      .cost = cost,
      .sharding = moving_sharding,
      .reads_own = {2},
  };
  return def;
}

}  // namespace tessera
