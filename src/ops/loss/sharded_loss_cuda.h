// SPDX-License-Identifier: Apache-2.0
// Shared by the CUDA kernels over a sharded vocabulary: which classes a shard holds, and the loss.
#pragma once

#include "ops/loss/logits_cuda.h"
#include "ops/loss/sharded_loss.h"

namespace tessera {

// The classes of one shard: `first` to `first + count`; the other rows of its table are padding.
struct GpuLocalClasses {
  int64_t vocabulary, first, count;

  __device__ GpuLocalClasses(int64_t all, int32_t shard, int64_t rows)
      : vocabulary(all), first(shard * rows) {
    const int64_t left = vocabulary - first;
    count = left < 0 ? 0 : left < rows ? left : rows;
  }
  // The label's column here, or -1 where another shard has it.
  __device__ int64_t column(int32_t label) const {
    return label >= first && label < first + count ? label - first : -1;
  }
};

// By one block: the losses of rows whose label is not negative.
template <typename S>
__global__ void sharded_mean_loss_kernel(const S* all_max, const S* stats, const int32_t* labels,
                                         int64_t rows, const double* label_count, double* loss,
                                         bool accumulate) {
  double sum = 0;
  for (int64_t row = threadIdx.x; row < rows; row += blockDim.x)
    if (labels[row] >= 0)
      sum += log(static_cast<double>(stats[row])) + static_cast<double>(all_max[row]) -
             static_cast<double>(stats[rows + row]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) *loss = (accumulate ? *loss : 0.0) + (sum == 0 ? 0.0 : sum / *label_count);
}

// Result 0.
template <typename S>
void store_sharded_mean_loss(const CudaCall& call, const S* all_max, const S* stats,
                             const int32_t* labels, int64_t rows, const double* label_count) {
  launch(call, {.blocks = 1, .threads = 1024}, sharded_mean_loss_kernel<S>, all_max, stats, labels,
         rows, label_count, call.result(0).as<double>(), call.accumulates(0));
}

}  // namespace tessera
