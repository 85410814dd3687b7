// SPDX-License-Identifier: Apache-2.0
// The loop of all kernels whose result i depends only on element i of their operands. `F::apply`
// takes one or two elements in the accumulator's type. A result may be exactly in place of an
// operand.
#if defined(TESSERA_OPS_ELEMENTWISE_POINTWISE_CPU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_OPS_ELEMENTWISE_POINTWISE_CPU_H
#undef TESSERA_OPS_ELEMENTWISE_POINTWISE_CPU_H
#else
#define TESSERA_OPS_ELEMENTWISE_POINTWISE_CPU_H
#endif

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/lanes.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

template <typename F, typename T>
void pointwise_range(const CpuCall& call, int64_t begin, int64_t end) {
  using A = Accumulator<T>;
  const T* x = call.operand(0).as<T>();
  T* y = call.result(0).as<T>();
  if constexpr (requires(A a) { F::apply(a, a); }) {
    const T* x2 = call.operand(1).as<T>();
    // Without ivdep the run-time check for overlap would send in-place calls to a scalar loop.
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) y[i] = store<T>(F::apply(load(x[i]), load(x2[i])));
  } else {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) y[i] = store<T>(F::apply(load(x[i])));
  }
}

template <typename F>
void run_pointwise(const CpuCall& call) {
  const TensorType& type = *call.result(0).type;
  dispatch_float(type.dtype, [&]<typename T>() {
    call.threads.run_ranges(
        type.num_elements(), kPieceElements,
        [&](int64_t begin, int64_t end, int) { pointwise_range<F, T>(call, begin, end); });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
