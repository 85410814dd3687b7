// SPDX-License-Identifier: Apache-2.0
// max may be -inf (a shard of padding), all_max is finite: some shard has a class.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

template <typename S>
__global__ void shared_stats_kernel(const S* max, const S* sum, const S* chosen, const S* all_max,
                                    int64_t rows, S* stats) {
  for (int64_t row = first_index(); row < rows; row += index_stride()) {
    stats[row] = sum[row] * exp(max[row] - all_max[row]);
    stats[rows + row] = chosen[row];
  }
}

}  // namespace

void shared_stats_cuda(const CudaCall& call) {
  const int64_t rows = call.operand(0).type->num_elements();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    const auto stat = [&](size_t i) { return static_cast<const S*>(call.operand(i).as<S>()); };
    launch(call, grid_for(rows), shared_stats_kernel<S>, stat(0), stat(1), stat(2), stat(3), rows,
           call.result(0).as<S>());
  });
}

}  // namespace tessera
