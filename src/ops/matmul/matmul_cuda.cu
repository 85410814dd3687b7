// SPDX-License-Identifier: Apache-2.0
// The contraction as one matrix product of cuBLASLt.
#include "ops/matmul/product_cuda.h"

namespace tessera {

void matmul_cuda(const CudaCall& call) {
  call.products.enqueue(product_of(call, call.result(0)), call.stream);
}

}  // namespace tessera
