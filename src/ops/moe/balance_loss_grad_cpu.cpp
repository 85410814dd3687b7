// SPDX-License-Identifier: Apache-2.0
// The loss, and the gradient from the same scores.
#include "ops/moe/balance_loss_cpu.h"

namespace tessera {

void balance_loss_grad_cpu(const CpuCall& call) { balance_loss_kernel(call); }

}  // namespace tessera
