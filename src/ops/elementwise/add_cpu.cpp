// SPDX-License-Identifier: Apache-2.0
// The sum, or what was there plus the sum.
#define HWY_TARGET_INCLUDE "ops/elementwise/add_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/elementwise/pointwise_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

struct Add {
  template <typename A>
  TESSERA_INLINE static A apply(A x, A y) {
    return x + y;
  }
};

template <typename T>
void accumulate_sum(const T* x, const T* y, T* sum, int64_t begin, int64_t end) {
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) sum[i] = store<T>(load(sum[i]) + (load(x[i]) + load(y[i])));
}

}  // namespace

void add_cpu(const CpuCall& call) {
  if (!call.accumulates(0)) return run_pointwise<Add>(call);
  const TensorType& type = *call.result(0).type;
  dispatch_float(type.dtype, [&]<typename T>() {
    const T *x = call.operand(0).as<T>(), *y = call.operand(1).as<T>();
    T* sum = call.result(0).as<T>();
    call.threads.run_ranges(
        type.num_elements(), kPieceElements,
        [&](int64_t begin, int64_t end, int) { accumulate_sum(x, y, sum, begin, end); });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(add_cpu)
}  // namespace tessera
#endif
