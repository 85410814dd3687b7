// SPDX-License-Identifier: Apache-2.0
// The end of every loss on a GPU: partial sums, added by one block, over the count of labels.
#pragma once

#include "ops/fixed_order_sums_cuda.h"

namespace tessera {

// If all labels are ignored, their count may be 0.
static __global__ void mean_loss_kernel(const double* partials, int64_t count,
                                        const double* label_count, double* loss, bool accumulate) {
  const double sum = sum_of_doubles(partials, count);
  if (threadIdx.x == 0) *loss = (accumulate ? *loss : 0.0) + (sum == 0 ? 0.0 : sum / *label_count);
}

// Result 0.
inline void store_mean_loss(const CudaCall& call, const double* partials, int64_t count,
                            const double* label_count) {
  launch(call, {.blocks = 1, .threads = 1024}, mean_loss_kernel, partials, count, label_count,
         call.result(0).as<double>(), call.accumulates(0));
}

}  // namespace tessera
