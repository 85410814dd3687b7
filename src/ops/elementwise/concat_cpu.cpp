// SPDX-License-Identifier: Apache-2.0
// Row by row: the part of y stays in the cache while it is repeated.
#define HWY_TARGET_INCLUDE "ops/elementwise/concat_cpu.cpp"
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "ops/elementwise/concat.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

void concat_cpu(const CpuCall& call) {
  const ConcatSizes s(*call.operand(0).type, *call.operand(1).type);
  dispatch_float(call.result(0).type->dtype, [&]<typename T>() {
    const T *x = call.operand(0).as<T>(), *y = call.operand(1).as<T>();
    T* z = call.result(0).as<T>();
    run_rows(call.threads, s.rows, s.cols, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* to = z + row * s.cols;
        std::copy_n(x + row * s.x_cols, s.x_cols, to);
        std::copy_n(y + row / s.repeats * s.y_cols, s.y_cols, to + s.x_cols);
      }
    });
  });
}

namespace {

// Sums of the repeats of one row of y, in order.
template <typename T>
void sum_repeats(const ConcatSizes& s, const T* dz, T* dy) {
  using A = Accumulator<T>;
  constexpr int64_t kBlock = 64;
  A sums[kBlock];
  for (int64_t first = 0; first < s.y_cols; first += kBlock) {
    const int64_t count = std::min(kBlock, s.y_cols - first);
    const T* from = dz + s.x_cols + first;
    for (int64_t i = 0; i < count; ++i) sums[i] = load(from[i]);
    for (int64_t repeat = 1; repeat < s.repeats; ++repeat)
      for (int64_t i = 0; i < count; ++i) sums[i] += load(from[repeat * s.cols + i]);
    for (int64_t i = 0; i < count; ++i) dy[first + i] = store<T>(sums[i]);
  }
}

}  // namespace

void concat_grad_cpu(const CpuCall& call) {
  const ConcatSizes s(*call.result(0).type, *call.result(1).type);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    const T* dz = call.operand(0).as<T>();
    T *dx = call.result(0).as<T>(), *dy = call.result(1).as<T>();
    run_rows(call.threads, s.outer, s.repeats * s.cols, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * s.repeats; row < end * s.repeats; ++row)
        std::copy_n(dz + row * s.cols, s.x_cols, dx + row * s.x_cols);
      for (int64_t i = begin; i < end; ++i)
        sum_repeats(s, dz + i * s.repeats * s.cols, dy + i * s.y_cols);
    });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(concat_cpu)
TESSERA_KERNEL(concat_grad_cpu)
}  // namespace tessera
#endif
