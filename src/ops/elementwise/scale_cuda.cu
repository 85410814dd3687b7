// SPDX-License-Identifier: Apache-2.0
// Every element times the factor, rounded once.
#include "ops/elementwise/pointwise_cuda.h"

namespace tessera {
namespace {

template <typename S>
struct Times {
  S factor;

  __device__ S apply(S x) const { return factor * x; }
};

}  // namespace

void scale_cuda(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  dispatch_float(type.dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    const T *x = call.operand(0).as<T>(), *none = nullptr;
    launch_pointwise<false, false>(call, Times<S>{static_cast<S>(call.attributes.real("factor"))},
                                   x, none, call.result(0).as<T>(), type.num_elements());
  });
}

}  // namespace tessera
