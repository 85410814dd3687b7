// SPDX-License-Identifier: Apache-2.0
// Only the loss, by chunks of rows, for `evaluate`.
#include "ops/loss/logits_cpu.h"

namespace tessera {

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

}  // namespace tessera
