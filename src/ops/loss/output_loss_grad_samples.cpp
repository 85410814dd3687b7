// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/output_loss_samples.h"

namespace tessera {

std::vector<OpSample> output_loss_grad_samples() { return output_loss_cases(4, 6); }

}  // namespace tessera
