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

std::vector<OpSample> relu_grad_samples() {
  const auto after_relu = [](int64_t i, double u) { return i % 2 == 0 ? 0.0 : u + 0.1; };
  const TensorType x{DType::Fp64, {{"batch", 3}, {"d", 21}}};
  const TensorType large{DType::Fp64, {{"seq", 40}, {"d", 1000}}};
  return {
      {.name = "half_of_the_units_off",
       .operands = {{.type = x, .fill = after_relu}, {.type = x}},
       .flops = 63},
      {.name = "all_units_off",
       .operands = {{.type = x, .fill = [](int64_t, double) { return 0.0; }}, {.type = x}},
       .flops = 63},
      {.name = "several_pieces",
       .operands = {{.type = large, .fill = after_relu}, {.type = large}},
       .flops = 40000},
  };
}

}  // namespace tessera
