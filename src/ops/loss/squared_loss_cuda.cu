// SPDX-License-Identifier: Apache-2.0
// The sum of squared differences on a GPU, in pieces, shared by squared_loss and its gradient.
#include "ops/loss/mean_loss_cuda.h"

namespace tessera {
namespace {

// dprediction may be null, and may overlap either operand.
template <typename T>
__global__ void squared_loss_kernel(const T* prediction, const T* target, T* dprediction,
                                    const double* label_count, int64_t count, double* partials) {
  using A = Accumulator<T>;
  const int64_t begin = blockIdx.x * kPieceElements, end = min(count, begin + kPieceElements);
  const A scale = static_cast<A>(2 / *label_count);
  double sum = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const A x = widen(prediction[i]), y = widen(target[i]);
    const double difference = static_cast<double>(x) - static_cast<double>(y);
    sum += difference * difference;
    if (dprediction) dprediction[i] = narrow<T>((x - y) * scale);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

template <typename T>
void run_squared_loss(const CudaCall& call, T* dprediction) {
  const int64_t count = call.operand(0).type->num_elements(), pieces = num_pieces(count);
  const double* label_count = call.operand(2).as<double>();
  double* partials = reinterpret_cast<double*>(call.workspace.data());
  launch(call, {.blocks = static_cast<unsigned>(pieces), .threads = kThreads},
         squared_loss_kernel<T>, static_cast<const T*>(call.operand(0).as<T>()),
         static_cast<const T*>(call.operand(1).as<T>()), dprediction, label_count, count, partials);
  store_mean_loss(call, partials, pieces, label_count);
}

}  // namespace

void squared_loss_cuda(const CudaCall& call) {
  dispatch_float(call.operand(0).type->dtype,
                 [&]<typename T>() { run_squared_loss<T>(call, static_cast<T*>(nullptr)); });
}

// Every element is summed and turned into its gradient at once.
void squared_loss_grad_cuda(const CudaCall& call) {
  dispatch_float(call.operand(0).type->dtype,
                 [&]<typename T>() { run_squared_loss<T>(call, call.result(1).as<T>()); });
}

}  // namespace tessera
