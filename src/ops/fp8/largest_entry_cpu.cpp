// SPDX-License-Identifier: Apache-2.0
// One pass over x.
#include "ops/largest_entry_cpu.h"

#include "ops/moe/pool.h"

namespace tessera {

void largest_entry_cpu(const CpuCall& call) {
  const TensorRef x = call.operand(0);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    *call.result(0).as<float>() = largest_entry<T>(x.as<T>(), x.type->num_elements(), call.threads);
  });
}

void largest_pool_entry_cpu(const CpuCall& call) {
  const TensorRef x = call.operand(0), ends = call.operand(1);
  const int64_t rows = ends.as<int32_t>()[ends.type->num_elements() - 1];
  dispatch_float(x.type->dtype, [&]<typename T>() {
    *call.result(0).as<float>() =
        largest_entry<T>(x.as<T>(), rows * row_size(*x.type), call.threads);
  });
}

}  // namespace tessera
