// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/moe/pool_samples.h"

namespace tessera {

std::vector<OpSample> largest_entry_samples() {
  const auto of = [](Dims dims, std::function<double(int64_t, double)> fill = {}) {
    return SampleOperand{
        .type = {DType::Fp64, std::move(dims)}, .differentiable = false, .fill = std::move(fill)};
  };
  return {
      {.name = "many", .operands = {of({{"seq", 37}, {"d", 640}})}, .flops = 37 * 640},
      {.name = "a_negative_one",
       .operands = {of({{"d", 39}}, [](int64_t i, double u) { return i == 17 ? -8 : u; })},
       .flops = 39},
      {.name = "zeros",
       .operands = {of({{"d", 5}}, [](int64_t, double) { return 0.0; })},
       .flops = 5},
  };
}

std::vector<OpSample> largest_pool_entry_samples() {
  const auto of = [](int64_t experts, int64_t slots, int64_t d) -> OpSample {
    return {.name = fmt::format("{}_experts", experts),
            .operands = {{.type = {DType::Fp64, {{"expert", experts}, {"slot", slots}, {"d", d}}},
                          .differentiable = false},
                         ends_of_full_pool(experts, slots)},
            .flops = experts * slots * d};
  };
  return {of(3, 20, 72), of(1, 5, 7), of(9, 40, 64)};
}

}  // namespace tessera
