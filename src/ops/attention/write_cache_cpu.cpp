// SPDX-License-Identifier: Apache-2.0
// In place: one copy per row.
#include <cstring>

#include "ops/embedding/index_check_cpu.h"

namespace tessera {

void write_cache_cpu(const CpuCall& call) {
  const TensorRef cache = call.operand(0), rows = call.operand(1), out = call.result(0);
  const int64_t batch = cache.type->dims[0].size, cached = cache.type->dims[1].size;
  const int64_t count = rows.type->dims[1].size;
  const int64_t row_bytes = cache.type->bytes() / (batch * cached);
  const int32_t* positions = checked_index(call.operand(2), cached);
  if (out.data != cache.data)
    std::memcpy(out.data, cache.data, static_cast<size_t>(cache.type->bytes()));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = b * count; i < (b + 1) * count; ++i)
      std::memcpy(out.data + (b * cached + positions[i]) * row_bytes, rows.data + i * row_bytes,
                  static_cast<size_t>(row_bytes));
}

}  // namespace tessera
