// SPDX-License-Identifier: Apache-2.0
// Every element times the factor, rounded once.
#define HWY_TARGET_INCLUDE "ops/elementwise/scale_cpu.cpp"
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
void scale_range(const T* x, T* y, Accumulator<T> factor, int64_t begin, int64_t end) {
  // Without ivdep the run-time check for overlap would send in-place calls to a scalar loop.
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) y[i] = store<T>(factor * load(x[i]));
}

}  // namespace

void scale_cpu(const CpuCall& call) {
  const TensorType& type = *call.result(0).type;
  dispatch_float(type.dtype, [&]<typename T>() {
    const auto factor = static_cast<Accumulator<T>>(call.attributes.real("factor"));
    call.threads.run_ranges(
        type.num_elements(), kPieceElements, [&](int64_t begin, int64_t end, int) {
          scale_range(call.operand(0).as<T>(), call.result(0).as<T>(), factor, begin, end);
        });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(scale_cpu)
}  // namespace tessera
#endif
