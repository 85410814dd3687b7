// SPDX-License-Identifier: Apache-2.0
// One pass over x.
#include "ops/largest_entry_cuda.h"

namespace tessera {

void largest_entry_cuda(const CudaCall& call) {
  find_largest_entry(call, call.operand(0), call.result(0));
}

}  // namespace tessera
