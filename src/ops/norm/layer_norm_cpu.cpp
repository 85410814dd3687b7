// SPDX-License-Identifier: Apache-2.0
// A row is read three times, but from memory only once.
#define HWY_TARGET_INCLUDE "ops/norm/layer_norm_cpu.cpp"
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "ops/fixed_order_sums_cpu.h"
#include "ops/norm/norm_rows_cpu.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

template <typename T>
void layer_norm_rows(const LayerNormRows<T>& r, int64_t begin, int64_t end) {
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

// With xhat = (x - mean) * rstd and g = dy * gain: dx = rstd * (g - mean(g) - xhat * mean(g *
// xhat)), and `more`. Each chunk of rows sums its own dgain and dbias, which are then added in
// order.
namespace {

// dbias may be null.
template <typename T>
void layer_norm_grad_rows(const LayerNormGradRows<T>& r, int64_t begin, int64_t end,
                          Accumulator<T>* dgain, Accumulator<T>* dbias) {
  using A = Accumulator<T>;
  const auto count = static_cast<A>(r.cols);
  std::memset(dgain, 0, sizeof(A) * static_cast<size_t>(r.cols));
  if (dbias) std::memset(dbias, 0, sizeof(A) * static_cast<size_t>(r.cols));
  for (int64_t row = begin; row < end; ++row) {
    const T *x = r.x + row * r.cols, *dy = r.dy + row * r.cols;
    const T* more = r.more ? r.more + row * r.cols : nullptr;
    T* dx = r.dx + row * r.cols;
    const A mean = r.mean[row], rstd = r.rstd[row];
    const A mean_g = sum_terms<A>(r.cols, Product{}, dy, r.gain) / count;
    const A mean_g_xhat =
        sum_terms<A>(r.cols, GainedProduct<A>{mean}, dy, r.gain, x) * rstd / count;
    if (dbias) {
#pragma GCC ivdep
      for (int64_t c = 0; c < r.cols; ++c) dbias[c] += load(dy[c]);
    }
#pragma GCC ivdep
    for (int64_t c = 0; c < r.cols; ++c) {
      const A d = load(dy[c]), xhat = (load(x[c]) - mean) * rstd;
      dgain[c] += d * xhat;
      const A own = rstd * (d * load(r.gain[c]) - mean_g - xhat * mean_g_xhat);
      dx[c] = store<T>(more ? own + load(more[c]) : own);
    }
  }
}

}  // namespace

void layer_norm_grad_cpu(const CpuCall& call) {
  const TensorRef x = call.operand(0);
  dispatch_float(x.type->dtype, [&]<typename T>() {
    using A = Accumulator<T>;
    const auto rows = rows_of_layer_norm_grad<T>(call);
    const RowChunks chunks(x.type->num_elements() / rows.cols);
    A* dgain = reinterpret_cast<A*>(call.workspace.data());
    A* dbias = call.result(2) ? dgain + chunks.count() * rows.cols : nullptr;
    call.threads.run(chunks.count(), [&](int64_t chunk, int) {
      layer_norm_grad_rows(rows, chunks.begin(chunk), chunks.end(chunk), dgain + chunk * rows.cols,
                           dbias ? dbias + chunk * rows.cols : nullptr);
    });
    add_partial_rows(call.threads, dgain, chunks.count(), rows.cols, call.result(1).as<A>(),
                     call.accumulates(1));
    if (dbias)
      add_partial_rows(call.threads, dbias, chunks.count(), rows.cols, call.result(2).as<A>(),
                       call.accumulates(2));
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(layer_norm_cpu)
TESSERA_KERNEL(layer_norm_grad_cpu)
}  // namespace tessera
#endif
