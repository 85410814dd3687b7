// SPDX-License-Identifier: Apache-2.0
// A row of h is a row of gates followed by a row of ups. Rows after the last end are left alone.
#define HWY_TARGET_INCLUDE "ops/moe/expert_swiglu_cpu.cpp"
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "exec/cpu/fast_math.h"
#include "ops/fixed_order_sums_cpu.h"
#include "ops/moe/pool.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
void expert_swiglu_rows(const T* h, const Accumulator<T>* weights, T* a, int64_t rows,
                        int64_t cols) {
  using A = Accumulator<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const T *gates = h + row * 2 * cols, *ups = gates + cols;
    const A weight = weights[row];
    T* out = a + row * cols;
#pragma GCC ivdep
    for (int64_t c = 0; c < cols; ++c) {
      const A gate = load(gates[c]);
      out[c] = store<T>(gate * fast_sigmoid<A>(gate) * load(ups[c]) * weight);
    }
  }
}

}  // namespace

void expert_swiglu_cpu(const CpuCall& call) {
  const TensorType& type = *call.result(0).type;
  const int64_t cols = row_size(type), rows = call.operand(2).as<int32_t>()[type.dims[0].size - 1];
  dispatch_float(type.dtype, [&]<typename T>() {
    const T* h = call.operand(0).as<T>();
    const Accumulator<T>* weights = call.operand(1).as<Accumulator<T>>();
    T* a = call.result(0).as<T>();
    run_rows(call.threads, rows, cols, [&](int64_t begin, int64_t end) {
      expert_swiglu_rows(h + begin * 2 * cols, weights + begin, a + begin * cols, end - begin,
                         cols);
    });
  });
}

// As swiglu_grad, with dy = da * weight; the gradient of the weight is summed in blocks, in a fixed
// order.
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
void expert_swiglu_grad_rows(const SwigluRows<T>& r, int64_t begin, int64_t end) {
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

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(expert_swiglu_cpu)
TESSERA_KERNEL(expert_swiglu_grad_cpu)
}  // namespace tessera
#endif
