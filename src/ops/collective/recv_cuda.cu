// SPDX-License-Identifier: Apache-2.0
// From another stage.
#include "ops/collective/collective_cuda.h"

namespace tessera {

void recv_cuda(const CudaCall& call) { run_recv(call); }

}  // namespace tessera
