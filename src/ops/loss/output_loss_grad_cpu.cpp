// SPDX-License-Identifier: Apache-2.0
// The logits of a chunk become their own gradient, which then gives dx and its share of dtable.
#include "ops/loss/logits_cpu.h"

namespace tessera {
namespace {

template <typename S>
TESSERA_SIMD void scale_all(S* x, S scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}

// Turns a row of logits into (softmax - one_hot(label)) * scale; gives the row's cross-entropy.
template <typename S>
double logits_to_gradient(S* x, int64_t vocab, int32_t label, S scale) {
  if (label < 0) {
    std::fill_n(x, vocab, S{0});
    return 0;
  }
  const S max = largest_of(x, vocab), chosen = x[label];
  const S sum = sum_of_exponentials<true>(x, max, vocab);
  scale_all(x, scale / sum, vocab);
  x[label] -= scale;
  return std::log(static_cast<double>(sum)) + static_cast<double>(max) -
         static_cast<double>(chosen);
}

template <typename T>
double run(const CpuCall& call, const OutputLossSizes& s, double label_count) {
  using S = Accumulator<T>;
  const T *x = call.operand(0).as<T>(), *table = call.operand(1).as<T>();
  const int32_t* labels = call.operand(2).as<int32_t>();
  double* losses = reinterpret_cast<double*>(call.workspace.data() + s.losses);
  const auto gemm_workspace = call.workspace.subspan(static_cast<size_t>(s.gemm));
  const S scale = static_cast<S>(1 / label_count);
  return for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, S* logits) {
    call.threads.run(rows, [&](int64_t i, int) {
      const int32_t label = labels[first + i];
      TESSERA_CHECK(label < s.vocab, "label {} of a vocabulary of {}", label, s.vocab);
      losses[first + i] = logits_to_gradient(logits + i * s.vocab, s.vocab, label, scale);
    });
    gemm(Gemm<S, T, T>{.m = rows,
                       .n = s.width,
                       .k = s.vocab,
                       .a = {logits, s.vocab, false},
                       .b = {table, s.width, false},
                       .c = call.result(1).as<T>() + first * s.width,
                       .c_stride = s.width},
         call.threads, gemm_workspace);
    gemm(Gemm<S, T, S>{.m = s.vocab,
                       .n = s.width,
                       .k = rows,
                       .a = {logits, s.vocab, true},
                       .b = {x + first * s.width, s.width, false},
                       .c = call.result(2).as<S>(),
                       .c_stride = s.width,
                       .accumulate = first > 0 || call.accumulates(2)},
         call.threads, gemm_workspace);
  });
}

}  // namespace

void output_loss_grad_cpu(const CpuCall& call) {
  const OutputLossSizes s(*call.operand(0).type, *call.operand(1).type);
  const double label_count = *call.operand(3).as<double>();
  double& loss = *call.result(0).as<double>();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    const double sum = run<T>(call, s, label_count);
    loss = (call.accumulates(0) ? loss : 0.0) + (sum == 0 ? 0.0 : sum / label_count);
  });
}

}  // namespace tessera
