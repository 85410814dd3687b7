// SPDX-License-Identifier: Apache-2.0
// One copy per index.
#include <cstring>

#include "ops/embedding/index_check_cpu.h"
#include "ops/row_ranges.h"

namespace tessera {

void embedding_cpu(const CpuCall& call) {
  const TensorRef table = call.operand(0), out = call.result(0);
  const int64_t rows = table.type->dims.front().size, cols = table.type->num_elements() / rows;
  const int64_t row_bytes = cols * size_bytes(table.type->dtype);
  const int32_t* index = checked_index(call.operand(1), rows);
  run_rows(call.threads, call.operand(1).type->num_elements(), cols,
           [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i)
               std::memcpy(out.data + i * row_bytes, table.data + index[i] * row_bytes,
                           static_cast<size_t>(row_bytes));
           });
}

}  // namespace tessera
