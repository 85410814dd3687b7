// SPDX-License-Identifier: Apache-2.0
// Copies what is not there yet, then clears.
#include <cstring>

#include "exec/cpu/cpu_call.h"
#include "ops/collective/gaps.h"

namespace tessera {

void clear_gaps_cpu(const CpuCall& call) {
  const TensorRef x = call.operand(0), y = call.result(0);
  if (x.data != y.data) std::memcpy(y.data, x.data, static_cast<size_t>(y.type->bytes()));
  const int64_t element = size_bytes(y.type->dtype);
  for_each_gap(call.attributes.word("gaps"), *y.type, [&](int64_t first, int64_t count) {
    std::memset(y.data + first * element, 0, static_cast<size_t>(count * element));
  });
}

}  // namespace tessera
