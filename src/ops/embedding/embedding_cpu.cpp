// SPDX-License-Identifier: Apache-2.0
// One copy per index; zeros where another shard has the row.
#define HWY_TARGET_INCLUDE "ops/embedding/embedding_cpu.cpp"
#include <cstring>

#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "ops/embedding/index_check_cpu.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

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

// Each task owns a block of columns and adds the rows of dy in order: the work is even and the
// order fixed, however often indices repeat.
namespace {

template <typename T, typename Y>
void add_columns(const TableIndex& index, int64_t count, const T* dy, Y* table, int64_t cols,
                 int64_t begin, int64_t end) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = index.row(i);
    if (row < 0) continue;
    const T* from = dy + i * cols;
    Y* to = table + row * cols;
#pragma GCC ivdep
    for (int64_t c = begin; c < end; ++c)
      to[c] = store<Y>(load(to[c]) + static_cast<Accumulator<Y>>(load(from[c])));
  }
}

// About eight blocks, of whole cache lines.
int64_t columns_per_block(int64_t cols) { return ((cols + 7) / 8 + 15) / 16 * 16; }

}  // namespace

void embedding_grad_cpu(const CpuCall& call) {
  const TensorRef dy = call.operand(1), table = call.result(0);
  const int64_t rows = table.type->dims.front().size, cols = table.type->num_elements() / rows;
  const int64_t count = call.operand(0).type->num_elements();
  const TableIndex index(call.operand(0), call.operand(2), rows);
  if (!call.accumulates(0)) {
    const int64_t element_bytes = size_bytes(table.type->dtype);
    call.threads.run_ranges(rows * cols, kPieceElements, [&](int64_t begin, int64_t end, int) {
      std::memset(table.data + begin * element_bytes, 0,
                  static_cast<size_t>((end - begin) * element_bytes));
    });
  }
  dispatch_float(dy.type->dtype, [&]<typename T>() {
    dispatch_float(table.type->dtype, [&]<typename Y>() {
      call.threads.run_ranges(cols, columns_per_block(cols), [&](int64_t begin, int64_t end, int) {
        add_columns(index, count, dy.as<T>(), table.as<Y>(), cols, begin, end);
      });
    });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(embedding_cpu)
TESSERA_KERNEL(embedding_grad_cpu)
}  // namespace tessera
#endif
