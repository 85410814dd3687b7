// SPDX-License-Identifier: Apache-2.0
// Row by row: the bias stays in the cache.
#define HWY_TARGET_INCLUDE "ops/elementwise/bias_add_cpu.cpp"
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
void add_bias(const T* x, const T* bias, T* y, int64_t rows, int64_t cols) {
  for (int64_t row = 0; row < rows; ++row)
#pragma GCC ivdep
    for (int64_t c = 0; c < cols; ++c)
      y[row * cols + c] = store<T>(load(x[row * cols + c]) + load(bias[c]));
}

}  // namespace

void bias_add_cpu(const CpuCall& call) {
  const int64_t cols = call.operand(1).type->num_elements();
  const int64_t rows = call.operand(0).type->num_elements() / cols;
  dispatch_float(call.result(0).type->dtype, [&]<typename T>() {
    const T *x = call.operand(0).as<T>(), *bias = call.operand(1).as<T>();
    T* y = call.result(0).as<T>();
    run_rows(call.threads, rows, cols, [&](int64_t begin, int64_t end) {
      add_bias(x + begin * cols, bias, y + begin * cols, end - begin, cols);
    });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(bias_add_cpu)
}  // namespace tessera
#endif
