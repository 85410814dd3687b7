// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/router_loss_samples.h"

namespace tessera {
namespace {

std::vector<OpSample> router_z_loss_cases(int64_t flops_per_score) {
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

}  // namespace

std::vector<OpSample> router_z_loss_samples() { return router_z_loss_cases(3); }

std::vector<OpSample> router_z_loss_grad_samples() { return router_z_loss_cases(4); }

}  // namespace tessera
