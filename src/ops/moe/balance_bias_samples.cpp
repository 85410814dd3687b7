// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

OpSample sample(std::string name, int64_t experts, std::function<double(int64_t, double)> counts) {
  const Dim choice{"choice", experts};
  return {.name = std::move(name),
          .operands = {{.type = {DType::Fp64, {choice}}, .accumulator = true},
                       {.type = {DType::Int32, {choice}}, .fill = std::move(counts)}},
          .attributes = {{"rate", 0.25}},
          .flops = 3 * experts};
}

}  // namespace

std::vector<OpSample> balance_bias_samples() {
  return {
      sample("uneven_counts", 8, [](int64_t, double u) { return 100 * u; }),
      sample("equal_counts_change_nothing", 5, [](int64_t, double) { return 7; }),
      sample("one_expert_has_all", 3, [](int64_t i, double) { return i == 1 ? 30 : 0; }),
  };
}

}  // namespace tessera
