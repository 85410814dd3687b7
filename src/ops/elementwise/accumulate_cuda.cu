// SPDX-License-Identifier: Apache-2.0
// Copies, casts or adds, element by element.
#include "ops/elementwise/pointwise_cuda.h"

namespace tessera {
namespace {

struct Same {
  template <typename A>
  __device__ static A apply(A x) {
    return x;
  }
};

}  // namespace

void accumulate_cuda(const CudaCall& call) {
  const TensorRef from = call.operand(0), to = call.result(0);
  const int64_t count = to.type->num_elements();
  dispatch_float(from.type->dtype, [&]<typename X>() {
    dispatch_float(to.type->dtype, [&]<typename Y>() {
      const X *x = from.as<X>(), *none = nullptr;
      if (call.accumulates(0))
        launch_pointwise<false, true>(call, Same{}, x, none, to.as<Y>(), count);
      else
        launch_pointwise<false, false>(call, Same{}, x, none, to.as<Y>(), count);
    });
  });
}

}  // namespace tessera
