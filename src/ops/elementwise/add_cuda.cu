// SPDX-License-Identifier: Apache-2.0
// The sum, or what was there plus the sum.
#include "ops/elementwise/pointwise_cuda.h"

namespace tessera {
namespace {

struct Add {
  template <typename A>
  __device__ static A apply(A x, A y) {
    return x + y;
  }
};

}  // namespace

void add_cuda(const CudaCall& call) {
  if (call.accumulates(0))
    run_pointwise<Add, true, true>(call);
  else
    run_pointwise<Add, true>(call);
}

}  // namespace tessera
