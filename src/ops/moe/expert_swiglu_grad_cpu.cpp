// SPDX-License-Identifier: Apache-2.0
// As swiglu_grad, with dy = da * weight; the gradient of the weight is summed in blocks, in a fixed
// order.
#include "ops/fixed_order_sums_cpu.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

template <typename T>
struct SwigluRows {
  const T *h, *da;
  const Accumulator<T>* weights;
  T* dh;
  Accumulator<T>* d_weights;
  T* again;  // or null
  int64_t cols;
};

template <typename T>
TESSERA_SIMD void expert_swiglu_grad_rows(const SwigluRows<T>& r, int64_t begin, int64_t end) {
  using A = Accumulator<T>;
  constexpr int64_t kBlock = 512;
  const int64_t cols = r.cols;
  A terms[kBlock], values[kBlock];
  for (int64_t row = begin; row < end; ++row) {
    const T *gates = r.h + row * 2 * cols, *ups = gates + cols, *das = r.da + row * cols;
    T *d_gates = r.dh + row * 2 * cols, *d_ups = d_gates + cols;
    const A weight = r.weights[row];
    A sum = 0;
    for (int64_t first = 0; first < cols; first += kBlock) {
      const int64_t count = std::min(kBlock, cols - first);
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        const int64_t c = first + i;
        const A gate = load(gates[c]), up = load(ups[c]), da = load(das[c]), d = da * weight;
        const A s = fast_sigmoid<A>(gate), silu = gate * s;
        d_gates[c] = store<T>(d * up * (s + silu * (1 - s)));
        d_ups[c] = store<T>(d * silu);
        terms[i] = da * (silu * up);
        values[i] = silu * up * weight;
      }
      sum += sum_terms<A>(
          count, [](const auto& x) { return x; }, terms);
      if (r.again)
        for (int64_t i = 0; i < count; ++i) r.again[row * cols + first + i] = store<T>(values[i]);
    }
    r.d_weights[row] = sum;
  }
}

}  // namespace

void expert_swiglu_grad_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(2).type;
  const int64_t cols = row_size(type), rows = call.operand(3).as<int32_t>()[type.dims[0].size - 1];
  dispatch_float(type.dtype, [&]<typename T>() {
    const TensorRef again = call.result(2);
    const SwigluRows<T> r{.h = call.operand(0).as<T>(),
                          .da = call.operand(2).as<T>(),
                          .weights = call.operand(1).as<Accumulator<T>>(),
                          .dh = call.result(0).as<T>(),
                          .d_weights = call.result(1).as<Accumulator<T>>(),
                          .again = again ? again.as<T>() : nullptr,
                          .cols = cols};
    run_rows(call.threads, rows, cols,
             [&](int64_t begin, int64_t end) { expert_swiglu_grad_rows(r, begin, end); });
  });
}

}  // namespace tessera
