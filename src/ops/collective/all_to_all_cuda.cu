// SPDX-License-Identifier: Apache-2.0
// Each part goes to one rank.
#include "ops/collective/collective_cuda.h"

namespace tessera {

void all_to_all_cuda(const CudaCall& call) { run_collective<CudaCall>(call, exchanged<CudaCall>); }

}  // namespace tessera
