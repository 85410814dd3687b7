// SPDX-License-Identifier: Apache-2.0
// A row is read twice, but from memory only once.
#include "ops/norm/norm_rows.h"
#include "ops/norm/row_grid_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void rms_norm_kernel(RmsNormRows<T> r) {
  using A = Accumulator<T>;
  const int64_t row = blockIdx.x;
  const T* x = r.x + row * r.cols;
  T* y = r.y + row * r.cols;
  A squares = 0;
  for (int64_t c = threadIdx.x; c < r.cols; c += blockDim.x) squares += widen(x[c]) * widen(x[c]);
  const A rstd = 1 / sqrt(block_sum(squares) / static_cast<A>(r.cols) + r.epsilon);
  if (threadIdx.x == 0) r.rstd[row] = rstd;
  for (int64_t c = threadIdx.x; c < r.cols; c += blockDim.x)
    y[c] = narrow<T>(widen(x[c]) * rstd * widen(r.gain[c]));
}

}  // namespace

void rms_norm_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    const auto rows = rows_of_rms_norm<T>(call);
    launch(call, row_grid(x.type->num_elements() / rows.cols, rows.cols), rms_norm_kernel<T>, rows);
  });
}

}  // namespace tessera
