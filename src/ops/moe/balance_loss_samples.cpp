// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/router_loss_samples.h"

namespace tessera {
namespace {

// Uneven, one of them 0.
SampleOperand sample_counts(Dims dims) {
  return {.type = {DType::Int32, std::move(dims)},
          .fill = [](int64_t i, double u) { return i % 4 == 2 ? 0 : 20 * u + 1; }};
}

std::vector<OpSample> balance_loss_cases(int64_t flops_per_score) {
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

}  // namespace

std::vector<OpSample> balance_loss_samples() { return balance_loss_cases(5); }

std::vector<OpSample> balance_loss_grad_samples() { return balance_loss_cases(8); }

}  // namespace tessera
