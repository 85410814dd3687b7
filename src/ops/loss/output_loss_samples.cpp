// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/output_loss_samples.h"

namespace tessera {

std::vector<OpSample> output_loss_samples() { return output_loss_cases(3, 2); }

std::vector<OpSample> output_loss_grad_samples() {
  std::vector<OpSample> samples = output_loss_cases(4, 6);
  samples.back().attributes.set("dtype", "fp64");  // of bf16 the gradient is then fp32
  OpSample frozen = output_loss_cases(4, 4)[1];
  frozen.name = "a_frozen_table";
  frozen.attributes.set("with_dtable", int64_t{0});
  samples.push_back(std::move(frozen));
  return samples;
}

}  // namespace tessera
