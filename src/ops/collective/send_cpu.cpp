// SPDX-License-Identifier: Apache-2.0
// To another stage.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void send_cpu(const CpuCall& call) { run_send(call); }

}  // namespace tessera
