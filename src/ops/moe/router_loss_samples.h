// SPDX-License-Identifier: Apache-2.0
// Operands of the router's losses.
#pragma once

#include "ops/op_sample.h"

namespace tessera {

inline SampleOperand sample_logits(Dims dims) {
  return {.type = {DType::Fp64, std::move(dims)}, .accumulator = true};
}

inline SampleOperand sample_label_count(double count) {
  return {.type = scalar(DType::Fp64), .differentiable = false, .fill = [=](int64_t, double) {
            return count;
          }};
}

// Uneven, one of them 0.
inline SampleOperand sample_counts(Dims dims) {
  return {.type = {DType::Int32, std::move(dims)},
          .fill = [](int64_t i, double u) { return i % 4 == 2 ? 0 : 20 * u + 1; }};
}

inline std::vector<OpSample> balance_loss_cases(int64_t flops_per_score) {
  const Dim batch{"batch", 2}, seq{"seq", 7}, choice{"choice", 6};
  const TensorType large{DType::Fp64, {{"seq", 600}, {"choice", 33}}};
  return {
      {.name = "counts_of_each_sequence",
       .operands = {sample_logits({batch, seq, choice}), sample_counts({batch, choice}),
                    sample_label_count(14)},
       .flops = flops_per_score * 14 * 6},
      {.name = "counts_of_all_tokens",
       .operands = {sample_logits({batch, seq, choice}), sample_counts({choice}),
                    sample_label_count(50)},
       .attributes = {{"coefficient", 1.0}},
       .flops = flops_per_score * 14 * 6},
      {.name = "sigmoids",
       .operands = {sample_logits({batch, seq, choice}), sample_counts({batch, choice}),
                    sample_label_count(14)},
       .attributes = {{"score", "sigmoid"}},
       .flops = flops_per_score * 14 * 6},
      {.name = "several_chunks",
       .operands = {sample_logits(large.dims), sample_counts({{"choice", 33}}),
                    sample_label_count(600)},
       .flops = flops_per_score * 600 * 33},
  };
}

inline std::vector<OpSample> router_z_loss_cases(int64_t flops_per_score) {
  return {
      {.name = "a_batch",
       .operands = {sample_logits({{"batch", 2}, {"seq", 7}, {"choice", 6}}),
                    sample_label_count(14)},
       .flops = flops_per_score * 14 * 6},
      {.name = "one_of_several_microbatches",
       .operands = {sample_logits({{"seq", 3}, {"choice", 2}}), sample_label_count(12)},
       .attributes = {{"coefficient", 1.0}},
       .flops = flops_per_score * 3 * 2},
      {.name = "several_chunks",
       .operands = {sample_logits({{"seq", 600}, {"choice", 33}}), sample_label_count(600)},
       .flops = flops_per_score * 600 * 33},
  };
}

}  // namespace tessera
