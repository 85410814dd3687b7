// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

std::vector<SampleOperand> nesterov_operands(const TensorType& type, double norm_squares,
                                             bool kept = true) {
  const auto constant = [](double x) { return [x](int64_t, double) { return x; }; };
  return {{.type = type, .accumulator = kept},
          {.type = type, .accumulator = kept},
          {.type = scalar(DType::Fp64), .fill = constant(3)},
          {.type = scalar(DType::Fp64), .fill = constant(norm_squares)}};
}

}  // namespace

std::vector<OpSample> nesterov_samples() {
  const TensorType matrix{DType::Fp64, {{"d", 7}, {"mlp", 19}}};
  const TensorType large{DType::Fp64, {{"flat", 40001}}};
  std::vector<SampleOperand> shard = nesterov_operands(large, 4, false);
  shard.push_back({.type = scalar(DType::Int32), .fill = [](int64_t, double) { return 3; }});
  return {
      {.name = "unclipped", .operands = nesterov_operands(matrix, 100), .flops = 5 * 7 * 19},
      {.name = "clipped_without_memory",
       .operands = nesterov_operands(matrix, 100),
       .attributes = {{"clip_norm", 1.0}, {"momentum", 0.0}},
       .flops = 5 * 7 * 19},
      {.name = "a_direction_in_bf16_over_several_pieces",
       .operands = nesterov_operands(large, 0.25),
       .attributes = {{"clip_norm", 1.0}, {"dtype", "bf16"}},
       .flops = 5 * 40001},
      {.name = "a_shard_kept_in_the_calls_own_dtype",
       .operands = shard,
       .attributes = {{"seed", int64_t{7}}},
       .flops = 5 * 40001},
  };
}

}  // namespace tessera
