// SPDX-License-Identifier: Apache-2.0
// Each gives to the next of the ring.
#include "ops/collective/collective_cpu.h"

namespace tessera {

void shift_cpu(const CpuCall& call) { run_shift(call); }

}  // namespace tessera
