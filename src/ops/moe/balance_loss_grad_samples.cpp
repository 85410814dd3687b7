// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/router_loss_samples.h"

namespace tessera {

std::vector<OpSample> balance_loss_grad_samples() { return balance_loss_cases(8); }

}  // namespace tessera
