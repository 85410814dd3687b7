// SPDX-License-Identifier: Apache-2.0
// Copies what is not there yet, then clears.
#include "exec/cuda/kernel_launch.h"
#include "ops/collective/gaps.h"

namespace tessera {

void clear_gaps_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0), y = call.result(0);
  if (x.data != y.data)
    check_cuda(cudaMemcpyAsync(y.data, x.data, static_cast<size_t>(y.type->bytes()),
                               cudaMemcpyDeviceToDevice, call.stream),
               "copy a buffer");
  const int64_t element = size_bytes(y.type->dtype);
  for_each_gap(call.attributes.word("gaps"), *y.type, [&](int64_t first, int64_t count) {
    check_cuda(cudaMemsetAsync(y.data + first * element, 0, static_cast<size_t>(count * element),
                               call.stream),
               "clear a gap");
  });
}

}  // namespace tessera
