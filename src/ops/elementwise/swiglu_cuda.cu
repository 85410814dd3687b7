// SPDX-License-Identifier: Apache-2.0
// A row of h is a row of gates followed by a row of ups. A block has a piece of one row.
#include "ops/elementwise/activations_cuda.h"
#include "ops/largest_entry_cuda.h"

namespace tessera {
namespace {

template <int N, bool kLargest, typename T>
__global__ void __launch_bounds__(kThreads)
    swiglu_kernel(const T* h, T* y, int64_t cols, float* largest) {
  using A = Accumulator<T>;
  const int64_t c = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
  const int64_t row = blockIdx.x;
  float own = 0;
  if (c < cols) {
    const Elements<T, N> gates = load_elements<N>(h + 2 * row * cols + c);
    const Elements<T, N> ups = load_elements<N>(h + (2 * row + 1) * cols + c);
    A values[N];
    for (int j = 0; j < N; ++j) {
      const A gate = widen(gates.values[j]);
      values[j] = gate * device_sigmoid(gate) * widen(ups.values[j]);
    }
    const Elements<T, N> out = narrow_all<T>(values);
    store_elements(y + row * cols + c, out);
    if constexpr (kLargest) own = larger_entry(own, out);
  }
  if constexpr (kLargest) raise_largest_entry(own, largest);
}

template <int N, typename T>
void run_swiglu(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  const int64_t cols = type.dims.back().size;
  const TensorRef largest = call.result(1);
  if (largest) clear_largest_entry(call, largest);
  launch(call, row_piece_grid(type.num_elements() / cols, cols, N),
         largest ? swiglu_kernel<N, true, T> : swiglu_kernel<N, false, T>,
         static_cast<const T*>(call.operand(0).as<T>()), call.result(0).as<T>(), cols,
         largest ? largest.as<float>() : nullptr);
}

}  // namespace

void swiglu_cuda(const CudaCall& call) {
  const TensorType& type = *call.result(0).type;
  dispatch_float(type.dtype, [&]<typename T>() {
    if (type.dims.back().size % kElements<T> == 0)
      run_swiglu<kElements<T>, T>(call);
    else
      run_swiglu<1, T>(call);
  });
}

// With s = sigmoid(gate): d_up = dy * gate * s, d_gate = dy * up * (s + gate * s * (1 - s)).
namespace {

// dh may overlap h, and y dy. kValue: y becomes swiglu(h).
template <int N, bool kValue, bool kLargest, typename T>
__global__ void __launch_bounds__(kThreads)
    swiglu_grad_kernel(const T* h, const T* dy, T* dh, T* y, int64_t cols, float* largest) {
  using A = Accumulator<T>;
  const int64_t c = (static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
  const int64_t row = blockIdx.x, at_gates = 2 * row * cols + c, at_ups = at_gates + cols;
  float own = 0;
  if (c < cols) {
    const Elements<T, N> gates = load_elements<N>(h + at_gates), ups = load_elements<N>(h + at_ups);
    const Elements<T, N> gradients = load_elements<N>(dy + row * cols + c);
    A d_gates[N], d_ups[N], values[N];
    for (int j = 0; j < N; ++j) {
      const A gate = widen(gates.values[j]), up = widen(ups.values[j]);
      const A d = widen(gradients.values[j]);
      const A s = device_sigmoid(gate), silu = gate * s;
      d_gates[j] = d * up * (s + silu * (1 - s));
      d_ups[j] = d * silu;
      values[j] = silu * up;
    }
    const Elements<T, N> first = narrow_all<T>(d_gates), second = narrow_all<T>(d_ups);
    store_elements(dh + at_gates, first);
    store_elements(dh + at_ups, second);
    if constexpr (kValue) store_elements(y + row * cols + c, narrow_all<T>(values));
    if constexpr (kLargest) own = larger_entry(larger_entry(own, first), second);
  }
  if constexpr (kLargest) raise_largest_entry(own, largest);
}

template <int N, typename T>
void run_swiglu_grad(const CudaCall& call) {
  const TensorType& type = *call.operand(1).type;
  const int64_t cols = type.dims.back().size;
  const bool with_value = call.attributes.integer("value") != 0;
  const TensorRef value = with_value ? call.result(1) : TensorRef{};
  const TensorRef largest = call.result(with_value ? 2 : 1);
  if (largest) clear_largest_entry(call, largest);
  const auto run = [&](auto kernel) {
    launch(call, row_piece_grid(type.num_elements() / cols, cols, N), kernel,
           static_cast<const T*>(call.operand(0).as<T>()),
           static_cast<const T*>(call.operand(1).as<T>()), call.result(0).as<T>(),
           value ? value.as<T>() : nullptr, cols, largest ? largest.as<float>() : nullptr);
  };
  if (value)
    run(largest ? swiglu_grad_kernel<N, true, true, T> : swiglu_grad_kernel<N, true, false, T>);
  else
    run(largest ? swiglu_grad_kernel<N, false, true, T> : swiglu_grad_kernel<N, false, false, T>);
}

}  // namespace

void swiglu_grad_cuda(const CudaCall& call) {
  const TensorType& type = *call.operand(1).type;
  dispatch_float(type.dtype, [&]<typename T>() {
    if (type.dims.back().size % kElements<T> == 0)
      run_swiglu_grad<kElements<T>, T>(call);
    else
      run_swiglu_grad<1, T>(call);
  });
}

}  // namespace tessera
