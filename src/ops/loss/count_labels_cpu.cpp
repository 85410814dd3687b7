// SPDX-License-Identifier: Apache-2.0
// Few integers: one thread counts them.
#include "exec/cpu/cpu_call.h"

namespace tessera {

void count_labels_cpu(const CpuCall& call) {
  const TensorRef labels = call.operand(0);
  double& result = *call.result(0).as<double>();
  int64_t count = labels.type->num_elements();
  if (labels.type->dtype == DType::Int32) {
    const int32_t* data = labels.as<int32_t>();
    const int64_t all = count;
    for (int64_t i = 0; i < all; ++i) count -= data[i] < 0;
  }
  result = (call.accumulates(0) ? result : 0.0) + static_cast<double>(count);
}

}  // namespace tessera
