// SPDX-License-Identifier: Apache-2.0
// Few numbers: one thread.
#include <cmath>

#include "exec/cpu/cpu_call.h"

namespace tessera {

void balance_bias_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(0).type;
  const int64_t experts = type.num_elements();
  const int32_t* counts = call.operand(1).as<int32_t>();
  const TensorRef norm = call.operand(2);
  const bool learns = !norm || std::isfinite(*norm.as<double>());
  int64_t all = 0;
  for (int64_t e = 0; e < experts; ++e) all += counts[e];
  dispatch_float(type.dtype, [&]<typename T>() {
    const T* bias = call.operand(0).as<T>();
    T* moved = call.result(0).as<T>();
    const auto rate = static_cast<Accumulator<T>>(learns ? call.attributes.real("rate") : 0.0);
    for (int64_t e = 0; e < experts; ++e) {
      const int64_t missing = all - experts * counts[e];
      const auto sign = static_cast<Accumulator<T>>((missing > 0) - (missing < 0));
      moved[e] = store<T>(load(bias[e]) + rate * sign);
    }
  });
}

}  // namespace tessera
