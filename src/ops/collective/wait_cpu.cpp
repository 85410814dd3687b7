// SPDX-License-Identifier: Apache-2.0
// Nothing to do where nothing was started: the data is there.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void wait_cpu(const CpuCall& call) {
  if (call.in_flight) call.in_flight->wait(call.operand(0).data);
  copy_to_result(call);
}

}  // namespace tessera
