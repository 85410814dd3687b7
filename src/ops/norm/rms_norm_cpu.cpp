// SPDX-License-Identifier: Apache-2.0
// A row is read twice, but from memory only once.
#define HWY_TARGET_INCLUDE "ops/norm/rms_norm_cpu.cpp"
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "ops/fixed_order_sums_cpu.h"
#include "ops/largest_entry_cpu.h"
#include "ops/norm/norm_rows_cpu.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
void rms_norm_rows(const RmsNormRows<T>& r, int64_t begin, int64_t end) {
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
    if (const TensorRef largest = call.result(2))
      *largest.as<float>() = largest_entry<T>(rows.y, x.type->num_elements(), call.threads);
  });
}

// With xhat = x * rstd and g = dy * gain: dx = rstd * (g - xhat * mean(g * xhat)), and `more`. Each
// chunk of rows sums its own dgain, which are then added in order.
namespace {

template <typename T>
void rms_norm_grad_rows(const RmsNormGradRows<T>& r, int64_t begin, int64_t end,
                        Accumulator<T>* dgain) {
  using A = Accumulator<T>;
  const auto count = static_cast<A>(r.cols);
  std::memset(dgain, 0, sizeof(A) * static_cast<size_t>(r.cols));
  for (int64_t row = begin; row < end; ++row) {
    const T *x = r.x + row * r.cols, *dy = r.dy + row * r.cols;
    const T* more = r.more ? r.more + row * r.cols : nullptr;
    T* dx = r.dx + row * r.cols;
    const A rstd = r.rstd[row];
    const A mean_g_xhat = sum_terms<A>(r.cols, GainedProduct<A>{0}, dy, r.gain, x) * rstd / count;
#pragma GCC ivdep
    for (int64_t c = 0; c < r.cols; ++c) {
      const A d = load(dy[c]), xhat = load(x[c]) * rstd;
      dgain[c] += d * xhat;
      const A own = rstd * (d * load(r.gain[c]) - xhat * mean_g_xhat);
      dx[c] = store<T>(more ? own + load(more[c]) : own);
    }
  }
}

}  // namespace

void rms_norm_grad_cpu(const CpuCall& call) {
  const TensorRef x = call.operand(0);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const auto rows = rows_of_rms_norm_grad<T>(call);
    const RowChunks chunks(x.type->num_elements() / rows.cols);
    A* dgain = reinterpret_cast<A*>(call.workspace.data());
    call.threads.run(chunks.count(), [&](int64_t chunk, int) {
      rms_norm_grad_rows(rows, chunks.begin(chunk), chunks.end(chunk), dgain + chunk * rows.cols);
    });
    add_partial_rows(call.threads, dgain, chunks.count(), rows.cols, call.result(1).as<A>(),
                     call.accumulates(1));
    if (const TensorRef largest = call.result(2))
      *largest.as<float>() = largest_entry<T>(rows.dx, x.type->num_elements(), call.threads);
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(rms_norm_cpu)
TESSERA_KERNEL(rms_norm_grad_cpu)
}  // namespace tessera
#endif
