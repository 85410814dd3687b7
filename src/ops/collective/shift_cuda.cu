// SPDX-License-Identifier: Apache-2.0
// Each gives to the next of the ring.
#include "ops/collective/collective_cuda.h"

namespace tessera {

void shift_cuda(const CudaCall& call) { run_shift(call); }

}  // namespace tessera
