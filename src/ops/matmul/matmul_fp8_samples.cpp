// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

SampleOperand operand(Dims dims, double size = 1) {
  return {.type = {DType::Fp64, std::move(dims)},
          .differentiable = false,
          .fill = [size](int64_t, double u) { return size * (2 * u - 1); }};
}

SampleOperand largest(double size) {
  return {.type = scalar(DType::Fp32), .differentiable = false, .fill = [size](int64_t, double) {
            return size;
          }};
}

}  // namespace

std::vector<OpSample> matmul_fp8_samples() {
  const Dim tokens{"seq", 48}, d{"d", 64}, mlp{"mlp", 32};
  return {
      {.name = "forward",
       .operands = {operand({tokens, d}), operand({d, mlp}, 0.02)},
       .flops = 2 * 48 * 64 * 32,
       .tolerance_bf16 = 4e-2},
      {.name = "input_gradient",
       .operands = {operand({tokens, mlp}, 1e-6), operand({d, mlp}, 0.02)},
       .attributes = {{"x_format", "e5m2"}},
       .flops = 2 * 48 * 64 * 32,
       .tolerance_bf16 = 4e-2},
      {.name = "weight_gradient",
       .operands = {operand({tokens, d}), operand({tokens, mlp}, 1e3)},
       .attributes = {{"dtype", "fp64"}, {"w_format", "e5m2"}},
       .flops = 2 * 48 * 64 * 32,
       .tolerance_bf16 = 4e-2},
      {.name = "sizes_that_sixteen_does_not_divide",
       .operands = {operand({{"seq", 5}, {"d", 39}}), operand({{"d", 39}, {"mlp", 7}})},
       .flops = 2 * 5 * 39 * 7,
       .tolerance_bf16 = 4e-2},
      {.name = "both_largest_entries_known",
       .operands = {operand({tokens, d}), operand({d, mlp}, 0.02), largest(1), largest(0.02)},
       .attributes = {{"x_known", int64_t{1}}, {"w_known", int64_t{1}}},
       .flops = 2 * 48 * 64 * 32,
       .tolerance_bf16 = 4e-2},
      {.name = "entries_above_the_one_given_become_the_largest_number",
       .operands = {operand({tokens, mlp}, 1e-6), operand({d, mlp}, 0.02), largest(0.005)},
       .attributes = {{"x_format", "e5m2"}, {"w_known", int64_t{1}}},
       .flops = 2 * 48 * 64 * 32,
       .tolerance_bf16 = 4e-2},
  };
}

}  // namespace tessera
