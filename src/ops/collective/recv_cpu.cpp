// SPDX-License-Identifier: Apache-2.0
// From another stage.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void recv_cpu(const CpuCall& call) { run_recv(call); }

}  // namespace tessera
