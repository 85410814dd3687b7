// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> embedding_samples() {
  const TensorType table{DType::Fp64, {{"vocab", 11}, {"d", 13}}};
  const TensorType index{DType::Int32, {{"batch", 2}, {"seq", 7}}};
  const auto repeated = [](int64_t, double u) { return 11 * u; };
  const auto in_order = [](int64_t i, double) { return static_cast<double>(i % 7); };
  const SampleOperand shard{.type = scalar(DType::Int32),
                            .fill = [](int64_t, double) { return 1.0; }};
  return {
      {.name = "tokens_with_repeats",
       .operands = {{.type = table, .parameter = true}, {.type = index, .fill = repeated}}},
      {.name = "learned_positions",
       .operands = {{.type = {DType::Fp64, {{"positions", 9}, {"d", 13}}}, .parameter = true},
                    {.type = index, .fill = in_order}}},
      {.name = "rows_of_two_dims",
       .operands = {{.type = {DType::Fp64, {{"vocab", 11}, {"heads", 2}, {"e", 3}}},
                     .parameter = true},
                    {.type = index, .fill = repeated}}},
      {.name = "several_pieces",
       .operands = {{.type = {DType::Fp64, {{"vocab", 11}, {"d", 600}}}, .parameter = true},
                    {.type = {DType::Int32, {{"seq", 70}}}, .fill = repeated}}},
      {.name = "rows_3_to_5_of_11",
       .operands = {{.type = {DType::Fp64, {{"vocab", 3}, {"d", 13}}}, .parameter = true},
                    {.type = index, .fill = repeated},
                    shard}},
  };
}

std::vector<OpSample> embedding_grad_samples() {
  const TensorType index{DType::Int32, {{"batch", 2}, {"seq", 7}}};
  const TensorType dy{DType::Fp64, {{"batch", 2}, {"seq", 7}, {"d", 13}}};
  const TensorType wide{DType::Fp64, {{"seq", 70}, {"d", 300}}};
  const auto repeated = [](int64_t, double u) { return 11 * u; };
  return {
      {.name = "tokens_with_repeats",
       .operands = {{.type = index, .fill = repeated}, {.type = dy}},
       .attributes = {{"rows", int64_t{11}}, {"rows_dim", "vocab"}, {"dtype", "fp64"}},
       .flops = 2 * 7 * 13},
      {.name = "all_in_one_row",
       .operands = {{.type = index, .fill = [](int64_t, double) { return 4.0; }}, {.type = dy}},
       .attributes = {{"rows", int64_t{5}}, {"rows_dim", "vocab"}},
       .flops = 2 * 7 * 13},
      {.name = "several_blocks_of_columns",
       .operands = {{.type = {DType::Int32, {{"seq", 70}}}, .fill = repeated}, {.type = wide}},
       .attributes = {{"rows", int64_t{200}}, {"rows_dim", "vocab"}, {"dtype", "fp64"}},
       .flops = 70 * 300},
      {.name = "rows_3_to_5_of_11",
       .operands = {{.type = index, .fill = repeated},
                    {.type = dy},
                    {.type = scalar(DType::Int32), .fill = [](int64_t, double) { return 1.0; }}},
       .attributes = {{"rows", int64_t{3}}, {"rows_dim", "vocab"}, {"dtype", "fp64"}},
       .flops = 2 * 7 * 13},
  };
}

}  // namespace tessera
