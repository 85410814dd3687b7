// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/routes_samples.h"

namespace tessera {
namespace {

// The suite weighs result 0 alone: the gradient of gate_rows is checked in routes_test.cpp.
OpSample sample(std::string name, const RoutesSample& routes, const Dims& row, bool gates) {
  TensorType y{DType::Fp64, routes.pool()};
  y.dims.insert(y.dims.end(), row.begin(), row.end());
  OpSample made{.name = std::move(name),
                .operands = {{.type = y}},
                .flops = (routes.top_k - 1) * y.num_elements() / routes.top_k};
  for (SampleOperand& operand : routes.operands()) made.operands.push_back(std::move(operand));
  if (gates)
    made.operands.push_back(
        {.type = {DType::Fp64, routes.pool()}, .differentiable = false, .accumulator = true});
  return made;
}

}  // namespace

std::vector<OpSample> combine_samples() {
  const Dim batch{"batch", 2}, seq{"seq", 6}, d{"d", 5};
  return {
      sample("rows_and_gates", {{batch, seq}, 2, 4, 6}, {d}, true),
      sample("rows_alone", {{batch, seq}, 3, 4, 9}, {d}, false),
      sample("one_choice", {{seq}, 1, 3, 2}, {{"heads", 2}, d}, false),
      sample("several_pieces", {{{"seq", 120}}, 2, 8, 30}, {{"d", 300}}, true),
  };
}

}  // namespace tessera
