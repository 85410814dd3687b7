// SPDX-License-Identifier: Apache-2.0
// The loss alone.
#include "ops/moe/balance_loss_cuda.h"

namespace tessera {

void balance_loss_cuda(const CudaCall& call) { run_balance_loss(call); }

int64_t balance_loss_cuda_workspace_bytes(const OpCall&, CausalAttention&) {
  return router_loss_cuda_bytes();
}

}  // namespace tessera
