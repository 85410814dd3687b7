// SPDX-License-Identifier: Apache-2.0
// A block sums a piece in double whatever the dtype; one block then adds the pieces.
#include "exec/cuda/elements.h"
#include "ops/fixed_order_sums_cuda.h"

namespace tessera {
namespace {

// Of bf16, eight squares in float lose nothing that matters and cost one conversion.
template <int N, typename T>
__device__ inline double squares_of(const Elements<T, N>& x) {
  using S = std::conditional_t<std::is_same_v<T, Bf16>, float, double>;
  S sum = 0;
  for (int j = 0; j < N; ++j) sum += static_cast<S>(widen(x.values[j])) * widen(x.values[j]);
  return sum;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    squares_kernel(const T* x, int64_t count, double* partials) {
  constexpr int N = kElements<T>;
  const int64_t begin = blockIdx.x * kPieceElements, end = min(count, begin + kPieceElements);
  double sum = 0;
#pragma unroll 8
  for (int64_t i = begin + threadIdx.x * N; i + N <= end; i += kThreads * N)
    sum += squares_of(load_elements<N>(x + i));
  const int64_t last = end - end % N + threadIdx.x;
  if (last < end) sum += squares_of(load_elements<1>(x + last));
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
