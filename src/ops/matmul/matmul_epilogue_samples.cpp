// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> matmul_epilogue_samples() {
  const Dim batch{"batch", 3}, seq{"seq", 5}, d{"d", 20};
  const Dim heads{"heads", 7}, e{"e", 11}, mlp{"mlp", 77};
  const TensorType x{DType::Fp64, {batch, seq, d}}, y{DType::Fp64, {batch, seq, heads, e}};
  const TensorType w{DType::Fp64, {d, heads, e}}, bias{DType::Fp64, {heads, e}};
  const TensorType table{DType::Fp64, {mlp, d}}, table_y{DType::Fp64, {batch, seq, mlp}};
  const TensorType even_x{DType::Fp64, {{"batch", 2}, {"seq", 8}, {"d", 32}}};
  const TensorType even_w{DType::Fp64, {{"d", 32}, {"mlp", 48}}};
  const TensorType even_bias{DType::Fp64, {{"mlp", 48}}};
  const TensorType even_y{DType::Fp64, {{"batch", 2}, {"seq", 8}, {"mlp", 48}}};
  const int64_t even_product = 2 * 16 * 48 * 32, even_each = 16 * 48;
  const int64_t product = 2 * 15 * 77 * 20, each = 15 * 77;
  return {
      {.name = "bias_alone",
       .operands = {{.type = x}, {.type = w}, {.type = bias}},
       .flops = product + each},
      {.name = "bias_and_addend",
       .operands = {{.type = x}, {.type = w}, {.type = bias}, {.type = y}},
       .flops = product + 2 * each},
      {.name = "addend_of_sizes_that_eight_divides",
       .operands = {{.type = even_x}, {.type = even_w}, {.type = even_bias}, {.type = even_y}},
       .flops = even_product + 2 * even_each},
      {.name = "relu_without_bias",
       .operands = {{.type = x}, {.type = w}},
       .attributes = {{"activation", "relu"}},
       .flops = product + each},
      {.name = "gelu_keeps_the_value_before",
       .operands = {{.type = x}, {.type = w}, {.type = bias}},
       .attributes = {{"activation", "gelu"}, {"keep_pre", int64_t{1}}},
       .flops = product + 2 * each},
      {.name = "gelu_tanh_of_a_transposed_weight",
       .operands = {{.type = x}, {.type = table}},
       .attributes = {{"activation", "gelu_tanh"}, {"keep_pre", int64_t{1}}},
       .flops = product + each},
      {.name = "gelu_tanh_of_sizes_that_eight_divides",
       .operands = {{.type = even_x}, {.type = even_w}, {.type = even_bias}},
       .attributes = {{"activation", "gelu_tanh"}, {"keep_pre", int64_t{1}}},
       .flops = even_product + 2 * even_each},
      {.name = "relu_of_sizes_that_eight_divides",
       .operands = {{.type = even_x}, {.type = even_w}, {.type = even_bias}},
       .attributes = {{"activation", "relu"}},
       .flops = even_product + 2 * even_each},
      {.name = "gelu_tanh_alone",
       .operands = {{.type = even_x}, {.type = even_w}},
       .attributes = {{"activation", "gelu_tanh"}, {"keep_pre", int64_t{1}}},
       .flops = even_product + even_each},
      {.name = "gradient_of_gelu",
       .operands = {{.type = x}, {.type = w}, {.type = y}},
       .attributes = {{"activation", "gelu_grad"}},
       .flops = product + 2 * each},
      {.name = "gradient_of_gelu_tanh_by_a_transposed_weight",
       .operands = {{.type = x}, {.type = table}, {.type = table_y}},
       .attributes = {{"activation", "gelu_tanh_grad"}},
       .flops = product + 2 * each},
      {.name = "gradient_of_gelu_tanh_of_sizes_that_eight_divides",
       .operands = {{.type = even_x}, {.type = even_w}, {.type = even_y}},
       .attributes = {{"activation", "gelu_tanh_grad"}},
       .flops = even_product + 2 * even_each},
  };
}

}  // namespace tessera
