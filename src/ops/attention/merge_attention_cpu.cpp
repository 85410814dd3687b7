// SPDX-License-Identifier: Apache-2.0
// Row by row. A side with lse = -inf has weight 0 and leaves the other one's bits.
#define HWY_TARGET_INCLUDE "ops/attention/merge_attention_cpu.cpp"
#include <limits>

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
void mix(const T* x, Accumulator<T> x_weight, const T* y, Accumulator<T> y_weight, T* out,
         int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = store<T>(x_weight * load(x[i]) + y_weight * load(y[i]));
}

template <typename T>
void merge(const CpuCall& call) {
  using S = Accumulator<T>;
  const int64_t rows = call.operand(1).type->num_elements();
  const int64_t e = call.operand(0).type->dims.back().size;
  const T *x = call.operand(0).as<T>(), *y = call.operand(2).as<T>();
  const S *x_lse = call.operand(1).as<S>(), *y_lse = call.operand(3).as<S>();
  T* out = call.result(0).as<T>();
  S* lse = call.result(1).as<S>();
  run_rows(call.threads, rows, e, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const S larger = std::max(x_lse[row], y_lse[row]);
      const bool sees = larger > -std::numeric_limits<S>::infinity();
      const S x_part = sees ? std::exp(x_lse[row] - larger) : S{0};
      const S y_part = sees ? std::exp(y_lse[row] - larger) : S{0};
      const S sum = sees ? x_part + y_part : S{1};
      mix(x + row * e, x_part / sum, y + row * e, y_part / sum, out + row * e, e);
      lse[row] = larger + std::log(sum);
    }
  });
}

}  // namespace

void merge_attention_cpu(const CpuCall& call) {
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() { merge<T>(call); });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(merge_attention_cpu)
}  // namespace tessera
#endif
