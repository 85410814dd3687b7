// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> layer_norm_samples() {
  const TensorType x{DType::Fp64, {{"batch", 2}, {"seq", 5}, {"d", 37}}};
  const TensorType gain{DType::Fp64, {{"d", 37}}};
  const TensorType wide{DType::Fp64, {{"seq", 50}, {"d", 700}}};
  const TensorType heads{DType::Fp64, {{"seq", 4}, {"heads", 3}, {"e", 11}}};
  const TensorType heads_gain{DType::Fp64, {{"heads", 3}, {"e", 11}}};
  // x is large compared with its deviation; only a centred variance is accurate.
  const auto off_centre = [](int64_t, double u) { return 50 + u; };
  return {
      {.name = "with_bias",
       .operands = {{.type = x},
                    {.type = gain, .parameter = true},
                    {.type = gain, .parameter = true}},
       .flops = 8 * 2 * 5 * 37},
      {.name = "without_bias",
       .operands = {{.type = x}, {.type = gain, .parameter = true}},
       .attributes = {{"epsilon", 1e-3}},
       .flops = 7 * 2 * 5 * 37},
      {.name = "over_two_dims",
       .operands = {{.type = heads},
                    {.type = heads_gain, .parameter = true},
                    {.type = heads_gain, .parameter = true}},
       .flops = 8 * 4 * 3 * 11},
      {.name = "mean_far_from_zero",
       .operands = {{.type = x, .fill = off_centre},
                    {.type = gain, .parameter = true},
                    {.type = gain, .parameter = true}},
       .flops = 8 * 2 * 5 * 37,
       .tolerance_fp32 = 1e-4,
       .tolerance_bf16 = 3e-2},
      {.name = "several_pieces",
       .operands = {{.type = wide},
                    {.type = {DType::Fp64, {{"d", 700}}}, .parameter = true},
                    {.type = {DType::Fp64, {{"d", 700}}}, .parameter = true}},
       .flops = 8 * 50 * 700},
  };
}

std::vector<OpSample> layer_norm_grad_samples() {
  const TensorType x{DType::Fp64, {{"batch", 2}, {"seq", 5}, {"d", 37}}};
  const TensorType gain{DType::Fp64, {{"d", 37}}};
  const TensorType statistics{DType::Fp64, {{"batch", 2}, {"seq", 5}}};
  const TensorType tall{DType::Fp64, {{"seq", 300}, {"d", 40}}};
  const TensorType tall_gain{DType::Fp64, {{"d", 40}}};
  const TensorType tall_statistics{DType::Fp64, {{"seq", 300}}};
  const auto near_one = [](int64_t, double u) { return 0.8 + 0.4 * u; };
  return {
      {.name = "with_bias",
       .operands = {{.type = x},
                    {.type = gain},
                    {.type = statistics, .accumulator = true},
                    {.type = statistics, .accumulator = true, .fill = near_one},
                    {.type = x}},
       .flops = 13 * 2 * 5 * 37},
      {.name = "without_bias",
       .operands = {{.type = x},
                    {.type = gain},
                    {.type = statistics, .accumulator = true},
                    {.type = statistics, .accumulator = true, .fill = near_one},
                    {.type = x}},
       .attributes = {{"has_bias", int64_t{0}}},
       .flops = 12 * 2 * 5 * 37},
      {.name = "several_chunks_of_rows",
       .operands = {{.type = tall},
                    {.type = tall_gain},
                    {.type = tall_statistics, .accumulator = true},
                    {.type = tall_statistics, .accumulator = true, .fill = near_one},
                    {.type = tall}},
       .flops = 13 * 300 * 40},
      {.name = "added_to_more",
       .operands = {{.type = tall},
                    {.type = tall_gain},
                    {.type = tall_statistics, .accumulator = true},
                    {.type = tall_statistics, .accumulator = true, .fill = near_one},
                    {.type = tall},
                    {.type = tall}},
       .flops = 14 * 300 * 40},
  };
}

}  // namespace tessera
