// SPDX-License-Identifier: Apache-2.0
// The loss, and the gradient from the same scores.
#include "ops/moe/balance_loss_cuda.h"

namespace tessera {

void balance_loss_grad_cuda(const CudaCall& call) { run_balance_loss(call); }

int64_t balance_loss_grad_cuda_workspace_bytes(const OpCall&, CausalAttention&) {
  return router_loss_cuda_bytes();
}

}  // namespace tessera
