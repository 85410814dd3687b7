// SPDX-License-Identifier: Apache-2.0
// To another stage.
#include "ops/collective/collective_cuda.h"

namespace tessera {

void send_cuda(const CudaCall& call) { run_send(call); }

}  // namespace tessera
