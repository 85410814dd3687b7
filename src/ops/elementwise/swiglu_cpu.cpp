// SPDX-License-Identifier: Apache-2.0
// A row of h is a row of gates followed by a row of ups.
#include "exec/cpu/simd.h"
#include "ops/largest_entry_cpu.h"

namespace tessera {
namespace {

template <typename T>
TESSERA_SIMD void swiglu_rows(const T* h, T* y, int64_t rows, int64_t cols) {
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

}  // namespace tessera
