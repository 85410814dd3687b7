// SPDX-License-Identifier: Apache-2.0
// The activation at every element.
#include "ops/elementwise/activations_cpu.h"
#include "ops/elementwise/pointwise_cpu.h"

namespace tessera {
namespace {

struct Forward {
  template <typename A>
  TESSERA_INLINE static A apply(A x) {
    return Relu::value(x);
  }
};

}  // namespace

void relu_cpu(const CpuCall& call) { run_pointwise<Forward>(call); }

}  // namespace tessera
