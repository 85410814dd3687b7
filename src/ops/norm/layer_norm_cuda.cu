// SPDX-License-Identifier: Apache-2.0
// A row is read three times, but from memory only once.
#include "ops/norm/row_grid_cuda.h"

namespace tessera {
namespace {

template <typename T>
struct Rows {
  const T *x, *gain, *bias;  // bias may be null
  T* y;
  Accumulator<T>*mean, *rstd;
  int64_t cols;
  Accumulator<T> epsilon;
};

template <typename T>
__global__ void layer_norm_kernel(Rows<T> r) {
  using A = Accumulator<T>;
  const int64_t row = blockIdx.x;
  const T* x = r.x + row * r.cols;
  T* y = r.y + row * r.cols;
  A sum = 0;
  for (int64_t c = threadIdx.x; c < r.cols; c += blockDim.x) sum += widen(x[c]);
  const A mean = block_sum(sum) / static_cast<A>(r.cols);
  A squares = 0;
  for (int64_t c = threadIdx.x; c < r.cols; c += blockDim.x) {
    const A distance = widen(x[c]) - mean;
    squares += distance * distance;
  }
  const A rstd = 1 / sqrt(block_sum(squares) / static_cast<A>(r.cols) + r.epsilon);
  if (threadIdx.x == 0) {
    r.mean[row] = mean;
    r.rstd[row] = rstd;
  }
  for (int64_t c = threadIdx.x; c < r.cols; c += blockDim.x)
    y[c] = narrow<T>((widen(x[c]) - mean) * rstd * widen(r.gain[c]) +
                     (r.bias ? widen(r.bias[c]) : A{0}));
}

}  // namespace

void layer_norm_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0), gain = call.operand(1), bias = call.operand(2);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const Rows<T> rows{.x = x.as<T>(),
                       .gain = gain.as<T>(),
                       .bias = bias ? bias.as<T>() : nullptr,
                       .y = call.result(0).as<T>(),
                       .mean = call.result(1).as<A>(),
                       .rstd = call.result(2).as<A>(),
                       .cols = gain.type->num_elements(),
                       .epsilon = static_cast<A>(call.attributes.real("epsilon"))};
    launch(call, row_grid(x.type->num_elements() / rows.cols, rows.cols), layer_norm_kernel<T>,
           rows);
  });
}

}  // namespace tessera
