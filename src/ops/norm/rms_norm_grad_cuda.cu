// SPDX-License-Identifier: Apache-2.0
// With xhat = x * rstd and g = dy * gain: dx = rstd * (g - xhat * mean(g * xhat)). dgain comes
// first, because dx may lie over x or dy.
#include "ops/fixed_order_sums_cuda.h"
#include "ops/norm/norm_rows.h"
#include "ops/norm/row_grid_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void gain_sums_kernel(RmsNormGradRows<T> r, RowChunks chunks, Accumulator<T>* dgain) {
  using A = Accumulator<T>;
  const int64_t c = first_index();
  if (c >= r.cols) return;
  const int64_t begin = blockIdx.y * chunks.rows_per_chunk;
  const int64_t end = min(chunks.rows, begin + chunks.rows_per_chunk);
  A sum = 0;
  for (int64_t row = begin; row < end; ++row)
    sum += widen(r.dy[row * r.cols + c]) * (widen(r.x[row * r.cols + c]) * r.rstd[row]);
  dgain[blockIdx.y * r.cols + c] = sum;
}

template <typename T>
__global__ void input_gradient_kernel(RmsNormGradRows<T> r) {
  using A = Accumulator<T>;
  const int64_t row = blockIdx.x;
  const T *x = r.x + row * r.cols, *dy = r.dy + row * r.cols;
  T* dx = r.dx + row * r.cols;
  const A rstd = r.rstd[row];
  A g_xhat = 0;
  for (int64_t c = threadIdx.x; c < r.cols; c += blockDim.x)
    g_xhat += widen(dy[c]) * widen(r.gain[c]) * widen(x[c]);
  const A mean_g_xhat = block_sum(g_xhat) * rstd / static_cast<A>(r.cols);
  for (int64_t c = threadIdx.x; c < r.cols; c += blockDim.x)
    dx[c] = narrow<T>(rstd * (widen(dy[c]) * widen(r.gain[c]) - widen(x[c]) * rstd * mean_g_xhat));
}

}  // namespace

void rms_norm_grad_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const auto rows = rows_of_rms_norm_grad<T>(call);
    const RowChunks chunks(x.type->num_elements() / rows.cols);
    A* dgain = reinterpret_cast<A*>(call.workspace.data());
    launch(call, chunk_grid(chunks, rows.cols), gain_sums_kernel<T>, rows, chunks, dgain);
    launch(call, row_grid(chunks.rows, rows.cols), input_gradient_kernel<T>, rows);
    add_partial_rows<A, A>(call, dgain, chunks.count(), rows.cols, call.result(1).as<A>(),
                           call.accumulates(1));
  });
}

}  // namespace tessera
