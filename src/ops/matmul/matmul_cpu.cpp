// SPDX-License-Identifier: Apache-2.0
// The contraction as one matrix product over the rank's threads.
#include "ops/matmul/product_cpu.h"

namespace tessera {

void matmul_cpu(const CpuCall& call) {
  const TensorRef y = call.result(0);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    if (y.type->dtype == dtype_of<T>())
      gemm(product_of<T, T>(call, y), call.threads, call.workspace);
    else
      gemm(product_of<T, Accumulator<T>>(call, y), call.threads, call.workspace);
  });
}

}  // namespace tessera
