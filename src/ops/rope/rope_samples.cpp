// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> rope_samples() {
  const TensorType q{DType::Fp64,
                     {{"batch", 2}, {"seq", 5}, {"kv_heads", 2}, {"group", 3}, {"e", 10}}};
  const TensorType positions{DType::Int32, {{"batch", 2}, {"seq", 5}}};
  const TensorType long_e{DType::Fp64, {{"batch", 1}, {"seq", 4}, {"kv_heads", 1}, {"e", 160}}};
  const TensorType large{DType::Fp64, {{"batch", 1}, {"seq", 40}, {"kv_heads", 15}, {"e", 64}}};
  const auto in_order = [](int64_t i, double) { return static_cast<double>(i % 5); };
  const auto shuffled = [](int64_t, double u) { return 8000 * u; };
  return {
      {.name = "positions_in_order",
       .operands = {{.type = q}, {.type = positions, .fill = in_order}},
       .flops = 3 * 2 * 5 * 2 * 3 * 10 + 3 * 2 * 5 * 5},
      {.name = "inverse",
       .operands = {{.type = q}, {.type = positions, .fill = shuffled}},
       .attributes = {{"theta", 500000.0}, {"inverse", int64_t{1}}},
       .flops = 3 * 2 * 5 * 2 * 3 * 10 + 3 * 2 * 5 * 5},
      {.name = "scaled_as_llama_3",
       .operands = {{.type = long_e},
                    {.type = {DType::Int32, {{"batch", 1}, {"seq", 4}}}, .fill = shuffled}},
       .attributes = {{"theta", 500000.0},
                      {"scaling_factor", 8.0},
                      {"low_freq_factor", 1.0},
                      {"high_freq_factor", 4.0},
                      {"original_context", int64_t{8192}}},
       .flops = 3 * 4 * 160 + 3 * 4 * 80},
      {.name = "scaled_as_yarn",
       .operands = {{.type = long_e},
                    {.type = {DType::Int32, {{"batch", 1}, {"seq", 4}}}, .fill = shuffled}},
       .attributes = {{"scaling", "yarn"},
                      {"scaling_factor", 40.0},
                      {"high_freq_factor", 32.0},
                      {"original_context", int64_t{4096}}},
       .flops = 3 * 4 * 160 + 3 * 4 * 80},
      {.name = "several_pieces",
       .operands = {{.type = large},
                    {.type = {DType::Int32, {{"batch", 1}, {"seq", 40}}}, .fill = shuffled}},
       .flops = 3 * 40 * 15 * 64 + 3 * 40 * 32},
      {.name = "its_largest_entry",
       .operands = {{.type = large},
                    {.type = {DType::Int32, {{"batch", 1}, {"seq", 40}}}, .fill = shuffled}},
       .attributes = {{"largest", int64_t{1}}},
       .flops = 3 * 40 * 15 * 64 + 3 * 40 * 32},
  };
}

}  // namespace tessera
