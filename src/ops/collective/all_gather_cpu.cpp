// SPDX-License-Identifier: Apache-2.0
// Every rank writes each peer's share where it belongs.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void all_gather_cpu(const CpuCall& call) { run_collective<CpuCall>(call, gathered<CpuCall>); }

}  // namespace tessera
