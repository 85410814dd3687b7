// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> squared_loss_samples() {
  const TensorType matrix{DType::Fp64, {{"batch", 5}, {"d", 9}}};
  const TensorType vector{DType::Fp64, {{"batch", 3}}};
  const TensorType large{DType::Fp64, {{"batch", 40}, {"d", 1000}}};
  const auto all = [](double count) { return [count](int64_t, double) { return count; }; };
  return {
      {.name = "mean_over_all_elements",
       .operands = {{.type = matrix},
                    {.type = matrix, .differentiable = false},
                    {.type = scalar(DType::Fp64), .differentiable = false, .fill = all(45)}},
       .flops = 3 * 45 + 1},
      {.name = "one_of_several_microbatches",
       .operands = {{.type = vector},
                    {.type = vector, .differentiable = false},
                    {.type = scalar(DType::Fp64), .differentiable = false, .fill = all(12)}},
       .flops = 3 * 3 + 1},
      {.name = "several_pieces",
       .operands = {{.type = large},
                    {.type = large, .differentiable = false},
                    {.type = scalar(DType::Fp64), .differentiable = false, .fill = all(40000)}},
       .flops = 3 * 40000 + 1},
  };
}

std::vector<OpSample> squared_loss_grad_samples() {
  const TensorType matrix{DType::Fp64, {{"batch", 5}, {"d", 9}}};
  const TensorType vector{DType::Fp64, {{"batch", 3}}};
  const TensorType large{DType::Fp64, {{"batch", 40}, {"d", 1000}}};
  const auto all = [](double count) { return [count](int64_t, double) { return count; }; };
  return {
      {.name = "mean_over_all_elements",
       .operands = {{.type = matrix},
                    {.type = matrix, .differentiable = false},
                    {.type = scalar(DType::Fp64), .differentiable = false, .fill = all(45)}},
       .flops = 4 * 45 + 1},
      {.name = "one_of_several_microbatches",
       .operands = {{.type = vector},
                    {.type = vector, .differentiable = false},
                    {.type = scalar(DType::Fp64), .differentiable = false, .fill = all(12)}},
       .flops = 4 * 3 + 1},
      {.name = "several_pieces",
       .operands = {{.type = large},
                    {.type = large, .differentiable = false},
                    {.type = scalar(DType::Fp64), .differentiable = false, .fill = all(40000)}},
       .flops = 4 * 40000 + 1},
  };
}

}  // namespace tessera
