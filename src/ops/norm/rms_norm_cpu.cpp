// SPDX-License-Identifier: Apache-2.0
// A row is read twice, but from memory only once.
#include "exec/cpu/cpu_call.h"
#include "ops/fixed_order_sums_cpu.h"
#include "ops/norm/row_terms_cpu.h"
#include "ops/row_ranges.h"

namespace tessera {
namespace {

template <typename T>
struct Rows {
  const T *x, *gain;
  T* y;
  Accumulator<T>* rstd;
  int64_t cols;
  Accumulator<T> epsilon;
};

template <typename T>
TESSERA_SIMD void rms_norm_rows(const Rows<T>& r, int64_t begin, int64_t end) {
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
  const TensorRef x = call.operand(0), gain = call.operand(1);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const Rows<T> rows{.x = x.as<T>(),
                       .gain = gain.as<T>(),
                       .y = call.result(0).as<T>(),
                       .rstd = call.result(1).as<A>(),
                       .cols = gain.type->num_elements(),
                       .epsilon = static_cast<A>(call.attributes.real("epsilon"))};
    run_rows(call.threads, x.type->num_elements() / rows.cols, rows.cols,
             [&](int64_t begin, int64_t end) { rms_norm_rows(rows, begin, end); });
  });
}

}  // namespace tessera
