// SPDX-License-Identifier: Apache-2.0
// A row is read twice, but from memory only once.
#include "exec/cpu/cpu_call.h"
#include "ops/fixed_order_sums_cpu.h"
#include "ops/norm/norm_rows.h"
#include "ops/norm/row_terms_cpu.h"
#include "ops/row_ranges.h"

namespace tessera {
namespace {

template <typename T>
TESSERA_SIMD void rms_norm_rows(const RmsNormRows<T>& r, int64_t begin, int64_t end) {
  using A = Accumulator<T>;
  for (int64_t row = begin; row < end; ++row) {
    const T* x = r.x + row * r.cols;
    T* y = r.y + row * r.cols;
    const A mean_square = sum_terms<A>(r.cols, Product{}, x, x) / static_cast<A>(r.cols);
    const A rstd = 1 / std::sqrt(mean_square + r.epsilon);
    r.rstd[row] = rstd;
#pragma GCC ivdep
    for (int64_t c = 0; c < r.cols; ++c) y[c] = store<T>(load(x[c]) * rstd * load(r.gain[c]));
  }
}

}  // namespace

void rms_norm_cpu(const CpuCall& call) {
  const TensorRef x = call.operand(0);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    const auto rows = rows_of_rms_norm<T>(call);
    run_rows(call.threads, x.type->num_elements() / rows.cols, rows.cols,
             [&](int64_t begin, int64_t end) { rms_norm_rows(rows, begin, end); });
  });
}

}  // namespace tessera
