// SPDX-License-Identifier: Apache-2.0
// Sums in rank order.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void reduce_scatter_cpu(const CpuCall& call) {
  run_collective<CpuCall>(call, scattered_sum<CpuCall>);
}

}  // namespace tessera
