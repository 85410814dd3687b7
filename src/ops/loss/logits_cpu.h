// SPDX-License-Identifier: Apache-2.0
// Logits in chunks of rows, and what is computed from them. The order of sums depends only on the
// order of rows and of the vocabulary.
#if defined(TESSERA_OPS_LOSS_LOGITS_CPU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_OPS_LOSS_LOGITS_CPU_H
#undef TESSERA_OPS_LOSS_LOGITS_CPU_H
#else
#define TESSERA_OPS_LOSS_LOGITS_CPU_H
#endif

#include <limits>

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/fast_math.h"
#include "exec/cpu/gemm.h"
#include "ops/loss/output_loss.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

template <typename S>
S largest_of(const S* x, int64_t n) {
  constexpr int64_t kStep = 4 * kLanes<S>;
  Lanes<S> largest[4];
  for (auto& lanes : largest) lanes = -std::numeric_limits<S>::infinity();
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep)
    for (int64_t j = 0; j < 4; ++j) {
      const Lanes<S> y = load_lanes(x + i + j * kLanes<S>);
      largest[j] = select(y > largest[j], y, largest[j]);
    }
  for (int64_t j = 1; j < 4; ++j)
    largest[0] = select(largest[j] > largest[0], largest[j], largest[0]);
  S max = max_lanes<S>(largest[0]);
  for (; i < n; ++i) max = x[i] > max ? x[i] : max;
  return max;
}

// The sum of exp(x - max); `keep` leaves the exponentials in x.
template <bool keep, typename S>
S sum_of_exponentials(S* x, S max, int64_t n) {
  constexpr int64_t kStep = 4 * kLanes<S>;
  Lanes<S> sums[4] = {};
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep)
    for (int64_t j = 0; j < 4; ++j) {
      const Lanes<S> y = fast_exp<Lanes<S>>(load_lanes(x + i + j * kLanes<S>) - max);
      if (keep) store_lanes(x + i + j * kLanes<S>, y);
      sums[j] += y;
    }
  S tail = 0;
  for (; i < n; ++i) {
    const S y = fast_exp<S>(x[i] - max);
    if (keep) x[i] = y;
    tail += y;
  }
  return sum_lanes<S>((sums[0] + sums[1]) + (sums[2] + sums[3])) + tail;
}

template <typename S>
void scale_all(S* x, S scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}

// Calls chunk(first_row, rows, logits) for each chunk.
template <typename T, typename Chunk>
void for_each_chunk_of_logits(const CpuCall& call, const OutputLossSizes& s, Chunk&& chunk) {
  using S = Accumulator<T>;
  const T *x = call.operand(0).as<T>(), *table = call.operand(1).as<T>();
  S* logits = reinterpret_cast<S*>(call.workspace.data() + s.logits);
  for (int64_t first = 0; first < s.rows; first += s.chunk_rows) {
    const int64_t rows = std::min(s.chunk_rows, s.rows - first);
    gemm(Gemm<T, T, S>{.m = rows,
                       .n = s.vocab,
                       .k = s.width,
                       .a = {x + first * s.width, s.width, false},
                       .b = {table, s.width, true},
                       .c = logits,
                       .c_stride = s.vocab},
         call.threads, call.workspace.subspan(static_cast<size_t>(s.gemm)));
    chunk(first, rows, logits);
  }
}

// From the gradient of a chunk's logits: its rows of dx (result 1) and its share of dtable (result
// 2, absent of a frozen table).
template <typename T>
void logit_gradients_to_results(const CpuCall& call, const OutputLossSizes& s, int64_t first,
                                int64_t rows, const Accumulator<T>* dlogits) {
  using S = Accumulator<T>;
  const T *x = call.operand(0).as<T>(), *table = call.operand(1).as<T>();
  const auto gemm_workspace = call.workspace.subspan(static_cast<size_t>(s.gemm));
  gemm(Gemm<S, T, T>{.m = rows,
                     .n = s.width,
                     .k = s.vocab,
                     .a = {dlogits, s.vocab, false},
                     .b = {table, s.width, false},
                     .c = call.result(1).as<T>() + first * s.width,
                     .c_stride = s.width},
       call.threads, gemm_workspace);
  if (!call.result(2)) return;
  const auto add_to_dtable = [&]<typename R>(R* dtable) {
    gemm(Gemm<S, T, R>{.m = s.vocab,
                       .n = s.width,
                       .k = rows,
                       .a = {dlogits, s.vocab, true},
                       .b = {x + first * s.width, s.width, false},
                       .c = dtable,
                       .c_stride = s.width,
                       .accumulate = first > 0 || call.accumulates(2)},
         call.threads, gemm_workspace);
  };
  const TensorRef dtable = call.result(2);
  if constexpr (!std::is_same_v<S, T>)
    if (dtable.type->dtype == dtype_of<S>()) return add_to_dtable(dtable.as<S>());
  add_to_dtable(dtable.as<T>());
}

// The rows' losses, in their order.
inline double sum_of_losses(const CpuCall& call, const OutputLossSizes& s) {
  const double* losses = reinterpret_cast<const double*>(call.workspace.data() + s.losses);
  double sum = 0;
  for (int64_t row = 0; row < s.rows; ++row) sum += losses[row];
  return sum;
}

// Result 0. If all labels are ignored, their count may be 0.
inline void store_mean_loss(const CpuCall& call, double sum, double label_count) {
  double& loss = *call.result(0).as<double>();
  loss = (call.accumulates(0) ? loss : 0.0) + (sum == 0 ? 0.0 : sum / label_count);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
