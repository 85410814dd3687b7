// SPDX-License-Identifier: Apache-2.0
// One pass, bound by memory.
#define HWY_TARGET_INCLUDE "ops/optimizer/moving_average_cpu.cpp"
#include <algorithm>
#include <cmath>

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
void average_range(const Accumulator<T>* average, const T* weights, Accumulator<T>* result,
                   Accumulator<T> decay, int64_t begin, int64_t end) {
  const Accumulator<T> rest = 1 - decay;
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) result[i] = decay * average[i] + rest * load(weights[i]);
}

}  // namespace

void moving_average_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(1).type;
  const TensorRef norm_squares = call.operand(2);
  const bool held = norm_squares && !std::isfinite(*norm_squares.as<double>());
  dispatch_float(type.dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const A decay = static_cast<A>(call.attributes.real("decay"));
    const A* average = call.operand(0).as<A>();
    const T* weights = call.operand(1).as<T>();
    A* result = call.result(0).as<A>();
    if (held) {
      if (result != average) std::copy_n(average, type.num_elements(), result);
      return;
    }
    call.threads.run_ranges(type.num_elements(), kPieceElements,
                            [&](int64_t begin, int64_t end, int) {
                              average_range(average, weights, result, decay, begin, end);
                            });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(moving_average_cpu)
}  // namespace tessera
#endif
