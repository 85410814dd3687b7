// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> relu_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"d", 21}}};
  const auto zero_or_more = [](int64_t i, double u) { return i % 3 == 0 ? 0.0 : u + 0.5; };
  return {
      {.name = "both_signs", .operands = {{.type = x}}, .flops = 63},
      {.name = "exact_zeros_stay_zero",
       .operands = {{.type = x, .differentiable = false, .fill = zero_or_more}},
       .flops = 63},
      {.name = "several_pieces",
       .operands = {{.type = {DType::Fp64, {{"seq", 40}, {"d", 1000}}}}},
       .flops = 40000},
  };
}

}  // namespace tessera
