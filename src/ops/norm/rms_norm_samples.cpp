// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> rms_norm_samples() {
  const TensorType x{DType::Fp64, {{"batch", 2}, {"seq", 5}, {"d", 37}}};
  const TensorType per_head{DType::Fp64,
                            {{"batch", 2}, {"seq", 3}, {"kv_heads", 2}, {"group", 2}, {"e", 8}}};
  const TensorType wide{DType::Fp64, {{"seq", 50}, {"d", 700}}};
  return {
      {.name = "over_the_models_width",
       .operands = {{.type = x}, {.type = {DType::Fp64, {{"d", 37}}}, .parameter = true}},
       .flops = 4 * 2 * 5 * 37},
      {.name = "per_head",
       .operands = {{.type = per_head}, {.type = {DType::Fp64, {{"e", 8}}}, .parameter = true}},
       .attributes = {{"epsilon", 1e-6}},
       .flops = 4 * 2 * 3 * 2 * 2 * 8},
      {.name = "several_pieces",
       .operands = {{.type = wide}, {.type = {DType::Fp64, {{"d", 700}}}, .parameter = true}},
       .flops = 4 * 50 * 700},
      {.name = "its_largest_entry",
       .operands = {{.type = wide}, {.type = {DType::Fp64, {{"d", 700}}}, .parameter = true}},
       .attributes = {{"largest", int64_t{1}}},
       .flops = 4 * 50 * 700},
  };
}

std::vector<OpSample> rms_norm_grad_samples() {
  const TensorType x{DType::Fp64, {{"batch", 2}, {"seq", 5}, {"d", 37}}};
  const TensorType per_head{DType::Fp64, {{"seq", 3}, {"kv_heads", 2}, {"group", 2}, {"e", 8}}};
  const TensorType tall{DType::Fp64, {{"seq", 300}, {"d", 40}}};
  const auto near_one = [](int64_t, double u) { return 0.8 + 0.4 * u; };
  return {
      {.name = "over_the_models_width",
       .operands = {{.type = x},
                    {.type = {DType::Fp64, {{"d", 37}}}},
                    {.type = {DType::Fp64, {{"batch", 2}, {"seq", 5}}},
                     .accumulator = true,
                     .fill = near_one},
                    {.type = x}},
       .flops = 9 * 2 * 5 * 37},
      {.name = "per_head",
       .operands = {{.type = per_head},
                    {.type = {DType::Fp64, {{"e", 8}}}},
                    {.type = {DType::Fp64, {{"seq", 3}, {"kv_heads", 2}, {"group", 2}}},
                     .accumulator = true,
                     .fill = near_one},
                    {.type = per_head}},
       .flops = 9 * 3 * 2 * 2 * 8},
      {.name = "several_chunks_of_rows",
       .operands = {{.type = tall},
                    {.type = {DType::Fp64, {{"d", 40}}}},
                    {.type = {DType::Fp64, {{"seq", 300}}}, .accumulator = true, .fill = near_one},
                    {.type = tall}},
       .flops = 9 * 300 * 40},
      {.name = "added_to_more",
       .operands = {{.type = x},
                    {.type = {DType::Fp64, {{"d", 37}}}},
                    {.type = {DType::Fp64, {{"batch", 2}, {"seq", 5}}},
                     .accumulator = true,
                     .fill = near_one},
                    {.type = x},
                    {.type = x}},
       .flops = 10 * 2 * 5 * 37},
      {.name = "the_largest_entry_of_a_sum",
       .operands = {{.type = tall},
                    {.type = {DType::Fp64, {{"d", 40}}}},
                    {.type = {DType::Fp64, {{"seq", 300}}}, .accumulator = true, .fill = near_one},
                    {.type = tall},
                    {.type = tall}},
       .attributes = {{"largest", int64_t{1}}},
       .flops = 10 * 300 * 40},
  };
}

}  // namespace tessera
