// SPDX-License-Identifier: Apache-2.0
// Every rank writes each peer's share where it belongs.
#include "ops/collective/collective_cuda.h"

namespace tessera {

void all_gather_cuda(const CudaCall& call) { run_collective<CudaCall>(call, gathered<CudaCall>); }

}  // namespace tessera
