// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> gelu_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"d", 21}}};
  const TensorType large{DType::Fp64, {{"seq", 40}, {"d", 1000}}};
  const auto far_out = [](int64_t, double u) { return 40 * (u - 0.5); };
  return {
      {.name = "exact", .operands = {{.type = x}}, .flops = 5 * 63},
      {.name = "tanh",
       .operands = {{.type = x}},
       .attributes = {{"approximation", "tanh"}},
       .flops = 9 * 63},
      {.name = "exact_far_from_zero", .operands = {{.type = x, .fill = far_out}}, .flops = 5 * 63},
      {.name = "tanh_far_from_zero",
       .operands = {{.type = x, .fill = far_out}},
       .attributes = {{"approximation", "tanh"}},
       .flops = 9 * 63},
      {.name = "several_pieces", .operands = {{.type = large}}, .flops = 5 * 40000},
  };
}

std::vector<OpSample> gelu_grad_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"d", 21}}};
  const TensorType large{DType::Fp64, {{"seq", 40}, {"d", 1000}}};
  const auto far_out = [](int64_t, double u) { return 40 * (u - 0.5); };
  return {
      {.name = "exact", .operands = {{.type = x}, {.type = x}}, .flops = 11 * 63},
      {.name = "tanh",
       .operands = {{.type = x}, {.type = x}},
       .attributes = {{"approximation", "tanh"}},
       .flops = 17 * 63},
      {.name = "exact_far_from_zero",
       .operands = {{.type = x, .fill = far_out}, {.type = x}},
       .flops = 11 * 63},
      {.name = "tanh_far_from_zero",
       .operands = {{.type = x, .fill = far_out}, {.type = x}},
       .attributes = {{"approximation", "tanh"}},
       .flops = 17 * 63},
      {.name = "several_pieces",
       .operands = {{.type = large}, {.type = large}},
       .attributes = {{"approximation", "tanh"}},
       .flops = 17 * 40000},
  };
}

}  // namespace tessera
