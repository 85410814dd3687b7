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

}  // namespace tessera
