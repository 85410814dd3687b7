// SPDX-License-Identifier: Apache-2.0
// One pass, bound by memory.
#include "ops/elementwise/pointwise_cuda.h"

namespace tessera {
namespace {

template <typename A>
struct Blend {
  A decay;
  const double* norm_squares;  // null: nobody holds the update
  __device__ A apply(A average, A weight) const {
    if (norm_squares && !isfinite(*norm_squares)) return average;
    return decay * average + (1 - decay) * weight;
  }
};

}  // namespace

void moving_average_cuda(const CudaCall& call) {
  const TensorType& type = *call.operand(1).type;
  const TensorRef norm = call.operand(2);
  const double* norm_squares = norm ? norm.as<double>() : nullptr;
  dispatch_float(type.dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const Blend<A> blend{static_cast<A>(call.attributes.real("decay")), norm_squares};
    launch_pointwise<true, false>(call, blend, static_cast<const A*>(call.operand(0).as<A>()),
                                  static_cast<const T*>(call.operand(1).as<T>()),
                                  call.result(0).as<A>(), type.num_elements());
  });
}

}  // namespace tessera
