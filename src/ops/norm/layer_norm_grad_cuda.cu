// SPDX-License-Identifier: Apache-2.0
// With xhat = (x - mean) * rstd and g = dy * gain: dx = rstd * (g - mean(g) - xhat * mean(g *
// xhat)). dgain and dbias come first, because dx may lie over x or dy.
#include "ops/fixed_order_sums_cuda.h"
#include "ops/norm/norm_rows.h"
#include "ops/norm/row_grid_cuda.h"

namespace tessera {
namespace {

// dbias may be null.
template <typename T>
__global__ void parameter_sums_kernel(LayerNormGradRows<T> r, RowChunks chunks,
                                      Accumulator<T>* dgain, Accumulator<T>* dbias) {
  using A = Accumulator<T>;
  const int64_t c = first_index();
  if (c >= r.cols) return;
  const int64_t begin = blockIdx.y * chunks.rows_per_chunk;
  const int64_t end = min(chunks.rows, begin + chunks.rows_per_chunk);
  A gain_sum = 0, bias_sum = 0;
  for (int64_t row = begin; row < end; ++row) {
    const A d = widen(r.dy[row * r.cols + c]);
    gain_sum += d * (widen(r.x[row * r.cols + c]) - r.mean[row]) * r.rstd[row];
    bias_sum += d;
  }
  dgain[blockIdx.y * r.cols + c] = gain_sum;
  if (dbias) dbias[blockIdx.y * r.cols + c] = bias_sum;
}

template <typename T>
__global__ void input_gradient_kernel(LayerNormGradRows<T> r) {
  using A = Accumulator<T>;
  const int64_t row = blockIdx.x;
  const T *x = r.x + row * r.cols, *dy = r.dy + row * r.cols;
  T* dx = r.dx + row * r.cols;
  const A mean = r.mean[row], rstd = r.rstd[row], count = static_cast<A>(r.cols);
  A g = 0, g_xhat = 0;
  for (int64_t c = threadIdx.x; c < r.cols; c += blockDim.x) {
    const A gained = widen(dy[c]) * widen(r.gain[c]);
    g += gained;
    g_xhat += gained * (widen(x[c]) - mean);
  }
  const A mean_g = block_sum(g) / count, mean_g_xhat = block_sum(g_xhat) * rstd / count;
  for (int64_t c = threadIdx.x; c < r.cols; c += blockDim.x) {
    const A xhat = (widen(x[c]) - mean) * rstd;
    dx[c] = narrow<T>(rstd * (widen(dy[c]) * widen(r.gain[c]) - mean_g - xhat * mean_g_xhat));
  }
}

}  // namespace

void layer_norm_grad_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const auto rows = rows_of_layer_norm_grad<T>(call);
    const RowChunks chunks(x.type->num_elements() / rows.cols);
    A* dgain = reinterpret_cast<A*>(call.workspace.data());
    A* dbias = call.result(2) ? dgain + chunks.count() * rows.cols : nullptr;
    launch(call, chunk_grid(chunks, rows.cols), parameter_sums_kernel<T>, rows, chunks, dgain,
           dbias);
    launch(call, row_grid(chunks.rows, rows.cols), input_gradient_kernel<T>, rows);
    add_partial_rows<A, A>(call, dgain, chunks.count(), rows.cols, call.result(1).as<A>(),
                           call.accumulates(1));
    if (dbias)
      add_partial_rows<A, A>(call, dbias, chunks.count(), rows.cols, call.result(2).as<A>(),
                             call.accumulates(2));
  });
}

}  // namespace tessera
