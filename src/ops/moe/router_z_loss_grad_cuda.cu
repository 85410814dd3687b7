// SPDX-License-Identifier: Apache-2.0
// The loss, and the gradient from the same scores.
#include "ops/moe/router_z_loss_cuda.h"

namespace tessera {

void router_z_loss_grad_cuda(const CudaCall& call) { run_router_z_loss(call); }

int64_t router_z_loss_grad_cuda_workspace_bytes(const OpCall&, CausalAttention&) {
  return router_loss_cuda_bytes();
}

}  // namespace tessera
