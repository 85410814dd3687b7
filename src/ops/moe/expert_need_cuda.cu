// SPDX-License-Identifier: Apache-2.0
// One number: the last end is the number of all rows.
#include "exec/cuda/kernel_launch.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

__global__ void expert_need_kernel(const int32_t* rows_needed, double rows, bool keeps,
                                   double* largest) {
  const double need = rows_needed ? *rows_needed / rows : 0;
  *largest = keeps ? fmax(*largest, need) : need;
}

}  // namespace

void expert_need_cuda(const CudaCall& call) {
  const TensorRef needed = call.operand(0);
  const int32_t* last = needed ? needed.as<int32_t>() + needed.type->num_elements() - 1 : nullptr;
  launch(call, {.blocks = 1, .threads = 1}, expert_need_kernel, last,
         needed ? static_cast<double>(pool_rows(*call.operand(1).type)) : 1.0, call.accumulates(0),
         call.result(0).as<double>());
}

}  // namespace tessera
