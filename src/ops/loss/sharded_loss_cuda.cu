// SPDX-License-Identifier: Apache-2.0
// One logarithm per row: one block does it.
#include "ops/loss/sharded_loss_cuda.h"

namespace tessera {

void sharded_loss_cuda(const CudaCall& call) {
  const int64_t rows = call.operand(0).type->num_elements();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    store_sharded_mean_loss<S>(call, call.operand(0).as<S>(), call.operand(1).as<S>(),
                               call.operand(2).as<int32_t>(), rows, call.operand(3).as<double>());
  });
}

}  // namespace tessera
