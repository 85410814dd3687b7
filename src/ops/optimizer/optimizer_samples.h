// SPDX-License-Identifier: Apache-2.0
// Sample calls of any optimizer's op: decay, clipping, shards, copies and dtypes.
#pragma once

#include "ir/optimizer.h"
#include "ops/op_sample.h"

namespace tessera {

using SampleFill = std::function<double(int64_t, double)>;

// How gradient and slots are filled; empty: normal(0, 1).
struct OptimizerFills {
  SampleFill gradient = {};
  std::vector<SampleFill> slots;
};

inline std::vector<SampleOperand> optimizer_operands(const OptimizerFills& fills,
                                                     const TensorType& weights, double step,
                                                     double norm_squares) {
  const auto constant = [](double x) { return [x](int64_t, double) { return x; }; };
  std::vector<SampleOperand> all{{.type = weights, .accumulator = true},
                                 {.type = weights, .accumulator = true, .fill = fills.gradient}};
  for (const SampleFill& slot : fills.slots)
    all.push_back({.type = weights, .accumulator = true, .fill = slot});
  for (const double value : {3e-2, step, norm_squares})
    all.push_back({.type = scalar(DType::Fp64), .fill = constant(value)});
  return all;
}

// Weights, gradient and slots in the dtype of the call.
inline std::vector<SampleOperand> pure(std::vector<SampleOperand> all) {
  for (SampleOperand& operand : all) operand.accumulator = false;
  return all;
}

inline std::vector<SampleOperand> sharded(std::vector<SampleOperand> all, double shard) {
  all.push_back({.type = scalar(DType::Int32), .fill = [=](int64_t, double) { return shard; }});
  return all;
}

inline std::vector<OpSample> optimizer_samples(const OptimizerFills& fills,
                                               int64_t flops_per_element) {
  const TensorType matrix{DType::Fp64, {{"d", 7}, {"mlp", 19}}};
  const TensorType large{DType::Fp64, {{"d", 40001}}};
  const int64_t small_flops = flops_per_element * 7 * 19, large_flops = flops_per_element * 40001;
  const auto operands = [&](const TensorType& weights, double step, double norm_squares) {
    return optimizer_operands(fills, weights, step, norm_squares);
  };
  return {
      {.name = "with_decay",
       .operands = operands(matrix, 5, 100),
       .attributes = {{"weight_decay", 0.1}},
       .flops = small_flops},
      {.name = "clipped",
       .operands = operands(matrix, 1, 100),
       .attributes = {{"clip_norm", 1.0}},
       .flops = small_flops},
      {.name = "below_the_clip_norm",
       .operands = operands(matrix, 2, 0.25),
       .attributes = {{"clip_norm", 1.0}},
       .flops = small_flops},
      {.name = "only_the_first_elements_decay",
       .operands = operands(matrix, 5, 100),
       .attributes = {{"weight_decay", 0.1}, {"decayed", int64_t{30}}},
       .flops = small_flops},
      {.name = "the_second_shard_of_a_flat_buffer",
       .operands = sharded(operands(large, 5, 100), 1),
       .attributes = {{"weight_decay", 0.1}, {"decayed", int64_t{40001 + 777}}},
       .flops = large_flops},
      {.name = "copy_in_bf16_over_several_pieces",
       .operands = operands(large, 1000, 4),
       .attributes = {{"weight_decay", 0.01}, {"clip_norm", 1.0}, {"copy_dtype", "bf16"}},
       .flops = large_flops},
      {.name = "kept_in_the_calls_own_dtype",
       .operands = pure(operands(large, 1000, 4)),
       .attributes = {{"weight_decay", 0.01}, {"clip_norm", 1.0}, {"seed", int64_t{1} << 40}},
       .flops = large_flops},
      {.name = "a_shard_kept_in_the_calls_own_dtype",
       .operands = pure(sharded(operands(matrix, 3, 4), 3)),
       .attributes = {{"weight_decay", 0.1}, {"decayed", int64_t{500}}, {"seed", int64_t{5}}},
       .flops = small_flops},
  };
}

}  // namespace tessera
