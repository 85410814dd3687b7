// SPDX-License-Identifier: Apache-2.0
// Few integers: one thread counts them.
#include <algorithm>

#include "exec/cpu/cpu_call.h"

namespace tessera {

void count_routes_cpu(const CpuCall& call) {
  const TensorRef chosen = call.operand(0), result = call.result(0);
  const int64_t experts = result.type->dims.back().size, all = result.type->num_elements(),
                choices = chosen.type->num_elements(), per_row = choices / (all / experts);
  const int32_t* experts_chosen = chosen.as<int32_t>();
  int32_t* counts = result.as<int32_t>();
  if (!call.accumulates(0)) std::fill_n(counts, all, 0);
  for (int64_t i = 0; i < choices; ++i) {
    const int32_t expert = experts_chosen[i];
    if (expert >= 0 && expert < experts) ++counts[i / per_row * experts + expert];
  }
}

}  // namespace tessera
