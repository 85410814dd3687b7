// SPDX-License-Identifier: Apache-2.0
// max may be -inf (a shard of padding), all_max is finite: some shard has a class.
#include <cmath>

#include "exec/cpu/cpu_call.h"
#include "ops/row_ranges.h"

namespace tessera {

void shared_stats_cpu(const CpuCall& call) {
  const int64_t rows = call.operand(0).type->num_elements();
  dispatch_float(call.operand(0).type->dtype, [&]<typename S>() {
    const S *max = call.operand(0).as<S>(), *sum = call.operand(1).as<S>();
    const S *chosen = call.operand(2).as<S>(), *all_max = call.operand(3).as<S>();
    S* stats = call.result(0).as<S>();
    run_rows(call.threads, rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        stats[row] = store<S>(load(sum[row]) * std::exp(load(max[row]) - load(all_max[row])));
        stats[rows + row] = chosen[row];
      }
    });
  });
}

}  // namespace tessera
