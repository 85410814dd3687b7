// SPDX-License-Identifier: Apache-2.0
// Rows whose label is ignored need no exponentials: nothing reads their stats.
#include "ops/loss/sharded_loss_cpu.h"

namespace tessera {

void output_stats_cpu(const CpuCall& call) {
  const OutputLossSizes s(*call.operand(0).type, *call.operand(1).type);
  const LocalClasses classes(call, 3, s.vocab);
  const int32_t* labels = call.operand(2).as<int32_t>();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    S *max = call.result(0).as<S>(), *sum = call.result(1).as<S>(),
      *chosen = call.result(2).as<S>();
    for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, S* logits) {
      call.threads.run(rows, [&](int64_t i, int) {
        const int64_t row = first + i, column = classes.column(labels[row]);
        S* x = logits + i * s.vocab;
        chosen[row] = column < 0 ? S{0} : x[column];
        max[row] = labels[row] < 0 ? S{0} : largest_of(x, classes.count);
        sum[row] = labels[row] < 0 ? S{0} : sum_of_exponentials<false>(x, max[row], classes.count);
      });
    });
  });
}

}  // namespace tessera
