// SPDX-License-Identifier: Apache-2.0
// Sums in rank order.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void all_reduce_cpu(const CpuCall& call) { run_collective<CpuCall>(call, reduced<CpuCall>); }

}  // namespace tessera
