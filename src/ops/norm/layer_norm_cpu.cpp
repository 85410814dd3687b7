// SPDX-License-Identifier: Apache-2.0
// A row is read three times, but from memory only once.
#include "exec/cpu/cpu_call.h"
#include "ops/fixed_order_sums_cpu.h"
#include "ops/norm/norm_rows.h"
#include "ops/norm/row_terms_cpu.h"
#include "ops/row_ranges.h"

namespace tessera {
namespace {

template <typename T>
TESSERA_SIMD void layer_norm_rows(const LayerNormRows<T>& r, int64_t begin, int64_t end) {
  using A = Accumulator<T>;
  const auto count = static_cast<A>(r.cols);
  for (int64_t row = begin; row < end; ++row) {
    const T* x = r.x + row * r.cols;
    T* y = r.y + row * r.cols;
    const A mean = sum_terms<A>(r.cols, Plain{}, x) / count;
    const A variance = sum_terms<A>(r.cols, SquaredDistance<A>{mean}, x) / count;
    const A rstd = 1 / std::sqrt(variance + r.epsilon);
    r.mean[row] = mean;
    r.rstd[row] = rstd;
    if (r.bias) {
#pragma GCC ivdep
      for (int64_t c = 0; c < r.cols; ++c)
        y[c] = store<T>((load(x[c]) - mean) * rstd * load(r.gain[c]) + load(r.bias[c]));
    } else {
#pragma GCC ivdep
      for (int64_t c = 0; c < r.cols; ++c)
        y[c] = store<T>((load(x[c]) - mean) * rstd * load(r.gain[c]));
    }
  }
}

}  // namespace

void layer_norm_cpu(const CpuCall& call) {
  const TensorRef x = call.operand(0);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    const auto rows = rows_of_layer_norm<T>(call);
    run_rows(call.threads, x.type->num_elements() / rows.cols, rows.cols,
             [&](int64_t begin, int64_t end) { layer_norm_rows(rows, begin, end); });
  });
}

}  // namespace tessera
