// SPDX-License-Identifier: Apache-2.0
// One pass over x.
#include "ops/largest_entry_cuda.h"
#include "ops/moe/pool.h"

namespace tessera {

void largest_entry_cuda(const CudaCall& call) {
  find_largest_entry(call, call.operand(0), call.result(0));
}

void largest_pool_entry_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0), ends = call.operand(1);
  find_largest_entry(
      call, x, call.result(0),
      {.rows = ends.as<int32_t>() + ends.type->num_elements() - 1, .row_size = row_size(*x.type)});
}

}  // namespace tessera
