// SPDX-License-Identifier: Apache-2.0
// Each part goes to one rank.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void all_to_all_cpu(const CpuCall& call) { run_collective<CpuCall>(call, exchanged<CpuCall>); }

}  // namespace tessera
