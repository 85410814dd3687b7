// SPDX-License-Identifier: Apache-2.0
// Blocks count pieces of a row of choices, then add to the row's counts: integers, so that their
// order does not matter.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

constexpr int64_t kPiece = 16 * kThreads;

__global__ void __launch_bounds__(kThreads)
    count_routes_kernel(const int32_t* chosen, int64_t per_row, int experts, int32_t* counts) {
  extern __shared__ int32_t own[];
  const int first = static_cast<int>(threadIdx.x);
  for (int e = first; e < experts; e += kThreads) own[e] = 0;
  __syncthreads();
  const int64_t row = blockIdx.x, begin = blockIdx.y * kPiece, end = min(per_row, begin + kPiece);
  for (int64_t i = begin + first; i < end; i += kThreads) {
    const int expert = chosen[row * per_row + i];
    if (expert >= 0 && expert < experts) atomicAdd(own + expert, 1);
  }
  __syncthreads();
  for (int e = first; e < experts; e += kThreads)
    if (own[e] > 0) atomicAdd(counts + row * experts + e, own[e]);
}

}  // namespace

void count_routes_cuda(const CudaCall& call) {
  const TensorRef chosen = call.operand(0), counts = call.result(0);
  const int64_t experts = counts.type->dims.back().size,
                rows = counts.type->num_elements() / experts,
                per_row = chosen.type->num_elements() / rows;
  const size_t bytes = static_cast<size_t>(experts) * sizeof(int32_t);
  TESSERA_CHECK(bytes <= 48 * 1024, "{} experts", experts);
  if (!call.accumulates(0))
    check_cuda(
        cudaMemsetAsync(counts.data, 0, static_cast<size_t>(counts.type->bytes()), call.stream),
        "clear counts");
  launch(call,
         {.blocks = dim3(static_cast<unsigned>(rows), blocks_for(per_row, kPiece)),
          .threads = kThreads,
          .shared_bytes = bytes},
         count_routes_kernel, static_cast<const int32_t*>(chosen.as<int32_t>()), per_row,
         static_cast<int>(experts), counts.as<int32_t>());
}

}  // namespace tessera
