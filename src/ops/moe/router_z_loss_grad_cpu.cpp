// SPDX-License-Identifier: Apache-2.0
// The loss, and the gradient from the same scores.
#include "ops/moe/router_z_loss_cpu.h"

namespace tessera {

void router_z_loss_grad_cpu(const CpuCall& call) { router_z_loss_kernel(call); }

}  // namespace tessera
