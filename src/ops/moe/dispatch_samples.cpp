// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/routes_samples.h"

namespace tessera {
namespace {

// The suite weighs result 0 alone: the gradient of gates is checked in routes_test.cpp.
OpSample sample(std::string name, const RoutesSample& routes, const Dims& row, bool gates) {
  TensorType x{DType::Fp64, routes.tokens};
  x.dims.insert(x.dims.end(), row.begin(), row.end());
  OpSample made{.name = std::move(name), .operands = {{.type = x}}, .flops = 0};
  for (SampleOperand& operand : routes.operands()) made.operands.push_back(std::move(operand));
  if (gates)
    made.operands.push_back(
        {.type = {DType::Fp64, routes.choices()}, .differentiable = false, .accumulator = true});
  return made;
}

}  // namespace

std::vector<OpSample> dispatch_samples() {
  const Dim batch{"batch", 2}, seq{"seq", 6}, d{"d", 5};
  return {
      sample("rows_and_gates", {{batch, seq}, 2, 4, 6}, {d}, true),
      sample("rows_alone", {{batch, seq}, 3, 4, 9}, {d}, false),
      sample("rows_of_two_dims", {{seq}, 1, 3, 2}, {{"heads", 2}, d}, true),
      sample("several_pieces", {{{"seq", 120}}, 2, 8, 30}, {{"d", 130}}, true),
  };
}

}  // namespace tessera
