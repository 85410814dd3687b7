// SPDX-License-Identifier: Apache-2.0
// One logarithm per row: one thread does it.
#include "ops/loss/sharded_loss_cpu.h"

namespace tessera {

void sharded_loss_cpu(const CpuCall& call) {
  const int64_t rows = call.operand(0).type->num_elements();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    const double sum = sum_of_sharded_losses(call.operand(0).as<S>(), call.operand(1).as<S>(),
                                             call.operand(2).as<int32_t>(), rows);
    store_mean_loss(call, sum, *call.operand(3).as<double>());
  });
}

}  // namespace tessera
