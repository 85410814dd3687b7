// SPDX-License-Identifier: Apache-2.0
// The loss alone.
#include "ops/moe/router_z_loss_cpu.h"

namespace tessera {

void router_z_loss_cpu(const CpuCall& call) { router_z_loss_kernel(call); }

}  // namespace tessera
