// SPDX-License-Identifier: Apache-2.0
// Sums in rank order.
#include "ops/collective/collective_cuda.h"

namespace tessera {

void reduce_scatter_cuda(const CudaCall& call) {
  run_collective<CudaCall>(call, scattered_sum<CudaCall>);
}

}  // namespace tessera
