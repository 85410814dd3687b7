// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

namespace {

std::vector<SampleOperand> operands(const TensorType& weights, double step, double norm_squares) {
  const auto squares = [](int64_t, double u) { return u * u; };
  const auto constant = [](double x) { return [x](int64_t, double) { return x; }; };
  return {{.type = weights, .accumulator = true},
          {.type = weights, .accumulator = true},
          {.type = weights, .accumulator = true},
          {.type = weights, .accumulator = true, .fill = squares},
          {.type = scalar(DType::Fp64), .fill = constant(3e-2)},
          {.type = scalar(DType::Fp64), .fill = constant(step)},
          {.type = scalar(DType::Fp64), .fill = constant(norm_squares)}};
}

// Weights, gradient and moments in the dtype of the call.
std::vector<SampleOperand> pure(std::vector<SampleOperand> all) {
  for (SampleOperand& operand : all) operand.accumulator = false;
  return all;
}

std::vector<SampleOperand> sharded(std::vector<SampleOperand> all, double shard) {
  all.push_back({.type = scalar(DType::Int32), .fill = [=](int64_t, double) { return shard; }});
  return all;
}

}  // namespace

std::vector<OpSample> adamw_samples() {
  const TensorType matrix{DType::Fp64, {{"d", 7}, {"mlp", 19}}};
  const TensorType large{DType::Fp64, {{"d", 40001}}};
  return {
      {.name = "with_decay",
       .operands = operands(matrix, 5, 100),
       .attributes = {{"weight_decay", 0.1}},
       .flops = 15 * 7 * 19},
      {.name = "clipped",
       .operands = operands(matrix, 1, 100),
       .attributes = {{"beta2", 0.999}, {"clip_norm", 1.0}},
       .flops = 15 * 7 * 19},
      {.name = "below_the_clip_norm",
       .operands = operands(matrix, 2, 0.25),
       .attributes = {{"clip_norm", 1.0}},
       .flops = 15 * 7 * 19},
      {.name = "only_the_first_elements_decay",
       .operands = operands(matrix, 5, 100),
       .attributes = {{"weight_decay", 0.1}, {"decayed", int64_t{30}}},
       .flops = 15 * 7 * 19},
      {.name = "the_second_shard_of_a_flat_buffer",
       .operands = sharded(operands(large, 5, 100), 1),
       .attributes = {{"weight_decay", 0.1}, {"decayed", int64_t{40001 + 777}}},
       .flops = 15 * 40001},
      {.name = "copy_in_bf16_over_several_pieces",
       .operands = operands(large, 1000, 4),
       .attributes = {{"weight_decay", 0.01}, {"clip_norm", 1.0}, {"copy_dtype", "bf16"}},
       .flops = 15 * 40001},
      {.name = "kept_in_the_calls_own_dtype",
       .operands = pure(operands(large, 1000, 4)),
       .attributes = {{"weight_decay", 0.01}, {"clip_norm", 1.0}, {"seed", int64_t{1} << 40}},
       .flops = 15 * 40001},
      {.name = "a_shard_kept_in_the_calls_own_dtype",
       .operands = pure(sharded(operands(matrix, 3, 4), 3)),
       .attributes = {{"weight_decay", 0.1}, {"decayed", int64_t{500}}, {"seed", int64_t{5}}},
       .flops = 15 * 7 * 19},
  };
}

}  // namespace tessera
