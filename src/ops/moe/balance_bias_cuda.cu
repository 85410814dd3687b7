// SPDX-License-Identifier: Apache-2.0
// Few numbers: one block.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

// `moved` may be `bias`.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    balance_bias_kernel(const T* bias, const int32_t* counts, const double* norm_squares, T* moved,
                        int64_t experts, Accumulator<T> rate) {
  if (norm_squares && !isfinite(*norm_squares)) rate = 0;
  int64_t all = 0;
  for (int64_t e = threadIdx.x; e < experts; e += kThreads) all += counts[e];
  all = block_sum(all);
  for (int64_t e = threadIdx.x; e < experts; e += kThreads) {
    const int64_t missing = all - experts * counts[e];
    const auto sign = static_cast<Accumulator<T>>((missing > 0) - (missing < 0));
    moved[e] = narrow<T>(widen(bias[e]) + rate * sign);
  }
}

}  // namespace

void balance_bias_cuda(const CudaCall& call) {
  const TensorType& type = *call.operand(0).type;
  const TensorRef norm = call.operand(2);
  dispatch_float(type.dtype, [&]<typename T>() {
    launch(call, {.blocks = 1, .threads = kThreads}, balance_bias_kernel<T>,
           static_cast<const T*>(call.operand(0).as<T>()),
           static_cast<const int32_t*>(call.operand(1).as<int32_t>()),
           norm ? static_cast<const double*>(norm.as<double>()) : nullptr, call.result(0).as<T>(),
           type.num_elements(), static_cast<Accumulator<T>>(call.attributes.real("rate")));
  });
}

}  // namespace tessera
