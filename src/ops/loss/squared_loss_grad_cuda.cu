// SPDX-License-Identifier: Apache-2.0
// Every element is summed and turned into its gradient at once.
#include "ops/loss/squared_loss_cuda.h"

namespace tessera {

void squared_loss_grad_cuda(const CudaCall& call) {
  dispatch_float(call.operand(0).type->dtype,
                 [&]<typename T>() { run_squared_loss<T>(call, call.result(1).as<T>()); });
}

}  // namespace tessera
