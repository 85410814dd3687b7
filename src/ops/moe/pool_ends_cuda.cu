// SPDX-License-Identifier: Apache-2.0
// Few numbers: one block. The sum of a rank's rows up to an expert is a difference of two ends.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

__global__ void __launch_bounds__(kThreads)
    pool_ends_kernel(const int32_t* all_ends, const int32_t* shard, int32_t* ends, int32_t* needed,
                     int64_t ranks, int64_t experts, int64_t rows) {
  const int64_t own = experts / ranks, first = *shard * own;
  for (int64_t e = threadIdx.x; e < own; e += kThreads) {
    int64_t end = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const int32_t* of_rank = all_ends + rank * experts;
      end += of_rank[first + e] - (first > 0 ? of_rank[first - 1] : 0);
    }
    ends[e] = static_cast<int32_t>(end < rows ? end : rows);
    if (needed) needed[e] = static_cast<int32_t>(end);
  }
}

}  // namespace

void pool_ends_cuda(const CudaCall& call) {
  const TensorType& all = *call.operand(0).type;
  const int64_t ranks = all.dims[0].size, experts = all.dims[1].size;
  launch(call, {.blocks = 1, .threads = kThreads}, pool_ends_kernel,
         static_cast<const int32_t*>(call.operand(0).as<int32_t>()),
         static_cast<const int32_t*>(call.operand(1).as<int32_t>()), call.result(0).as<int32_t>(),
         call.result(1) ? call.result(1).as<int32_t>() : static_cast<int32_t*>(nullptr), ranks,
         experts, experts / ranks * call.attributes.integer("slots"));
}

}  // namespace tessera
