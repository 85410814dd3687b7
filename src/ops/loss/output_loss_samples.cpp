// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/output_loss_samples.h"

namespace tessera {

std::vector<OpSample> output_loss_samples() { return output_loss_cases(3, 2); }

}  // namespace tessera
