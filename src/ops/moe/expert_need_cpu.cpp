// SPDX-License-Identifier: Apache-2.0
// One number: the last end is the number of all rows.
#include <algorithm>

#include "exec/cpu/cpu_call.h"
#include "ops/moe/pool.h"

namespace tessera {

void expert_need_cpu(const CpuCall& call) {
  const TensorRef needed = call.operand(0);
  double need = 0;
  if (needed)
    need = static_cast<double>(needed.as<int32_t>()[needed.type->num_elements() - 1]) /
           static_cast<double>(pool_rows(*call.operand(1).type));
  double& largest = *call.result(0).as<double>();
  largest = call.accumulates(0) ? std::max(largest, need) : need;
}

}  // namespace tessera
