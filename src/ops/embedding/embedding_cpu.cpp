// SPDX-License-Identifier: Apache-2.0
// One copy per index; zeros where another shard has the row.
#include <cstring>

#include "ops/embedding/index_check_cpu.h"
#include "ops/row_ranges.h"

namespace tessera {

void embedding_cpu(const CpuCall& call) {
  const TensorRef table = call.operand(0), out = call.result(0);
  const int64_t rows = table.type->dims.front().size, cols = table.type->num_elements() / rows;
  const int64_t row_bytes = cols * size_bytes(table.type->dtype);
  const TableIndex index(call.operand(1), call.operand(2), rows);
  run_rows(call.threads, call.operand(1).type->num_elements(), cols,
           [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) {
               const int64_t row = index.row(i);
               std::byte* to = out.data + i * row_bytes;
               if (row < 0)
                 std::memset(to, 0, static_cast<size_t>(row_bytes));
               else
                 std::memcpy(to, table.data + row * row_bytes, static_cast<size_t>(row_bytes));
             }
           });
}

}  // namespace tessera
