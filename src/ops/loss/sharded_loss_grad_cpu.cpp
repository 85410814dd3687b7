// SPDX-License-Identifier: Apache-2.0
// The logits of a chunk are recomputed and overwritten with their gradient, using the softmax
// statistics of all shards.
#include "ops/loss/sharded_loss_cpu.h"

namespace tessera {
namespace {

template <typename T>
void run(const CpuCall& call, const OutputLossSizes& s) {
  using S = Accumulator<T>;
  const LocalClasses classes(call, 4, s.vocab);
  const int32_t* labels = call.operand(2).as<int32_t>();
  const double label_count = *call.operand(3).as<double>();
  const S *all_max = call.operand(5).as<S>(), *stats = call.operand(6).as<S>();
  const S scale = static_cast<S>(1 / label_count);
  for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, S* logits) {
    call.threads.run(rows, [&](int64_t i, int) {
      const int64_t row = first + i, column = classes.column(labels[row]);
      const int64_t count = labels[row] < 0 ? 0 : classes.count;
      S* x = logits + i * s.vocab;
      sum_of_exponentials<true>(x, all_max[row], count);
      scale_all(x, scale / stats[row], count);
      if (column >= 0) x[column] -= scale;
      std::fill(x + count, x + s.vocab, S{0});
    });
    logit_gradients_to_results<T>(call, s, first, rows, logits);
  });
  store_mean_loss(call, sum_of_sharded_losses(all_max, stats, labels, s.rows), label_count);
}

}  // namespace

void sharded_loss_grad_cpu(const CpuCall& call) {
  const OutputLossSizes s(*call.operand(0).type, *call.operand(1).type);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() { run<T>(call, s); });
}

}  // namespace tessera
