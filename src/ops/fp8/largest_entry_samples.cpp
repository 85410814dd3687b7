// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

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

}  // namespace tessera
