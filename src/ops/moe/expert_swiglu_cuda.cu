// SPDX-License-Identifier: Apache-2.0
// A row of h is a row of gates followed by a row of ups. A block has a piece of one row; those of
// rows after the last end have nothing to do.
#include "exec/cuda/elements.h"
#include "ops/elementwise/activations_cuda.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

template <int N, typename T>
__global__ void __launch_bounds__(kThreads)
    expert_swiglu_kernel(const T* h, const Accumulator<T>* weights, const int32_t* last_end, T* a,
                         int64_t cols) {
  const int64_t c = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
  const int64_t row = blockIdx.x;
  if (row >= *last_end || c >= cols) return;
  const Elements<T, N> gates = load_elements<N>(h + 2 * row * cols + c);
  const Elements<T, N> ups = load_elements<N>(h + (2 * row + 1) * cols + c);
  const Accumulator<T> weight = weights[row];
  Accumulator<T> values[N];
  for (int j = 0; j < N; ++j) {
    const Accumulator<T> gate = widen(gates.values[j]);
    values[j] = gate * device_sigmoid(gate) * widen(ups.values[j]) * weight;
  }
  store_elements(a + row * cols + c, narrow_all<T>(values));
}

template <int N, typename T>
void run_expert_swiglu(const CudaCall& call, int64_t cols) {
  using A = Accumulator<T>;
  const TensorType& type = *call.result(0).type;
  const int32_t* ends = call.operand(2).as<int32_t>();
  launch(call, row_piece_grid(pool_rows(type), cols, N), expert_swiglu_kernel<N, T>,
         static_cast<const T*>(call.operand(0).as<T>()),
         static_cast<const A*>(call.operand(1).as<A>()), ends + type.dims[0].size - 1,
         call.result(0).as<T>(), cols);
}

}  // namespace

void expert_swiglu_cuda(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  const int64_t cols = row_size(type);
  dispatch_float(type.dtype, [&]<typename T>() {
    if (cols % kElements<T> == 0)
      run_expert_swiglu<kElements<T>, T>(call, cols);
    else
      run_expert_swiglu<1, T>(call, cols);
  });
}

// As swiglu_grad, with dy = da * weight. A block has a row, so that it sums the gradient of the
// row's weight; blocks of rows after the last end have nothing to do.
namespace {

template <typename T>
struct SwigluRows {
  const T *h, *da;
  const Accumulator<T>* weights;
  const int32_t* last_end;
  T* dh;  // may overlap h
  Accumulator<T>* d_weights;
  T* again;  // or null
  int64_t cols;
};

// A piece of a row; gives its part of the weight's gradient.
template <int N, typename T>
__device__ inline Accumulator<T> piece_gradient(const SwigluRows<T>& r, int64_t row, int64_t c,
                                                Accumulator<T> weight) {
  using A = Accumulator<T>;
  const int64_t at_gates = 2 * row * r.cols + c, at_ups = at_gates + r.cols;
  const Elements<T, N> gates = load_elements<N>(r.h + at_gates),
                       ups = load_elements<N>(r.h + at_ups);
  const Elements<T, N> gradients = load_elements<N>(r.da + row * r.cols + c);
  A d_gates[N], d_ups[N], values[N], sum = 0;
  for (int j = 0; j < N; ++j) {
    const A gate = widen(gates.values[j]), up = widen(ups.values[j]);
    const A da = widen(gradients.values[j]), d = da * weight;
    const A s = device_sigmoid(gate), silu = gate * s;
    d_gates[j] = d * up * (s + silu * (1 - s));
    d_ups[j] = d * silu;
    values[j] = silu * up * weight;
    sum += da * (silu * up);
  }
  store_elements(r.dh + at_gates, narrow_all<T>(d_gates));
  store_elements(r.dh + at_ups, narrow_all<T>(d_ups));
  if (r.again) store_elements(r.again + row * r.cols + c, narrow_all<T>(values));
  return sum;
}

template <int N, typename T>
__global__ void __launch_bounds__(kThreads) expert_swiglu_grad_kernel(SwigluRows<T> r) {
  const int64_t row = blockIdx.x;
  if (row >= *r.last_end) return;
  const Accumulator<T> weight = r.weights[row];
  Accumulator<T> sum = 0;
  for (int64_t c = static_cast<int64_t>(threadIdx.x) * N; c < r.cols; c += blockDim.x * N)
    sum += piece_gradient<N>(r, row, c, weight);
  sum = block_sum(sum);
  if (threadIdx.x == 0) r.d_weights[row] = sum;
}

template <int N, typename T>
void run_expert_swiglu_grad(const CudaCall& call, const SwigluRows<T>& rows, int64_t count) {
  Grid grid = row_piece_grid(count, rows.cols, N);
  grid.blocks.y = 1;
  launch(call, grid, expert_swiglu_grad_kernel<N, T>, rows);
}

}  // namespace

void expert_swiglu_grad_cuda(const CudaCall& call) {
  const TensorType& type = *call.operand(2).type;
  dispatch_float(type.dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const TensorRef again = call.result(2);
    const SwigluRows<T> rows{.h = call.operand(0).as<T>(),
                             .da = call.operand(2).as<T>(),
                             .weights = call.operand(1).as<A>(),
                             .last_end = call.operand(3).as<int32_t>() + type.dims[0].size - 1,
                             .dh = call.result(0).as<T>(),
                             .d_weights = call.result(1).as<A>(),
                             .again = again ? again.as<T>() : nullptr,
                             .cols = row_size(type)};
    if (rows.cols % kElements<T> == 0)
      run_expert_swiglu_grad<kElements<T>>(call, rows, pool_rows(type));
    else
      run_expert_swiglu_grad<1>(call, rows, pool_rows(type));
  });
}

}  // namespace tessera
