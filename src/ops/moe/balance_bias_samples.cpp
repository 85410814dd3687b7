// SPDX-License-Identifier: Apache-2.0
#include <cmath>

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
  const auto uneven = [](int64_t, double u) { return 100 * u; };
  const auto with_norm = [&](std::string name, double norm_squares) {
    OpSample one = sample(std::move(name), 6, uneven);
    one.operands.push_back(
        {.type = scalar(DType::Fp64), .fill = [=](int64_t, double) { return norm_squares; }});
    return one;
  };
  return {
      with_norm("of_a_finite_gradient", 4),
      with_norm("nothing_is_learnt_from_a_gradient_that_is_not_finite", INFINITY),
      sample("uneven_counts", 8, uneven),
      sample("equal_counts_change_nothing", 5, [](int64_t, double) { return 7; }),
      sample("one_expert_has_all", 3, [](int64_t i, double) { return i == 1 ? 30 : 0; }),
  };
}

}  // namespace tessera
