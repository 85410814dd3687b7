// SPDX-License-Identifier: Apache-2.0
// A row is read three times, but from memory only once.
#include "ops/norm/norm_rows.h"
#include "ops/norm/row_grid_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void layer_norm_kernel(LayerNormRows<T> r) {
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
  const TensorRef x = call.operand(0);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    const auto rows = rows_of_layer_norm<T>(call);
    launch(call, row_grid(x.type->num_elements() / rows.cols, rows.cols), layer_norm_kernel<T>,
           rows);
  });
}

}  // namespace tessera
