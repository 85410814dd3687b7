// SPDX-License-Identifier: Apache-2.0
// The operands on which output_loss and its gradient are checked.
#pragma once

#include <cmath>

#include "ops/op_sample.h"

namespace tessera {

inline std::vector<SampleOperand> output_loss_operands(int64_t batch, int64_t seq, int64_t d,
                                                       int64_t vocab, int64_t ignored_every) {
  const auto label = [=](int64_t i, double u) {
    return ignored_every > 0 && i % ignored_every == 0 ? -1.0
                                                       : std::floor(u * static_cast<double>(vocab));
  };
  return {{.type = {DType::Fp64, {{"batch", batch}, {"seq", seq}, {"d", d}}}},
          {.type = {DType::Fp64, {{"vocab", vocab}, {"d", d}}}, .parameter = true},
          {.type = {DType::Int32, {{"batch", batch}, {"seq", seq}}},
           .differentiable = false,
           .fill = label},
          {.type = scalar(DType::Fp64), .differentiable = false, .fill = [=](int64_t, double) {
             return static_cast<double>(batch * seq);
           }}};
}

// More rows than one chunk holds would need a large vocabulary; kMinRows rows always make a chunk.
inline std::vector<OpSample> output_loss_cases(int64_t flops_per_logit,
                                               int64_t flops_per_logit_and_d) {
  const auto flops = [=](int64_t rows, int64_t d, int64_t vocab) {
    return rows * vocab * (flops_per_logit_and_d * d + flops_per_logit);
  };
  return {
      {.name = "every_label_counts",
       .operands = output_loss_operands(2, 5, 6, 19, 0),
       .flops = flops(10, 6, 19)},
      {.name = "some_labels_are_ignored",
       .operands = output_loss_operands(3, 4, 5, 7, 3),
       .flops = flops(12, 5, 7)},
      {.name = "a_vocabulary_wider_than_a_panel",
       .operands = output_loss_operands(1, 7, 20, 301, 4),
       .flops = flops(7, 20, 301)},
  };
}

}  // namespace tessera
