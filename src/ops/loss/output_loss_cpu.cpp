// SPDX-License-Identifier: Apache-2.0
// Only the loss, by chunks of rows, for `evaluate`.
#define HWY_TARGET_INCLUDE "ops/loss/output_loss_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/loss/logits_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

void output_loss_cpu(const CpuCall& call) {
  const OutputLossSizes s(*call.operand(0).type, *call.operand(1).type);
  const int32_t* labels = call.operand(2).as<int32_t>();
  const double label_count = *call.operand(3).as<double>();
  double* losses = reinterpret_cast<double*>(call.workspace.data() + s.losses);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, S* logits) {
      call.threads.run(rows, [&](int64_t i, int) {
        const int32_t label = labels[first + i];
        TESSERA_CHECK(label < s.vocab, "label {} of a vocabulary of {}", label, s.vocab);
        S* x = logits + i * s.vocab;
        losses[first + i] = 0;
        if (label < 0) return;
        const S max = largest_of(x, s.vocab), chosen = x[label];
        const S sum_exp = sum_of_exponentials<false>(x, max, s.vocab);
        losses[first + i] = std::log(static_cast<double>(sum_exp)) + static_cast<double>(max) -
                            static_cast<double>(chosen);
      });
    });
  });
  store_mean_loss(call, sum_of_losses(call, s), label_count);
}

// The logits of a chunk are overwritten with their gradient, from which dx and a share of dtable
// are computed.
namespace {

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
void run(const CpuCall& call, const OutputLossSizes& s, double label_count) {
  using S = Accumulator<T>;
  const int32_t* labels = call.operand(2).as<int32_t>();
  double* losses = reinterpret_cast<double*>(call.workspace.data() + s.losses);
  const S scale = static_cast<S>(1 / label_count);
  for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, S* logits) {
    call.threads.run(rows, [&](int64_t i, int) {
      const int32_t label = labels[first + i];
      TESSERA_CHECK(label < s.vocab, "label {} of a vocabulary of {}", label, s.vocab);
      losses[first + i] = logits_to_gradient(logits + i * s.vocab, s.vocab, label, scale);
    });
    logit_gradients_to_results<T>(call, s, first, rows, logits);
  });
}

}  // namespace

void output_loss_grad_cpu(const CpuCall& call) {
  const OutputLossSizes s(*call.operand(0).type, *call.operand(1).type);
  const double label_count = *call.operand(3).as<double>();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() { run<T>(call, s, label_count); });
  store_mean_loss(call, sum_of_losses(call, s), label_count);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(output_loss_cpu)
TESSERA_KERNEL(output_loss_grad_cpu)
}  // namespace tessera
#endif
