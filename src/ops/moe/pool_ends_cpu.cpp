// SPDX-License-Identifier: Apache-2.0
// Few numbers: one thread.
#include <algorithm>

#include "exec/cpu/cpu_call.h"

namespace tessera {

void pool_ends_cpu(const CpuCall& call) {
  const TensorType& all = *call.operand(0).type;
  const int64_t ranks = all.dims[0].size, experts = all.dims[1].size, own = experts / ranks,
                rows = own * call.attributes.integer("slots"),
                first = *call.operand(1).as<int32_t>() * own;
  const int32_t* all_ends = call.operand(0).as<int32_t>();
  int32_t *ends = call.result(0).as<int32_t>(),
          *needed = call.result(1) ? call.result(1).as<int32_t>() : nullptr;
  int64_t next = 0;
  for (int64_t e = 0; e < own; ++e) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const int32_t* of_rank = all_ends + rank * experts;
      next += of_rank[first + e] - (first + e > 0 ? of_rank[first + e - 1] : 0);
    }
    ends[e] = static_cast<int32_t>(std::min(next, rows));
    if (needed) needed[e] = static_cast<int32_t>(next);
  }
}

}  // namespace tessera
