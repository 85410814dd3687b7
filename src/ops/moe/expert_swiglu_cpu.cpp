// SPDX-License-Identifier: Apache-2.0
// A row of h is a row of gates followed by a row of ups. Rows after the last end are left alone.
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/simd.h"
#include "ops/moe/pool.h"
#include "ops/row_ranges.h"

namespace tessera {
namespace {

template <typename T>
TESSERA_SIMD void expert_swiglu_rows(const T* h, const Accumulator<T>* weights, T* a, int64_t rows,
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

}  // namespace tessera
