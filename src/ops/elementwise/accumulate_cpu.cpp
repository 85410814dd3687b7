// SPDX-License-Identifier: Apache-2.0
// Copies, casts or adds, element by element.
#define HWY_TARGET_INCLUDE "ops/elementwise/accumulate_cpu.cpp"
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename X, typename Y>
void copy_range(const X* x, Y* y, int64_t begin, int64_t end, bool accumulate) {
  using A = Accumulator<Y>;
  if (accumulate)
    for (int64_t i = begin; i < end; ++i) y[i] = store<Y>(load(y[i]) + static_cast<A>(load(x[i])));
  else
    for (int64_t i = begin; i < end; ++i) y[i] = store<Y>(static_cast<A>(load(x[i])));
}

}  // namespace

void accumulate_cpu(const CpuCall& call) {
  const TensorRef from = call.operand(0), to = call.result(0);
  dispatch_float(from.type->dtype, [&]<typename X>() {
    dispatch_float(to.type->dtype, [&]<typename Y>() {
      call.threads.run_ranges(
          to.type->num_elements(), kPieceElements, [&](int64_t begin, int64_t end, int) {
            copy_range(from.as<X>(), to.as<Y>(), begin, end, call.accumulates(0));
          });
    });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(accumulate_cpu)
}  // namespace tessera
#endif
