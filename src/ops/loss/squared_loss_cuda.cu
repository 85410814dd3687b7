// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/squared_loss_cuda.h"

namespace tessera {

void squared_loss_cuda(const CudaCall& call) {
  dispatch_float(call.operand(0).type->dtype,
                 [&]<typename T>() { run_squared_loss<T>(call, static_cast<T*>(nullptr)); });
}

}  // namespace tessera
