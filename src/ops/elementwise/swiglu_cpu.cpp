// SPDX-License-Identifier: Apache-2.0
// A row of h is a row of gates followed by a row of ups.
#define HWY_TARGET_INCLUDE "ops/elementwise/swiglu_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "exec/cpu/fast_math.h"
#include "ops/largest_entry_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
void swiglu_rows(const T* h, T* y, int64_t rows, int64_t cols) {
  using A = Accumulator<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const T *gates = h + row * 2 * cols, *ups = gates + cols;
    T* out = y + row * cols;
#pragma GCC ivdep
    for (int64_t c = 0; c < cols; ++c) {
      const A gate = load(gates[c]);
      out[c] = store<T>(gate * fast_sigmoid<A>(gate) * load(ups[c]));
    }
  }
}

}  // namespace

void swiglu_cpu(const CpuCall& call) {
  const TensorType& type = *call.result(0).type;
  const int64_t cols = type.dims.back().size, rows = type.num_elements() / cols;
  dispatch_float(type.dtype, [&]<typename T>() {
    const T* h = call.operand(0).as<T>();
    T* y = call.result(0).as<T>();
    run_rows(call.threads, rows, cols, [&](int64_t begin, int64_t end) {
      swiglu_rows(h + begin * 2 * cols, y + begin * cols, end - begin, cols);
    });
    if (const TensorRef largest = call.result(1))
      *largest.as<float>() = largest_entry(y, call.result(0).type->num_elements(), call.threads);
  });
}

// With s = sigmoid(gate): d_up = dy * gate * s, d_gate = dy * up * (s + gate * s * (1 - s)).
namespace {

template <bool kValue, typename T>
void swiglu_grad_rows(const T* h, const T* dy, T* dh, T* y, int64_t rows, int64_t cols) {
  using A = Accumulator<T>;
  for (int64_t row = 0; row < rows; ++row) {
    const T *gates = h + row * 2 * cols, *ups = gates + cols, *dys = dy + row * cols;
    T *d_gates = dh + row * 2 * cols, *d_ups = d_gates + cols;
    [[maybe_unused]] T* out = kValue ? y + row * cols : nullptr;
#pragma GCC ivdep
    for (int64_t c = 0; c < cols; ++c) {
      const A gate = load(gates[c]), up = load(ups[c]), d = load(dys[c]);
      const A s = fast_sigmoid<A>(gate), silu = gate * s;
      d_gates[c] = store<T>(d * up * (s + silu * (1 - s)));
      d_ups[c] = store<T>(d * silu);
      if constexpr (kValue) out[c] = store<T>(silu * up);
    }
  }
}

}  // namespace

void swiglu_grad_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(1).type;
  const int64_t cols = type.dims.back().size, rows = type.num_elements() / cols;
  const bool with_value = call.attributes.integer("value") != 0;
  const TensorRef value = with_value ? call.result(1) : TensorRef{};
  const TensorRef largest = call.result(with_value ? 2 : 1);
  dispatch_float(type.dtype, [&]<typename T>() {
    const T *h = call.operand(0).as<T>(), *dy = call.operand(1).as<T>();
    T *dh = call.result(0).as<T>(), *y = value ? value.as<T>() : nullptr;
    run_rows(call.threads, rows, cols, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * cols;
      if (y)
        swiglu_grad_rows<true>(h + 2 * at, dy + at, dh + 2 * at, y + at, end - begin, cols);
      else
        swiglu_grad_rows<false>(h + 2 * at, dy + at, dh + 2 * at, y, end - begin, cols);
    });
    if (largest)
      *largest.as<float>() = largest_entry(dh, call.result(0).type->num_elements(), call.threads);
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(swiglu_cpu)
TESSERA_KERNEL(swiglu_grad_cpu)
}  // namespace tessera
#endif
