// SPDX-License-Identifier: Apache-2.0
// Chunks of rows are summed into partial rows, which are then added in order.
#define HWY_TARGET_INCLUDE "ops/elementwise/reduce_to_cpu.cpp"
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "ops/fixed_order_sums_cpu.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
void sum_rows(const T* x, Accumulator<T>* sums, int64_t rows, int64_t cols) {
  for (int64_t c = 0; c < cols; ++c) sums[c] = load(x[c]);
  for (int64_t row = 1; row < rows; ++row)
#pragma GCC ivdep
    for (int64_t c = 0; c < cols; ++c) sums[c] += load(x[row * cols + c]);
}

}  // namespace

void reduce_to_cpu(const CpuCall& call) {
  const TensorType &from = *call.operand(0).type, &to = *call.result(0).type;
  const int64_t cols = to.num_elements();
  const RowChunks chunks(from.num_elements() / cols);
  dispatch_float(from.dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const T* x = call.operand(0).as<T>();
    A* partials = reinterpret_cast<A*>(call.workspace.data());
    call.threads.run(chunks.count(), [&](int64_t chunk, int) {
      const int64_t begin = chunks.begin(chunk);
      sum_rows(x + begin * cols, partials + chunk * cols, chunks.end(chunk) - begin, cols);
    });
    dispatch_float(to.dtype, [&]<typename Y>() {
      add_partial_rows(call.threads, partials, chunks.count(), cols, call.result(0).as<Y>(),
                       call.accumulates(0));
    });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(reduce_to_cpu)
}  // namespace tessera
#endif
