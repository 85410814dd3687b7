// SPDX-License-Identifier: Apache-2.0
// A block sums a piece in double whatever the dtype; one block then adds the pieces.
#include "ops/fixed_order_sums_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void squares_kernel(const T* x, int64_t count, double* partials) {
  const int64_t begin = blockIdx.x * kPieceElements, end = min(count, begin + kPieceElements);
  double sum = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const double value = widen(x[i]);
    sum += value * value;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void finish_kernel(const double* partials, int64_t pieces, double scale, double* result,
                              bool accumulate) {
  const double sum = sum_of_doubles(partials, pieces);
  if (threadIdx.x == 0) *result = (accumulate ? *result : 0.0) + scale * sum;
}

}  // namespace

void sum_of_squares_cuda(const CudaCall& call) {
  const TensorType& type = *call.operand(0).type;
  const int64_t count = type.num_elements(), pieces = num_pieces(count);
  double* partials = reinterpret_cast<double*>(call.workspace.data());
  dispatch_float(type.dtype, [&]<typename T>() {
    launch(call, {.blocks = static_cast<unsigned>(pieces), .threads = kThreads}, squares_kernel<T>,
           static_cast<const T*>(call.operand(0).as<T>()), count, partials);
  });
  launch(call, {.blocks = 1, .threads = 1024}, finish_kernel, static_cast<const double*>(partials),
         pieces, call.attributes.real("scale"), call.result(0).as<double>(), call.accumulates(0));
}

}  // namespace tessera
