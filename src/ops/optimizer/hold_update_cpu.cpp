// SPDX-License-Identifier: Apache-2.0
// One number, by which the updates that follow change nothing where it is infinite.
#include <limits>

#include "exec/cpu/cpu_call.h"

namespace tessera {

void hold_update_cpu(const CpuCall& call) {
  const bool fits = *call.operand(1).as<double>() <= 1;  // false for NaN too
  *call.result(0).as<double>() =
      fits ? *call.operand(0).as<double>() : std::numeric_limits<double>::infinity();
}

}  // namespace tessera
